"""Files of numbers without column names: svmlight text and NumPy archives."""

import itertools
import math
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse as sp
from sklearn.datasets import load_svmlight_file

from widemargin._runtime.sparse import checked_sparse, most_columns
from widemargin.tables.errors import Argument, DataFileError
from widemargin.tables.formats import open_data, plain_suffix, read_errors, short_reason
from widemargin.tables.table import Table

NPZ_PARTS = ("X", "y", "data", "indices", "indptr", "shape", "format", "columns")
OTHER_NAMES = {"X": "x_train", "y": "y_train"}  # of archives with a test part of their own
NPZ_ERRORS = (ValueError, LookupError, MemoryError, RuntimeError, TypeError)
SAVEZ = "write it with numpy.savez or scipy.sparse.save_npz, with numbers or strings only"


def read_svmlight(
    path: Path, target: str | int | None, n_features: int | None, index_base: int | None
) -> Table:
    if target not in (None, "label"):
        raise DataFileError(
            f"{path}: the target is the label of each line; leave out ", Argument("target", target)
        )
    try:
        with open_data(path) as stream:
            X, y = load_svmlight_file(stream, zero_based=True)  # keeps the column numbers
    except (ValueError, OverflowError) as error:
        with open_data(path) as stream:
            place = next((n for n, line in enumerate(stream, 1) if not is_svmlight(line)), None)
        what = f"line {place}: {short_reason(error)}" if place else short_reason(error)
        unsure = plain_suffix(path) == ".dat"
        other = (". If the file is not svmlight, name its format with ", Argument("format"))
        raise DataFileError(
            f"{path}: {what}; a line must be 'label index:value ...' with increasing indices",
            *(other if unsure else ()),
        ) from error
    if n_features is None:
        check_width(X.shape[1], path.stat().st_size, path)
    uses_zero = X.nnz > 0 and X.indices.min() == 0
    if index_base is None:
        index_base = 0 if uses_zero else 1
    elif index_base == 1 and uses_zero:
        raise DataFileError(
            f"{path}: has a column 0, but ",
            Argument("index_base", 1),
            " says that columns start at 1; use ",
            Argument("index_base", 0),
            " if the training file also starts at 0",
        )
    X = _columns_from(index_base, X, n_features, path)
    return replace(_checked_table(X, y, "label", path), index_base=index_base)


def _columns_from(index_base: int, X: Any, n_features: int | None, path: Path) -> Any:
    """X with column `index_base` first, and `n_features` columns if that is given."""
    largest = int(X.indices.max()) if X.nnz else index_base - 1
    width = largest + 1 - index_base
    if n_features is not None and width > n_features:
        raise DataFileError(
            f"{path}: has a column {largest}, but the last of {n_features} columns is "
            f"{n_features - 1 + index_base} (",
            Argument("index_base", index_base),
            "); use a file with the columns of the training file",
        )
    shape = (X.shape[0], width if n_features is None else n_features)
    X.indices -= index_base
    return sp.csr_matrix((X.data, X.indices, X.indptr), shape=shape)


def check_width(width: int, file_size: int, path: object) -> None:
    """Refuse more columns than a file of `file_size` bytes can need; models have a weight each."""
    if width > most_columns(file_size):
        raise DataFileError(
            f"{path}: has {file_size:,} bytes, but a column {width - 1:,}; fix the number of the "
            "column, or say how many columns there are with ",
            Argument("n_features"),
        )


def is_svmlight(line: bytes) -> bool:
    """Whether a line is 'label index:value ...' with increasing indices, or blank."""
    tokens = line.partition(b"#")[0].split()
    try:
        pairs = [token.split(b":") for token in tokens[1:] if not token.startswith(b"qid:")]
        indices = [int(index) for index, value in pairs if float(value) is not None]
        float(tokens[0] if tokens else 0)
    except ValueError:
        return False
    increasing = all(a < b for a, b in itertools.pairwise([-1, *indices]))
    return increasing and all(index < 2**31 for index in indices)


