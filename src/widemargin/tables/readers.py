"""`read_table`: one function for every format."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from widemargin._runtime.files import PathLike
from widemargin.tables.arrow import clean, features, read_csv, read_parquet, target_array
from widemargin.tables.errors import Argument, ArgumentError, DataFileError
from widemargin.tables.formats import format_of, read_errors, regular_file
from widemargin.tables.numbers import read_npz, read_svmlight
from widemargin.tables.table import Table, find_column


def read_table(
    path: PathLike,
    *,
    target: str | int | None = None,
    format: str | None = None,
    header: bool = True,
    text_columns: Sequence[str] | None = None,
    n_features: int | None = None,
    index_base: int | None = None,
) -> Table:
    """Read a data file: CSV, TSV, Parquet, svmlight or NumPy archive.

    Parameters
    ----------
    path : str or path
        The suffix decides the format: .csv, .txt, .tsv, .parquet, .svm, .svmlight, .libsvm, .dat,
        .npz.  Text files may be compressed (.gz, .bz2, .xz).  A pipe is copied to a temporary
        file; without a known suffix it holds CSV.
    target : str, int or None, default=None
        Name of the target column, or its position ("-1" is the last).  With None all columns are
        inputs.  The target of svmlight files is always ``label``; that of archives is ``y``.
    format : {"csv", "tsv", "parquet", "svmlight", "npz"} or None
        Format of a file with another suffix.
    header : bool, default=True
        Whether the first line of a CSV file names the columns.  If not, they are called c0, c1, ...
    text_columns : sequence of str or None, default=None
        The columns to read as text; all others are numbers, and X is always a DataFrame.  For
        prediction, pass ``text_columns(model)``.  None infers the types from the file.
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
        If pyarrow (for CSV and Parquet) or pandas (for text or missing values) is not installed.

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
    kind = format_of(path, format)
    if index_base not in (None, 0, 1):
        raise ArgumentError(
            Argument("index_base", index_base), "; use 0, 1 or None (inferred from the file)"
        )
    with read_errors(path), regular_file(path) as file:
        if kind == "svmlight":
            return read_svmlight(file, target, n_features, index_base)
        if kind == "npz":
            return read_npz(file, target)
        if kind == "parquet":
            arrow = read_parquet(file)
        else:
            arrow = read_csv(file, "\t" if kind == "tsv" else None, header, text_columns or ())
        return _from_arrow(arrow, file, target, text_columns, parse=kind != "parquet")


def _from_arrow(
    arrow: Any, path: Path, target: str | int | None, text: Sequence[str] | None, *, parse: bool
) -> Table:
    names = [str(name).strip() for name in arrow.column_names]
    check_names(names, path)
    if arrow.num_rows == 0:
        raise DataFileError(f"{path}: has no rows below its header; use a file with rows")
    if unknown := [name for name in text or () if name not in names]:
        shown = ", ".join(map(repr, unknown[:5])) + (", ..." if len(unknown) > 5 else "")
        raise DataFileError(
            f"{path}: lacks {shown}, to be read as text; use a file with the columns of the "
            "training file"
        )
    at = None if target is None else find_column(names, target, path)
    places = [f"{path}: column {name!r}" for name in names]
    columns = [
        clean(column, where, as_text=name in (text or ()), parse=parse)
        for column, name, where in zip(arrow.columns, names, places, strict=True)
    ]
    inputs = [i for i in range(len(names)) if i != at]
    if not inputs:
        raise DataFileError(f"{path}: has no column besides the target; add the inputs")
    y = None if at is None else target_array(columns[at], places[at])
    chosen = tuple(names[i] for i in inputs)
    X = features([columns[i] for i in inputs], chosen, frame=text is not None, path=path)
    return Table(X, y, chosen, None if at is None else names[at])


def check_names(names: Sequence[str], path: Path) -> None:
    """Refuse columns without a name and names that are used twice."""
    if "" in names:
        raise DataFileError(
            f"{path}: column {names.index('') + 1} has no name; name it, or leave out a row index "
            "when writing the file (pandas: index=False)"
        )
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise DataFileError(
            f"{path}: more than one column is called {twice[0]!r}; rename them, or use ",
            Argument("header", False),
            " if the first line is data",
        )
