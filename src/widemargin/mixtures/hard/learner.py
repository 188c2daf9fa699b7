r"""The loop of hard mixtures (Algorithms 6.1 and 6.2), as a learner of the training loop.

An iteration trains the experts on their subsets, then the gater with the experts fixed. Then it
assigns every example to the expert with room that the gater prefers. With log P(y, k | x) of all
experts, or log P(y, x, k) if the gater has densities, the criteria are

.. math:: J(\theta, e) = -\sum_l \log P(y_l, k_l | x_l) \;\ge\;
          -\sum_l \log \sum_k P(y_l, k | x_l) = \mathcal L(\theta)

for the expert :math:`k_l` of each example: (6.6) and (6.7).
"""

import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.parallel import delayed

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.kernels import UnscaledInputsWarning
from widemargin.mixtures.gaters.gater import Gater
from widemargin.mixtures.hard.example_block import ExampleBlock, error_variances
from widemargin.mixtures.hard.experts import Experts, Subset, fit_expert, in_parallel
from widemargin.mixtures.hard.partition import assign, subset_limit
from widemargin.mixtures.hard.targets import Targets
from widemargin.training.control import interrupt_flag
from widemargin.training.loop import Tally
from widemargin.training.model import Examples

__all__ = ["MixtureLearner", "MixtureSettings", "MixtureState", "Stopwatch"]


@dataclass(frozen=True)
class MixtureSettings:
    """What stays the same over the iterations."""

    expert: Any  # the estimator that all experts are clones of
    labels: ArrayLike  # y as experts see it
    classes: ArrayLike  # None for regression
    criterion: str
    platt: bool  # whether Platt's sigmoid makes probabilities of the experts' margins
    posterior: bool  # whether examples are assigned by P(k | x, y), which knows the target
    balance: float | None  # limit on the size of a subset, times L/K
    gater_rows: int | None  # examples that train a global gater; None means all
    gate_tolerance: float  # sum of the gates that a prediction may leave out
    n_jobs: int | None
    seed: int
    deadline: float  # of time.perf_counter

    def expert_seeds(self, n_experts: int) -> IntArray:
        return np.random.RandomState(self.seed).randint(2**31 - 1, size=n_experts)

    def needs_all_outputs(self, gater: Gater) -> bool:
        """Whether the experts' outputs are needed for every example, not only for `gater_rows`."""
        return self.gater_rows is None or gater.local or self.posterior


@dataclass
class MixtureState:
    """What training changes."""

    experts: list[Any]
    gater: Gater
    partition: IntArray  # the subset of each training example that the experts were trained on
    next_partition: IntArray
    iteration: int = 0


