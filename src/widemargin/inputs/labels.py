"""Labels, targets and weights of examples, as learners see them."""

import numpy as np
from sklearn.utils import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from widemargin._typing import ArrayLike, FloatArray, IntArray

FEW = 16  # integers that may be classes without a further look


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
