"""svmlight files in chunks."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

from widemargin.streaming.chunk import Chunk, Position
from widemargin.streaming.text import BOM, TextChunk, text_chunks
from widemargin.tables.errors import Argument, DataFileError
from widemargin.tables.formats import short_reason
from widemargin.tables.numbers import is_svmlight


@dataclass(frozen=True)
class SvmlightReader:
    """Reads lines 'label index:value ...' as CSR rows and checks column numbers and values.

    Without `n_features`, each chunk is only as wide as its largest index requires.
    """

    dtype: Any
    chunk_rows: int | None
    n_features: int | None
    index_base: int

    def chunks(self, path: Path, start: Position) -> Iterator[Chunk]:
        """The chunks of a file, starting at `start`."""
        for text in text_chunks(path, start, max_lines=self.chunk_rows):
            X, y = _parse(text, path, self.dtype)
            if X.shape[0]:
                lines = _Lines(path, text)
                X = self._checked(X, y, lines)
                yield Chunk(X, y, text.start, text.stop, text.bytes_read, lines)

    def _checked(self, X: Any, y: Any, lines: "_Lines") -> Any:
        bad = np.flatnonzero(~np.isfinite(X.data))
        if bad.size or not np.all(np.isfinite(y)):
            row = _row(X, bad[0]) if bad.size else int(np.argmin(np.isfinite(y)))
            what = f"value of column {X.indices[bad[0]]}" if bad.size else "label"
            raise DataFileError(f"{lines(row)}: the {what} is not finite; fix or remove the line")
        base, columns = self.index_base, X.indices
        if base and columns.size and columns.min() < base:
            raise DataFileError(
                f"{lines(_row(X, int(columns.argmin())))}: has a column 0, but ",
                Argument("index_base", 1),
                " says that columns start at 1; use ",
                Argument("index_base", 0),
                " if they start at 0",
            )
        width = int(columns.max()) + 1 - base if columns.size else 0
        if self.n_features is not None and width > self.n_features:
            raise DataFileError(
                f"{lines(_row(X, int(columns.argmax())))}: has a column {width - 1 + base}, but "
                f"the last of {self.n_features} columns is {self.n_features - 1 + base} (",
                Argument("index_base", base),
                "); fix the line, or use a larger ",
                Argument("n_features"),
            )
        shape = (X.shape[0], width if self.n_features is None else self.n_features)
        return sp.csr_array((X.data, columns - np.int32(base), X.indptr), shape=shape)


@dataclass(frozen=True)
class _Lines:
    """Names the line of a row of a chunk."""

    path: Path
    text: TextChunk

    def __call__(self, row: int) -> str:
        numbers = (
            n
            for n, line in enumerate(self.text.data.split(b"\n"), self.text.start.line + 1)
            if line.partition(b"#")[0].removeprefix(BOM).strip()
        )
        return f"{self.path}: line {next(n for i, n in enumerate(numbers) if i == row)}"


def _parse(text: TextChunk, path: Path, dtype: Any) -> tuple[Any, Any]:
    data = text.data if text.start.offset else text.data.removeprefix(BOM)
    try:
        X, y = load_svmlight_file(io.BytesIO(data), zero_based=True, dtype=dtype)
        return X, y
    except (ValueError, OverflowError) as error:
        first = text.start.line + 1
        wrong = (n for n, line in enumerate(data.split(b"\n"), first) if not is_svmlight(line))
        place = f"line {next(wrong, first)}"
        raise DataFileError(
            f"{path}: {place}: {short_reason(error)}; a line must be 'label index:value ...' with "
            "increasing indices"
        ) from error


def _row(X: Any, entry: int) -> int:
    """The row of a stored entry."""
    return int(np.searchsorted(X.indptr, entry, side="right")) - 1
