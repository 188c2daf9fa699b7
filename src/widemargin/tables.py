"""Data files in, predictions out: what the command line reads and writes.

CSV and Parquet files are read by pyarrow, svmlight files by scikit-learn, NumPy archives without
pickle.  Whatever is wrong with a file is a `DataFileError` that names the file, the place and
the remedy.  `table_encoder` turns a mixed table into numbers.
"""

import bz2
import contextlib
import csv
import difflib
import gzip
import io
import itertools
import lzma
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from scipy import sparse as sp
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_svmlight_file
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.validation import check_is_fitted, validate_data

from ._encoding import checked_sparse
from .persistence import PathLike, atomic_path

__all__ = [
    "DataFileError",
    "Table",
    "TextColumns",
    "read_table",
    "table_encoder",
    "text_columns",
    "write_predictions",
]

FORMATS = {
    "csv": (".csv", ".txt"),
    "tsv": (".tsv",),
    "parquet": (".parquet",),
    "svmlight": (".svm", ".svmlight", ".libsvm", ".dat"),
    "npz": (".npz",),
}
COMPRESSED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
BLOCK_BYTES = 2**24  # pyarrow wants each line within one block; wide tables have long lines
SECONDS_PER_DAY = 86_400

# Empty fields and the usual names of nothing; "?" is the convention of the UCI repository.
MISSING = ["", "?", "NA", "N/A", "n/a", "#N/A", "nan", "NaN", "NAN", "-nan", "null", "NULL"]
NPZ_PARTS = ("X", "y", "data", "indices", "indptr", "shape", "format")


class DataFileError(ValueError):
    """A data file cannot be used as it is; the message names the file, the place, the remedy."""


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of a data file.

    Attributes
    ----------
    X : ndarray, CSR array or pandas DataFrame of shape (n_rows, n_features)
        The inputs: floats if all are numbers and none is missing, else a DataFrame.
    y : ndarray of shape (n_rows,) or None
        The target, if it was asked for or the format always has one.
    feature_names : tuple of str
        Names of the columns of X; empty if the format has none (svmlight, npz).
    target_name : str or None
        Name of the target.
    """

    X: Any
    y: np.ndarray | None
    feature_names: tuple[str, ...]
    target_name: str | None


def read_table(
    path: PathLike,
    *,
    target: str | int | None = None,
    format: str | None = None,
    header: bool = True,
    text_columns: Sequence[str] | None = None,
    n_features: int | None = None,
) -> Table:
    """Read a data file: CSV, TSV, Parquet, svmlight or NumPy archive.

    Parameters
    ----------
    path : str or path
        The suffix tells the format: .csv, .txt, .tsv, .parquet, .svm, .svmlight, .libsvm, .dat,
        .npz.  Text files may be compressed (.gz, .bz2, .xz).
    target : str, int or None, default=None
        Name of the target column, or its position ("-1" is the last).  None if all columns are
        inputs.  svmlight files always have a target, ``label``; archives if they hold ``y``.
    format : {"csv", "tsv", "parquet", "svmlight", "npz"} or None
        For files with another suffix.
    header : bool, default=True
        Whether the first line of a CSV file names the columns; if not, they are c0, c1, ...
    text_columns : sequence of str or None, default=None
        The columns to read as text, all others being numbers; X is then always a DataFrame.  For
        prediction, pass ``text_columns(model)``.  None: found from the file.
    n_features : int or None, default=None
        Number of features of an svmlight file, which does not tell it.  Feature numbers start at
        1 unless the file uses 0.

    Returns
    -------
    Table
        The inputs `X`, the target `y` and their names.

    Raises
    ------
    DataFileError
        If the file cannot be read or makes no table.
    ImportError
        If pyarrow (CSV, Parquet) or pandas (text or missing values) is not installed.

    Notes
    -----
    The separator of a CSV file is the most frequent of ``,``, ``;`` and tab in its first line.
    Spaces around values are dropped.  Empty fields, ``?``, ``NA`` and ``nan`` are missing values.
    Dates become days since 1970.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from widemargin.tables import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "towns.csv"
    ...     _ = path.write_text("rooms,area,town\\n2,55.5,Bern\\n3,80,Sion\\n")
    ...     table = read_table(path, target="town")
    >>> table.X
    array([[ 2. , 55.5],
           [ 3. , 80. ]])
    >>> table.y.tolist(), table.feature_names
    (['Bern', 'Sion'], ('rooms', 'area'))
    """
    path = Path(path)
    kind = _format_of(path, format)
    try:
        if kind == "svmlight":
            return _read_svmlight(path, target, n_features)
        if kind == "npz":
            return _read_npz(path, target)
        if kind == "parquet":
            arrow = _read_parquet(path)
        else:
            arrow = _read_csv(path, "\t" if kind == "tsv" else None, header, text_columns or ())
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataFileError(f"{path}: cannot be read ({reason}); check the file") from error
    return _from_arrow(arrow, path, target, text_columns, parse=kind != "parquet")


def write_predictions(path: PathLike, columns: Mapping[str, Any]) -> None:
    """Write columns of equal length to a CSV, TSV, Parquet or NumPy file, all or nothing.

    Parameters
    ----------
    path : str or path
        The suffix tells the format, as for `read_table`; svmlight is not written.
    columns : dict of str to array of one dimension
        Numbers, booleans or strings by column name.

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
    kind = _format_of(path, None)
    arrays = {name: _plain(name, values) for name, values in columns.items()}
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) != 1:
        raise ValueError(f"columns of lengths {lengths}; one or more of equal length are needed")
    if kind == "svmlight":
        raise DataFileError(f"{path}: predictions go to .csv, .tsv, .parquet or .npz files")
    with atomic_path(path) as temporary:
        if kind == "npz":
            _write_npz(temporary, arrays)
            return
        pa = _require_pyarrow()
        table = pa.table(arrays)
        if kind == "parquet":
            pa.parquet.write_table(table, temporary)
            return
        options = pa.csv.WriteOptions(delimiter="\t" if kind == "tsv" else ",")
        with COMPRESSED.get(path.suffix.lower(), open)(temporary, "wb") as stream:
            pa.csv.write_csv(table, stream, options)


