"""`read_raw`: all columns of a data file with names, before any of them is input or target."""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from widemargin.tables.arrow import clean, is_text, mostly_numbers, read_arrow, read_parquet
from widemargin.tables.csv_file import read_csv
from widemargin.tables.dialect import Dialect, find_dialect
from widemargin.tables.errors import DataFileError

__all__ = ["RawTable", "Reading", "read_raw"]


@dataclass(frozen=True)
class Reading:
    """How a file is to be read; None is found from the file.

    Attributes
    ----------
    separator, header, encoding, decimal :
        As in `Dialect`; for CSV files.
    text : sequence of str
        Columns that stay text even if they hold numbers.
    known : sequence of str
        The names of the columns of another file of this kind: a first line that holds one of them
        is a header.
    dates : bool
        Whether dates stay dates, rather than days since 1970.
    rows : int or None
        Reading may end after so many rows.
    mostly : bool
        Whether a column of text that is nearly always a number is one, with other values missing.
    wanted : callable or None
        Given the names of all columns, returns the places of those that are needed. The others may
        hold anything, and it is the caller who misses columns. None: all are needed.
    """

    separator: str | None = None
    header: bool | None = None
    encoding: str | None = None
    decimal: str | None = None
    text: Sequence[str] = ()
    known: Sequence[str] = ()
    dates: bool = False
    rows: int | None = None
    mostly: bool = False
    wanted: Callable[[list[str]], Container[int]] | None = None


@dataclass(frozen=True, eq=False)
class RawTable:
    """The columns of a file.

    Attributes
    ----------
    names : list of str
        Their names.
    columns : list of pyarrow.ChunkedArray or None
        Numbers, booleans, strings or moments; None for a column that is not needed.
    dialect : Dialect or None
        How the file is written, if it is CSV.
    odd : dict of str to (str, int)
        Of columns of numbers with other values among them, which are missing now: one of these
        values, and how many there are.
    rows : int
        The number of rows.
    left_out : int
        How many rows of the file are left out.
    """

    names: list[str]
    columns: list[Any]
    dialect: Dialect | None = None
    odd: dict[str, tuple[str, int]] = field(default_factory=dict)
    rows: int = 0
    left_out: int = 0


def read_raw(path: Path, kind: str, reading: Reading) -> RawTable:
    """Read a CSV, TSV, Parquet or Arrow file.

    Parameters
    ----------
    path : Path
        A regular file.
    kind : {"csv", "tsv", "parquet", "arrow"}
        Its format.
    reading : Reading
        How to read it.
    """
    dialect = None
    if kind in ("parquet", "arrow"):
        arrow = read_parquet(path) if kind == "parquet" else read_arrow(path)
    else:
        dialect = find_dialect(
            path,
            separator="\t" if kind == "tsv" and reading.separator is None else reading.separator,
            header=reading.header,
            encoding=reading.encoding,
            decimal=reading.decimal,
            known=reading.known,
        )
        guessed = reading.encoding is None
        arrow = read_csv(path, dialect, reading.text, guessed=guessed, rows=reading.rows)
    names = _names([str(name).strip() for name in arrow.column_names])
    if arrow.num_rows == 0:
        raise DataFileError(f"{path}: has no rows below its header; use a file with rows")
    unknown = [name for name in reading.text if name not in names]
    if unknown and reading.wanted is None:
        shown = ", ".join(map(repr, unknown[:5])) + (", ..." if len(unknown) > 5 else "")
        raise DataFileError(
            f"{path}: lacks {shown}, to be read as text; use a file with the columns of the "
            "training file"
        )
    wanted = range(len(names)) if reading.wanted is None else reading.wanted(names)
    columns = [
        None
        if place not in wanted
        else clean(
            column,
            f"{path}: column {name!r}",
            as_text=name in reading.text,
            parse=dialect is not None,
            decimal=dialect.decimal if dialect else ".",
            dates=reading.dates,
        )
        for place, (column, name) in enumerate(zip(arrow.columns, names, strict=True))
    ]
    odd = {}
    for place, name in enumerate(names):
        column = columns[place]
        if column is None or not reading.mostly or name in reading.text or not is_text(column):
            continue
        found = mostly_numbers(column, dialect.decimal if dialect else ".")
        if found is not None:
            columns[place], odd[name] = found[0], found[1:]
    return RawTable(names, columns, dialect, odd, arrow.num_rows)


def _names(names: list[str]) -> list[str]:
    """The names; a column without one, such as a row index of pandas, is called "unnamed 1"."""
    return [name or f"unnamed {place}" for place, name in enumerate(names, start=1)]
