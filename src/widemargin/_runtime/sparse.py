"""Sparse matrices whose arrays are checked, because the C++ code trusts them."""

from typing import Any

import numpy as np

__all__ = ["checked_sparse"]


def checked_sparse(cls: Any, data: Any, indices: Any, indptr: Any, shape: Any) -> Any:
    """CSR or CSC matrix whose arrays are checked, because the C++ code trusts them.

    Parameters
    ----------
    cls : class
        ``csr_array``, ``csr_matrix``, ``csc_array`` or ``csc_matrix`` of scipy.sparse.
    data, indices, indptr : ndarray of one dimension
        The compressed rows (CSR) or columns (CSC).
    shape : sequence of two integers
        Number of rows and of columns.

    Raises
    ------
    ValueError
        If the arrays do not describe a matrix of this shape.
    """
    whole = all(isinstance(n, (int, np.integer)) and 0 <= n < 2**62 for n in shape)
    if len(shape) != 2 or not whole:
        raise ValueError(f"sparse matrix of shape {tuple(shape)}; it needs two sizes >= 0")
    major, minor = map(int, shape if cls.__name__.startswith("csr") else shape[::-1])
    if any(part.ndim != 1 for part in (data, indices, indptr)):
        raise ValueError("data, indices and indptr of a sparse matrix must have one dimension")
    if data.dtype.kind not in "biufc" or any(p.dtype.kind not in "iu" for p in (indices, indptr)):
        raise ValueError("a sparse matrix needs numeric data and integer indices and indptr")
    if len(indptr) != major + 1 or len(data) != len(indices):
        raise ValueError("data, indices and indptr of a sparse matrix do not fit its shape")
    if indptr[0] != 0 or indptr[-1] != len(indices) or np.any(indptr[1:] < indptr[:-1]):
        raise ValueError("indptr of a sparse matrix must rise from 0 to the number of entries")
    if len(indices) and not (indices.min() >= 0 and indices.max() < minor):
        raise ValueError(f"index outside 0..{minor - 1} in a sparse matrix")
    return cls((data, indices, indptr), shape=(int(shape[0]), int(shape[1])))