def table_encoder(X: Any, *, sparse: str | bool = "auto") -> ColumnTransformer:
    """Transformer, not yet fitted, that turns a mixed table into numbers.

    Numeric columns keep their values, the median in place of missing ones.  Every other column
    becomes one indicator per category; "missing" is a category, rare categories of large tables
    share one indicator, and so do categories that only appear later.  Nothing is scaled: models
    do that.  Columns without information (all missing, one value) and dates are dropped with a
    warning.

    Parameters
    ----------
    X : pandas DataFrame
        The training table, as `read_table` returns it.
    sparse : {"auto", True, False}, default="auto"
        Whether the result is a CSR matrix; "auto" chooses it when under 30 % are non-zero.
        A table of numbers only stays dense.

    Returns
    -------
    ColumnTransformer
        With the parts ``numbers`` and ``text``.

    Examples
    --------
    >>> import pandas
    >>> from widemargin.tables import table_encoder
    >>> X = pandas.DataFrame({"age": [20.0, None, 40.0], "town": ["Bern", "Sion", None]})
    >>> table_encoder(X, sparse=False).fit_transform(X)
    array([[20.,  1.,  0.,  0.],
           [30.,  0.,  1.,  0.],
           [40.,  0.,  0.,  1.]])
    """
    if not hasattr(X, "iloc"):
        raise TypeError(f"X is a {type(X)}; give a pandas DataFrame (arrays need no encoder)")
    if sparse not in ("auto", True, False):
        raise ValueError(f"sparse={sparse!r}; use 'auto', True or False")
    numbers, text = _useful_columns(X)
    # One category in ten thousand rows is too rare to learn from.
    onehot = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        min_frequency=max(1, len(X) // 10_000),
        sparse_output=sparse is not False,
    )
    parts = [
        ("numbers", SimpleImputer(strategy="median"), numbers),
        ("text", make_pipeline(TextColumns(), onehot), text),
    ]
    threshold = 0.3 if sparse == "auto" else float(sparse)
    return ColumnTransformer([part for part in parts if part[2]], sparse_threshold=threshold)


