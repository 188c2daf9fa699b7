"""`stream`: chunks of data files that are larger than memory."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from widemargin._files import PathLike
from widemargin._typing import ArrayLike
from widemargin.datasets._common import check_dtype
from widemargin.streaming._chunk import Chunk, Position
from widemargin.streaming._columns import Wanted
from widemargin.streaming._csv import CsvReader
from widemargin.streaming._facts import Facts
from widemargin.streaming._files import common_format, find_files
from widemargin.streaming._parquet import CHUNK_BYTES, ParquetReader
from widemargin.streaming._svmlight import SvmlightReader
from widemargin.streaming._text import BLOCK_BYTES
from widemargin.tables import DataFileError

__all__ = ["Stream", "stream"]


class Stream:
    """Chunks of one or more data files; made by `stream`.

    Attributes
    ----------
    files : tuple of Path
        The files, in the order in which they are read.
    format : str
        Their format.
    classes : ndarray or None
        The classes, if they were given or a first pass found them.
    total_bytes : int
        Size of all files.
    bytes_read : int
        How many of these bytes the chunks so far came from; it goes on counting over epochs.
    """

    def __init__(
        self,
        files: tuple[Path, ...],
        format: str,
        wanted: Wanted,
        classes: np.ndarray | None,
        **options: Any,
    ) -> None:
        self.files, self.format, self.classes = files, format, classes
        self.sizes = tuple(file.stat().st_size for file in files)
        self.total_bytes, self.bytes_read = sum(self.sizes), 0
        self.n_features: int | None = options.pop("n_features")
        self.index_base: int | None = options.pop("index_base")
        self._wanted, self._options = wanted, options
        self._table_reader: CsvReader | ParquetReader | None = None

    def __iter__(self) -> Iterator[Chunk]:
        """One pass over all files."""
        return self.chunks()

    def chunks(self, *, start: Position | None = None, epochs: int = 1) -> Iterator[Chunk]:
        """The chunks, the next of which is read in the background while one is used.

        Parameters
        ----------
        start : Position, optional
            Where to begin: the `stop` of the last chunk that was used.
        epochs : int, default=1
            When to end: after so many passes, counted from the very beginning.
        """
        if self.unknown_columns:
            self.first_pass()
        return self._chunks(self._reader().chunks, start or Position(), epochs)

    @property
    def unknown_columns(self) -> bool:
        """Whether only a first pass can tell how many columns an svmlight file has."""
        return self.format == "svmlight" and None in (self.n_features, self.index_base)

    @property
    def encoder(self) -> Any:
        """The fitted encoder of a table with text or missing values, else None."""
        return None if self.format == "svmlight" else self._reader().schema.encoder

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the columns in the files; empty if the format has none."""
        return () if self.format == "svmlight" else self._reader().schema.inputs

    def pipeline(self, model: Any) -> Any:
        """The model behind the encoder, so that it takes tables; the model itself without one."""
        if self.encoder is None:
            return model
        return Pipeline([("encoder", self.encoder), ("model", model)])

    def first_pass(
        self,
        *,
        classes: bool = False,
        statistics: bool = False,
        facts: Facts | None = None,
        start: Position | None = None,
        after_chunk: Callable[[Facts, Chunk], Any] | None = None,
    ) -> Facts:
        """One pass that trains nothing and finds what a model must know before it can begin.

        Parameters
        ----------
        classes, statistics : bool, default=False
            Whether to collect the classes, and mean and variance of the inputs.
        facts, start : optional
            What an interrupted pass had found, and where it was.
        after_chunk : callable, optional
            Called with the facts and each chunk.
        """
        facts = facts or Facts()
        only_target = not (statistics or self.unknown_columns)
        if self.unknown_columns:
            read: Any = SvmlightReader(self._wanted.dtype, self._options["chunk_rows"], None, 0)
            read = read.chunks
        elif only_target and self.format != "svmlight":
            read = partial(self._reader().chunks, only_target=True)
        else:
            read = self._reader().chunks
        for chunk in self._chunks(read, start or Position(), 1):
            facts.update(chunk, classes=classes, statistics=statistics)
            if after_chunk is not None:
                after_chunk(facts, chunk)
        self.adopt(facts)
        return facts

    def adopt(self, facts: Facts) -> None:
        """Uses what a first pass has found."""
        if self.classes is None:
            self.classes = facts.classes
        if self.unknown_columns:
            if self.index_base is None:
                self.index_base = 0 if facts.uses_zero else 1
            if self.n_features is None:
                self.n_features = max(1, facts.width - self.index_base)

    def settings(self) -> dict[str, Any]:
        """What decides where chunks end and what they hold, as plain values."""
        wanted = self._wanted
        return {
            "format": self.format,
            "target": wanted.target,
            "columns": None if wanted.columns is None else list(wanted.columns),
            "dtype": str(wanted.dtype),
            "bytes": [BLOCK_BYTES, CHUNK_BYTES],
            **self._options,
        }

    def _reader(self) -> Any:
        if self.format == "svmlight":
            if self.n_features is None or self.index_base is None:
                raise ValueError("n_features is not known; give n_features= and index_base=")
            rows = self._options["chunk_rows"]
            return SvmlightReader(self._wanted.dtype, rows, self.n_features, self.index_base)
        if self._table_reader is None:
            self._table_reader = self._learn()
        return self._table_reader

    def _learn(self) -> CsvReader | ParquetReader:
        """The reader, once the first file with rows has shown it the columns."""
        rows = self._options["chunk_rows"]
        reader: CsvReader | ParquetReader = ParquetReader(self._wanted, rows)
        if self.format != "parquet":
            delimiter = "\t" if self.format == "tsv" else None
            reader = CsvReader(self._wanted, rows, delimiter, self._options["header"])
        for file in self.files:
            if (learnt := reader.learn(file)) is not None:
                return learnt
        raise self._no_rows()

    def _no_rows(self) -> DataFileError:
        more = f" and {len(self.files) - 1} more files" if len(self.files) > 1 else ""
        return DataFileError(f"{self.files[0]}{more}: no rows; give files with rows")

    def _chunks(self, read: Any, start: Position, epochs: int) -> Iterator[Chunk]:
        for chunk in _ahead(self._read(read, start, epochs)):
            self.bytes_read = chunk.bytes_read
            yield chunk

    def _read(self, read: Any, start: Position, epochs: int) -> Iterator[Chunk]:
        for epoch in range(start.epoch, epochs):
            empty = start == Position()
            for number in range(start.file, len(self.files)):
                before = epoch * self.total_bytes + sum(self.sizes[:number])
                for chunk in read(self.files[number], start):
                    self._check_classes(chunk)
                    empty = False
                    yield replace(
                        chunk,
                        start=replace(chunk.start, epoch=epoch, file=number),
                        stop=replace(chunk.stop, epoch=epoch, file=number),
                        bytes_read=before + chunk.bytes_read,
                    )
                start = Position()
            if empty:
                raise self._no_rows()
            start = Position()

    def _check_classes(self, chunk: Chunk) -> None:
        if self.classes is None:
            return
        words = [array.dtype.kind in "US" for array in (self.classes, chunk.y)]
        unknown = np.arange(1)
        if words[0] == words[1]:
            place = np.searchsorted(self.classes, chunk.y).clip(max=len(self.classes) - 1)
            unknown = np.flatnonzero(self.classes[place] != chunk.y)
        if unknown.size:
            row = int(unknown[0])
            raise DataFileError(
                f"{chunk.where(row)}: the target is {chunk.y[row].item()!r}, not among the classes "
                f"{self.classes[:10].tolist()!r}; mend the row, or name every class in classes="
            )