class Stopwatch:
    """Seconds of the phases of an iteration."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[f"{name}_seconds"] = time.perf_counter() - start


class MixtureLearner:
    """Trains a `MixtureState`; an epoch of the training loop is one iteration."""

    def __init__(
        self,
        examples: Examples,
        state: MixtureState,
        targets: Targets,
        settings: MixtureSettings,
    ) -> None:
        self.examples, self.state, self.settings = examples, state, settings
        self.order, self.n_experts = examples.order, len(state.experts)
        self.rows_per_call = len(self.order)
        self.block, self.targets = ExampleBlock(examples.X, targets, examples.weights), targets
        if len(self.order) < examples.X.shape[0]:
            self.block = self.block.take(self.order)
        self.iteration_measures: dict[str, float] = {}

    # ------------------------------------------------------------------------- one iteration

    def visit(self, order: IntArray, rate: float) -> Tally:
        state, settings, partition = self.state, self.settings, self.state.next_partition
        watch = Stopwatch()
        with watch.phase("experts"):
            members = self._train(partition)
        rows = self._gater_rows(state.gater)
        block, own = self.block, partition[rows]
        if len(rows) < len(block):
            block = block.take(rows)
        experts = self._experts(members)
        with watch.phase("outputs"):
            outputs = block.outputs(experts)
        variances = None
        if block.targets.output_kind == "value" and state.gater.local:
            sums = block.own_squared_errors(outputs, own)
            variances = error_variances(sums, block.targets)
        log_p = block.log_likelihoods(outputs, variances)
        gater = state.gater.copy()
        with watch.phase("gater"), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the next iteration continues
            gater.fit_within(
                settings.deadline - time.perf_counter(),
                block.X,
                outputs=outputs,
                targets=block.targets.columns,
                partition=own,
                criterion=settings.criterion,
                sample_weight=block.weights,
            )
        log_joint = gater.log_joint(self.block.X)  # log P(k | x), or log P(x, k)
        self.state = MixtureState(members, gater, partition, partition, state.iteration + 1)
        tally, measures = block.measure(
            outputs, log_p, log_joint[rows], own, experts, settings.gate_tolerance
        )
        with watch.phase("assignment"):
            self.state.next_partition = self._assign(log_joint, log_p)
        self.iteration_measures = watch.seconds | measures
        moved = np.count_nonzero(self.state.next_partition != partition)
        return tally._replace(updates=int(moved))

    def _train(self, partition: IntArray) -> list[Any]:
        """Step 2: the experts, each on its subset, in parallel."""
        settings, former = self.settings, self.state.experts
        seeds = settings.expert_seeds(self.n_experts)
        X, weights = self.examples.X, self.examples.weights
        kind = {"classification": settings.classes is not None, "platt": settings.platt}
        by_expert = self.order[np.argsort(partition, kind="stable")]
        ends = np.cumsum(np.bincount(partition, minlength=self.n_experts))

        def calls(interrupted: threading.Event) -> Iterator[Any]:
            """Sends each worker the rows of its expert only; a stopped fit keeps old experts."""
            for k in range(self.n_experts):
                rows = by_expert[ends[k - 1] if k else 0 : ends[k]]
                stopped = interrupted.is_set() or time.perf_counter() > settings.deadline
                subset = None
                if former[k] is None or (len(rows) and not stopped):
                    own = None if weights is None else weights[rows]
                    subset = Subset(X[rows], settings.labels[rows], own, int(seeds[k]), **kind)
                yield delayed(fit_expert)(settings.expert, subset, former[k])

        quiet = warnings.catch_warnings(action="ignore", category=UnscaledInputsWarning)
        with quiet, interrupt_flag() as interrupted:
            return in_parallel(calls(interrupted), settings.n_jobs)

    def _experts(self, members: list[Any]) -> Experts:
        targets, settings = self.targets, self.settings
        return Experts(
            members, targets.output_kind, settings.classes, targets.n_columns, settings.n_jobs
        )

    def _gater_rows(self, gater: Gater) -> IntArray:
        """The examples whose outputs are needed: all, or those that train a global gater."""
        count, most = len(self.order), self.settings.gater_rows
        if most is None or most >= count or self.settings.needs_all_outputs(gater):
            return np.arange(count)
        random = np.random.RandomState((self.settings.seed + self.state.iteration) % 2**32)
        return np.sort(random.choice(count, most, replace=False))

    def _assign(self, log_joint: FloatArray, log_p: FloatArray | None) -> IntArray:
        """Step 4: the partition of the next iteration."""
        if not self.state.gater.reassigns:
            return self.state.partition
        scores = log_joint
        if self.settings.posterior and log_p is not None:
            scores = log_joint + log_p
        limit = subset_limit(len(self.order), self.n_experts, self.settings.balance)
        return assign(scores, np.full(self.n_experts, limit))

    # ------------------------------------------------------------------------ training loop

    def scores(self, X: ArrayLike) -> FloatArray:
        """The mixture's outputs, one row per example."""
        gates = self.state.gater.gates(X)
        experts = self._experts(self.state.experts)
        return experts.mixture(X, gates, self.settings.gate_tolerance)

    def validate(self) -> tuple[float, float] | None:
        examples = self.examples
        if examples.X_val is None or examples.y_val is None:
            return None
        targets = replace(self.targets, y=examples.y_val)
        values, errors = targets.criterion_and_errors(self.scores(examples.X_val))
        weights = examples.weights_val
        mean = np.average(values, weights=weights), np.average(errors, weights=weights)
        return float(mean[0]), float(mean[1])

    def geometric_margin(self) -> float | None:
        return None

    def measures(self, criterion: float) -> dict[str, float]:
        return self.iteration_measures

    def snapshot(self) -> MixtureState:
        return self.state  # each iteration makes a new one

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
            "_output_format": (self.targets.output_kind, self.targets.n_columns),
        }
