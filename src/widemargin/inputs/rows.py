"""Inputs as the core sees them: validated rows, dense or CSR."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from widemargin import _core
from widemargin._typing import ArrayLike, FloatArray

#: What scikit-learn's validation is told about X.
INPUTS: dict[str, Any] = {
    "accept_sparse": "csr",
    "dtype": [np.float64, np.float32],
    "order": "C",
}


def as_rows(X: ArrayLike) -> _core.Rows:
    """Validated dense (C order) or CSR inputs, float32 or float64, as the core sees them."""
    if not sp.issparse(X):
        return _core.Rows.dense(_plain(X))
    X = canonical(X)
    return _core.Rows.sparse(
        _plain(X.data),
        _plain(X.indices, np.int32),
        _plain(X.indptr, np.int64),
        X.shape[1],
    )


def checked_rows(X: ArrayLike) -> ArrayLike:
    """Validated inputs in canonical form, see `canonical`, so that X means the same to all code.

    Raises an error for column indices outside a sparse matrix, which crash SciPy.
    """
    if not sp.issparse(X):
        return X
    X = canonical(X)
    as_rows(X)
    return X


def canonical(X: ArrayLike) -> ArrayLike:
    """X with at most one stored entry per input; entries of the same input are added up.

    The columns of a row are in ascending order. X itself if that is so already, otherwise a copy.
    """
    if not sp.issparse(X) or X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def _plain(array: ArrayLike, dtype: ArrayLike = None) -> ArrayLike:
    """In C order and aligned, as compiled loops expect it; a copy only if it is not."""
    return np.require(array, dtype, ["C", "A"])


def decision(X: ArrayLike, w: FloatArray, b: FloatArray, *, threads: int = 1) -> FloatArray:
    """X @ w.T + b in double precision, without a copy of X."""
    out = np.empty((X.shape[0], w.shape[0]))
    _core.decision(as_rows(X), np.ascontiguousarray(w), np.ascontiguousarray(b), out, threads)
    return out
