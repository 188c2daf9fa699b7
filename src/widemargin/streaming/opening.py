"""`stream`: checks the arguments and finds the files."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from widemargin._runtime.files import PathLike
from widemargin._typing import ArrayLike
from widemargin.datasets.common import check_count, check_dtype
from widemargin.streaming.columns import ColumnOptions
from widemargin.streaming.files import common_format, find_files
from widemargin.streaming.source import Stream
from widemargin.tables.errors import Argument, ArgumentError

__all__ = ["stream"]


def stream(
    paths: PathLike | Iterable[PathLike],
    *,
    target: str | int | None = None,
    format: str | None = None,
    columns: Sequence[str | int] | None = None,
    classes: ArrayLike = None,
    encoder: Any = "auto",
    chunk_rows: int | None = None,
    dtype: Any = np.float32,
    header: bool = True,
    n_features: int | None = None,
    index_base: int | None = None,
) -> Stream:
    """Chunks of svmlight, CSV or Parquet files that need not fit in memory.

    Parameters
    ----------
    paths : str, path or iterable of them
        Files, folders of files (read in the order of their names), patterns such as
        ``"part-*.parquet"``.  Text may be compressed (.gz, .bz2, .xz).
    target : str, int or None, default=None
        Name or position of the target column.  The target of svmlight files is always the label.
    format : {"svmlight", "csv", "tsv", "parquet"} or None, default=None
        Format of files with another suffix.
    columns : sequence of str or int, optional
        The input columns; by default all but the target.  Only these are read from Parquet files.
    classes : array-like, optional
        All classes.  A row of another class then raises an error that names its place.
    encoder : "auto", transformer or None, default="auto"
        Turns text and missing values of tables into numbers.  It is a fitted `TableEncoder`, or
        "auto": a new one is fitted to the first chunk if that has text or missing values.
    chunk_rows : int or None, default=None
        Rows per chunk (lines, in text files).  None means about 32 MB of inputs or 16 MB of text.
    dtype : {numpy.float32, numpy.float64}, default=numpy.float32
        Type of the inputs.
    header : bool, default=True
        Whether the first line of a CSV file names the columns.  If not, they are called c0, c1, ...
    n_features, index_base : int or None, default=None
        Number of columns of svmlight files, and the number (0 or 1) of the first.  If one of them
        is None, a first pass finds it.

    Returns
    -------
    Stream
        An iterable of `Chunk`; each iteration is one pass.

    See Also
    --------
    fit_stream : Trains a model on a stream.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from widemargin import MarginPerceptron
    >>> from widemargin.streaming import stream
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "rows.csv"
    ...     _ = path.write_text("a,b,y\\n1,2,no\\n2,1,yes\\n4,1,yes\\n1,3,no\\n")
    ...     for chunk in stream(path, target="y", chunk_rows=2):
    ...         print(chunk.X.tolist(), chunk.y.tolist(), chunk.stop.line)
    [[1.0, 2.0], [2.0, 1.0]] ['no', 'yes'] 3
    [[4.0, 1.0], [1.0, 3.0]] ['yes', 'no'] 5
    """
    files = find_files(paths, format)
    kind = common_format(files, format)
    if kind == "svmlight":
        if target not in (None, "label"):
            raise ArgumentError(
                f"{files[0]}: the target is the label of each line; leave out ",
                Argument("target", target),
            )
        target = "label"
    if target is None:
        raise ArgumentError(
            f"{files[0]}: the target column is not known; name it with ", Argument("target")
        )
    if not (encoder is None or encoder == "auto" or hasattr(encoder, "transform")):
        raise ValueError(f"encoder={encoder!r}; use 'auto', a fitted TableEncoder, or None")
    if index_base not in (None, 0, 1):
        raise ValueError(f"index_base={index_base!r}; use 0, 1 or None (a first pass finds it)")
    labels = None if classes is None else np.unique(np.asarray(classes))
    text = None if labels is None else labels.dtype.kind in "US"
    chosen = None if columns is None else tuple(columns)
    return Stream(
        files,
        kind,
        ColumnOptions(target, chosen, encoder, text, check_dtype(dtype)),
        labels,
        chunk_rows=None if chunk_rows is None else check_count("chunk_rows", chunk_rows),
        header=bool(header),
        n_features=None
        if n_features is None or kind != "svmlight"
        else check_count("n_features", n_features),
        index_base=index_base if kind == "svmlight" else None,
    )
