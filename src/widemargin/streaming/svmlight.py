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
from widemargin.streaming.text import BOM, Block, blocks
from widemargin.tables import DataFileError
from widemargin.tables.numbers import is_svmlight


@dataclass(frozen=True)
class SvmlightReader:
    """Reads 'label index:value ...' lines as CSR rows; widths and indices are checked.

    Without `n_features` each chunk is as wide as its largest index needs.
    """

    dtype: Any
    chunk_rows: int | None
    n_features: int | None
    index_base: int

    def chunks(self, path: Path, start: Position) -> Iterator[Chunk]:
        """The chunks of a file from `start` on."""
        for block in blocks(path, start, max_lines=self.chunk_rows):
            X, y = _parse(block, path, self.dtype)
            if X.shape[0]:
                lines = _Lines(path, block)
                X = self._checked(X, y, lines)
                yield Chunk(X, y, block.start, block.stop, block.bytes_read, lines)

    def _checked(self, X: Any, y: Any, lines: "_Lines") -> Any:
        bad = np.flatnonzero(~np.isfinite(X.data))
        if bad.size or not np.all(np.isfinite(y)):
            row = _row(X, bad[0]) if bad.size else int(np.argmin(np.isfinite(y)))
            what = f"value of column {X.indices[bad[0]]}" if bad.size else "label"
            raise DataFileError(f"{lines(row)}: the {what} is not finite; mend or remove the line")
        base, columns = self.index_base, X.indices
        if base and columns.size and columns.min() < base:
            raise DataFileError(
                f"{lines(_row(X, int(columns.argmin())))}: has a column 0 where index_base=1 makes "
                "1 the first; set index_base=0 if the columns count from 0"
            )
        width = int(columns.max()) + 1 - base if columns.size else 0
        if self.n_features is not None and width > self.n_features:
            raise DataFileError(
                f"{lines(_row(X, int(columns.argmax())))}: has a column {width - 1 + base}, the "
                f"last of n_features={self.n_features} is {self.n_features - 1 + base} "
                f"(index_base={base}); mend the line, or raise n_features"
            )
        shape = (X.shape[0], width if self.n_features is None else self.n_features)
        return sp.csr_array((X.data, columns - np.int32(base), X.indptr), shape=shape)


@dataclass(frozen=True)
class _Lines:
    """The line of each row of a block."""

    path: Path
    block: Block

    def __call__(self, row: int) -> str:
        numbers = (
            n
            for n, line in enumerate(self.block.data.split(b"\n"), self.block.start.line + 1)
            if line.partition(b"#")[0].removeprefix(BOM).strip()
        )
        return f"{self.path}: line {next(n for i, n in enumerate(numbers) if i == row)}"


def _parse(block: Block, path: Path, dtype: Any) -> tuple[Any, Any]:
    data = block.data if block.start.offset else block.data.removeprefix(BOM)
    try:
        X, y = load_svmlight_file(io.BytesIO(data), zero_based=True, dtype=dtype)
        return X, y
    except (ValueError, OverflowError) as error:
        first = block.start.line + 1
        wrong = (n for n, line in enumerate(data.split(b"\n"), first) if not is_svmlight(line))
        place = f"line {next(wrong, first)}"
        raise DataFileError(
            f"{path}: {place}: {error}; lines are 'label index:value ...' with growing indices"
        ) from error


def _row(X: Any, entry: int) -> int:
    """The row of a stored entry."""
    return int(np.searchsorted(X.indptr, entry, side="right")) - 1
