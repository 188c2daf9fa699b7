r"""The loop of hard mixtures (Algorithms 6.1 and 6.2), as a learner of the training loop.

An iteration trains the experts on their subsets, then the gater with the experts fixed, and then
gives every example to the expert that the gater believes most and that has room. With
log P(y, k | x) of all experts, or log P(y, x, k) where the gater has densities, the criteria are

.. math:: J(\theta, e) = -\sum_l \log P(y_l, k_l | x_l) \;\ge\;
          -\sum_l \log \sum_k P(y_l, k | x_l) = \mathcal L(\theta)

for the expert :math:`k_l` of each example: (6.6) and (6.7).
"""

import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.parallel import delayed

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.mixtures.gaters.gater import Gater, UniformGater
from widemargin.mixtures.hard.example_block import Share, noise_of
from widemargin.mixtures.hard.experts import Experts, Subset, fit_expert, in_parallel
from widemargin.mixtures.hard.partition import assign, capacity
from widemargin.mixtures.hard.targets import Goal
from widemargin.training.control import interrupt_flag
from widemargin.training.loop import Tally
from widemargin.training.model import Examples

__all__ = ["MixtureLearner", "MixtureState", "Setting"]


@dataclass(frozen=True)
class Setting:
    """What stays the same over the iterations."""

    template: Any  # an unfitted expert
    labels: ArrayLike  # y as experts see it
    classes: ArrayLike  # None for a regression
    criterion: str
    platt: bool  # margins of experts become probabilities
    posterior: bool  # whether the class of an example has a say where it goes
    limit: float | None  # of the room of an expert, times L/K
    gater_rows: int | None  # that train a global gater; None: all
    tolerance: float  # of gates that are taken for zero
    n_jobs: int | None
    seed: int
    deadline: float

    def expert_seeds(self, n_experts: int) -> IntArray:
        return np.random.RandomState(self.seed).randint(2**31 - 1, size=n_experts)

    def listens_to_all(self, gater: Gater) -> bool:
        """Whether what experts say of every example is needed, not of `gater_rows` only."""
        return self.gater_rows is None or gater.local or self.posterior


@dataclass
class MixtureState:
    """What training changes."""

    experts: list[Any]
    gater: Gater
    partition: IntArray  # the subset of each training example that the experts were trained on
    next_partition: IntArray
    iteration: int = 0


