"""CSV files in chunks: pyarrow parses blocks of whole lines."""

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from widemargin.streaming.chunk import Chunk, Position
from widemargin.streaming.columns import Schema, Wanted, is_number, learn
from widemargin.streaming.text import BOM, LONGEST_LINE, Block, blocks, opened
from widemargin.tables import DataFileError
from widemargin.tables.arrow import first_row, parse_csv, row_of_other_length
from widemargin.tables.formats import require_pyarrow
from widemargin.tables.readers import check_names
from widemargin.tables.table import find_column

PARSED_AT_ONCE = 2**20  # bytes that one of pyarrow's threads takes


@dataclass(frozen=True)
class CsvReader:
    """Reads CSV or TSV text; `schema` is None until the first rows were seen."""

    wanted: Wanted
    chunk_rows: int | None
    delimiter: str | None
    header: bool
    schema: Schema | None = None

    def learn(self, path: Path) -> "CsvReader | None":
        """The reader that knows the columns, or None if the file has no rows."""
        if (layout := self._layout(path)) is None:
            return None
        types = {}
        if self.wanted.target_is_text:
            target = layout.names[find_column(layout.names, self.wanted.target, path)]
            types = {target: require_pyarrow().string()}
        for block in self._blocks(layout, Position()):
            table = layout.parse(block, types)
            if table.num_rows:
                return replace(self, schema=learn(table, path, self.wanted, parse=True))
        return None

    def chunks(self, path: Path, start: Position, *, only_target: bool = False) -> Iterator[Chunk]:
        """The chunks of a file from `start` on."""
        assert self.schema is not None
        schema = replace(self.schema, inputs=()) if only_target else self.schema
        if (layout := self._layout(path)) is None:
            return
        schema.check_present(layout.names, path)
        for block in self._blocks(layout, start):
            table = layout.parse(block, schema.types, schema.names)
            if table.num_rows == 0:
                continue
            where = _Rows(layout, block)
            columns = schema.columns_of(table, path)
            y = schema.y(columns, where)
            X = None if only_target else schema.X(columns, path, where)
            yield Chunk(X, y, block.start, block.stop, block.bytes_read, where)

    def _blocks(self, layout: "Layout", start: Position) -> Iterator[Block]:
        start = layout.start if start.offset == 0 else start
        return blocks(layout.path, start, max_lines=self.chunk_rows, quotes=True)

    def _layout(self, path: Path) -> "Layout | None":
        start = _after_first_line(path)
        if start is None:
            return None
        first, delimiter = first_row(path, self.delimiter)
        names = [name.strip() if self.header else f"c{i}" for i, name in enumerate(first)]
        check_names(names, path)
        return Layout(path, tuple(names), delimiter, start if self.header else Position())


@dataclass(frozen=True)
class Layout:
    """Where the rows of a file begin, and what its columns are called."""

    path: Path
    names: tuple[str, ...]
    delimiter: str
    start: Position

    def parse(self, block: Block, types: dict[str, Any], columns: Sequence[str] = ()) -> Any:
        """Arrow table of a block: `columns` of it, or all."""
        pa = require_pyarrow()
        data = block.data if block.start.offset else block.data.removeprefix(BOM)
        if not data.strip():
            return pa.table({name: pa.array([], pa.string()) for name in columns or self.names})
        options = {
            "column_names": self.names,
            "block_size": max(PARSED_AT_ONCE, 2 * block.longest_line),
        }
        try:
            return parse_csv(pa.BufferReader(data), self.delimiter, options, types, columns)
        except (pa.ArrowInvalid, UnicodeDecodeError) as error:
            raise DataFileError(self._problem(data, block, types, error)) from error

    def _problem(self, data: bytes, block: Block, types: dict[str, Any], error: Exception) -> str:
        first = block.start.line + 1
        lines = data.decode("utf-8", "replace").splitlines(keepends=True)
        other = row_of_other_length(lines, self.delimiter, len(self.names), first)
        if other:
            return f"{self.path}: {other}"
        numeric = [i for i, name in enumerate(self.names) if str(types.get(name)) == "double"]
        for line, row in rows_of(data, self.delimiter, first):
            for i in numeric:
                if not is_number(row[i]):
                    return (
                        f"{self.path}: line {line}: column {self.names[i]!r} holds {row[i]!r} "
                        "where the rows before have numbers; mend the value, or leave it empty"
                    )
        last = max(first, block.stop.line)
        return f"{self.path}: lines {first} to {last}: {error}; save it again as UTF-8 text"


@dataclass(frozen=True)
class _Rows:
    """The line of each row of a block."""

    layout: Layout
    block: Block

    def __call__(self, row: int) -> str:
        found = rows_of(self.block.data, self.layout.delimiter, self.block.start.line + 1)
        line = next((line for i, (line, _) in enumerate(found) if i == row), None)
        return f"{self.layout.path}: line {line or self.block.start.line + 1}"


def rows_of(data: bytes, delimiter: str, first_line: int) -> Iterator[tuple[int, list[str]]]:
    """The rows of a block with the line where each starts."""
    text = io.StringIO(data.decode("utf-8-sig", "replace"), newline="")
    reader = csv.reader(text, delimiter=delimiter)
    line = first_line
    with suppress(csv.Error):
        for row in reader:
            if row:
                yield line, row
            line = first_line + reader.line_num


def _after_first_line(path: Path) -> Position | None:
    """The position behind the first line that is not blank, if there is one."""
    offset = line = 0
    with opened(path) as (_, text):
        while more := text.readline(LONGEST_LINE):
            offset, line = offset + len(more), line + 1
            if more.removeprefix(BOM).strip():
                return Position(offset=offset, line=line)
    return None
