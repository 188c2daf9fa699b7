"""`write_predictions`: columns to a file that is complete or absent."""

import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from widemargin._runtime.files import PathLike, atomic_path, is_stream
from widemargin.tables.errors import DataFileError
from widemargin.tables.formats import COMPRESSED, format_of_suffix, require_pyarrow

FORMULA = re.compile("'*[=+\\-@\t\r]")  # what makes spreadsheets take a cell for a formula
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def write_predictions(path: PathLike, columns: Mapping[str, Any]) -> None:
    """Write columns of equal length to a CSV, TSV, Parquet, Arrow or NumPy file.

    The file appears only when it is complete.

    Parameters
    ----------
    path : str or path
        The suffix decides the format, as in `read_table`; svmlight files are not written.  Pipes
        and devices without a known suffix, such as ``/dev/stdout``, get CSV.
    columns : dict of str to array of one dimension
        Numbers, booleans or strings, by column name.

    Notes
    -----
    Spreadsheets run a cell that begins with ``=``, ``+``, ``-`` or ``@`` as a formula.  In CSV and
    TSV files such text, unless it is a number, gets an apostrophe before it: ``=A1`` is written
    ``'=A1``.  Text that already begins with apostrophes before one of these characters gets one
    more.  To restore the text, remove one apostrophe from every cell that begins with apostrophes
    followed by one of these characters, a tab or a carriage return.  Other formats are not changed.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from widemargin.tables import write_predictions
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "out.csv"
    ...     write_predictions(path, {"row": [1, 2], "score": [0.5, -1.5]})
    ...     print(path.read_text(), end="")
    "row","score"
    1,0.5
    2,-1.5
    """
    path = Path(path)
    kind = format_of_suffix(path) or ("csv" if is_stream(path) else None)
    arrays = {name: _plain(name, values) for name, values in columns.items()}
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) != 1:
        raise ValueError(f"columns have lengths {lengths}; give one or more of equal length")
    if kind in (None, "svmlight"):
        raise DataFileError(f"{path}: predictions go to .csv, .tsv, .parquet, .arrow or .npz files")
    with atomic_path(path) as temporary:
        if kind == "npz":
            _write_npz(temporary, arrays)
            return
        pa = require_pyarrow()
        if kind == "parquet":
            pa.parquet.write_table(pa.table(arrays), temporary)
            return
        if kind == "arrow":
            table = pa.table(arrays)
            with pa.OSFile(str(temporary), "wb") as sink, pa.ipc.new_file(sink, table.schema) as to:
                to.write_table(table)
            return
        table = pa.table({_harmless(name): _harmless_cells(a) for name, a in arrays.items()})
        options = pa.csv.WriteOptions(delimiter="\t" if kind == "tsv" else ",")
        with COMPRESSED.get(path.suffix.lower(), open)(temporary, "wb") as stream:
            pa.csv.write_csv(table, stream, options)


def _harmless(text: str) -> str:
    return f"'{text}" if FORMULA.match(text) and not NUMBER.fullmatch(text) else text


def _harmless_cells(array: np.ndarray) -> np.ndarray:
    """The column as it is, or with an apostrophe before text that spreadsheets would run."""
    if array.dtype.kind != "U" or not array.size:
        return array
    words, codes = np.unique(array, return_inverse=True)
    return np.array([_harmless(str(word)) for word in words])[codes]


def _plain(name: str, values: Any) -> np.ndarray:
    array = np.asarray(values)
    if array.dtype.kind == "O" and all(isinstance(value, str) for value in array.ravel()):
        array = array.astype(str)
    if array.ndim != 1 or array.dtype.kind not in "biufUM":
        raise ValueError(
            f"column {name!r} has shape {array.shape} and type {array.dtype}; it needs one number, "
            "boolean or string per row"
        )
    return array


def _write_npz(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    # numpy.savez would take a column called "file" for its own argument, and may pickle.
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, array, allow_pickle=False)