def read_npz(path: Path, target: str | int | None) -> Table:
    if target not in (None, "y"):
        raise DataFileError(
            f"{path}: the target is the array 'y'; leave out ", Argument("target", target)
        )
    with open(path, "rb") as stream, read_errors(path, SAVEZ, what="damaged", also=NPZ_ERRORS):
        # numpy.load takes anything else for a pickle and advises the user to trust it.
        if stream.read(2) != b"PK":
            raise DataFileError(f"{path}: not a NumPy archive; {SAVEZ}")
        with zipfile.ZipFile(stream) as archive:
            names = set(archive.namelist())
            parts = {}
            for name in NPZ_PARTS:
                spellings = (name, OTHER_NAMES.get(name, name))
                if stored := [f"{each}.npy" for each in spellings if f"{each}.npy" in names]:
                    parts[name] = _member(archive, stored[0])
    try:
        X = _npz_matrix(parts, path)
    except ValueError as error:
        raise DataFileError(f"{path}: {error}; {SAVEZ}") from error
    table = _checked_table(X, parts.get("y"), "y", path)
    columns = parts.get("columns", np.empty(0))
    titles = tuple(map(str, columns)) if columns.dtype.kind == "U" and columns.ndim == 1 else ()
    usable = len(titles) == len(set(titles)) == X.shape[1] and not sp.issparse(X)
    return replace(table, feature_names=titles) if usable else table


def _member(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    """One array of an archive; its size is compared with that of its bytes before it is read."""
    size = archive.getinfo(name).file_size
    with archive.open(name) as stream:
        version = np.lib.format.read_magic(stream)
        if version > (2, 0):  # written only for records, which are not used here
            raise ValueError(f"{name} has version {version} of the format")
        one = version == (1, 0)
        read = np.lib.format.read_array_header_1_0 if one else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(stream)
        if not dtype.hasobject and math.prod(shape) * dtype.itemsize > size:
            raise ValueError(f"{name} has the shape {shape}, but only {size:,} bytes")
    with archive.open(name) as stream:
        array: np.ndarray = np.lib.format.read_array(stream, allow_pickle=False)
        return array


def _npz_matrix(parts: Mapping[str, np.ndarray], path: Path) -> Any:
    if "X" in parts:
        X = parts["X"]
        if X.ndim > 2:  # images
            X = X.reshape(len(X), -1)
        if X.ndim != 2 or X.dtype.kind not in "biuf":
            raise ValueError(
                f"X has shape {X.shape} and type {X.dtype}; a numeric matrix is needed"
            )
        return X if X.dtype == np.float32 else X.astype(np.float64, copy=False)
    if missing := {"data", "indices", "indptr", "shape"} - parts.keys():
        raise ValueError(f"has neither X nor a sparse matrix ({min(missing)} is missing)")
    layout = str(np.asarray(parts.get("format", "csr")).astype(str))
    if layout not in ("csr", "csc") or parts["shape"].ndim != 1:
        raise ValueError(f"sparse matrix in the format {layout!r}, which must be csr")
    cls = sp.csr_array if layout == "csr" else sp.csc_array
    X = checked_sparse(cls, parts["data"], parts["indices"], parts["indptr"], parts["shape"])
    if max(X.shape) > most_columns(path.stat().st_size):
        raise ValueError(f"shape {X.shape} is far too large for its entries")
    return X.tocsr() if X.dtype == np.float32 else X.tocsr().astype(np.float64)


def _checked_table(X: Any, y: np.ndarray | None, name: str, path: Path) -> Table:
    if 0 in X.shape:
        raise DataFileError(f"{path}: has {X.shape[0]} rows and {X.shape[1]} columns; add data")
    if y is None:
        return Table(X, None, (), None)
    if y.shape != X.shape[:1] or y.dtype.kind not in "biufU":
        raise DataFileError(
            f"{path}: {name} has shape {y.shape} and type {y.dtype} for {X.shape[0]} rows; it "
            "needs one number or string per row"
        )
    if y.dtype.kind == "f" and (missing := np.flatnonzero(np.isnan(y))).size:
        raise DataFileError(
            f"{path}: {name} is missing in {missing.size} of {len(y)} rows, first in data row "
            f"{missing[0] + 1}; remove these rows"
        )
    return Table(X, y, (), name)
