"""CSV files in chunks: the text is cut between lines, and pyarrow parses each piece."""

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from widemargin.streaming.chunk import Chunk, Position
from widemargin.streaming.columns import ColumnOptions, Schema, infer_schema, is_number
from widemargin.streaming.text import BOM, MAX_LINE_BYTES, TextChunk, opened, text_chunks
from widemargin.tables import DataFileError
from widemargin.tables.csv_file import first_row, parse_csv, row_of_other_length
from widemargin.tables.formats import arrow_bytes, require_pyarrow, short_reason
from widemargin.tables.readers import check_names
from widemargin.tables.table import find_column

PARSE_UNIT_BYTES = 2**20  # what one of pyarrow's threads parses at a time


@dataclass(frozen=True)
class CsvReader:
    """Reads CSV or TSV text; `schema` is None until `infer_schema` has seen the first rows."""

    options: ColumnOptions
    chunk_rows: int | None
    delimiter: str | None
    header: bool
    schema: Schema | None = None

    def infer_schema(self, path: Path) -> "CsvReader | None":
        """A reader that knows the columns, or None if the file has no rows."""
        if (layout := self._layout(path)) is None:
            return None
        types = {}
        if self.options.target_is_text:
            target = layout.names[find_column(layout.names, self.options.target, path)]
            types = {target: require_pyarrow().string()}
        for text in self._text_chunks(layout, Position()):
            table = layout.parse(text, types)
            if table.num_rows:
                return replace(self, schema=infer_schema(table, path, self.options, parse=True))
        return None

    def chunks(self, path: Path, start: Position, *, only_target: bool = False) -> Iterator[Chunk]:
        """The chunks of a file, starting at `start`."""
        assert self.schema is not None
        schema = replace(self.schema, inputs=()) if only_target else self.schema
        if (layout := self._layout(path)) is None:
            return
        schema.check_present(layout.names, path)
        for text in self._text_chunks(layout, start):
            table = layout.parse(text, schema.types, schema.names)
            if table.num_rows == 0:
                continue
            where = _Rows(layout, text)
            columns = schema.columns_of(table, path)
            y = schema.y(columns, where)
            X = None if only_target else schema.X(columns, path, where)
            yield Chunk(X, y, text.start, text.stop, text.bytes_read, where)

    def _text_chunks(self, layout: "Layout", start: Position) -> Iterator[TextChunk]:
        start = layout.start if start.offset == 0 else start
        return text_chunks(layout.path, start, max_lines=self.chunk_rows, quotes=True)

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
    """The columns of a file and the position of its first row."""

    path: Path
    names: tuple[str, ...]
    delimiter: str
    start: Position

    def parse(self, text: TextChunk, types: dict[str, Any], columns: Sequence[str] = ()) -> Any:
        """Arrow table of some text: `columns`, or all of them."""
        pa = require_pyarrow()
        data = text.data if text.start.offset else text.data.removeprefix(BOM)
        if not data.strip():
            return pa.table({name: pa.array([], pa.string()) for name in columns or self.names})
        options = {
            "column_names": self.names,
            "block_size": max(PARSE_UNIT_BYTES, 2 * text.longest_line),
        }
        try:
            return parse_csv(arrow_bytes(data), self.delimiter, options, types, columns)
        except (pa.ArrowInvalid, UnicodeDecodeError) as error:
            raise DataFileError(self._problem(data, text, types, error)) from error

    def _problem(
        self, data: bytes, text: TextChunk, types: dict[str, Any], error: Exception
    ) -> str:
        first = text.start.line + 1
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
                        "where earlier rows have numbers; fix the value, or leave it empty"
                    )
        last = max(first, text.stop.line)
        reason = short_reason(error)
        return f"{self.path}: lines {first} to {last}: {reason}; save it again as UTF-8 text"


@dataclass(frozen=True)
class _Rows:
    """Names the line of a row of a chunk."""

    layout: Layout
    text: TextChunk

    def __call__(self, row: int) -> str:
        found = rows_of(self.text.data, self.layout.delimiter, self.text.start.line + 1)
        line = next((line for i, (line, _) in enumerate(found) if i == row), None)
        return f"{self.layout.path}: line {line or self.text.start.line + 1}"


def rows_of(data: bytes, delimiter: str, first_line: int) -> Iterator[tuple[int, list[str]]]:
    """The rows of some text, each with the number of its first line."""
    text = io.StringIO(data.decode("utf-8-sig", "replace"), newline="")
    reader = csv.reader(text, delimiter=delimiter)
    line = first_line
    with suppress(csv.Error):
        for row in reader:
            if row:
                yield line, row
            line = first_line + reader.line_num


def _after_first_line(path: Path) -> Position | None:
    """The position after the first line that is not blank, if there is one."""
    offset = line = 0
    with opened(path) as (_, text):
        while more := text.readline(MAX_LINE_BYTES):
            offset, line = offset + len(more), line + 1
            if more.removeprefix(BOM).strip():
                return Position(offset=offset, line=line)
    return None
