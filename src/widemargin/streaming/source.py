"""`Stream`: one or more data files, larger than memory, read in chunks."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from widemargin.streaming.chunk import Chunk, Position
from widemargin.streaming.columns import ColumnOptions
from widemargin.streaming.csv import CsvReader
from widemargin.streaming.first_pass import FirstPassResult
from widemargin.streaming.parquet import CHUNK_BYTES, ParquetReader
from widemargin.streaming.svmlight import SvmlightReader
from widemargin.streaming.text import TEXT_CHUNK_BYTES
from widemargin.tables.errors import Argument, DataFileError
from widemargin.tables.formats import read_errors
from widemargin.tables.numbers import check_width

__all__ = ["Stream"]

REMEDY = "get the file again from its source"
COMPARED_CLASSES = 8  # up to this number, comparing with each class is faster than searching


class Stream:
    """One or more data files, read in chunks; made by `stream`.

    Attributes
    ----------
    files : tuple of Path
        The files, in the order in which they are read.
    format : str
        Their format.
    classes : ndarray or None
        The classes, if the user named them or a first pass found them.
    total_bytes : int
        Size of all files together.
    bytes_read : int
        Bytes read for the chunks so far, counted over all epochs.
    check_classes : callable or None
        Called with the classes that a first pass has found and the number of rows; it may raise.
    """

    def __init__(
        self,
        files: tuple[Path, ...],
        format: str,
        columns: ColumnOptions,
        classes: np.ndarray | None,
        **options: Any,
    ) -> None:
        self.files, self.format, self.classes = files, format, classes
        self.sizes = tuple(file.stat().st_size for file in files)
        self.total_bytes, self.bytes_read = sum(self.sizes), 0
        self.n_features: int | None = options["n_features"]
        self.index_base: int | None = options["index_base"]
        self.check_classes: Callable[[np.ndarray, int], None] | None = None
        self._columns, self._options = columns, options
        self._table_reader: CsvReader | ParquetReader | None = None

    def __iter__(self) -> Iterator[Chunk]:
        """One pass over all files."""
        return self.chunks()

    def chunks(self, *, start: Position | None = None, epochs: int = 1) -> Iterator[Chunk]:
        """The chunks; while one is used, the next is read in the background.

        Parameters
        ----------
        start : Position, optional
            Where to begin: the `stop` of the last chunk that was used.
        epochs : int, default=1
            Number of passes after which to end, counted from the beginning of the stream.
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
        """The fitted encoder of a table with text or missing values, otherwise None."""
        return None if self.format == "svmlight" else self._reader().schema.encoder

    @property
    def target(self) -> str:
        """Name of the target column."""
        return "label" if self.format == "svmlight" else str(self._reader().schema.target)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the columns in the files; empty if the format has none."""
        return () if self.format == "svmlight" else self._reader().schema.inputs

    def pipeline(self, model: Any) -> Any:
        """Pipeline of the encoder and the model; the model itself if there is no encoder."""
        if self.encoder is None:
            return model
        return Pipeline([("encoder", self.encoder), ("model", model)])

    def first_pass(
        self,
        *,
        classes: bool = False,
        statistics: bool = False,
        facts: FirstPassResult | None = None,
        start: Position | None = None,
        after_chunk: Callable[[FirstPassResult, Chunk], Any] | None = None,
    ) -> FirstPassResult:
        """A pass without training, which finds what a model must know before it can begin.

        Parameters
        ----------
        classes, statistics : bool, default=False
            Whether to collect the classes, and the mean and variance of the inputs.
        facts, start : optional
            What an interrupted pass has found, and where it stopped.
        after_chunk : callable, optional
            Called after each chunk with the facts so far and the chunk.
        """
        facts = facts or FirstPassResult()
        only_target = not (statistics or self.unknown_columns)
        if self.unknown_columns:
            read: Any = SvmlightReader(self._columns.dtype, self._options["chunk_rows"], None, 0)
            read = read.chunks
        elif only_target and self.format != "svmlight":
            read = partial(self._reader().chunks, only_target=True)
        else:
            read = self._reader().chunks
        for chunk in self._chunks(read, start or Position(), 1):
            if self.format == "svmlight" and self.n_features is None:
                check_width(chunk.X.shape[1], self.total_bytes, chunk.place)
            facts.update(chunk, classes=classes, statistics=statistics)
            if after_chunk is not None:
                after_chunk(facts, chunk)
        self.adopt(facts)
        return facts

    def adopt(self, facts: FirstPassResult) -> None:
        """Use what a first pass has found."""
        if self.classes is None:
            if self.check_classes is not None and facts.classes is not None:
                self.check_classes(facts.classes, facts.rows)
            self.classes = facts.classes
        if self.unknown_columns:
            if self.index_base is None:
                self.index_base = 0 if facts.uses_zero else 1
            if self.n_features is None:
                self.n_features = max(1, facts.width - self.index_base)

    def settings(self) -> dict[str, Any]:
        """The settings that determine where chunks end and what they hold, as plain values."""
        asked = self._columns
        return {
            "format": self.format,
            "target": asked.target,
            "columns": None if asked.columns is None else list(asked.columns),
            "dtype": str(asked.dtype),
            "bytes": [TEXT_CHUNK_BYTES, CHUNK_BYTES],
            **self._options,
        }

    def _reader(self) -> Any:
        if self.format == "svmlight":
            if self.n_features is None or self.index_base is None:
                raise ValueError("n_features is not known; give n_features= and index_base=")
            rows = self._options["chunk_rows"]
            return SvmlightReader(self._columns.dtype, rows, self.n_features, self.index_base)
        if self._table_reader is None:
            self._table_reader = self._learn()
        return self._table_reader

    def _learn(self) -> CsvReader | ParquetReader:
        """The reader, which knows the columns from the first file with rows."""
        rows = self._options["chunk_rows"]
        reader: CsvReader | ParquetReader = ParquetReader(self._columns, rows)
        if self.format != "parquet":
            delimiter = "\t" if self.format == "tsv" else None
            reader = CsvReader(self._columns, rows, delimiter, self._options["header"])
        for file in self.files:
            with read_errors(file, REMEDY):
                informed = reader.infer_schema(file)
            if informed is not None:
                return informed
        raise self._no_rows()

    def _no_rows(self) -> DataFileError:
        more = f" and {len(self.files) - 1} more files" if len(self.files) > 1 else ""
        return DataFileError(f"{self.files[0]}{more}: no rows; use files with rows")

    def _chunks(self, read: Any, start: Position, epochs: int) -> Iterator[Chunk]:
        for chunk in _read_ahead(self._read(read, start, epochs)):
            self.bytes_read = chunk.bytes_read
            yield chunk

    def _read(self, read: Any, start: Position, epochs: int) -> Iterator[Chunk]:
        for epoch in range(start.epoch, epochs):
            empty = start == Position()
            for number in range(start.file, len(self.files)):
                before = epoch * self.total_bytes + sum(self.sizes[:number])
                with read_errors(self.files[number], REMEDY):
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
            unknown = np.flatnonzero(~_is_among(chunk.y, self.classes))
        if unknown.size:
            row = int(unknown[0])
            raise DataFileError(
                f"{chunk.where(row)}: the target is {chunk.y[row].item()!r}, not among the classes "
                f"{self.classes[:10].tolist()!r}; fix the row, or name every class with ",
                Argument("classes"),
            )


def _is_among(y: np.ndarray, classes: np.ndarray) -> Any:
    if len(classes) <= COMPARED_CLASSES:
        return np.logical_or.reduce([y == name for name in classes])
    return classes[np.searchsorted(classes, y).clip(max=len(classes) - 1)] == y


def _read_ahead(chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    """The chunks; a second thread reads the next while the caller uses one.

    An error of reading is raised here when the chunk that caused it is due.
    """
    with closing(chunks), ThreadPoolExecutor(1, "widemargin-stream") as reader:  # type: ignore[type-var]
        # One request is always waiting, so that the reader never runs out of work.
        pending = deque(reader.submit(next, chunks, None) for _ in range(2))
        try:
            while (chunk := pending.popleft().result()) is not None:
                pending.append(reader.submit(next, chunks, None))
                yield chunk
        finally:
            for request in pending:
                request.cancel()
