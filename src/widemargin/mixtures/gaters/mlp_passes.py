"""Training an `MLPGater` on examples in several blocks, one pass over one block at a time.

Every function is pure: a pass that is repeated elsewhere gives the same weights.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from widemargin._typing import FloatArray
from widemargin.inputs.scaling import Scaling
from widemargin.mixtures.gaters.mlp import MixedExamples, MLPGater
from widemargin.training.loop import Plan, Tally, epoch_order, run_epoch

__all__ = ["EpochSpan", "GaterCopy", "averaged", "finished", "initialized", "pass_over"]

EMPTY_TALLY = Tally(0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class GaterCopy:
    """A gater in training, and the sums over the examples that it has visited in this epoch."""

    gater: MLPGater
    tally: Tally = EMPTY_TALLY


@dataclass(frozen=True)
class EpochSpan:
    """The place of a block in an epoch: after the first `done` of `total` examples."""

    epoch: int
    done: int
    total: int


def initialized(gater: MLPGater, n_experts: int, statistics: Scaling) -> MLPGater:
    """A gater with initial weights, or its last ones, for inputs with known statistics."""
    row = statistics.mean[None]
    if gater._can_resume(row, n_experts):
        return gater
    gater = deepcopy(gater)
    gater._forget()
    gater.n_experts_, gater.n_features_in_ = n_experts, row.shape[1]
    outputs = np.zeros((1, n_experts, 1), dtype=np.float32)
    examples = MixedExamples(row, np.zeros((1, 1)), None, np.arange(1), experts=outputs)
    learner = gater._learner(examples, resume=False)
    learner.state.scaling = replace(statistics, kind=gater.scaling, fixed=True)
    gater.__dict__.update(learner.attributes())
    return gater


def pass_over(copy: GaterCopy, examples: MixedExamples, span: EpochSpan) -> GaterCopy:
    """Visits the examples of a block once, in random order."""
    gater = deepcopy(copy.gater)
    learner = gater._learner(examples, resume=True)
    plan = Plan(gater.max_iter, gater._schedule(gater.max_iter), first_epoch=gater._epochs_done)
    epoch = gater._epochs_done + span.epoch
    order = epoch_order(learner.order, gater._seed() if gater.shuffle else None, epoch)

    def rate(visited: int) -> float:
        return plan.rate_after(epoch, span.done + visited, span.total)

    tally, _ = run_epoch(learner, order, rate)
    gater.__dict__.update(learner.attributes())
    return GaterCopy(gater, copy.tally + tally)


def averaged(copies: Sequence[GaterCopy]) -> GaterCopy:
    """The mean of the copies at the end of an epoch, by the total weight of their examples."""
    gater = deepcopy(copies[0].gater)
    tally = sum((copy.tally for copy in copies[1:]), start=copies[0].tally)
    weight = tally.weight or 1.0
    if len(copies) > 1:
        fractions = np.array([copy.tally.weight for copy in copies]) / weight
        states = [copy.gater._state for copy in copies]
        gater._parameters = _mean([copy.gater._parameters for copy in copies], fractions)
        for name in ("first", "second"):
            gater._state[name] = _mean([state[name] for state in states], fractions)
        gater._state["steps"] = max(state["steps"] for state in states)
    record = {"epoch": len(gater.history_), "criterion": tally.criterion / weight}
    gater.history_ = [*gater.history_, record | {"error": tally.errors / weight}]
    return GaterCopy(gater)


def _mean(arrays: Sequence[NDArray[np.floating]], fractions: FloatArray) -> NDArray[np.floating]:
    total = np.zeros(arrays[0].shape)
    for array, fraction in zip(arrays, fractions, strict=True):
        total += fraction * array
    return total.astype(arrays[0].dtype)


def finished(copy: GaterCopy, epochs: int) -> MLPGater:
    """The gater after the epochs of a fit."""
    gater = deepcopy(copy.gater)
    gater._epochs_done += epochs
    gater.n_iter_ = gater.best_iter_ = epochs
    gater.converged_, gater.stop_reason_ = False, "max_iter"
    gater.loss_ = gater.history_[-1]["criterion"]
    return gater
