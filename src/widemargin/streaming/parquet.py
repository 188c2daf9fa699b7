"""Parquet files in chunks, read row group by row group."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from widemargin.streaming.chunk import Chunk, Position
from widemargin.streaming.columns import ColumnOptions, Schema, infer_schema
from widemargin.tables import DataFileError
from widemargin.tables.formats import require_pyarrow, short_reason

CHUNK_BYTES = 2**25  # inputs of a chunk, unless the user sets the number of rows
MIN_CHUNK_ROWS = 256
LARGE_ROW_GROUP_BYTES = 2**27  # larger row groups are read through buffers, which is slower
COLUMN_BUFFER_BYTES = 2**18  # buffer of each column of a large row group


@dataclass(frozen=True)
class RowRange:
    """Consecutive rows of one row group."""

    batch: Any
    row_group: int
    row: int
    group_rows: int

    @property
    def stop(self) -> int:
        """The row of the group after the last one here."""
        return self.row + int(self.batch.num_rows)

    def cut(self, count: int) -> "tuple[RowRange, RowRange]":
        """The first `count` rows, and the rest."""
        rest = replace(self, batch=self.batch.slice(count), row=min(self.row + count, self.stop))
        return replace(self, batch=self.batch.slice(0, count)), rest


@dataclass(frozen=True)
class ParquetReader:
    """Reads Parquet files; `schema` is None until `infer_schema` has seen the first rows."""

    options: ColumnOptions
    chunk_rows: int | None
    schema: Schema | None = None

    def infer_schema(self, path: Path) -> "ParquetReader | None":
        """A reader that knows the columns, or None if the file has no rows."""
        pa, file = require_pyarrow(), _open(path)
        with file:
            rows = self._rows(len(file.schema_arrow.names))
            ranges = next(
                self._grouped(_row_ranges(file, path, Position(), rows, None), rows), None
            )
        if ranges is None:
            return None
        table = pa.Table.from_batches([piece.batch for piece in ranges])
        return replace(self, schema=infer_schema(table, path, self.options, parse=False))

    def chunks(self, path: Path, start: Position, *, only_target: bool = False) -> Iterator[Chunk]:
        """The chunks of a file, starting at `start`."""
        pa, schema = require_pyarrow(), self.schema
        assert schema is not None
        rows = self._rows(len(schema.inputs))
        schema = replace(schema, inputs=()) if only_target else schema
        with _open(path) as file:
            names = {str(name).strip(): name for name in file.schema_arrow.names}
            schema.check_present(names, path)
            columns = [names[name] for name in schema.names]
            place = _Place(file, path)
            for ranges in self._grouped(_row_ranges(file, path, start, rows, columns), rows):
                table = pa.Table.from_batches([piece.batch for piece in ranges])
                table = table.select(columns).rename_columns(schema.names)
                where = _Rows(path, tuple((p.row_group, p.row, p.batch.num_rows) for p in ranges))
                cleaned = schema.columns_of(table, path)
                y = schema.y(cleaned, where)
                X = None if only_target else schema.X(cleaned, path, where)
                stop = place.after(ranges[-1])
                yield Chunk(X, y, start, stop, place.bytes_before(stop), where)
                start = stop

    def _grouped(self, ranges: Iterator[RowRange], rows: int) -> Iterator[list[RowRange]]:
        """Row ranges that together have `rows` rows, or fewer at the end of the file.

        If the user has not set the number, a chunk that is at least half full ends with its row
        group.  Its columns then need not be copied.
        """
        least = rows // 2 if self.chunk_rows is None else rows
        held: list[RowRange] = []
        missing = rows
        for piece in ranges:
            while piece.batch.num_rows:
                first, piece = piece.cut(missing)
                held.append(first)
                missing -= first.batch.num_rows
                ends = first.stop == first.group_rows and rows - missing >= least
                if missing == 0 or ends:
                    yield held
                    held, missing = [], rows
        if held:
            yield held

    def _rows(self, width: int) -> int:
        """Rows per chunk: as set by the user, or so that the inputs take 32 MB."""
        if self.chunk_rows is not None:
            return self.chunk_rows
        itemsize = int(self.options.dtype.itemsize)
        return max(MIN_CHUNK_ROWS, CHUNK_BYTES // (itemsize * max(1, width)))


def _open(path: Path) -> Any:
    pa = require_pyarrow()
    try:
        metadata = pa.parquet.read_metadata(path)
        groups = map(metadata.row_group, range(metadata.num_row_groups))
        large = max((group.total_byte_size for group in groups), default=0) > LARGE_ROW_GROUP_BYTES
        return pa.parquet.ParquetFile(
            path,
            metadata=metadata,
            pre_buffer=False,
            buffer_size=COLUMN_BUFFER_BYTES if large else 0,
            page_checksum_verification=True,
        )
    except (pa.ArrowException, OSError) as error:
        raise DataFileError(
            f"{path}: not a complete Parquet file ({short_reason(error)}); get it again from its "
            "source"
        ) from error


def _row_ranges(
    file: Any, path: Path, start: Position, rows: int, columns: list[str] | None
) -> Iterator[RowRange]:
    """The rows of the file in batches of one row group each, starting at `start`."""
    pa = require_pyarrow()
    for group in range(start.row_group, file.num_row_groups):
        row, skip = 0, start.row if group == start.row_group else 0
        expected = file.metadata.row_group(group).num_rows
        try:
            for batch in file.iter_batches(rows, row_groups=[group], columns=columns):
                piece = RowRange(batch, group, row, expected)
                row += batch.num_rows
                if row > skip:
                    yield piece.cut(max(0, skip - piece.row))[1]
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise DataFileError(
                f"{path}: row group {group} cannot be read after row {row} "
                f"({short_reason(error)}); get the file again from its source, or write it again without this row group"
            ) from error
        if row != expected:
            raise DataFileError(
                f"{path}: row group {group} has {row} rows, but its header says {expected}; the "
                "file is damaged, get it again from its source"
            )


class _Place:
    """Positions in a file, and the number of bytes before them."""

    def __init__(self, file: Any, path: Path) -> None:
        metadata = file.metadata
        self.sizes: list[int] = [
            metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)
        ]
        self.size, self.rows = path.stat().st_size, max(1, sum(self.sizes))

    def after(self, piece: RowRange) -> Position:
        if piece.stop < piece.group_rows:
            return Position(row_group=piece.row_group, row=piece.stop)
        return Position(row_group=piece.row_group + 1)

    def bytes_before(self, position: Position) -> int:
        rows: int = sum(self.sizes[: position.row_group]) + position.row
        return self.size * rows // self.rows


@dataclass(frozen=True)
class _Rows:
    """Names the row group of a row of a chunk."""

    path: Path
    ranges: tuple[tuple[int, int, int], ...]  # row group, its first row, number of rows

    def __call__(self, row: int) -> str:
        for group, first, count in self.ranges:
            if row < count:
                return f"{self.path}: row group {group}, row {first + row}"
            row -= count
        return str(self.path)
