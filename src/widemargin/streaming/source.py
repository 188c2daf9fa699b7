"""Streams: chunks of data files that are larger than memory."""

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
from widemargin.streaming.columns import Wanted
from widemargin.streaming.csv import CsvReader
from widemargin.streaming.facts import Facts
from widemargin.streaming.parquet import CHUNK_BYTES, ParquetReader
from widemargin.streaming.svmlight import SvmlightReader
from widemargin.streaming.text import BLOCK_BYTES
from widemargin.tables import DataFileError

__all__ = ["Stream"]

FEW = 8


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
        self.n_features: int | None = options["n_features"]
        self.index_base: int | None = options["index_base"]
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
    def target(self) -> str:
        """Name of the target column."""
        return "label" if self.format == "svmlight" else str(self._reader().schema.target)

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
            unknown = np.flatnonzero(~_is_among(chunk.y, self.classes))
        if unknown.size:
            row = int(unknown[0])
            raise DataFileError(
                f"{chunk.where(row)}: the target is {chunk.y[row].item()!r}, not among the classes "
                f"{self.classes[:10].tolist()!r}; mend the row, or name every class in classes="
            )


def _is_among(y: np.ndarray, classes: np.ndarray) -> Any:
    if len(classes) <= FEW:  # then comparing is the fastest
        return np.logical_or.reduce([y == name for name in classes])
    return classes[np.searchsorted(classes, y).clip(max=len(classes) - 1)] == y


def _ahead(chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    """The chunks, read in a second thread while those before them are used.

    Whatever reading raises is raised here when the turn of the chunk has come.
    """
    with closing(chunks), ThreadPoolExecutor(1, "widemargin-stream") as reader:  # type: ignore[type-var]
        # One more is asked for than is being read, so that the reader never waits for a question.
        coming = deque(reader.submit(next, chunks, None) for _ in range(2))
        try:
            while (chunk := coming.popleft().result()) is not None:
                coming.append(reader.submit(next, chunks, None))
                yield chunk
        finally:
            for later in coming:
                later.cancel()
