r"""Committees of units, :math:`f_k(x) = b_k + \sum_n h(v_{kn} \cdot \hat x + a_{kn})`, and how they
are trained.

Weights are float32, for inputs that are centred and scaled (the units' own steps are much larger
than its rounding); b and all sums over units are float64. The core keeps the weights in blocks of
units, input by input (cpp/widemargin/committee_problem.hpp); here they are in the order of the
inputs, in training in the order of the packed rows.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import gen_batches

from widemargin import _core
from widemargin._base import Examples
from widemargin._fit import Tally
from widemargin._inputs import Standardization, as_rows
from widemargin._linear_inputs import DENSITY_TO_PACK, filled, packed
from widemargin._typing import ArrayLike, FloatArray, IntArray

UNITS = _core.units_per_block
EXTRA_ROWS = 2  # of a block: the biases of its units, and what a pass needs
PRODUCTS_PER_CALL = 500_000_000  # of a unit's weight and an input: some 50 ms of native work
ROWS_AT_ONCE = 1 << 16  # whose outputs are computed together
LATE = 8.0  # how much later epochs count in the mean of the weights

Weights = NDArray[np.float32]


@dataclass
class CommitteeState:
    """What is trained: several committees of each class, whose outputs are added up."""

    v: Weights  # (committees, outputs * blocks, inputs + 2, UNITS)
    b: FloatArray  # (committees, outputs)
    units: int  # of a committee
    moments: Standardization
    block: NDArray[np.bool_]  # inputs that are mostly not zero
    scaled: bool = True  # whether inputs are divided by their deviations, not only centred
    epochs: int = 0
    mean_v: Weights | None = None  # of the weights over the epochs
    mean_b: FloatArray | None = None
    updates: int = 0

    @classmethod
    def zero(cls, committees: int, outputs: int, units: int, width: int) -> "CommitteeState":
        blocks = -(-units // UNITS)
        v = np.zeros((committees, outputs * blocks, width + EXTRA_ROWS, UNITS), dtype=np.float32)
        b, block = np.zeros((committees, outputs)), np.ones(width, dtype=bool)
        return cls(v, b, units, Standardization.empty(width), block)

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> "CommitteeState":
        return cls(**saved | {"moments": Standardization(**saved["moments"])})

    def to_dict(self) -> dict[str, Any]:
        """A copy as plain arrays and numbers."""
        return deepcopy(vars(self) | {"moments": vars(self.moments)})

    @property
    def scale(self) -> FloatArray:
        """What the inputs are divided by."""
        return self.moments.scale if self.scaled else np.ones_like(self.moments.mean)

    @property
    def blocks(self) -> int:
        return -(-self.units // UNITS)

    @property
    def alive(self) -> Weights:
        """1 for units, 0 for places behind the last one."""
        places = np.arange(self.blocks * UNITS) < self.units
        return places.reshape(self.blocks, UNITS).astype(np.float32)

    @property
    def model(self) -> tuple[Weights, FloatArray]:
        """v and b of the model: the last ones, or their means."""
        if self.mean_v is None or self.mean_b is None or self.epochs == 0:
            return self.v, self.b
        return self.mean_v, self.mean_b


def _aligned(shape: Sequence[int]) -> Weights:
    """Room that begins at a cache line."""
    size, line = int(np.prod(shape)), 64 // 4
    memory = np.empty(size + line, dtype=np.float32)
    start = -(memory.ctypes.data // 4) % line
    return memory[start : start + size].reshape(shape)


def block_of(X: ArrayLike) -> NDArray[np.bool_]:
    """The inputs that are mostly not zero: all of them, where packing is not worth it."""
    part = filled(X)
    worth = sp.issparse(X) or bool(part.mean() < DENSITY_TO_PACK)
    return part > 0.5 if worth else np.ones_like(part, dtype=bool)


class CommitteeRows:
    """How examples are laid out for committees: dense, or packed with a block of inputs."""

    def __init__(
        self, block: NDArray[np.bool_], mean: FloatArray | None, scale: FloatArray | None
    ) -> None:
        self.block, self.mean, self.scale = block, mean, scale
        self.inputs = np.argsort(~block, kind="stable")  # the input at each place

    def rows(self, X: ArrayLike) -> tuple[_core.Rows, dict[str, Any]]:
        """Examples in this layout, and the statistics to go with them."""
        rows = as_rows(X)
        if not sp.issparse(X) and self.block.all():
            return rows, {"mean": self.mean, "scale": self.scale}
        rows, _ = packed(rows, self.block, self.mean, self.scale)
        centre = None
        if self.mean is not None and self.scale is not None:
            centre = np.where(self.block, 0.0, self.mean / self.scale)[self.inputs]
        return rows, {"mean": centre, "scale": None}

    def to_core(self, v: Weights) -> Weights:
        """Weights in the order of the places."""
        placed = _aligned(v.shape)
        placed[..., :-EXTRA_ROWS, :] = v[..., self.inputs, :]
        placed[..., -EXTRA_ROWS:, :] = v[..., -EXTRA_ROWS:, :]
        return placed

    def from_core(self, v: Weights) -> Weights:
        back = np.empty_like(v)
        back[..., self.inputs, :] = v[..., :-EXTRA_ROWS, :]
        back[..., -EXTRA_ROWS:, :] = v[..., -EXTRA_ROWS:, :]
        return back


def committee_scores(
    X: ArrayLike, state: CommitteeState, units: str, centred: bool, threads: int
) -> FloatArray:
    """The mean over the committees of f, one column an output."""
    v, b = state.model
    layout = CommitteeRows(state.block, *statistics_of(state, centred))
    v, total = layout.to_core(v), np.zeros((X.shape[0], b.shape[1]))
    for part in gen_batches(X.shape[0], ROWS_AT_ONCE):
        rows, statistics = layout.rows(X[part])
        out = np.empty((rows.shape[0], b.shape[1]))
        for v_m, b_m in zip(v, b, strict=True):
            _core.committee_scores(
                rows,
                v_m,
                state.alive,
                b_m.copy(),
                units=units,
                out=out,
                threads=threads,
                **statistics,
            )
            total[part] += out / len(b)
    return total


class CommitteeLearner:
    """Trains a `CommitteeState`; see `widemargin._fit.Learner`."""

    def __init__(
        self,
        examples: Examples,
        state: CommitteeState,
        *,
        units: str,
        targets: str,
        margin: float,
        fit_intercept: bool,
        centred: bool,
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
        if centred:
            _follow(state, examples)
        state.block = block_of(examples.X)
        self.layout = CommitteeRows(state.block, *statistics_of(state, centred))
        self.rows, self.statistics = self.layout.rows(examples.X)
        self.v = self.layout.to_core(state.v)
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
        self.v = self.layout.to_core(state.v)

    def mean_squared_norm(self) -> float:
        """The mean of ‖x̂‖² over the examples."""
        moments = self.state.moments
        if self.layout.mean is None:
            moments = Standardization.empty(self.examples.X.shape[1])
            moments.update(as_rows(self.examples.X), self.order, self.examples.weights)
            return float(np.sum(moments.variance + moments.mean**2))
        return float(np.sum(moments.variance / self.state.scale**2))

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
                **self.statistics,
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
            state.mean_v += np.float32(part) * (self.layout.from_core(self.v) - state.mean_v)
            state.mean_b += part * (state.b - state.mean_b)

    def validate(self) -> tuple[float, float] | None:
        X, y, weights = self.examples.X_val, self.examples.y_val, self.examples.weights_val
        if X is None or y is None:
            return None
        self._keep()
        f = committee_scores(X, self.state, self.units, self.layout.mean is not None, self.threads)
        values, wrong = margin_criterion(f, y, self.targets, self.beta)
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
        self.state.v = self.layout.from_core(self.v)

    def snapshot(self) -> CommitteeState:
        self._keep()
        return deepcopy(self.state)

    def restore(self, state: CommitteeState) -> None:
        self.state = deepcopy(state)
        self.v = self.layout.to_core(self.state.v)

    def attributes(self) -> dict[str, Any]:
        self._keep()
        return {
            "_state": self.state.to_dict(),
            "margin_": self.margin(),
            "n_updates_": self.state.updates,
        }


def statistics_of(
    state: CommitteeState, centred: bool
) -> tuple[FloatArray, FloatArray] | tuple[None, None]:
    """What is subtracted from the inputs, and what they are divided by."""
    return (state.moments.mean, state.scale) if centred else (None, None)


def _follow(state: CommitteeState, examples: Examples) -> None:
    """Statistics with these examples too; what the units compute stays the same."""
    moments = state.moments
    known, mean, scale = moments.weight > 0, moments.mean.copy(), state.scale
    moments.update(as_rows(examples.X), examples.order, examples.weights)
    if not known:
        return
    for v in (state.v, state.mean_v):
        if v is not None:  # v·(x − m)/s + a = v'·(x − m')/s' + a'
            weights = v[..., :-EXTRA_ROWS, :]
            shift = (moments.mean - mean) / scale
            v[..., -EXTRA_ROWS, :] += np.einsum("...jn,j->...n", weights, shift)
            weights *= (state.scale / scale).astype(np.float32)[:, None]


def margin_criterion(
    f: FloatArray, y: FloatArray, targets: str, beta: float
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """|β − margin|₊ of each example, and whether it is misclassified."""
    if targets == "binary":
        return np.maximum(0.0, beta - y * f[:, 0]), (f[:, 0] > 0) != (y > 0)
    own = y[:, None] == np.arange(f.shape[1])
    wrong = f.argmax(axis=1) != y
    if targets == "one_against_rest":
        return np.maximum(0.0, beta - np.where(own, f, -f)).sum(axis=1), wrong
    other = np.where(own, -np.inf, f).max(axis=1)
    return np.maximum(0.0, beta - (f[own] - other)), wrong
