r"""Committees of units, :math:`f_k(x) = b_k + \sum_n h(v_{kn} \cdot \hat x + a_{kn})`, as arrays.

Weights are float32, whose rounding is far below the units' own steps; b and all sums over units are
float64. The core keeps weights in panels of units, input by input
(``cpp/widemargin/mlp/committee_types.hpp``). Here inputs are in their own order, in training in the
order of the packed rows.
"""

from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import gen_batches

from widemargin import _core
from widemargin._runtime.memory import aligned_zeros
from widemargin._typing import ArrayLike, FloatArray
from widemargin.inputs.labels import MeanWeight
from widemargin.inputs.packing import CoreRows, RowLayout
from widemargin.inputs.scaling import Scaling

UNITS_PER_PANEL = _core.units_per_panel
EXTRA_ROWS = 2  # rows of a panel after those of the inputs: biases, and room for a pass
ROWS_PER_CHUNK = 1 << 16  # rows whose outputs are computed together

Weights = NDArray[np.float32]


@dataclass
class CommitteeState:
    """What training changes: for each class some committees, whose outputs are averaged."""

    v: Weights  # (committees, outputs * panels, inputs + EXTRA_ROWS, UNITS_PER_PANEL)
    b: FloatArray  # (committees, outputs)
    units: int  # per committee
    scaling: Scaling
    front: NDArray[np.bool_]  # columns in front of packed rows: those that are mostly non-zero
    epochs: int = 0
    mean_v: Weights | None = None  # means of v and b over the epochs
    mean_b: FloatArray | None = None
    updates: int = 0
    mean_weight: MeanWeight = field(default_factory=MeanWeight)

    @classmethod
    def zero(cls, committees: int, outputs: int, units: int, scaling: Scaling) -> "CommitteeState":
        panels, width = -(-units // UNITS_PER_PANEL), len(scaling.mean)
        shape = (committees, outputs * panels, width + EXTRA_ROWS, UNITS_PER_PANEL)
        v, b = np.zeros(shape, dtype=np.float32), np.zeros((committees, outputs))
        return cls(v, b, units, scaling, np.ones(width, dtype=bool))

    @classmethod
    def from_dict(cls, saved: dict[str, Any], kind: str | None) -> "CommitteeState":
        """The inverse of `to_dict`; `kind` is the model's parameter `scaling`."""
        mean_weight = MeanWeight(**saved.get("mean_weight", {}))
        scaling = Scaling.from_dict(kind, saved["scaling"])
        return cls(**saved | {"scaling": scaling, "mean_weight": mean_weight})

    def to_dict(self) -> dict[str, Any]:
        """A copy as plain arrays and numbers."""
        plain = {"scaling": self.scaling.to_dict(), "mean_weight": asdict(self.mean_weight)}
        return deepcopy(vars(self) | plain)

    @property
    def panels(self) -> int:
        """Blocks of units per committee."""
        return -(-self.units // UNITS_PER_PANEL)

    @property
    def unit_mask(self) -> Weights:
        """1 for each unit, 0 for the unused places of the last panel."""
        places = np.arange(self.panels * UNITS_PER_PANEL) < self.units
        return places.reshape(self.panels, UNITS_PER_PANEL).astype(np.float32)

    @property
    def by_output(self) -> Weights:
        """A view of v: (committees, outputs, panels, inputs + EXTRA_ROWS, UNITS_PER_PANEL)."""
        return self.v.reshape(*self.b.shape, self.panels, -1, UNITS_PER_PANEL)

    @property
    def first_layers(self) -> list[tuple[Weights, Weights]]:
        """Views of the weights and biases of all units, of v and of its mean."""
        both = (v for v in (self.v, self.mean_v) if v is not None)
        return [(v[..., :-EXTRA_ROWS, :], v[..., -EXTRA_ROWS, :]) for v in both]

    @property
    def model(self) -> tuple[Weights, FloatArray]:
        """v and b of the model: the last ones, or their means."""
        if self.mean_v is None or self.mean_b is None or self.epochs == 0:
            return self.v, self.b
        return self.mean_v, self.mean_b

    def operations_per_row(self, X: ArrayLike) -> float:
        """Products of a weight and a non-zero input, per row of X and committee."""
        stored = int(X.nnz if sp.issparse(X) else np.count_nonzero(X))
        inputs = stored / max(1, int(X.shape[0])) + EXTRA_ROWS
        return float(self.b.shape[1] * self.units * inputs)

    def layers(self) -> tuple[Weights, Weights, FloatArray]:
        """Of the model: weights (committees, outputs, inputs, units), their biases, and b."""
        v, b = self.model
        v = v.reshape(*b.shape, self.panels, -1, UNITS_PER_PANEL)
        v = np.moveaxis(v, 2, 3).reshape(*b.shape, v.shape[3], -1)[..., : self.units]
        return v[..., :-EXTRA_ROWS, :], v[..., -EXTRA_ROWS, :], b


def front_columns(X: ArrayLike) -> NDArray[np.bool_]:
    """The columns that are mostly non-zero; all of them if packing X is not worthwhile."""
    layout = RowLayout.suited_to(X, Scaling.empty(None, X.shape[1]))
    return np.ones(X.shape[1], dtype=bool) if layout.front is None else layout.front


class CommitteeRows(RowLayout):
    """How examples and weights are laid out for committees."""

    def chunks(self, X: ArrayLike) -> Iterator[CoreRows]:
        """Examples in this layout, some rows at a time."""
        return (self.lay_out(X[chunk]) for chunk in gen_batches(X.shape[0], ROWS_PER_CHUNK))

    def units_to_core(self, v: Weights) -> Weights:
        """Weights of the units in the order of the places."""
        placed = aligned_zeros(v.shape, np.float32)
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
    """The mean of f over the committees, one column per output."""
    layout = CommitteeRows(state.scaling, state.front)
    return chunk_scores(layout.chunks(X), layout, state, units, threads)


def chunk_scores(
    chunks: Iterable[CoreRows],
    layout: CommitteeRows,
    state: CommitteeState,
    units: str,
    threads: int,
) -> FloatArray:
    """The same for examples that are laid out already."""
    v, b = state.model
    v, scores = layout.units_to_core(v), []
    for rows, mean, scale in chunks:
        out, total = (np.zeros((rows.shape[0], b.shape[1])) for _ in range(2))
        for v_m, b_m in zip(v, b, strict=True):
            _core.committee_scores(
                rows,
                v_m,
                state.unit_mask,
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
