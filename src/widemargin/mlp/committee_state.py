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
from numpy.typing import NDArray
from sklearn.utils import gen_batches

from widemargin import _core
from widemargin._typing import ArrayLike, FloatArray
from widemargin.inputs.packing import CoreRows, RowLayout
from widemargin.inputs.scaling import Scaling

UNITS = _core.units_per_panel
EXTRA_ROWS = 2  # of a block: the biases of its units, and what a pass needs
ROWS_AT_ONCE = 1 << 16  # whose outputs are computed together

Weights = NDArray[np.float32]


@dataclass
class CommitteeState:
    """What is trained: several committees of each class, whose outputs are added up."""

    v: Weights  # (committees, outputs * blocks, inputs + 2, UNITS)
    b: FloatArray  # (committees, outputs)
    units: int  # of a committee
    scaling: Scaling
    front: NDArray[np.bool_]  # inputs that are mostly not zero
    epochs: int = 0
    mean_v: Weights | None = None  # of the weights over the epochs
    mean_b: FloatArray | None = None
    updates: int = 0

    @classmethod
    def zero(cls, committees: int, outputs: int, units: int, scaling: Scaling) -> "CommitteeState":
        blocks, width = -(-units // UNITS), len(scaling.mean)
        v = np.zeros((committees, outputs * blocks, width + EXTRA_ROWS, UNITS), dtype=np.float32)
        return cls(v, np.zeros((committees, outputs)), units, scaling, np.ones(width, dtype=bool))

    @classmethod
    def from_dict(cls, saved: dict[str, Any], kind: str | None) -> "CommitteeState":
        saved = dict(saved)
        if "block" in saved:  # files of format 1
            saved["front"] = saved.pop("block")
            saved["scaling"] = saved.pop("moments") | {"divide": saved.pop("scaled")}
        return cls(**saved | {"scaling": Scaling.from_dict(kind, saved["scaling"])})

    def to_dict(self) -> dict[str, Any]:
        """A copy as plain arrays and numbers."""
        return deepcopy(vars(self) | {"scaling": self.scaling.to_dict()})

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


def front_of(X: ArrayLike) -> NDArray[np.bool_]:
    """The inputs that are mostly not zero: all of them, where packing is not worth it."""
    layout = RowLayout.suited_to(X, Scaling.empty(None, X.shape[1]))
    return np.ones(X.shape[1], dtype=bool) if layout.front is None else layout.front


class CommitteeRows(RowLayout):
    """How examples and weights are laid out for committees."""

    def parts(self, X: ArrayLike) -> Iterator[CoreRows]:
        """Examples in this layout, some at a time."""
        return (self.lay_out(X[part]) for part in gen_batches(X.shape[0], ROWS_AT_ONCE))

    def units_to_core(self, v: Weights) -> Weights:
        """Weights of the units in the order of the places."""
        placed = _aligned(v.shape)
        placed[..., :-EXTRA_ROWS, :] = self.placed(v[..., :-EXTRA_ROWS, :], axis=-2)
        placed[..., -EXTRA_ROWS:, :] = v[..., -EXTRA_ROWS:, :]
        return placed

    def units_from_core(self, v: Weights) -> Weights:
        """The inverse of `units_to_core`."""
        back = np.empty_like(v)
        back[..., :-EXTRA_ROWS, :] = self.in_order(v[..., :-EXTRA_ROWS, :], axis=-2)
        back[..., -EXTRA_ROWS:, :] = v[..., -EXTRA_ROWS:, :]
        return back


def committee_scores(X: ArrayLike, state: CommitteeState, units: str, threads: int) -> FloatArray:
    """The mean over the committees of f, one column per output."""
    layout = CommitteeRows(state.scaling, state.front)
    return scores_of_parts(layout.parts(X), layout, state, units, threads)


def scores_of_parts(
    parts: Iterable[CoreRows],
    layout: CommitteeRows,
    state: CommitteeState,
    units: str,
    threads: int,
) -> FloatArray:
    """The same for examples that are laid out already."""
    v, b = state.model
    v, scores = layout.units_to_core(v), []
    for rows, mean, scale in parts:
        out, total = (np.zeros((rows.shape[0], b.shape[1])) for _ in range(2))
        for v_m, b_m in zip(v, b, strict=True):
            _core.committee_scores(
                rows,
                v_m,
                state.alive,
                b_m.copy(),
                units=units,
                out=out,
                mean=mean,
                scale=scale,
                threads=threads,
            )
            total += out / len(b)
        scores.append(total)
    return np.concatenate(scores)
