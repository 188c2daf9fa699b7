"""What every model needs of its data: rows for the core, labels, weights, standardisation."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from widemargin import _core
from widemargin._typing import ArrayLike, FloatArray, IntArray

#: What scikit-learn's validation is told about X.
INPUTS: dict[str, Any] = {
    "accept_sparse": "csr",
    "dtype": [np.float64, np.float32],
    "order": "C",
}
FEW = 16  # integers that may be classes without a further look
CONSTANT = 1e-12  # a standard deviation below this part of the mean is rounding


def as_rows(X: ArrayLike) -> _core.Rows:
    """Validated dense (C order) or CSR inputs, float32 or float64, as the core sees them."""
    if not sp.issparse(X):
        return _core.Rows.dense(_plain(X))
    if not X.has_canonical_format:  # an input may be stored in parts: x_j is their sum
        X = X.copy()
        X.sum_duplicates()
    return _core.Rows.sparse(
        _plain(X.data),
        _plain(X.indices, np.int32),
        _plain(X.indptr, np.int64),
        X.shape[1],
    )


def _plain(array: ArrayLike, dtype: ArrayLike = None) -> ArrayLike:
    """In C order and aligned, as compiled loops expect it; a copy only if it is not."""
    return np.require(array, dtype, ["C", "A"])


def decision(X: ArrayLike, w: FloatArray, b: FloatArray, *, threads: int = 1) -> FloatArray:
    """X @ w.T + b in double precision, without a copy of X."""
    out = np.empty((X.shape[0], w.shape[0]))
    _core.decision(as_rows(X), np.ascontiguousarray(w), np.ascontiguousarray(b), out, threads)
    return out


def example_weights(
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike,
    class_weight: ArrayLike,
    classes: ArrayLike,
) -> FloatArray | None:
    """Weights of the examples, class weights included; None when all are one."""
    if sample_weight is None and class_weight is None:
        return None
    weights: FloatArray = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    if class_weight is not None:
        weights = weights * _class_weights(class_weight, classes, y)
        if not np.any(weights > 0):
            raise ValueError(f"class_weight={class_weight!r} gives every example weight zero")
    return np.ascontiguousarray(weights)


def _class_weights(class_weight: ArrayLike, classes: ArrayLike, y: ArrayLike) -> FloatArray:
    """The weight of each example's class; 1 for classes that a dict does not name."""
    if class_weight == "balanced":
        return np.asarray(compute_sample_weight("balanced", y))
    known = classes.tolist()
    unknown = [name for name in class_weight if name not in known]
    if unknown:
        raise ValueError(f"class_weight names {unknown!r}, not among the classes {known!r}")
    weights = np.array([class_weight.get(name, 1.0) for name in known], dtype=np.float64)
    if not np.all((weights >= 0) & np.isfinite(weights)):
        raise ValueError(f"class_weight={class_weight!r} must hold finite weights >= 0")
    return np.asarray(weights[np.searchsorted(classes, y)])


def check_labels(y: ArrayLike) -> ArrayLike:
    """The classes of y: two or more."""
    classes = _few_integers(y)
    if classes is None:
        check_classification_targets(y)
        classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(
            f"y holds one class only ({classes.tolist()[0]!r}); a classifier needs examples of "
            "two or more"
        )
    return classes


def _few_integers(y: ArrayLike) -> ArrayLike:
    """The values of integers that lie close together, sorted; None for others.

    Counted, which is much faster than to sort them.
    """
    if not isinstance(y, np.ndarray) or y.ndim != 1 or y.dtype.kind not in "iu" or not len(y):
        return None
    low, high = int(y.min()), int(y.max())
    if high - low >= FEW:
        return None
    return (np.flatnonzero(np.bincount((y - y.min()).astype(np.intp))) + low).astype(y.dtype)


def encode_labels(y: ArrayLike, classes: ArrayLike) -> FloatArray:
    """±1 for two classes, the codes 0..K−1 for more; labels outside `classes` are an error."""
    if len(classes) == 2:  # comparing is the fastest then
        codes = np.asarray(y) == np.asarray(classes)[1]
        unknown = ~(codes | (np.asarray(y) == np.asarray(classes)[0]))
    else:
        codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        unknown = np.asarray(classes)[codes] != np.asarray(y)
    if np.any(unknown):
        raise ValueError(
            f"y holds labels that are not in classes={np.asarray(classes).tolist()!r}: "
            f"{np.unique(np.asarray(y)[unknown])[:5].tolist()!r}; name every class at the first "
            "call of partial_fit, or call fit again without warm_start"
        )
    return np.asarray(2.0 * codes - 1.0 if len(classes) == 2 else codes, dtype=np.float64)


def target_moments(
    y: FloatArray, order: IntArray, weights: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Means and variances of the targets of some examples, a column each; 1 for constant ones."""
    weights = None if weights is None else weights[order]
    mean = np.average(y[order], axis=0, weights=weights)
    variance = np.average((y[order] - mean) ** 2, axis=0, weights=weights)
    if not np.all(np.isfinite(variance)):
        raise ValueError("y holds values too large: their squares overflow; scale the targets")
    return mean, np.where(variance > 0, variance, 1.0)


@dataclass
class Standardization:
    """Running mean and variance of the inputs, which models apply without touching the data."""

    mean: FloatArray
    variance: FloatArray
    weight: float = 0.0
    fixed: bool = False  # more examples do not change it

    @classmethod
    def empty(cls, width: int) -> "Standardization":
        return cls(np.zeros(width), np.ones(width))

    @property
    def scale(self) -> FloatArray:
        """Standard deviations; 1 for constant inputs, which then are 0 after centring."""
        scale = np.sqrt(self.variance)
        scale[scale <= CONSTANT * np.abs(self.mean)] = 1.0
        scale[scale == 0.0] = 1.0
        return scale

    def update(self, rows: _core.Rows, order: IntArray, weights: FloatArray | None) -> None:
        """Merges the moments of more examples (Chan, Golub and LeVeque, 1979)."""
        if self.fixed:
            return
        total = float(len(order) if weights is None else weights[order].sum())
        if total == 0.0:
            return
        mean, variance = np.empty_like(self.mean), np.empty_like(self.mean)
        _core.moments(rows, order, weights, mean, variance)
        self.merge(mean, variance, total)

    def merge(self, mean: FloatArray, variance: FloatArray, total: float) -> None:
        """The moments of more examples, of this weight."""
        share = total / (self.weight + total)
        shift = mean - self.mean
        with np.errstate(over="ignore", invalid="ignore"):
            variance = (
                (1.0 - share) * self.variance + share * variance + share * (1.0 - share) * shift**2
            )
        if not np.all(np.isfinite(variance)):
            raise ValueError(
                f"column {np.argmin(np.isfinite(variance))} of X, counted from 0, holds values too "
                "large: their squares overflow; divide it by a constant, or take logarithms"
            )
        self.mean = self.mean + share * shift
        self.variance = variance
        self.weight += total

    def carry_over(self, W: FloatArray, b: FloatArray, before: "Standardization") -> None:
        """Changes a layer, in place, so that it computes what it did with earlier statistics."""
        raw = W / before.scale[:, None]
        b += (self.mean - before.mean) @ raw
        W[...] = raw * self.scale[:, None]
