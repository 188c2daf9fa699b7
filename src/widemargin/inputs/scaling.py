r"""Scaling of inputs that models apply without touching the data.

.. math:: \hat x = (x - m)/s

with an offset *m* and a scale *s* per column. ``"standard"`` takes the mean and the standard
deviation, ``"minmax"`` the minimum and the range, so that inputs lie in [0, 1]. ``"auto"`` is
``"standard"`` but for columns with two values: these are centred, and divided by the distance of
the values. A rare indicator divided by its small standard deviation would be huge where it is set.

A linear layer of scaled inputs is a linear layer of the inputs as given, so sparse data stay
sparse:

.. math:: v \cdot \hat x + b = (v/s) \cdot x + (b - v \cdot (m/s))
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import gen_batches
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.sparsefuncs import min_max_axis

from widemargin import _core
from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.inputs.rows import as_rows, canonical

__all__ = [
    "ROUNDING",
    "SCALING_CONSTRAINT",
    "Scaling",
    "extremes",
    "filled_columns",
    "partly_scaled",
    "scaled",
]

#: What scikit-learn's parameter validation is told about `scaling`.
SCALING_CONSTRAINT: list[Any] = [StrOptions({"standard", "minmax"}), None]

ROWS_AT_ONCE = 4096  # whose zeros are counted
ROUNDING = 1e-12  # a spread below this fraction of the values is rounding: the column is constant

Layer = tuple[NDArray[Any], NDArray[Any]]


@dataclass
class Scaling:
    """Running statistics of the inputs, and the offset and scale that follow from them.

    Attributes
    ----------
    kind : {"standard", "minmax", "auto"} or None
        How inputs are scaled; None leaves them as they are and measures nothing.
    mean, variance : ndarray of shape (n_features,)
        Of the examples seen; 0 and 1 before the first.
    weight : float
        The weight of the examples seen.
    fixed : bool
        Whether the statistics are final: more examples do not change them.
    low, high : ndarray of shape (n_features,) or None
        Smallest and largest values seen, for "minmax" and "auto".
    centre : bool or "filled"
        Whether the offset is subtracted. Without it zeros stay zero, and "minmax" divides by the
        largest absolute value. "filled" subtracts it from columns that are mostly non-zero: then
        sparse inputs stay sparse, dense ones are scaled in the same way, and no mean is further
        from 0 than one standard deviation.
    divide : bool
        Whether inputs are divided by the scale.
    filled : ndarray of shape (n_features,) or None
        The fraction of non-zeros of each column, for ``centre="filled"``.
    two_valued : ndarray of shape (n_features,) or None
        Columns in which no value was seen but the smallest and the largest, for "auto".
    """

    kind: str | None
    mean: FloatArray
    variance: FloatArray
    weight: float = 0.0
    fixed: bool = False
    low: FloatArray | None = None
    high: FloatArray | None = None
    centre: bool | str = True
    divide: bool = True
    filled: FloatArray | None = None
    two_valued: NDArray[np.bool_] | None = None

    # ------------------------------------------------------------------------------ construction

    @classmethod
    def empty(
        cls, kind: str | None, width: int, *, centre: bool | str = True, divide: bool = True
    ) -> "Scaling":
        """Before any example was seen."""
        return cls(kind, np.zeros(width), np.ones(width), centre=centre, divide=divide)

    @classmethod
    def measured(
        cls,
        kind: str | None,
        X: ArrayLike,
        order: IntArray | None = None,
        weights: FloatArray | None = None,
        *,
        centre: bool | str = True,
        divide: bool = True,
    ) -> "Scaling":
        """From examples: all rows of X, or those of `order`."""
        scaling = cls.empty(kind, X.shape[1], centre=centre, divide=divide)
        scaling.update(X, np.arange(X.shape[0]) if order is None else order, weights)
        return scaling

    @classmethod
    def from_dict(cls, kind: str | None, saved: dict[str, Any]) -> "Scaling":
        """From what `to_dict` saved, perhaps among other entries."""
        names = [field.name for field in fields(cls) if field.name != "kind"]
        return cls(kind, **{name: saved[name] for name in names if name in saved})

    def to_dict(self) -> dict[str, Any]:
        """All but `kind`, which is a parameter of the model, as plain arrays and numbers."""
        return {name: value for name, value in vars(self).items() if name != "kind"}

    # --------------------------------------------------------------------------- offset and scale

    @property
    def centred(self) -> NDArray[np.bool_]:
        """The columns from which the offset is subtracted."""
        if self.centre == "filled" and self.filled is not None:
            return np.asarray(self.filled > 0.5)
        return np.full(len(self.mean), bool(self.centre))

    @property
    def offset(self) -> FloatArray:
        """m: what is subtracted from the inputs."""
        if self.kind is None:
            return np.zeros_like(self.mean)
        offset = self.low if self.kind == "minmax" else self.mean
        return np.zeros_like(self.mean) if offset is None else np.where(self.centred, offset, 0.0)

    @property
    def scale(self) -> FloatArray:
        """s: what inputs are divided by; 1 for constant columns, which then are 0 if centred.

        A spread that is only rounding is divided by the size of the values, so that it stays small.
        """
        if self.kind is None or not self.divide:
            return np.ones_like(self.mean)
        if self.kind != "minmax":
            scale, size = np.sqrt(self.variance), np.abs(self.mean)
            if self.two_valued is not None and self.low is not None and self.high is not None:
                scale = np.where(self.two_valued, self.high - self.low, scale)
        elif self.low is None or self.high is None:
            return np.ones_like(self.mean)
        else:
            size = np.maximum(np.abs(self.low), np.abs(self.high))
            scale = np.where(self.centred, self.high - self.low, size)
        constant = scale <= ROUNDING * size
        scale[constant] = np.where((scale > 0.0) & self.centred, size, 1.0)[constant]
        return scale

    @property
    def core_arguments(self) -> tuple[FloatArray | None, FloatArray | None]:
        """Offset and scale as the core takes them: None for inputs that are not scaled."""
        return (None, None) if self.kind is None else (self.offset, self.scale)

    # --------------------------------------------------------------------------------- statistics

    def update(
        self,
        X: ArrayLike,
        order: IntArray,
        weights: FloatArray | None,
        layers: Iterable[Layer] = (),
    ) -> None:
        """Adds the statistics of more examples.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_samples, n_features)
            Validated inputs.
        order : ndarray of int
            The rows to count.
        weights : ndarray of shape (n_samples,) or None
            Weights of all rows.
        layers : iterable of (W, b)
            First layers of scaled inputs, changed in place so that they compute what they did
            with the statistics before.
        """
        if self.kind is None or self.fixed:
            return
        total = float(len(order) if weights is None else weights[order].sum())
        if total == 0.0:
            return
        before = replace(self)
        mean, variance = np.empty_like(self.mean), np.empty_like(self.mean)
        _core.moments(as_rows(X), order, weights, mean, variance)
        low = high = two_valued = None
        if self.kind != "standard":
            some = canonical(X) if len(order) == X.shape[0] else canonical(X)[order]
            low, high = extremes(some)
            two_valued = _two_valued(some, low, high) if self.kind == "auto" else None
        self.merge(
            Scaling(
                self.kind,
                mean,
                variance,
                total,
                low=low,
                high=high,
                filled=filled_columns(X, order, weights) if self.centre == "filled" else None,
                two_valued=two_valued,
            )
        )
        if before.weight > 0:
            for W, b in layers:
                self.carry_over(W, b, before)

    def merge(self, more: "Scaling") -> None:
        """Adds the statistics of other examples (Chan, Golub and LeVeque, 1979)."""
        share = more.weight / (self.weight + more.weight)
        shift = more.mean - self.mean
        with np.errstate(over="ignore", invalid="ignore"):
            variance = (
                (1.0 - share) * self.variance
                + share * more.variance
                + share * (1.0 - share) * shift**2
            )
        if not np.all(np.isfinite(variance)):
            raise ValueError(
                f"column {np.argmin(np.isfinite(variance))} of X, counted from 0, holds values too "
                "large: their squares overflow; divide it by a constant, or take logarithms"
            )
        if more.filled is not None:
            before = 0.0 if self.filled is None else self.filled
            self.filled = (1.0 - share) * before + share * more.filled
        self.mean = self.mean + share * shift
        self.variance = variance
        self.weight += more.weight
        if more.low is not None and more.high is not None:
            seen = [part for part in (self, more) if part.low is not None]
            self._merge_extremes(np.array([[part.low, part.high] for part in seen]), more)

    def _merge_extremes(self, extremes: FloatArray, more: "Scaling") -> None:
        """`extremes` are the smallest and largest values in each part, (parts, 2, n_features)."""
        self.low, self.high = extremes[:, 0].min(axis=0), extremes[:, 1].max(axis=0)
        if more.two_valued is not None:
            before = True if self.two_valued is None else self.two_valued
            same = (extremes == self.low) | (extremes == self.high)
            self.two_valued = more.two_valued & before & same.all(axis=(0, 1))

    def mean_squared_norm(self, X: ArrayLike, order: IntArray, weights: FloatArray | None) -> float:
        """The mean of ‖x̂‖² over the examples seen; those given here, if nothing was measured."""
        seen = self if self.kind is not None else Scaling.measured("standard", X, order, weights)
        distance = seen.mean - self.offset
        return float(np.sum((seen.variance + distance**2) / self.scale**2))

    def variance_of_entries(self) -> float:
        """The variance of all entries of the scaled inputs together, for those seen."""
        mean, variance = (self.mean - self.offset) / self.scale, self.variance / self.scale**2
        return float(variance.mean() + mean.var())

    # ------------------------------------------------------------------------------------ weights

    def carry_over(self, W: NDArray[Any], b: NDArray[Any], before: "Scaling") -> None:
        """Changes a layer in place, so that it computes what it did with the scaling `before`."""
        raw = W / before.scale[:, None]
        b += (self.offset - before.offset) @ raw
        W[...] = raw * self.scale[:, None]

    def raw(self, w: FloatArray, b: Any) -> tuple[FloatArray, Any]:
        """From weights (..., n_features) of scaled inputs those of the inputs as given."""
        if self.kind is None:
            return w, b
        return w / self.scale, b - w @ (self.offset / self.scale)

    # ------------------------------------------------------------------------------------- inputs

    def transform(self, X: ArrayLike) -> ArrayLike:
        """A scaled copy of X, for models that cannot scale implicitly; X itself if kind is None.

        Sparse inputs stay sparse; columns from which something is subtracted are stored in full,
        see `centre`.
        """
        if self.kind is None:
            return X
        return scaled(X, self.offset, self.scale).astype(X.dtype, copy=False)


def partly_scaled(
    X: ArrayLike, offset: FloatArray, scale: FloatArray
) -> tuple[ArrayLike, FloatArray]:
    """Inputs s of float64 and a vector c, so that (x − offset)/scale = s − c.

    c is the offset of the columns where it is at most one scale, so that nothing cancels in
    s − c. The other columns hold at most half zeros, since zeros are at least one standard
    deviation away from their mean; there s is centred. So sparse inputs stay sparse.
    """
    far = np.abs(offset) > scale
    return scaled(X, np.where(far, offset, 0.0), scale), np.where(far, 0.0, offset / scale)


def scaled(X: ArrayLike, offset: FloatArray, scale: FloatArray) -> ArrayLike:
    """(X − offset)/scale in float64; sparse columns with an offset are stored in full."""
    if not sp.issparse(X):
        return np.asarray((X - offset) / scale)
    X, full, count = canonical(X), np.flatnonzero(offset), X.shape[0]
    starts, stored = X.indptr, X.data / scale[X.indices]
    if not len(full):
        return type(X)((stored, X.indices, starts), shape=X.shape)
    kept = offset[X.indices] == 0
    index = np.int32 if X.nnz + count * len(full) < 2**31 else np.int64
    starts = np.concatenate([[0], np.cumsum(kept)])[starts].astype(index)
    rest = type(X)((stored[kept], X.indices[kept], starts), shape=X.shape)
    columns = (X[:, full].toarray() - offset[full]) / scale[full]
    places = np.tile(full.astype(index), count)
    starts = np.arange(0, columns.size + 1, len(full), dtype=index)
    return rest + type(X)((columns.ravel(), places, starts), shape=X.shape)


def filled_columns(X: ArrayLike, order: IntArray, weights: FloatArray | None) -> FloatArray:
    """The fraction of non-zeros of each column, by weight."""
    counted = np.zeros(X.shape[0])
    counted[order] = 1.0 if weights is None else weights[order]
    if sp.issparse(X):
        X = canonical(X)
        row_weights = np.repeat(counted, np.diff(X.indptr)) * (X.data != 0)
        total = np.bincount(X.indices, row_weights, minlength=X.shape[1])
    else:
        batches = gen_batches(X.shape[0], ROWS_AT_ONCE)
        if np.all(counted == 1.0):
            total = np.sum([np.count_nonzero(X[rows], axis=0) for rows in batches], axis=0)
        else:
            total = np.sum([counted[rows] @ (X[rows] != 0) for rows in batches], axis=0)
    return np.asarray(total / counted.sum())


def extremes(X: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """The smallest and largest value of each column, zeros of sparse rows included."""
    some = canonical(X)
    low, high = min_max_axis(some, axis=0) if sp.issparse(some) else (some.min(0), some.max(0))
    return np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)


def _two_valued(X: ArrayLike, low: FloatArray, high: FloatArray) -> NDArray[np.bool_]:
    """Columns that hold only their smallest and their largest value."""
    if not sp.issparse(X):
        return np.asarray(((low == X) | (high == X)).all(axis=0))
    between = (X.data != low[X.indices]) & (X.data != high[X.indices])
    others = np.bincount(X.indices[between], minlength=X.shape[1])
    others += (np.diff(X.tocsc().indptr) < X.shape[0]) & (low < 0.0) & (high > 0.0)  # zeros
    return np.asarray(others == 0)