class TextColumns(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Columns of any type as strings, the missing ones as the string ``"missing"``.

    The same value gives the same string whatever type its column was read as: a column of codes
    may hold only whole numbers in one file, missing values (hence floats) in a second and letters
    in a third.

    Parameters
    ----------
    missing : str, default="missing"
        String for missing values.

    Examples
    --------
    >>> import pandas
    >>> from widemargin.tables import TextColumns
    >>> TextColumns().fit_transform(pandas.DataFrame({"code": [1, None], "flag": [True, False]}))
    array([['1', 'True'],
           ['missing', 'False']], dtype=object)
    """

    def __init__(self, missing: str = "missing") -> None:
        self.missing = missing

    def fit(self, X: Any, y: Any = None) -> "TextColumns":
        """Learn the number and the names of the columns."""
        self._frame(X, reset=True)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Array of strings with the shape of `X`."""
        import pandas

        check_is_fitted(self, "n_features_in_")
        frame = self._frame(X, reset=False)
        result = np.empty(frame.shape, dtype=object)
        for j in range(frame.shape[1]):
            # Code -1 means missing and so picks the last of the words.
            codes, values = pandas.factorize(frame.iloc[:, j])
            words = [_text(value) for value in values] + [self.missing]
            result[:, j] = np.array(words, dtype=object)[codes]
        return result

    def _frame(self, X: Any, *, reset: bool) -> Any:
        import pandas

        if isinstance(X, pandas.DataFrame):  # each column keeps its own type
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        array = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=False)
        return pandas.DataFrame(array)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags


def text_columns(model: Any) -> list[str] | None:
    """Columns that a model made with `table_encoder` reads as text; None if it has no encoder.

    Pass the result to `read_table` when reading data to predict, so that a column keeps its type
    even where the new file alone would suggest another.

    Parameters
    ----------
    model : estimator
        An encoder, or a pipeline that begins with one.

    Examples
    --------
    >>> import pandas
    >>> from widemargin.tables import table_encoder, text_columns
    >>> X = pandas.DataFrame({"age": [20.0, 30.0], "town": ["Bern", "Sion"]})
    >>> text_columns(table_encoder(X).fit(X))
    ['town']
    """
    for part in _parts(model):
        if isinstance(part, ColumnTransformer):
            return [c for name, _, columns in part.transformers if name == "text" for c in columns]
    return None


def _format_of(path: Path, format: str | None) -> str:
    if format is not None:
        if format not in FORMATS:
            raise ValueError(f"format={format!r}; use one of {', '.join(FORMATS)}")
        return format
    plain = path.with_suffix("") if path.suffix.lower() in COMPRESSED else path
    for name, suffixes in FORMATS.items():
        # Binary formats compress by themselves.
        if plain.suffix.lower() in suffixes and (plain is path or name not in ("parquet", "npz")):
            return name
    known = " ".join(suffix for suffixes in FORMATS.values() for suffix in suffixes)
    raise DataFileError(
        f"{path}: unknown suffix {path.suffix!r}; known are {known}; or set format="
    )


def _from_arrow(
    arrow: Any, path: Path, target: str | int | None, text: Sequence[str] | None, *, parse: bool
) -> Table:
    names = [str(name).strip() for name in arrow.column_names]
    _check_names(names, path)
    if arrow.num_rows == 0:
        raise DataFileError(f"{path}: has no rows below its header; give a file with rows")
    if unknown := [name for name in text or () if name not in names]:
        raise _no_column(names, unknown[0], path)
    at = None if target is None else _find_column(names, target, path)
    places = [f"{path}: column {name!r}" for name in names]
    columns = [
        _clean(column, where, as_text=name in (text or ()), parse=parse)
        for column, name, where in zip(arrow.columns, names, places, strict=True)
    ]
    inputs = [i for i in range(len(names)) if i != at]
    if not inputs:
        raise DataFileError(f"{path}: has no column besides the target; add the inputs")
    y = None if at is None else _target_array(columns[at], places[at])
    chosen = tuple(names[i] for i in inputs)
    X = _features([columns[i] for i in inputs], chosen, frame=text is not None, path=path)
    return Table(X, y, chosen, None if at is None else names[at])


def _check_names(names: Sequence[str], path: Path) -> None:
    if "" in names:
        raise DataFileError(
            f"{path}: column {names.index('') + 1} has no name; name it, or leave out a row index "
            "when writing the file (pandas: index=False)"
        )
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise DataFileError(
            f"{path}: more than one column is called {twice[0]!r}; rename them, or read a file "
            "without a line of names with header=False"
        )


def _read_svmlight(path: Path, target: str | int | None, n_features: int | None) -> Table:
    if target not in (None, "label"):
        raise DataFileError(f"{path}: the target is the label of each line; leave out {target=}")
    try:
        with _open_data(path) as stream:
            X, y = load_svmlight_file(stream, n_features=n_features)
    except (ValueError, OverflowError) as error:
        with _open_data(path) as stream:
            place = next((n for n, line in enumerate(stream, 1) if not _is_svmlight(line)), None)
        what = f"line {place}: {error}" if place else str(error)
        raise DataFileError(
            f"{path}: {what}; lines are 'label index:value ...' with growing indices"
        ) from error
    return _checked_table(X, y, "label", path)


