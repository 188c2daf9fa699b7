"""Files that are written completely or not at all, and sparse matrices that are checked."""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["PathLike", "atomic_path", "checked_sparse"]

PathLike = str | os.PathLike[str]


@contextmanager
def atomic_path(path: PathLike) -> Iterator[Path]:
    """Temporary path beside `path`; success moves it there, an exception deletes it."""
    target = Path(os.path.realpath(path))  # if `path` is a link, replace what it points to
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file to write")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {target.parent}; create it first")
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.tmp")
    try:
        temporary.touch(exist_ok=False)
        # Keep the permissions that writing to `path` would give; libraries create private files.
        mode = (target if target.exists() else temporary).stat().st_mode
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())  # otherwise a power failure could leave an empty file
        temporary.chmod(stat.S_IMODE(mode))
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


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
