"""Inputs that are integers with few values, which may get one indicator per value."""

import numpy as np
import scipy.sparse as sp

from widemargin._typing import ArrayLike, FloatArray, IntArray

__all__ = ["few_levels", "level_count"]

MAX_LEVELS = 12  # integers with at most as many values have indicators
LOOK_ROWS = 10_000  # that decide whether there are such inputs


def few_levels(values: list[FloatArray]) -> IntArray:
    """The inputs whose values are integers, three or more but few, given their distinct values."""
    return np.array(
        [
            j
            for j, some in enumerate(values)
            if 3 <= len(some) <= MAX_LEVELS and np.array_equal(some, np.round(some))
        ],
        dtype=np.int64,
    )


def level_count(X: ArrayLike) -> int:
    """How many indicators the form "levels" adds, judged by the first rows."""
    if sp.issparse(X):
        return 0
    values = [np.unique(column) for column in X[:LOOK_ROWS].T]
    return sum(len(values[j]) for j in few_levels(values))
