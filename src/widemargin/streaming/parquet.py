"""Parquet files in chunks, read row group by row group."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from widemargin.streaming.chunk import Chunk, Position
from widemargin.streaming.columns import Schema, Wanted, learn
from widemargin.tables import DataFileError
from widemargin.tables.formats import require_pyarrow

CHUNK_BYTES = 2**25  # of inputs, if the user does not say how many rows
FEWEST_ROWS = 256
LARGE_GROUP = 2**27  # bytes of a row group from which on it is read piece by piece, which is slower
BUFFER_BYTES = 2**18  # of each column then


@dataclass(frozen=True)
class Part:
    """Consecutive rows of one row group."""

    batch: Any
    row_group: int
    row: int
    group_rows: int

    @property
    def stop(self) -> int:
        """The row of the group behind the last."""
        return self.row + int(self.batch.num_rows)

    def cut(self, count: int) -> "tuple[Part, Part]":
        """The first rows, and the rest."""
        rest = replace(self, batch=self.batch.slice(count), row=min(self.row + count, self.stop))
        return replace(self, batch=self.batch.slice(0, count)), rest


@dataclass(frozen=True)
class ParquetReader:
    """Reads Parquet files; `schema` is None until the first rows were seen."""

    wanted: Wanted
    chunk_rows: int | None
    schema: Schema | None = None

    def learn(self, path: Path) -> "ParquetReader | None":
        """The reader that knows the columns, or None if the file has no rows."""
        pa, file = require_pyarrow(), _open(path)
        with file:
            rows = self._rows(len(file.schema_arrow.names))
            parts = next(self._together(_parts(file, path, Position(), rows, None), rows), None)
        if parts is None:
            return None
        table = pa.Table.from_batches([part.batch for part in parts])
        return replace(self, schema=learn(table, path, self.wanted, parse=False))

    def chunks(self, path: Path, start: Position, *, only_target: bool = False) -> Iterator[Chunk]:
        """The chunks of a file from `start` on."""
        pa, schema = require_pyarrow(), self.schema
        assert schema is not None
        rows = self._rows(len(schema.inputs))
        schema = replace(schema, inputs=()) if only_target else schema
        with _open(path) as file:
            names = {str(name).strip(): name for name in file.schema_arrow.names}
            schema.check_present(names, path)
            columns = [names[name] for name in schema.names]
            place = _Place(file, path)
            for parts in self._together(_parts(file, path, start, rows, columns), rows):
                table = pa.Table.from_batches([part.batch for part in parts])
                table = table.select(columns).rename_columns(schema.names)
                where = _Rows(path, tuple((p.row_group, p.row, p.batch.num_rows) for p in parts))
                cleaned = schema.columns_of(table, path)
                y = schema.y(cleaned, where)
                X = None if only_target else schema.X(cleaned, path, where)
                stop = place.after(parts[-1])
                yield Chunk(X, y, start, stop, place.bytes_before(stop), where)
                start = stop

    def _together(self, parts: Iterator[Part], rows: int) -> Iterator[list[Part]]:
        """Parts of `rows` rows together, except for the last.

        If the user has not said how many, a chunk that is half full ends with its row group:
        then its columns need not be copied.
        """
        least = rows // 2 if self.chunk_rows is None else rows
        held: list[Part] = []
        missing = rows
        for part in parts:
            while part.batch.num_rows:
                first, part = part.cut(missing)
                held.append(first)
                missing -= first.batch.num_rows
                ends = first.stop == first.group_rows and rows - missing >= least
                if missing == 0 or ends:
                    yield held
                    held, missing = [], rows
        if held:
            yield held

    def _rows(self, width: int) -> int:
        """Rows of a chunk: as asked, or so that its inputs take 32 MB."""
        if self.chunk_rows is not None:
            return self.chunk_rows
        itemsize = int(self.wanted.dtype.itemsize)
        return max(FEWEST_ROWS, CHUNK_BYTES // (itemsize * max(1, width)))


def _open(path: Path) -> Any:
    pa = require_pyarrow()
    try:
        metadata = pa.parquet.read_metadata(path)
        groups = map(metadata.row_group, range(metadata.num_row_groups))
        large = max((group.total_byte_size for group in groups), default=0) > LARGE_GROUP
        return pa.parquet.ParquetFile(
            path,
            metadata=metadata,
            pre_buffer=False,
            buffer_size=BUFFER_BYTES if large else 0,
            page_checksum_verification=True,
        )
    except (pa.ArrowException, OSError) as error:
        raise DataFileError(
            f"{path}: is no complete Parquet file ({_short(error)}); get it again from its source"
        ) from error


def _parts(
    file: Any, path: Path, start: Position, rows: int, columns: list[str] | None
) -> Iterator[Part]:
    """The batches of the row groups from `start` on."""
    pa = require_pyarrow()
    for group in range(start.row_group, file.num_row_groups):
        row, skip = 0, start.row if group == start.row_group else 0
        expected = file.metadata.row_group(group).num_rows
        try:
            for batch in file.iter_batches(rows, row_groups=[group], columns=columns):
                part = Part(batch, group, row, expected)
                row += batch.num_rows
                if row > skip:
                    yield part.cut(max(0, skip - part.row))[1]
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise DataFileError(
                f"{path}: row group {group} cannot be read after row {row} ({_short(error)}); get "
                "the file again from its source, or write it again without this row group"
            ) from error
        if row != expected:
            raise DataFileError(
                f"{path}: row group {group} has {row} rows where its header says {expected}; the "
                "file is damaged, get it again from its source"
            )


class _Place:
    """Positions of a file, and how far they are."""

    def __init__(self, file: Any, path: Path) -> None:
        metadata = file.metadata
        self.sizes: list[int] = [
            metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)
        ]
        self.size, self.rows = path.stat().st_size, max(1, sum(self.sizes))

    def after(self, part: Part) -> Position:
        if part.stop < part.group_rows:
            return Position(row_group=part.row_group, row=part.stop)
        return Position(row_group=part.row_group + 1)

    def bytes_before(self, position: Position) -> int:
        rows: int = sum(self.sizes[: position.row_group]) + position.row
        return self.size * rows // self.rows


@dataclass(frozen=True)
class _Rows:
    """The row group of each row of a chunk."""

    path: Path
    parts: tuple[tuple[int, int, int], ...]  # row group, its first row, number of rows

    def __call__(self, row: int) -> str:
        for group, first, count in self.parts:
            if row < count:
                return f"{self.path}: row group {group}, row {first + row}"
            row -= count
        return str(self.path)


def _short(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
