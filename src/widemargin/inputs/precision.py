"""Columns far from the origin: whose values differ by little of their size."""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from widemargin._runtime.warning import warn_caller
from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.inputs.scaling import ROUNDING, extremes

__all__ = ["PrecisionWarning", "far_columns", "warn_of_lost_columns"]

FIRST_ROWS = 1000  # which show that most columns are not far from the origin
FAR = 1e-3  # a spread below this fraction of the values
MAX_NAMES = 5  # in a warning


class PrecisionWarning(UserWarning):
    """Columns whose values differ by little more than the rounding of floating-point numbers."""


def far_columns(X: ArrayLike) -> tuple[IntArray, FloatArray, FloatArray]:
    """The columns whose spread is small beside their values, with both.

    Columns of zeros, and constant columns no larger than the others, are not among them.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        Validated inputs.

    Returns
    -------
    columns : ndarray of int
        Their numbers.
    spread, size : ndarray of float
        The largest minus the smallest value of each, and the largest absolute value.
    """
    head = X[:FIRST_ROWS]
    if sp.issparse(X):  # a column with a zero is not far from it
        columns = np.flatnonzero(np.bincount(head.indices) >= head.shape[0])
        if not len(columns):
            return columns, np.empty(0), np.empty(0)
    spread, size = _spread(head)
    likely = (size > 0.0) & (spread <= FAR * size)
    columns, others = np.flatnonzero(likely), float(np.max(size[~likely], initial=0.0))
    if not len(columns):
        return columns, spread[likely], size[likely]
    spread, size = _spread(X[:, columns])
    far = (spread <= FAR * size) & ((spread > 0.0) | (FAR * size > others))
    return columns[far], spread[far], size[far]


def _spread(X: ArrayLike) -> tuple[FloatArray, FloatArray]:
    low, high = extremes(X)
    with np.errstate(over="ignore"):
        return high - low, np.maximum(np.abs(low), np.abs(high))


def warn_of_lost_columns(
    X: ArrayLike, far: tuple[IntArray, FloatArray, FloatArray], names: Sequence[str] | None
) -> None:
    """Warn if `far_columns` has some that are not constant and yet differ by rounding only.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        Validated inputs.
    far : tuple
        What `far_columns` found.
    names : sequence of str, optional
        The names of all columns.
    """
    columns, spread, size = far
    least = max(ROUNDING, 4.0 * float(np.finfo(X.dtype).eps))
    lost = columns[(spread > 0.0) & (spread <= least * size)]
    if not len(lost):
        return
    shown = [repr(names[j]) if names is not None else str(j) for j in lost[:MAX_NAMES]]
    if len(lost) > MAX_NAMES:
        shown.append(f"{len(lost) - MAX_NAMES} more")
    one = len(lost) == 1
    where = "" if names is not None else ", counted from 0,"
    warn_caller(
        f"{'column' if one else 'columns'} {', '.join(shown)}{where} "
        f"{'has' if one else 'have'} values that differ by less than {least:.1g} of their size: as "
        f"{X.dtype} numbers they carry no information; subtract a constant, such as the smallest "
        f"value, before they become {X.dtype}, or leave {'it' if one else 'them'} out",
        PrecisionWarning,
    )
