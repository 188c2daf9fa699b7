r"""Rows of X in panels, standardised in the working precision without filling sparse ones."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin._typing import ArrayLike, FloatArray, IntArray

PANEL = 4096  # rows that are in memory at a time, standardised, with all their hidden units
DENSE = 8  # rows with more than one in eight inputs that are not 0 are quicker filled


class Panel:
    r"""Some rows :math:`\hat x = (x - m)/s`, as matrix products see them.

    Sparse rows stay sparse: :math:`\hat x V = x (V/s) - (m/s) V`, and
    :math:`\hat X^\top \delta = (X^\top \delta - m \sum_l \delta_l)/s`.
    """

    def __init__(self, X: ArrayLike, mean: FloatArray, scale: FloatArray, dtype: ArrayLike) -> None:
        self.sparse = sp.issparse(X) and X.nnz * DENSE < np.prod(X.shape)
        if self.sparse:
            self.X, self.mean, self.scale = X.astype(dtype), mean.astype(dtype), scale.astype(dtype)
        else:
            filled = X.toarray() if sp.issparse(X) else X
            self.X = ((filled - mean) / scale).astype(dtype)

    def times(self, V: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        """x̂ V + b."""
        if not self.sparse:
            product: NDArray[Any] = self.X @ V
            product += b
            return product
        V = V / self.scale[:, None]
        return np.asarray(self.X @ V + (b - self.mean @ V))

    def transposed_times(self, delta: NDArray[Any]) -> NDArray[Any]:
        """X̂ᵀ δ."""
        if not self.sparse:
            return np.asarray(self.X.T @ delta)
        centred = self.X.T @ delta - np.outer(self.mean, delta.sum(0))
        return np.asarray(centred / self.scale[:, None])


class Inputs:
    """Validated inputs and how they are standardised."""

    def __init__(self, X: ArrayLike, mean: FloatArray, scale: FloatArray, dtype: ArrayLike) -> None:
        self.X, self.mean, self.scale, self.dtype = X, mean, scale, dtype

    def take(self, rows: IntArray | slice) -> Panel:
        return Panel(self.X[rows], self.mean, self.scale, self.dtype)

    def panels(self, order: IntArray | None = None) -> Iterator[tuple[slice, Panel]]:
        """All rows, or those of `order`, a panel at a time, with their places."""
        count = self.X.shape[0] if order is None else len(order)
        for first in range(0, count, PANEL):
            places = slice(first, min(first + PANEL, count))
            yield places, self.take(places if order is None else order[places])

    def for_estimators(self, order: IntArray | slice) -> ArrayLike:
        """Standardised rows for other estimators; sparse ones stay so if there is no mean."""
        X = self.X[order]
        if not sp.issparse(X):
            return (X - self.mean) / self.scale
        if np.any(self.mean):
            return (X.toarray() - self.mean) / self.scale
        return X.multiply(1.0 / self.scale).tocsr()
