"""`read_table`: one function for every format."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from widemargin._runtime.files import PathLike
from widemargin.tables.arrow import features, target_array
from widemargin.tables.errors import Argument, ArgumentError, DataFileError
from widemargin.tables.formats import format_of, read_errors, regular_file, require_pyarrow
from widemargin.tables.numbers import read_npz, read_svmlight
from widemargin.tables.raw import RawTable, Reading, read_raw
from widemargin.tables.table import Table, find_column


def read_table(
    path: PathLike,
    *,
    target: str | int | None = None,
    format: str | None = None,
    separator: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    text_columns: Sequence[str] | None = None,
    known: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    missing_target: str = "error",
    n_features: int | None = None,
    index_base: int | None = None,
) -> Table:
    """Read a data file: CSV, TSV, Parquet, Arrow, svmlight or NumPy archive.

    Parameters
    ----------
    path : str or path
        The suffix decides the format: .csv, .txt, .data, .tsv, .tab, .parquet, .pq, .arrow,
        .feather, .ipc, .svm, .svmlight, .libsvm, .dat, .npz.  Text files may be compressed (.gz,
        .bz2, .xz).  A file .dat is svmlight, or CSV if it looks like it.  A pipe is copied to a
        temporary file; without a known suffix it holds CSV.
    target : str, int or None, default=None
        Name of the target column, or its position ("-1" is the last).  With None all columns are
        inputs.  The target of svmlight files is always ``label``; that of archives is ``y``.
    format : {"csv", "tsv", "parquet", "arrow", "svmlight", "npz"} or None
        Format of a file with another suffix.
    separator : str or None, default=None
        The character between the values of a CSV file.  None finds the one with which lines have
        the same number of values.
    header : bool or None, default=None
        Whether the first line of a CSV file names the columns.  If not, they are called c0, c1, ...
        None takes it for names unless it has numbers where the lines below have numbers, or, in a
        table without numbers, values that come again below.
    encoding : str or None, default=None
        How a CSV file is encoded.  None is UTF-8, UTF-16 with its mark, or, with a warning,
        Windows-1252.
    decimal : {".", ","} or None, default=None
        The decimal sign of a CSV file.  None is the one that more values have.
    text_columns : sequence of str or None, default=None
        The columns to read as text; all others are numbers, and X is always a DataFrame.  For
        prediction, pass ``text_columns(model)``.  None infers the types from the file.
    known : sequence of str or None, default=None
        Names of the columns of the training file: a first line that holds one of them is a header.
    columns : sequence of str or None, default=None
        The columns that are inputs, if the file has them.  The others are left out and may hold
        anything.  With None all columns are inputs.  For files with named columns.
    missing_target : {"error", "drop"}, default="error"
        What to do about rows without a target in files with named columns: refuse the file, or
        leave these rows out.
    n_features : int or None, default=None
        Number of features of an svmlight file, which the file does not record.  None means the
        largest column number, which must be in proportion to the size of the file.
    index_base : {0, 1} or None, default=None
        The number of the first feature in an svmlight file, which the file does not record either.
        None means 0 if the file uses the number 0, otherwise 1.  For prediction, pass the
        ``index_base`` of the table that the model was trained on: a file of a few rows may suggest
        another.

    Returns
    -------
    Table
        The inputs `X`, the target `y`, and the names of both.

    Raises
    ------
    DataFileError
        If the file cannot be read or holds no table.
    ImportError
        If pyarrow (for CSV, Parquet and Arrow) or pandas (for text or missing values) is not
        installed.

    Notes
    -----
    Spaces around values are dropped.  Empty fields, ``?``, ``NA`` and ``nan`` are missing values.
    A column without a name is called "unnamed" with its number.  Dates, written as in ISO 8601 or
    as 31.12.2026 or 2026/12/31, become days since 1970.

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
    kind = format_of(path, format)
    if index_base not in (None, 0, 1):
        raise ArgumentError(
            Argument("index_base", index_base), "; use 0, 1 or None (inferred from the file)"
        )
    if missing_target not in ("error", "drop"):
        raise ArgumentError(Argument("missing_target", missing_target), "; use 'error' or 'drop'")
    known = [*(known or ()), *([] if target is None else [str(target)])]
    text = text_columns or ()
    mostly = text_columns is not None  # the other columns are numbers
    reading = Reading(
        *(separator, header, encoding, decimal, text, known),
        mostly=mostly,
        wanted=None if columns is None else _places_of(columns, target, path),
    )
    with read_errors(path), regular_file(path) as file:
        if kind == "svmlight":
            return read_svmlight(file, target, n_features, index_base)
        if kind == "npz":
            return read_npz(file, target)
        raw = read_raw(file, kind, reading)
        check_names(raw.names, file, raw.columns)
        if missing_target == "drop" and target is not None:
            raw = _with_target(raw, find_column(raw.names, target, file), file)
        return _from_raw(raw, file, target, frame=text_columns is not None)


def _places_of(
    columns: Sequence[str], target: str | int | None, path: Path
) -> Callable[[list[str]], set[int]]:
    """Function that finds the places of these columns, and of the target, among names."""

    def places(names: list[str]) -> set[int]:
        chosen = set(columns)
        found = {i for i, name in enumerate(names) if name in chosen}
        return found if target is None else found | {find_column(names, target, path)}

    return places


def _with_target(raw: RawTable, place: int, path: Path) -> RawTable:
    """The rows that have a target."""
    compute = require_pyarrow().compute
    present = compute.invert(compute.is_null(raw.columns[place], nan_is_null=True))
    rows = int(compute.sum(present).as_py() or 0)
    if rows == raw.rows:
        return raw
    if rows == 0:
        raise DataFileError(
            f"{path}: the target {raw.names[place]!r} is missing in all rows; name another column "
            "with ",
            Argument("target"),
        )
    columns = [None if column is None else column.filter(present) for column in raw.columns]
    return replace(raw, columns=columns, rows=rows, left_out=raw.rows - rows)


def _from_raw(raw: RawTable, path: Path, target: str | int | None, *, frame: bool) -> Table:
    names = raw.names
    at = None if target is None else find_column(names, target, path)
    inputs = [i for i, column in enumerate(raw.columns) if i != at and column is not None]
    if len(names) == (at is not None):
        raise DataFileError(f"{path}: has no column besides the target; add the inputs")
    y = None if at is None else target_array(raw.columns[at], f"{path}: column {names[at]!r}")
    chosen = tuple(names[i] for i in inputs)
    X = features([raw.columns[i] for i in inputs], chosen, frame=frame, path=path, rows=raw.rows)
    others = tuple(name for name, column in zip(names, raw.columns, strict=True) if column is None)
    name = None if at is None else names[at]
    return Table(X, y, chosen, name, others=others, left_out=raw.left_out)


def check_names(
    names: Sequence[str], path: Path, columns: Sequence[object | None] | None = None
) -> None:
    """Refuse columns without a name and names of several columns.

    With `columns`, those that are None are not needed, and names that only these have may come
    twice.
    """
    if "" in names:
        raise DataFileError(
            f"{path}: column {names.index('') + 1} has no name; name it, or leave out a row index "
            "when writing the file (pandas: index=False)"
        )
    used = set(names)
    if columns is not None:
        used = {n for n, column in zip(names, columns, strict=True) if column is not None}
    if twice := [name for name, count in Counter(names).items() if count > 1 and name in used]:
        raise DataFileError(
            f"{path}: more than one column is called {twice[0]!r}; rename them, or use ",
            Argument("header", False),
            " if the first line is data",
        )