def _is_svmlight(line: bytes) -> bool:
    tokens = line.partition(b"#")[0].split()
    try:
        pairs = [token.split(b":") for token in tokens[1:] if not token.startswith(b"qid:")]
        indices = [int(index) for index, value in pairs if float(value) is not None]
        float(tokens[0] if tokens else 0)
    except ValueError:
        return False
    growing = all(a < b for a, b in itertools.pairwise([-1, *indices]))
    return growing and all(index < 2**31 for index in indices)


def _read_npz(path: Path, target: str | int | None) -> Table:
    if target not in (None, "y"):
        raise DataFileError(f"{path}: the target is the array 'y'; leave out {target=}")
    try:
        with open(path, "rb") as stream:
            loaded = np.load(stream, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                raise ValueError("holds one array without a name")
            parts = {name: loaded[name] for name in NPZ_PARTS if name in loaded}
    except (ValueError, IndexError, MemoryError, zipfile.BadZipFile) as error:
        raise DataFileError(
            f"{path}: {error}; write it with numpy.savez, with numbers or strings only"
        ) from error
    try:
        X = _npz_matrix(parts)
    except ValueError as error:
        raise DataFileError(f"{path}: {error}") from error
    return _checked_table(X, parts.get("y"), "y", path)


def _npz_matrix(parts: Mapping[str, np.ndarray]) -> Any:
    if "X" in parts:
        X = parts["X"]
        if X.ndim != 2 or X.dtype.kind not in "biuf":
            raise ValueError(
                f"X has shape {X.shape} and type {X.dtype}; a numeric matrix is needed"
            )
        return X if X.dtype == np.float32 else X.astype(np.float64, copy=False)
    if missing := {"data", "indices", "indptr", "shape"} - parts.keys():
        raise ValueError(f"has neither X nor a sparse matrix ({min(missing)} is missing)")
    layout = str(np.asarray(parts.get("format", "csr")).astype(str))
    if layout not in ("csr", "csc") or parts["shape"].ndim != 1:
        raise ValueError(f"sparse matrix in the format {layout!r}; write it as csr")
    cls = sp.csr_array if layout == "csr" else sp.csc_array
    X = checked_sparse(cls, parts["data"], parts["indices"], parts["indptr"], parts["shape"])
    return X.tocsr() if X.dtype == np.float32 else X.tocsr().astype(np.float64)


def _checked_table(X: Any, y: np.ndarray | None, name: str, path: Path) -> Table:
    if 0 in X.shape:
        raise DataFileError(f"{path}: has {X.shape[0]} rows and {X.shape[1]} columns; add data")
    if y is None:
        return Table(X, None, (), None)
    if y.shape != X.shape[:1] or y.dtype.kind not in "biufU":
        raise DataFileError(
            f"{path}: {name} has shape {y.shape} and type {y.dtype} for {X.shape[0]} rows; one "
            "number or string a row is needed"
        )
    if y.dtype.kind == "f" and (missing := np.flatnonzero(np.isnan(y))).size:
        raise DataFileError(
            f"{path}: {name} is missing in {missing.size} of {len(y)} rows, first in data row "
            f"{missing[0] + 1}; remove these rows"
        )
    return Table(X, y, (), name)


def _plain(name: str, values: Any) -> np.ndarray:
    array = np.asarray(values)
    if array.dtype.kind == "O" and all(isinstance(value, str) for value in array.ravel()):
        array = array.astype(str)
    if array.ndim != 1 or array.dtype.kind not in "biufUM":
        raise ValueError(
            f"column {name!r} has shape {array.shape} and type {array.dtype}; one number, boolean "
            "or string a row is needed"
        )
    return array


def _write_npz(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    # Not numpy.savez: it takes a column called "file" for its own argument, and may pickle.
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, array, allow_pickle=False)


def _require_pyarrow() -> Any:
    """The pyarrow package with the modules used here, or an ImportError with the remedy."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.csv
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(
            "CSV and Parquet files need pyarrow: pip install 'widemargin[cli]'"
        ) from error
    return pyarrow


def _open_data(path: Path) -> IO[bytes]:
    """Stream of the bytes of a file, decompressed as its suffix says."""
    stream: IO[bytes] = COMPRESSED.get(path.suffix.lower(), open)(path, "rb")
    return stream


def _open_text(path: Path) -> io.TextIOWrapper:
    return io.TextIOWrapper(_open_data(path), "utf-8-sig", errors="replace", newline="")


def _read_parquet(path: Path) -> Any:
    """Arrow table of a Parquet file."""
    pa = _require_pyarrow()
    try:
        return pa.parquet.ParquetFile(path).read()
    except pa.ArrowException as error:
        raise DataFileError(f"{path}: is no complete Parquet file ({error}); check it") from error


def _read_csv(path: Path, delimiter: str | None, header: bool, text: Sequence[str]) -> Any:
    """Arrow table of a CSV file; the columns named in `text` are not taken for numbers."""
    pa = _require_pyarrow()
    first, delimiter = _first_row(path, delimiter)
    names = [name.strip() if header else f"c{i}" for i, name in enumerate(first)]
    # pyarrow knows the columns by the names in the file, or f0, f1, ... if there are none.
    known_as = first if header else [f"f{i}" for i in range(len(first))]
    types = {k: pa.string() for k, name in zip(known_as, names, strict=True) if name in text}
    try:
        with _open_data(path) as stream:
            table = pa.csv.read_csv(
                stream,
                pa.csv.ReadOptions(autogenerate_column_names=not header, block_size=BLOCK_BYTES),
                pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
                # "true" stays text: else a column would change type with the words it happens
                # to hold.
                pa.csv.ConvertOptions(
                    column_types=types,
                    null_values=MISSING,
                    strings_can_be_null=True,
                    true_values=[],
                    false_values=[],
                ),
            )
        # The names of a file are decoded only here, when they are asked for.
        return table.rename_columns(table.column_names if header else names)
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise DataFileError(_csv_problem(path, delimiter, len(first), error)) from error


def _first_row(path: Path, delimiter: str | None) -> tuple[list[str], str]:
    with _open_text(path) as lines:
        line = next((line for line in lines if line.strip()), None)
    if line is None:
        raise DataFileError(f"{path}: the file is empty; give one with rows")
    delimiter = delimiter or max(",;\t", key=line.count)
    return next(csv.reader([line], delimiter=delimiter)), delimiter


def _csv_problem(path: Path, delimiter: str, width: int, error: Exception) -> str:
    """What pyarrow refused: the first row of another length, with the line where it starts."""
    with _open_text(path) as lines, contextlib.suppress(csv.Error):
        reader = csv.reader(lines, delimiter=delimiter)
        start = 1
        for row in reader:
            if row and len(row) != width:
                return (
                    f"{path}: line {start} has {len(row)} values where the first has {width}; "
                    "mend the line, or quote values that contain the separator"
                )
            start = reader.line_num + 1
    return f"{path}: {error}; save it again as UTF-8 text with one row a line"


def _find_column(names: Sequence[str], wanted: str | int, path: object) -> int:
    """Position of the column called `wanted`, or at the position `wanted` ("-1" is the last)."""
    if wanted in names:
        return names.index(str(wanted))
    try:
        return range(len(names))[int(wanted)]
    except (ValueError, IndexError):
        raise _no_column(names, wanted, path) from None


def _no_column(names: Sequence[str], wanted: str | int, path: object) -> DataFileError:
    """Error for a column that is not there, with the names that come closest."""
    close = difflib.get_close_matches(str(wanted), names, n=3, cutoff=0.5) or names[:10]
    return DataFileError(
        f"{path}: there is no column {wanted!r} among {len(names)}; closest: "
        f"{', '.join(map(repr, close))}. Give a name, or a position such as -1; a file without a "
        "line of names is read with header=False"
    )


def _clean(column: Any, where: str, *, as_text: bool = False, parse: bool = False) -> Any:
    """Column of one simple type: numbers, booleans or strings; dates become days since 1970.

    With `parse` (CSV), strings are stripped, the names of nothing are missing values, and a
    column whose other strings are all numbers is numeric, unless it is wanted `as_text`.
    """
    pa = _require_pyarrow()
    types = pa.types
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if types.is_null(kind):
        return column.cast(pa.string() if as_text else pa.float64())
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        text = column.cast(pa.large_string())
        return _parse(text, as_text) if parse else text
    if types.is_temporal(kind) and not types.is_interval(kind):
        return _days(column)
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind):
        return column
    if types.is_decimal(kind):
        return column.cast(pa.float64())
    what = "text that is not UTF-8" if types.is_binary(kind) else f"values of type {kind}"
    raise DataFileError(f"{where} holds {what}; convert it to numbers or UTF-8 text, or drop it")


def _parse(text: Any, as_text: bool) -> Any:
    pa = _require_pyarrow()
    text = pa.compute.utf8_trim_whitespace(text)
    missing = pa.compute.is_in(text, value_set=pa.array(MISSING, text.type))
    text = pa.compute.if_else(missing, pa.scalar(None, text.type), text)
    for number in () if as_text else (pa.int64(), pa.float64()):
        try:
            return text.cast(number)
        except pa.ArrowInvalid:
            continue
    return text


def _days(column: Any) -> Any:
    """Dates, times and durations as days (since 1970, since midnight, long), NaN if missing."""
    pa = _require_pyarrow()
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("ms"))
    if column.type == pa.time32("s") or column.type == pa.time32("ms"):
        units = column.cast(pa.int32()).cast(pa.float64())
    else:
        units = column.cast(pa.int64()).cast(pa.float64(), safe=False)
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[column.type.unit]
    return pa.compute.divide(units, float(SECONDS_PER_DAY * per_second))


def _is_text(column: Any) -> bool:
    """Whether a cleaned column holds strings."""
    return str(column.type) in ("string", "large_string")


def _features(columns: Sequence[Any], names: Sequence[str], *, frame: bool, path: object) -> Any:
    """Cleaned columns as a float array; as a pandas table if they are mixed or incomplete."""
    pa = _require_pyarrow()
    types = {str(column.type) for column in columns}
    numeric = not any(_is_text(c) or pa.types.is_boolean(c.type) for c in columns)
    if numeric and not frame:
        dtype = np.float32 if types <= {"float", "halffloat"} else np.float64
        X = np.empty((len(columns[0]), len(columns)), dtype)
        for j, column in enumerate(columns):
            X[:, j] = _floats(column)
        if not np.isnan(X).any():
            return X
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            f"{path} has text or missing values, which need pandas: pip install pandas"
        ) from error
    simple = [
        c.to_pandas() if _is_text(c) or str(c.type) == "bool" else _floats(c) for c in columns
    ]
    return pandas.DataFrame(dict(zip(names, simple, strict=True)))


def _floats(column: Any) -> Any:
    pa = _require_pyarrow()
    narrow = str(column.type) in ("float", "halffloat")
    # Integers above 2^53 are rounded, as everywhere in floating point.
    numbers = column.cast(pa.float32() if narrow else pa.float64(), safe=False)
    return pa.compute.fill_null(numbers, float("nan")).to_numpy()


def _target_array(column: Any, where: str) -> np.ndarray:
    """Cleaned target column as an array of integers, floats, booleans or strings."""
    pa = _require_pyarrow()
    missing = pa.compute.is_null(column, nan_is_null=True)
    if count := pa.compute.sum(missing).as_py():
        row = pa.compute.index(missing, True).as_py() + 1
        raise DataFileError(
            f"{where} is missing in {count} of {len(column)} rows, first in data row {row}; "
            "remove these rows or fill in the target"
        )
    if _is_text(column):
        coded = column.combine_chunks().dictionary_encode()
        words: np.ndarray = np.array(coded.dictionary.to_pylist())
        labels: np.ndarray = words[coded.indices.to_numpy()]
        return labels
    return np.asarray(column.to_numpy())


def _text(value: Any) -> str:
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _useful_columns(X: Any) -> tuple[list[str], list[str]]:
    """Names of the numeric columns and of the columns with categories."""
    from pandas.api import types

    numbers: list[str] = []
    text: list[str] = []
    dropped: list[str] = []
    for name in X.columns:
        column = X[name]
        if types.is_datetime64_any_dtype(column) or types.is_timedelta64_dtype(column):
            dropped.append(f"{name!r} (dates; convert them to numbers)")
        elif types.is_numeric_dtype(column) and not types.is_bool_dtype(column):
            keep = column.nunique() > 1
            (numbers if keep else dropped).append(name if keep else f"{name!r} (constant)")
        else:
            # One value or nothing is information too, except when it is nothing throughout.
            keep = column.nunique(dropna=False) > 1
            (text if keep else dropped).append(name if keep else f"{name!r} (constant)")
    if dropped:
        warnings.warn(f"columns left out: {', '.join(dropped)}", UserWarning, stacklevel=3)
    if not numbers and not text:
        raise ValueError("no column of the table varies; there is nothing to learn from")
    return numbers, text


def _parts(model: Any) -> Iterator[Any]:
    if isinstance(model, Pipeline):
        for _, step in model.steps:
            yield from _parts(step)
    else:
        yield model
