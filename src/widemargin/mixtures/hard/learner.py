r"""The loop of hard mixtures (Algorithms 6.1 and 6.2), as a learner of the training loop.

An iteration trains the experts on their subsets, then the gater with the experts fixed. Then it
assigns every example to the expert with room that the gater prefers. With log P(y, k | x) of all
experts, or log P(y, x, k) if the gater has densities, the criteria are

.. math:: J(\theta, e) = -\sum_l \log P(y_l, k_l | x_l) \;\ge\;
          -\sum_l \log \sum_k P(y_l, k | x_l) = \mathcal L(\theta)

for the expert :math:`k_l` of each example: (6.6) and (6.7).
"""

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.parallel import delayed

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.inputs.threads import thread_count
from widemargin.kernels import UnscaledInputsWarning
from widemargin.mixtures.gaters.cells import CellGater
from widemargin.mixtures.gaters.gater import Gater
from widemargin.mixtures.hard.example_block import ExampleBlock, error_variances
from widemargin.mixtures.hard.experts import Experts, Subset, fit_expert, in_parallel
from widemargin.mixtures.hard.partition import assign, subset_limit
from widemargin.mixtures.hard.targets import Targets
from widemargin.training.control import interrupt_flag
from widemargin.training.loop import Halted, Tally
from widemargin.training.model import Examples
from widemargin.training.time_limit import current_limit, fixed_shares, now

__all__ = ["MixtureLearner", "MixtureSettings", "MixtureState", "OutOfTime", "Stopwatch"]

# Of the time that is left when a phase begins, what it may take; the rest is for later phases.
EXPERTS_SHARE, OUTPUTS_SHARE, GATER_SHARE = 0.55, 0.4, 0.6
ASSIGNMENT_EFFORT = 2.0  # of assigning examples, relative to their gates
MEASURED_ROWS = 20_000  # that measure a mixture whose gater needs no outputs
TIMED_ROWS = 500  # whose outputs tell how many rows there is time for


