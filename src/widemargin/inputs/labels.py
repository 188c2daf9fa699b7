"""Labels, targets and weights of examples, as learners see them."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from widemargin._typing import ArrayLike, FloatArray, IntArray

MAX_COUNTED_RANGE = 16  # classes are found by counting if y holds integers this close together


def example_weights(
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike,
    class_weight: ArrayLike,
    classes: ArrayLike,
    *,
    every_class: bool = False,
) -> FloatArray | None:
    """Weights of the examples, class weights included; None when all are one.

    Some weight must be positive; with `every_class`, some weight of each class.
    """
    if sample_weight is None and class_weight is None:
        return None
    weights: FloatArray = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    if class_weight is not None:
        weights = weights * _class_weights(class_weight, classes, y)
        if not np.any(weights > 0):
            raise ValueError(f"class_weight={class_weight!r} gives every example weight zero")
    if every_class:
        totals = np.bincount(np.searchsorted(classes, y), weights=weights)
        if not np.all(totals > 0):
            name = np.asarray(classes).tolist()[np.argmin(totals)]
            raise ValueError(
                f"all examples of class {name!r} have weight zero; "
                "give some of them a positive weight, or leave the class out"
            )
    return np.ascontiguousarray(weights)


def counted_rows(count: int, weights: FloatArray | None) -> IntArray:
    """The rows to train on: all, or those whose weight is not zero."""
    return np.arange(count) if weights is None else np.flatnonzero(weights)


def example_errors(
    scores: FloatArray, y: FloatArray, error_scale: FloatArray | None = None
) -> FloatArray:
    """1 for each misclassified example and 0 for the others; squared errors for a regression.

    Scores have one column for y = ±1, one per class for codes 0..K−1, or one per target of a
    regression, whose squared errors are added up with the factors `error_scale`.
    """
    if error_scale is not None:
        return np.asarray((y - scores).astype(np.float64) ** 2 @ error_scale)
    if scores.shape[1] > 1:
        return np.asarray(scores.argmax(axis=1) != y, dtype=np.float64)
    return np.asarray((scores[:, 0] > 0) != (y > 0), dtype=np.float64)


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

    They are counted, which is much faster than sorting them.
    """
    if not isinstance(y, np.ndarray) or y.ndim != 1 or y.dtype.kind not in "iu" or not len(y):
        return None
    low, high = int(y.min()), int(y.max())
    if high - low >= MAX_COUNTED_RANGE:
        return None
    return (np.flatnonzero(np.bincount((y - y.min()).astype(np.intp))) + low).astype(y.dtype)


def encode_labels(y: ArrayLike, classes: ArrayLike) -> FloatArray:
    """±1 for two classes, the codes 0..K−1 for more; labels outside `classes` raise an error."""
    if len(classes) == 2:  # comparing is fastest then
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


@dataclass
class MeanWeight:
    """The mean weight of the examples that a model was trained on; weights are relative to it.

    So a constant factor of all weights changes nothing, and an example of a later `partial_fit`
    counts for as much as its weight says.
    """

    rows: int = 0  # the number of examples
    weight: float = 0.0  # the sum of their weights

    def add(self, order: IntArray, weights: FloatArray | None) -> None:
        """Counts more examples."""
        self.rows += len(order)
        self.weight += float(len(order) if weights is None else weights[order].sum())

    @property
    def value(self) -> float:
        """The mean; 1 before the first example."""
        return self.weight / self.rows if self.weight > 0 else 1.0

    def relative(self, count: int, weights: FloatArray | None) -> FloatArray | None:
        """Weights of `count` examples divided by the mean; None when all are one."""
        if weights is None:
            return None if self.value == 1.0 else np.full(count, 1.0 / self.value)
        return np.asarray(weights / self.value)


def target_moments(
    y: FloatArray, order: IntArray, weights: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of each target over some examples; the variance of a constant one is 1."""
    weights = None if weights is None else weights[order]
    mean = np.average(y[order], axis=0, weights=weights)
    variance = np.average((y[order] - mean) ** 2, axis=0, weights=weights)
    if not np.all(np.isfinite(variance)):
        raise ValueError("y holds values too large: their squares overflow; scale the targets")
    return mean, np.where(variance > 0, variance, 1.0)
