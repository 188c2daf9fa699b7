r"""Committees of units, :math:`f_k(x) = b_k + \sum_n h(v_{kn} \cdot \hat x + a_{kn})`.

Weights are float32, for inputs that are centred and scaled (the units' own steps are much larger
than its rounding); b and all sums over units are float64. The core keeps the weights in blocks of
units, input by input (cpp/widemargin/committee_problem.hpp); here they are in the order of the
inputs, in training in the order of the packed rows.
"""

from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import gen_batches

from widemargin import _core
from widemargin._typing import ArrayLike, FloatArray
from widemargin.inputs.packing import DENSITY_TO_PACK, filled, packed
from widemargin.inputs.rows import as_rows
from widemargin.inputs.standardization import Standardization

UNITS = _core.units_per_panel
EXTRA_ROWS = 2  # of a block: the biases of its units, and what a pass needs
ROWS_AT_ONCE = 1 << 16  # whose outputs are computed together

Weights = NDArray[np.float32]
LaidOut = tuple[_core.Rows, dict[str, Any]]  # examples, and the statistics to go with them


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

    def parts(self, X: ArrayLike) -> Iterator[LaidOut]:
        """Examples in this layout, some at a time."""
        return (self.rows(X[part]) for part in gen_batches(X.shape[0], ROWS_AT_ONCE))

    def rows(self, X: ArrayLike) -> LaidOut:
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
    layout = CommitteeRows(state.block, *statistics_of(state, centred))
    return scores_of_parts(layout.parts(X), layout, state, units, threads)


def scores_of_parts(
    parts: Iterable[LaidOut],
    layout: CommitteeRows,
    state: CommitteeState,
    units: str,
    threads: int,
) -> FloatArray:
    """The same for examples that are laid out already."""
    v, b = state.model
    v, scores = layout.to_core(v), []
    for rows, statistics in parts:
        out, total = (np.zeros((rows.shape[0], b.shape[1])) for _ in range(2))
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
            total += out / len(b)
        scores.append(total)
    return np.concatenate(scores)


def statistics_of(
    state: CommitteeState, centred: bool
) -> tuple[FloatArray, FloatArray] | tuple[None, None]:
    """What is subtracted from the inputs, and what they are divided by."""
    return (state.moments.mean, state.scale) if centred else (None, None)