class MixtureLearner:
    """Trains a `MixtureState`; an epoch of the training loop is an iteration."""

    def __init__(
        self, examples: Examples, state: MixtureState, goal: Goal, setting: Setting
    ) -> None:
        self.examples, self.state, self.setting = examples, state, setting
        self.order, self.n_experts = examples.order, len(state.experts)
        self.rows_per_call = len(self.order)
        self.share, self.goal = Share(examples.X, goal, examples.weights), goal
        if len(self.order) < examples.X.shape[0]:
            self.share = self.share.take(self.order)
        self.facts: dict[str, float] = {}

    # ------------------------------------------------------------------------- one iteration

    def visit(self, order: IntArray, rate: float) -> Tally:
        state, partition = self.state, self.state.next_partition
        self.facts = {}
        with self._timed("experts"):
            experts = self._train(partition)
        gater = state.gater.successor(self.setting.deadline - time.perf_counter())
        rows = self._gater_rows(gater)
        share, own = self.share, partition[rows]
        if len(rows) < len(share):
            share = share.take(rows)
        heard = self._experts(experts)
        with self._timed("outputs"):
            outputs = share.outputs(heard)
        noise = None
        if share.goal.kind == "value" and gater.local:
            noise = noise_of(share.own_squares(outputs, own), share.goal)
        log_p = share.log_p(outputs, noise)
        with self._timed("gater"), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the next iteration goes on
            gater.fit(
                share.X,
                outputs=outputs,
                targets=share.goal.targets,
                partition=own,
                criterion=self.setting.criterion,
                sample_weight=share.weights,
            )
        if hasattr(gater, "time_limit"):
            gater.set_params(time_limit=state.gater.time_limit)  # its own, for the next fit
        joint = gater.log_joint(self.share.X)  # log P(k | x), or log P(x, k)
        self.state = MixtureState(experts, gater, partition, partition, state.iteration + 1)
        tally, facts = share.measure(
            outputs, log_p, joint[rows], own, heard, self.setting.tolerance
        )
        self.facts |= facts
        with self._timed("assignment"):
            scores = joint
            if self.setting.posterior and log_p is not None:
                scores = joint + log_p
            following = partition
            if not isinstance(gater, UniformGater):  # which prefers no expert
                room = capacity(len(self.order), self.n_experts, self.setting.limit)
                following = assign(scores, np.full(self.n_experts, room))
        self.state.next_partition = following
        return tally._replace(updates=int(np.count_nonzero(following != partition)))

    @contextmanager
    def _timed(self, phase: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.facts[f"{phase}_seconds"] = time.perf_counter() - start

    def _train(self, partition: IntArray) -> list[Any]:
        """Step 2: the experts, each on its subset, in parallel."""
        setting, former = self.setting, self.state.experts
        seeds = setting.expert_seeds(self.n_experts)
        X, weights = self.examples.X, self.examples.weights
        kind = {"classification": setting.classes is not None, "platt": setting.platt}
        by_expert = self.order[np.argsort(partition, kind="stable")]
        ends = np.cumsum(np.bincount(partition, minlength=self.n_experts))

        def calls(interrupted: threading.Event) -> Iterator[Any]:
            """A stopped fit keeps former experts, if there are any; workers get their rows only."""
            for k in range(self.n_experts):
                rows = by_expert[ends[k - 1] if k else 0 : ends[k]]
                stopped = interrupted.is_set() or time.perf_counter() > setting.deadline
                subset = None
                if former[k] is None or (len(rows) and not stopped):
                    own = None if weights is None else weights[rows]
                    subset = Subset(X[rows], setting.labels[rows], own, int(seeds[k]), **kind)
                yield delayed(fit_expert)(setting.template, subset, former[k])

        with interrupt_flag() as interrupted:
            return in_parallel(calls(interrupted), setting.n_jobs)

    def _experts(self, members: list[Any]) -> Experts:
        goal, setting = self.goal, self.setting
        return Experts(members, goal.kind, setting.classes, goal.n_columns, setting.n_jobs)

    def _gater_rows(self, gater: Gater) -> IntArray:
        """The examples whose outputs are needed: all, or some that train a global gater."""
        count, most = len(self.order), self.setting.gater_rows
        if most is None or most >= count or self.setting.listens_to_all(gater):
            return np.arange(count)
        random = np.random.RandomState((self.setting.seed + self.state.iteration) % 2**32)
        return np.sort(random.choice(count, most, replace=False))

    # --------------------------------------------------------------------------- of the loop

    def scores(self, X: ArrayLike) -> FloatArray:
        """The mixture's outputs, a row an example."""
        gates = self.state.gater.gates(X)
        return self._experts(self.state.experts).mixture(X, gates, self.setting.tolerance)

    def validate(self) -> tuple[float, float] | None:
        examples, goal = self.examples, self.goal
        if examples.X_val is None or examples.y_val is None:
            return None
        held = Goal(goal.kind, goal.n_classes, examples.y_val, goal.error_scale)
        values, wrong = held.misses(self.scores(examples.X_val))
        weights = examples.weights_val
        mean = np.average(values, weights=weights), np.average(wrong, weights=weights)
        return float(mean[0]), float(mean[1])

    def margin(self) -> float | None:
        return None

    def measures(self, criterion: float) -> dict[str, float]:
        return self.facts

    def snapshot(self) -> MixtureState:
        return self.state  # an iteration makes a new one

    def restore(self, state: MixtureState) -> None:
        self.state = state

    def attributes(self) -> dict[str, Any]:
        state = self.state
        partition = np.full(self.examples.X.shape[0], -1)
        partition[self.order] = state.partition
        return {
            "experts_": state.experts,
            "gater_": state.gater,
            "partition_": partition,
            "n_experts_": self.n_experts,
            "_next_partition": state.next_partition,
            "_speech": (self.goal.kind, self.goal.n_columns),
        }
