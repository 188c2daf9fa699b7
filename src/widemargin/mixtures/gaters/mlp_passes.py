"""Training an `MLPGater` where the examples are in many blocks: passes over single blocks.

Every function is a pure one of its arguments: a pass that has to be repeated somewhere else gives
the same weights.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from widemargin._typing import FloatArray
from widemargin.inputs.scaling import Scaling
from widemargin.mixtures.gaters.mlp import MixedExamples, MLPGater
from widemargin.mixtures.hard.example_block import Share
from widemargin.training.loop import Plan, Tally, _epoch, _order, _rate_after

__all__ = ["Copy", "Span", "averaged", "begin", "finish", "one_pass"]

NOTHING = Tally(0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Copy:
    """A gater in training, and what its examples of this epoch were like."""

    gater: MLPGater
    tally: Tally = NOTHING


@dataclass(frozen=True)
class Span:
    """Where in an epoch the examples of a block come: after `done` of `total`."""

    epoch: int
    done: int
    total: int


def begin(gater: MLPGater, n_experts: int, seen: Scaling) -> MLPGater:
    """A gater with first weights, or its last ones, for inputs whose statistics are known."""
    row = seen.mean[None]
    if gater._goes_on(row, n_experts):
        return gater
    gater = deepcopy(gater)
    gater._forget()
    gater.n_experts_, gater.n_features_in_ = n_experts, row.shape[1]
    outputs = np.zeros((1, n_experts, 1), dtype=np.float32)
    examples = MixedExamples(row, np.zeros((1, 1)), None, np.arange(1), experts=outputs)
    learner = gater._learner(examples, resume=False)
    learner.state.scaling = replace(seen, kind=gater.scaling, fixed=True)
    gater.__dict__.update(learner.attributes())
    return gater


def one_pass(
    copy: Copy, share: Share, outputs: NDArray[np.float32], criterion: str, span: Span
) -> Copy:
    """Goes over the examples of a block once, in a random order."""
    gater, goal = deepcopy(copy.gater), share.goal
    examples = MixedExamples(
        share.X,
        np.zeros((len(share), 1)) if criterion == "likelihood" else goal.targets,
        share.weights,
        np.arange(len(share)),
        experts=outputs,
        criterion=criterion,
        error_scale=goal.error_scale,
    )
    learner = gater._learner(examples, resume=True)
    plan = Plan(gater.max_iter, gater._schedule(), first_epoch=gater._epochs_done)
    epoch = gater._epochs_done + span.epoch
    order = _order(learner.order, gater._seed() if gater.shuffle else None, epoch)
    rate = partial(_rate_after, plan, epoch, span.done, span.total)
    tally, _ = _epoch(learner, order, rate, lambda: False)
    gater.__dict__.update(learner.attributes())
    return Copy(gater, copy.tally + tally)


def averaged(copies: Sequence[Copy]) -> Copy:
    """The mean of copies at the end of an epoch, by the weights of their examples, in order."""
    gater = deepcopy(copies[0].gater)
    tally = sum((copy.tally for copy in copies[1:]), start=copies[0].tally)
    if len(copies) > 1:
        parts = np.array([copy.tally.weight for copy in copies]) / (tally.weight or 1.0)
        states = [copy.gater._state for copy in copies]
        gater._parameters = _mean([copy.gater._parameters for copy in copies], parts)
        for name in ("first", "second"):
            gater._state[name] = _mean([state[name] for state in states], parts)
        gater._state["steps"] = max(state["steps"] for state in states)
    weight = tally.weight or 1.0
    record = {"epoch": len(gater.history_), "criterion": tally.criterion / weight}
    gater.history_ = [*gater.history_, record | {"error": tally.errors / weight}]
    return Copy(gater)


def _mean(arrays: Sequence[NDArray[np.floating]], parts: FloatArray) -> NDArray[np.floating]:
    total = np.zeros(arrays[0].shape)
    for array, part in zip(arrays, parts, strict=True):
        total += part * array
    return total.astype(arrays[0].dtype)


def finish(copy: Copy, epochs: int) -> MLPGater:
    """The gater after the epochs of a fit."""
    gater = deepcopy(copy.gater)
    gater._epochs_done += epochs
    gater.n_iter_ = gater.best_iter_ = epochs
    gater.converged_, gater.stop_reason_ = False, "max_iter"
    gater.loss_ = gater.history_[-1]["criterion"]
    return gater
