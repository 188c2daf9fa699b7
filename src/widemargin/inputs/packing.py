"""How rows are laid out for the core: as they are, or packed.

Packed rows hold all that a visit needs of an example side by side. Columns that are mostly
non-zero stand in front, stored densely; of the others only the non-zeros are stored
(``cpp/widemargin/rows/packed_rows.hpp``). Linear models, linear SVMs and committees share the
decision and the permutation of columns.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin import _core
from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.inputs.rows import as_rows, checked_rows
from widemargin.inputs.scaling import Scaling

__all__ = ["DENSITY_TO_PACK", "CoreRows", "RowLayout", "filled_fraction"]

DENSITY_TO_PACK = 0.35  # dense inputs with a smaller fraction of non-zeros are packed too
SAMPLED_ROWS = 1000  # rows that tell which columns are mostly non-zero


class CoreRows(NamedTuple):
    """Rows for the core, and the offset and scale that it has to apply to them."""

    rows: _core.Rows
    mean: FloatArray | None
    scale: FloatArray | None


def filled_fraction(X: ArrayLike) -> FloatArray:
    """The fraction of non-zeros of each column, in a sample of the rows."""
    sample = X[:: max(1, X.shape[0] // SAMPLED_ROWS)]
    counts = np.asarray((sample != 0).sum(axis=0), dtype=np.float64).ravel()
    return np.asarray(counts / sample.shape[0])


class RowLayout:
    """The layout of rows of scaled inputs, and of the weights that go with it.

    The core trains weights *v* of scaled inputs where rows are packed, and weights ``v / scale``
    of the inputs as given where they are not.

    Parameters
    ----------
    scaling : Scaling
        Applied to the rows: packed dense columns hold scaled values, the rest is implicit.
    front : ndarray of bool of shape (n_features,) or None
        The columns in front; None lays out rows as they are.

    Attributes
    ----------
    columns : ndarray of int or None
        The column at each place of a packed row.
    filled : float
        The fraction of non-zeros, if `suited_to` looked at it.
    """

    filled: float = 1.0

    def __init__(self, scaling: Scaling, front: NDArray[np.bool_] | None) -> None:
        self.scaling, self.front = scaling, front
        self.columns: IntArray | None = None
        if front is not None:
            self.columns = np.argsort(~front, kind="stable")

    @classmethod
    def suited_to(
        cls, X: ArrayLike, scaling: Scaling, *, sparse: bool = True, dense: bool = True
    ) -> "RowLayout":
        """Packs sparse rows, and dense rows with many zeros, if the caller wants these packed."""
        if not (sparse if sp.issparse(X) else dense):
            return cls(scaling, None)
        filled = filled_fraction(checked_rows(X))
        worth = sp.issparse(X) or bool(filled.mean() < DENSITY_TO_PACK)
        layout = cls(scaling, filled > 0.5 if worth else None)
        layout.filled = float(filled.mean())
        return layout

    def packs(self, X: ArrayLike) -> bool:
        """Whether rows of X are packed; dense rows whose columns are all in front are not."""
        return self.front is not None and (sp.issparse(X) or not bool(self.front.all()))

    def lay_out(
        self, X: ArrayLike, y: FloatArray | None = None, weights: FloatArray | None = None
    ) -> CoreRows:
        """Rows of X for the core, packed with their targets and weights if these are given."""
        rows = as_rows(X)
        offset, scale = self.scaling.core_arguments
        if not self.packs(X):
            return CoreRows(rows, offset, scale)
        assert self.front is not None
        assert self.columns is not None
        count, size = rows.shape[0], int(self.front.sum())
        places = np.argsort(self.columns).astype(np.int32)
        packed = _core.Rows.packed(
            rows,
            np.zeros(count) if y is None else y,
            weights,
            offset,
            scale,
            places,
            size,
            np.empty(count + 1, dtype=np.int32),
            np.empty(rows.packed_bytes(places, size), dtype=np.uint8),
        )
        centre = None
        if offset is not None and scale is not None:
            centre = np.where(self.front, 0.0, offset / scale)[self.columns]
        return CoreRows(packed, centre, None)

    # ----------------------------------------------------------------------- order of the columns

    def placed(self, w: NDArray[Any], axis: int = -1) -> NDArray[Any]:
        """Weights in the order of the places of a row."""
        return w.copy() if self.columns is None else np.take(w, self.columns, axis=axis)

    def in_order(self, w: NDArray[Any], axis: int = -1) -> NDArray[Any]:
        """The inverse of `placed`."""
        if self.columns is None:
            return w.copy()
        back = np.empty_like(w)
        np.moveaxis(back, axis, 0)[self.columns] = np.moveaxis(w, axis, 0)
        return back

    # ----------------------------------------------------------- weights, as linear models see them

    def to_core(self, v: FloatArray) -> FloatArray:
        """From weights (..., n_features) of scaled inputs those that the core trains."""
        if self.columns is None and self.scaling.kind is not None:
            return np.asarray(v / self.scaling.scale)
        return self.placed(v)

    def from_core(self, w: FloatArray) -> FloatArray:
        """The inverse of `to_core`."""
        if self.columns is None and self.scaling.kind is not None:
            return np.asarray(w * self.scaling.scale)
        return self.in_order(w)

    def raw_to_core(self, w: FloatArray) -> FloatArray:
        """From weights (..., n_features) of the inputs as given those that the core trains."""
        return w.copy() if self.columns is None else self.placed(w * self.scaling.scale)

    def raw_from_core(self, w: FloatArray) -> FloatArray:
        """The inverse of `raw_to_core`."""
        return w.copy() if self.columns is None else self.in_order(w) / self.scaling.scale