def _ahead(chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    """The chunks, each read in a second thread while the one before it is used.

    Whatever reading raises is raised here when the turn of the chunk has come.
    """
    with closing(chunks), ThreadPoolExecutor(1, "widemargin-stream") as reader:  # type: ignore[type-var]
        coming = reader.submit(next, chunks, None)
        while (chunk := coming.result()) is not None:
            coming = reader.submit(next, chunks, None)
            yield chunk


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
        Name or position of the target column.  svmlight files have their own.
    format : {"svmlight", "csv", "tsv", "parquet"} or None, default=None
        For files whose suffix does not tell it.
    columns : sequence of str or int, optional
        The input columns; by default all but the target.  Of Parquet files only these are read.
    classes : array-like, optional
        Every class there is.  A row of another class is then an error that names its place.
    encoder : "auto", transformer or None, default="auto"
        What turns text and missing values of tables into numbers: a fitted `table_encoder`, or
        "auto", one that is fitted to the first chunk if that has text or missing values.
    chunk_rows : int or None, default=None
        Rows of a chunk (lines, in text files).  None: some 32 MB of inputs, or 16 MB of text.
    dtype : {numpy.float32, numpy.float64}, default=numpy.float32
        Type of the inputs.
    header : bool, default=True
        Whether the first line of a CSV file names the columns; if not, they are c0, c1, ...
    n_features, index_base : int or None, default=None
        Number of columns of svmlight files, and the number (0 or 1) of the first.  What is not
        given is found in a first pass.

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
    >>> from widemargin import MarginPerceptron, stream
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
            raise ValueError(f"target={target!r}: that of svmlight files is the label of each line")
        target = "label"
    if target is None:
        raise ValueError(f"target=None: name the target column of {files[0]}")
    if not (encoder is None or encoder == "auto" or hasattr(encoder, "transform")):
        raise ValueError(f"encoder={encoder!r}; use 'auto', a fitted table_encoder, or None")
    if index_base not in (None, 0, 1):
        raise ValueError(f"index_base={index_base!r}; use 0, 1 or None (found in a first pass)")
    labels = None if classes is None else np.unique(np.asarray(classes))
    text = None if labels is None else labels.dtype.kind in "US"
    chosen = None if columns is None else tuple(columns)
    return Stream(
        files,
        kind,
        Wanted(target, chosen, encoder, text, check_dtype(dtype)),
        labels,
        chunk_rows=_count(chunk_rows, "chunk_rows"),
        header=bool(header),
        n_features=_count(n_features, "n_features"),
        index_base=index_base,
    )


def _count(value: Any, name: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name}={value!r}; give a whole number >= 1, or None")
    return int(value)
