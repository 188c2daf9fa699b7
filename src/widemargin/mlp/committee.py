"""The learner that trains committees; the training loop drives it."""

from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from typing import Any

import numpy as np

from widemargin import _core
from widemargin._typing import IntArray
from widemargin.criteria import Margin
from widemargin.inputs.packing import CoreRows
from widemargin.inputs.threads import thread_count
from widemargin.mlp.committee_state import (
    UNITS_PER_PANEL,
    CommitteeRows,
    CommitteeState,
    chunk_scores,
    front_columns,
)
from widemargin.training.estimators import Examples
from widemargin.training.loop import Tally
from widemargin.training.outputs import evaluate

OPERATIONS_PER_CALL = 500_000_000  # products of a weight and an input per call, about 50 ms
OPERATIONS_PER_THREAD = 50_000  # products per example that make another thread worthwhile
LATE_EPOCHS = 8.0  # power of t/T in the weight of epoch t in the mean over T epochs


class CommitteeLearner:
    """Trains a `CommitteeState`; see `widemargin.training.loop.Learner`."""

    def __init__(
        self,
        examples: Examples,
        state: CommitteeState,
        *,
        units: str,
        targets: str,
        margin: float,
        fit_intercept: bool,
        average: bool,
        dropout: float,
        seed: int,
        n_jobs: int | None,
        visited: int,
    ) -> None:
        self.examples, self.state, self.order = examples, state, examples.order
        self.units, self.targets, self.beta = units, targets, margin
        self.fit_intercept, self.average = fit_intercept, average
        self.dropout, self.seed = dropout, seed
        state.scaling.update(examples.X, examples.order, examples.weights, state.first_layers)
        state.mean_weight.add(examples.order, examples.weights)
        self.weights = state.mean_weight.relative(len(examples.y), examples.weights)
        state.front = front_columns(examples.X)
        self.layout = CommitteeRows(state.scaling, state.front)
        self.rows, self.mean, self.scale = self.layout.lay_out(examples.X)
        self.validation_rows: list[CoreRows] | None = None  # laid out when first needed
        self.v = self.layout.units_to_core(state.v)
        if not average:
            state.mean_v = state.mean_b = None
        elif state.mean_v is None:
            state.mean_v, state.mean_b = state.v.copy(), state.b.copy()
        committees, operations = len(state.b), state.operations_per_row(examples.X)
        self.rows_per_call = max(1, int(OPERATIONS_PER_CALL / (committees * operations)))
        useful_threads = committees * max(1.0, operations / OPERATIONS_PER_THREAD)
        self.threads = thread_count(n_jobs, useful_threads)
        self.visited = visited  # examples of this epoch
        self.moved_units = self.counted_units = 0  # in the updates of this epoch

    def initialize(self, size: float) -> None:
        """Draws weights and biases of all units from the uniform distribution on ±size."""
        state = self.state
        for m, v in enumerate(state.by_output[:, :, :, :-1]):
            rng = np.random.default_rng([self.seed, m])
            v[...] = rng.uniform(-size, size, v.shape) * state.unit_mask[:, None]
        self.v = self.layout.units_to_core(state.v)

    def mean_squared_norm(self) -> float:
        """The mean of ‖x̂‖² over the examples."""
        examples = self.examples
        return self.state.scaling.mean_squared_norm(examples.X, self.order, examples.weights)

    def visit(self, order: IntArray, rate: float) -> Tally:
        state, committees = self.state, len(self.state.b)
        in_parallel = min(self.threads, committees)

        def train(m: int) -> tuple[Any, ...]:
            own_order = order
            if committees > 1:
                own_order = order.copy()
                _core.shuffle(own_order, self.seed + m, state.epochs)
            return _core.train_committees(
                self.rows,
                self.v[m],
                state.unit_mask,
                state.b[m],
                order=own_order,
                y=self.examples.y,
                weights=self.weights,
                units=self.units,
                targets=self.targets,
                margin=self.beta,
                rate=rate,
                fit_intercept=self.fit_intercept,
                dropout=self.dropout,
                seed=self._dropout_seed(m),
                threads=max(1, self.threads // in_parallel),
                mean=self.mean,
                scale=self.scale,
            )

        if in_parallel == 1:
            sums = [train(m) for m in range(committees)]
        else:
            with ThreadPoolExecutor(in_parallel) as pool:
                sums = list(pool.map(train, range(committees)))
        updates, criterion, errors, weight, moved, counted = map(sum, zip(*sums, strict=True))
        self.moved_units, self.counted_units = (
            self.moved_units + moved,
            self.counted_units + counted,
        )
        state.updates += updates
        self.visited += len(order)
        if self.visited >= len(self.order):
            self._end_epoch()
        return Tally(updates, criterion / committees, errors / committees, weight / committees)

    def _dropout_seed(self, m: int) -> int:
        """The seed of dropout for one call of the core."""
        words = [self.seed, m, self.state.epochs, self.visited]
        return int(np.random.SeedSequence(words).generate_state(1, np.uint64)[0])

    def _end_epoch(self) -> None:
        """After T epochs, the weight of epoch t in the mean is about (t/T)^LATE_EPOCHS."""
        state, self.visited = self.state, 0
        state.epochs += 1
        if self.average and state.mean_v is not None and state.mean_b is not None:
            share = (LATE_EPOCHS + 1.0) / (LATE_EPOCHS + state.epochs)
            state.mean_v += np.float32(share) * (self.layout.units_from_core(self.v) - state.mean_v)
            state.mean_b += share * (state.b - state.mean_b)

    def validate(self) -> tuple[float, float] | None:
        X, y, weights = self.examples.X_val, self.examples.y_val, self.examples.weights_val
        if X is None or y is None:
            return None
        self._keep()
        if self.validation_rows is None:
            self.validation_rows = list(self.layout.chunks(X))
        rows, layout = self.validation_rows, self.layout
        scores = chunk_scores(rows, layout, self.state, self.units, self.threads)
        joint = self.targets == "best_other"
        return evaluate(scores, y, weights, Margin(self.beta), joint=joint)

    def geometric_margin(self) -> float:
        """2β/√N in the space of the votes."""
        return float(2.0 * self.beta / np.sqrt(self.state.units))

    def measures(self, criterion: float) -> dict[str, float]:
        """The fraction of units of updated committees that were moved."""
        places = self.state.panels * UNITS_PER_PANEL  # the core counts unused places too
        counted = self.counted_units * self.state.units / places
        fraction = self.moved_units / counted if counted else 0.0
        self.moved_units = self.counted_units = 0
        return {"units_active": float(fraction)}

    def _keep(self) -> None:
        """Brings the state up to date with the core's arrays."""
        self.state.v = self.layout.units_from_core(self.v)

    def snapshot(self) -> CommitteeState:
        self._keep()
        return deepcopy(self.state)

    def restore(self, state: CommitteeState) -> None:
        self.state = deepcopy(state)
        self.v = self.layout.units_to_core(self.state.v)

    def attributes(self) -> dict[str, Any]:
        self._keep()
        return {
            "_state": self.state.to_dict(),
            "geometric_margin_": self.geometric_margin(),
            "n_updates_": self.state.updates,
        }
