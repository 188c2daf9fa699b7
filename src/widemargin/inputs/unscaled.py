"""A warning for inputs whose units decide how near two examples are."""

from typing import Any

import numpy as np

from widemargin import _core
from widemargin._runtime.warning import warn_caller
from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.inputs.rows import as_rows
from widemargin.inputs.scaling import ROUNDING, filled_columns
from widemargin.kernels import DISTANCE_KERNELS, UnscaledInputsWarning

__all__ = ["spreads", "warn_if_unscaled"]

VARIANCE_RATIO = 1e4  # between columns, above which the smaller one hardly counts in a distance
RARE = 0.01  # of the examples: columns with fewer non-zeros are rare indicators
NAMED_COLUMNS = 3  # in the warning


def warn_if_unscaled(model: Any, X: ArrayLike) -> None:
    """Warn if a few columns of validated inputs alone decide about the distances.

    Does nothing for a model with `scaling`, or with a kernel that does not depend on distances.
    Rare indicators vary little, but standardising them would not help; see `spreads`.
    """
    named = isinstance(model.kernel, str) and model.kernel in DISTANCE_KERNELS
    if not named or model.scaling is not None:
        return
    every, width = np.arange(X.shape[0]), X.shape[1]
    mean, variance = np.empty(width), np.empty(width)
    _core.moments(as_rows(X), every, None, mean, variance)
    varies = np.sqrt(variance) > ROUNDING * np.abs(mean)
    spread = spreads(variance, filled_columns(X, every, None), len(every))
    small = np.flatnonzero(varies & (VARIANCE_RATIO * spread < variance.max(initial=0.0)))
    if not len(small):
        return
    large = np.flatnonzero(varies & (variance > VARIANCE_RATIO * spread[small].max()))
    few, many = small[np.argsort(spread[small])], large[np.argsort(-variance[large])]
    warn_caller(
        f"{type(model).__name__} with kernel={model.kernel!r} hardly sees some inputs: the "
        f"variance of {_listed(model, many)} is more than {VARIANCE_RATIO:,.0f} times that of "
        f"{_listed(model, few)}. Use scaling='standard', or a scaler in a pipeline",
        UnscaledInputsWarning,
    )


def spreads(variance: FloatArray, filled: FloatArray, count: int) -> FloatArray:
    """What columns add to squared distances: variances; of rare indicators, where they are set.

    Parameters
    ----------
    variance, filled : ndarray of shape (n_features,)
        The variance and the fraction of non-zeros of each column.
    count : int
        The number of examples.
    """
    return np.where(filled < RARE, variance / np.maximum(filled, 1.0 / count), variance)


def _listed(model: Any, columns: IntArray) -> str:
    """A few columns by name, or by number."""
    names = getattr(model, "feature_names_in_", None)
    shown = [str(j) if names is None else repr(str(names[j])) for j in columns[:NAMED_COLUMNS]]
    more = len(columns) - len(shown)
    shown += [f"{more} more"] if more else []
    text = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
    return f"column{'s' if len(columns) > 1 else ''} {text}"
