"""How committees are trained: the learner that the training loop drives, and their criterion."""

from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from typing import Any

import numpy as np
import scipy.sparse as sp

from widemargin import _core
from widemargin._typing import FloatArray, IntArray
from widemargin.inputs.labels import example_errors
from widemargin.inputs.packing import CoreRows
from widemargin.mlp.committee_state import (
    EXTRA_ROWS,
    UNITS,
    CommitteeRows,
    CommitteeState,
    front_of,
    scores_of_parts,
)
from widemargin.training.estimators import Examples
from widemargin.training.loop import Tally

PRODUCTS_PER_CALL = 500_000_000  # of a unit's weight and an input: some 50 ms of native work
LATE = 8.0  # how much later epochs count in the mean of the weights


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
        threads: int,
        lock_free: bool,
        visited: int,
    ) -> None:
        self.examples, self.state, self.order = examples, state, examples.order
        self.units, self.targets, self.beta = units, targets, margin
        self.fit_intercept, self.average = fit_intercept, average
        self.dropout, self.seed = dropout, seed
        self.threads, self.lock_free = threads, lock_free
        layers = [
            (v[..., :-EXTRA_ROWS, :], v[..., -EXTRA_ROWS, :])
            for v in (state.v, state.mean_v)
            if v is not None
        ]
        state.scaling.update(examples.X, examples.order, examples.weights, layers)
        state.front = front_of(examples.X)
        self.layout = CommitteeRows(state.scaling, state.front)
        self.rows, self.mean, self.scale = self.layout.lay_out(examples.X)
        self.held_out: list[CoreRows] | None = None  # validation rows, laid out when first needed
        self.v = self.layout.units_to_core(state.v)
        if not average:
            state.mean_v = state.mean_b = None
        elif state.mean_v is None:
            state.mean_v, state.mean_b = state.v.copy(), state.b.copy()
        committees, outputs = state.b.shape
        stored = examples.X.nnz if sp.issparse(examples.X) else np.count_nonzero(examples.X)
        per_row = stored / examples.X.shape[0] + EXTRA_ROWS
        products = committees * outputs * state.units * per_row
        self.rows_per_call = max(1, int(PRODUCTS_PER_CALL / products))
        self.visited = visited  # examples of this epoch
        self.active = self.reached = 0

    def begin(self, size: float) -> None:
        """Weights and biases of all units, uniform on ±size."""
        state = self.state
        committees, outputs = state.b.shape
        v = state.v.reshape(committees, outputs, state.blocks, -1, UNITS)
        for m in range(committees):
            rng = np.random.default_rng([self.seed, m])
            part = v[m, :, :, :-1]
            part[...] = rng.uniform(-size, size, part.shape) * state.alive[:, None]
        self.v = self.layout.units_to_core(state.v)

    def mean_squared_norm(self) -> float:
        """The mean of ‖x̂‖² over the examples."""
        examples = self.examples
        return self.state.scaling.mean_squared_norm(examples.X, self.order, examples.weights)

    def visit(self, order: IntArray, rate: float) -> Tally:
        state, committees = self.state, len(self.state.b)
        at_once = min(self.threads, committees)

        def one(m: int) -> tuple[Any, ...]:
            mine = order
            if committees > 1:  # another order for each
                mine = order.copy()
                _core.shuffle(mine, self.seed + m, state.epochs)
            return _core.train_committees(
                self.rows,
                self.v[m],
                state.alive,
                state.b[m],
                order=mine,
                y=self.examples.y,
                weights=self.examples.weights,
                units=self.units,
                targets=self.targets,
                margin=self.beta,
                rate=rate,
                fit_intercept=self.fit_intercept,
                dropout=self.dropout,
                seed=self._draw(m),
                threads=max(1, self.threads // at_once),
                lock_free=self.lock_free,
                mean=self.mean,
                scale=self.scale,
            )

        if at_once == 1:
            counts = [one(m) for m in range(committees)]
        else:
            with ThreadPoolExecutor(at_once) as pool:
                counts = list(pool.map(one, range(committees)))
        updates, criterion, errors, weight, active, reached = map(sum, zip(*counts, strict=True))
        self.active, self.reached = self.active + active, self.reached + reached
        state.updates += updates
        self.visited += len(order)
        if self.visited >= len(self.order):
            self._end_epoch()
        return Tally(updates, criterion / committees, errors / committees, weight / committees)

    def _draw(self, m: int) -> int:
        """A seed of what dropout leaves out, for one call of the core."""
        words = [self.seed, m, self.state.epochs, self.visited]
        return int(np.random.SeedSequence(words).generate_state(1, np.uint64)[0])

    def _end_epoch(self) -> None:
        """After T epochs the mean gives epoch t a weight of about (t/T)^LATE."""
        state, self.visited = self.state, 0
        state.epochs += 1
        if self.average and state.mean_v is not None and state.mean_b is not None:
            part = (LATE + 1.0) / (LATE + state.epochs)
            state.mean_v += np.float32(part) * (self.layout.units_from_core(self.v) - state.mean_v)
            state.mean_b += part * (state.b - state.mean_b)

    def validate(self) -> tuple[float, float] | None:
        X, y, weights = self.examples.X_val, self.examples.y_val, self.examples.weights_val
        if X is None or y is None:
            return None
        self._keep()
        if self.held_out is None:
            self.held_out = list(self.layout.parts(X))
        f = scores_of_parts(self.held_out, self.layout, self.state, self.units, self.threads)
        values = margin_criterion(f, y, self.targets, self.beta)
        wrong = example_errors(f, y)
        return float(np.average(values, weights=weights)), float(np.average(wrong, weights=weights))

    def margin(self) -> float:
        """ρ = 2β/√N."""
        return float(2.0 * self.beta / np.sqrt(self.state.units))

    def measures(self, criterion: float) -> dict[str, float]:
        """The part of the units that updates moved."""
        spare = self.state.blocks * UNITS / self.state.units  # places are counted as reached
        part = spare * self.active / self.reached if self.reached else 0.0
        self.active = self.reached = 0
        return {"units_active": float(part)}

    def _keep(self) -> None:
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
            "margin_": self.margin(),
            "n_updates_": self.state.updates,
        }


def margin_criterion(f: FloatArray, y: FloatArray, targets: str, beta: float) -> FloatArray:
    """|β − margin|₊ of each example."""
    if targets == "binary":
        return np.maximum(0.0, beta - y * f[:, 0])
    own = y[:, None] == np.arange(f.shape[1])
    if targets == "one_against_rest":
        return np.asarray(np.maximum(0.0, beta - np.where(own, f, -f)).sum(axis=1))
    other = np.where(own, -np.inf, f).max(axis=1)
    return np.asarray(np.maximum(0.0, beta - (f[own] - other)))