class OutOfTime(Halted):
    """There is no time for another iteration."""

    reason = "time_limit"


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
        start = now()
        yield
        self.seconds[f"{name}_seconds"] = now() - start


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
        self.seconds = 0.0  # of the last iteration

    # ------------------------------------------------------------------------- one iteration

    def visit(self, order: IntArray, rate: float) -> Tally:
        if self.seconds > current_limit().left:
            raise OutOfTime
        if isinstance(self.state.gater, CellGater):
            return self._train_cells(self.state.gater)
        begun = now()
        state, settings, partition = self.state, self.settings, self.state.next_partition
        watch = Stopwatch()
        with watch.phase("experts"):
            members = self._train(partition)
        experts = self._experts(members)
        with watch.phase("outputs"):
            rows, block, outputs = self._outputs(experts)
        own = partition[rows]
        variances = None
        if block.targets.output_kind == "value" and state.gater.local:
            sums = block.own_squared_errors(outputs, own)
            variances = error_variances(sums, block.targets)
        log_p = block.log_likelihoods(outputs, variances)
        gater = state.gater.copy()
        with watch.phase("gater"), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the next iteration continues
            gater.fit_within(
                GATER_SHARE * current_limit().left,
                block.X,
                outputs=outputs,
                targets=block.targets.columns,
                partition=own,
                criterion=settings.criterion,
                sample_weight=block.weights,
            )
        self.state = MixtureState(members, gater, partition, partition, state.iteration + 1)
        some, log_joint = self._log_joint(gater, rows, block)  # log P(k | x), or log P(x, k)
        tally, measures = block.measure(outputs, log_p, some, own, experts, settings.gate_tolerance)
        if log_joint is None:  # there is no time for another iteration
            moved = np.count_nonzero(some.argmax(axis=1) != own)
        else:
            with watch.phase("assignment"):
                self.state.next_partition = self._assign(log_joint, log_p)
            moved = np.count_nonzero(self.state.next_partition != partition)
        self.iteration_measures = watch.seconds | measures
        self.seconds = np.inf if log_joint is None else now() - begun
        return tally._replace(updates=int(moved))

    def _train_cells(self, gater: CellGater) -> Tally:
        """One iteration with a gater that has divided the examples: its experts, and a measure."""
        state, watch, partition = self.state, Stopwatch(), self.state.partition
        with watch.phase("experts"):
            also = gater.neighbours(self.block.X, partition) if gater.overlap > 0 else None
            members = self._train(partition, also)
        self.state = MixtureState(members, gater, partition, partition, state.iteration + 1)
        count = min(len(self.block), MEASURED_ROWS, self.settings.gater_rows or MEASURED_ROWS)
        random = np.random.RandomState(self.settings.seed)
        block = self.block.take(np.sort(random.permutation(len(self.block))[:count]))
        with watch.phase("outputs"):
            outputs = self.scores(block.X)
        if block.targets.output_kind == "probability":
            outputs /= outputs.sum(axis=1, keepdims=True)
        values, errors = block.targets.criterion_and_errors(outputs)
        weights = block.weights_or_ones
        self.iteration_measures = watch.seconds
        return Tally(0, float(weights @ values), float(weights @ errors), float(weights.sum()))

    def _log_joint(
        self, gater: Gater, rows: IntArray, block: ExampleBlock
    ) -> tuple[FloatArray, FloatArray | None]:
        """Of the gater's examples, and of all of them if there is time to assign them."""
        limit = current_limit()
        if not limit.finite or len(rows) == len(self.block):
            everything = gater.log_joint(self.block.X)
            return everything[rows], everything
        begun = now()
        some = gater.log_joint(block.X)
        predicted = ASSIGNMENT_EFFORT * (now() - begun) * len(self.block) / len(rows)
        return some, gater.log_joint(self.block.X) if predicted < limit.left else None

    def _outputs(self, experts: Experts) -> tuple[IntArray, ExampleBlock, NDArray[np.float32]]:
        """The experts' outputs: for the gater's examples, or as many as there is time for."""
        rows, limit = self._gater_rows(self.state.gater), current_limit()
        if limit.finite and len(rows) > TIMED_ROWS:
            random = np.random.RandomState((self.settings.seed + self.state.iteration) % 2**32)
            order, begun = random.permutation(rows), now()
            self.block.take(np.sort(order[:TIMED_ROWS])).outputs(experts)
            each = (now() - begun) / TIMED_ROWS
            X_val = self.examples.X_val
            scored = 0 if X_val is None else X_val.shape[0]  # after this iteration
            most = int(OUTPUTS_SHARE * limit.left / max(each, 1e-12)) - scored
            if most < len(rows):
                rows = np.sort(order[: max(most, TIMED_ROWS)])
        block = self.block if len(rows) == len(self.block) else self.block.take(rows)
        return rows, block, block.outputs(experts)

    def _train(self, partition: IntArray, also: list[IntArray] | None = None) -> list[Any]:
        """Step 2: the experts in parallel, each on its subset and perhaps on others' examples."""
        settings, former = self.settings, self.state.experts
        seeds = settings.expert_seeds(self.n_experts)
        X, weights = self.examples.X, self.examples.weights
        kind = {"classification": settings.classes is not None, "platt": settings.platt}
        by_expert = self.order[np.argsort(partition, kind="stable")]
        ends = np.cumsum(np.bincount(partition, minlength=self.n_experts))

        limit = current_limit()
        sizes = np.diff(ends, prepend=0).tolist()
        shares = fixed_shares(sizes, EXPERTS_SHARE * limit.left, thread_count(settings.n_jobs))

        def calls(interrupted: threading.Event) -> Iterator[Any]:
            """Sends each worker the rows of its expert only; a stopped fit keeps old experts."""
            for k in range(self.n_experts):
                rows = by_expert[ends[k - 1] if k else 0 : ends[k]]
                if also is not None:
                    rows = np.concatenate([rows, self.order[also[k]]])
                stopped = interrupted.is_set() or limit.left == 0.0
                subset = None
                if former[k] is None or (len(rows) and not stopped):
                    own = None if weights is None else weights[rows]
                    subset = Subset(X[rows], settings.labels[rows], own, int(seeds[k]), **kind)
                yield delayed(fit_expert)(settings.expert, subset, former[k], shares[k])

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
            if len(log_p) < len(log_joint):  # there was no time for all
                return self.state.partition
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
