"""CSV text as Arrow tables."""

import contextlib
import csv
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from widemargin._runtime.warning import warn_caller
from widemargin.tables.dialect import FALLBACK, UTF8, Dialect
from widemargin.tables.errors import Argument, DataFileError
from widemargin.tables.formats import (
    MISSING_VALUES,
    open_arrow,
    open_text,
    require_pyarrow,
    short_reason,
)

PARSE_UNIT_BYTES = 2**24  # pyarrow needs a whole line within one unit; wide tables have long lines

# Dates besides those of ISO 8601. Days and months with slashes may come in either order, so such
# values stay text.
DATE_FORMATS = (
    *("%d.%m.%Y", "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S"),
    *("%Y/%m/%d", "%Y/%m/%d %H:%M", "%Y/%m/%d %H:%M:%S"),
)


def read_csv(
    path: Path,
    dialect: Dialect,
    text: Sequence[str] | None,
    *,
    guessed: bool,
    rows: int | None = None,
    missing: bool = True,
) -> Any:
    """Arrow table of a CSV file; columns named in `text` stay text even if they hold numbers.

    If `text` is None, all columns do. Without `missing`, the words that mean "missing" stay text.
    With `guessed` the encoding was not given: bytes that are not UTF-8 after all are read as
    Windows text, with a warning. Of at least `rows` rows the first ones are enough.
    """
    pa = require_pyarrow()
    try:
        table = _parsed(path, dialect, text, rows, missing)
        broken = any(pa.types.is_binary(kind) for kind in table.schema.types)
    except UnicodeDecodeError:
        broken = True
    except pa.ArrowInvalid as error:  # columns that stay text are refused, others become bytes
        broken = "invalid UTF8" in str(error)
        if not broken:
            raise _problem(path, dialect, error) from error
    if not broken:
        if guessed and dialect.encoding == FALLBACK:
            _warn_of_encoding(path)
        return table
    if not guessed or dialect.encoding != UTF8:
        tried = f"{UTF8} or {FALLBACK}" if guessed and dialect.encoding == FALLBACK else None
        raise DataFileError(
            f"{path}: holds bytes that are no {tried or dialect.encoding} text; name its encoding "
            "with ",
            Argument("encoding"),
        )
    other = replace(dialect, encoding=FALLBACK)
    return read_csv(path, other, text, guessed=True, rows=rows, missing=missing)


def _warn_of_encoding(path: Path) -> None:
    warn_caller(
        f"{path}: not UTF-8; read as {FALLBACK} (Windows). Name another encoding if letters are "
        "wrong",
        UserWarning,
    )


def _parsed(
    path: Path, dialect: Dialect, text: Sequence[str] | None, rows: int | None, missing: bool
) -> Any:
    pa = require_pyarrow()
    first = dialect.first
    names = [name.strip() if dialect.header else f"c{i}" for i, name in enumerate(first)]
    # pyarrow knows the columns by the names in the file, or f0, f1, ... if there are none.
    known_as = first if dialect.header else [f"f{i}" for i in range(len(first))]
    as_text = set(names if text is None else text)
    types = {k: pa.string() for k, name in zip(known_as, names, strict=True) if name in as_text}
    options = {
        "skip_rows": dialect.skipped,
        "autogenerate_column_names": not dialect.header,
        "block_size": PARSE_UNIT_BYTES,
    }
    with open_arrow(path, dialect.encoding) as stream:
        table = parse_csv(
            stream,
            dialect.separator,
            options,
            types,
            decimal=dialect.decimal,
            dates=DATE_FORMATS,
            rows=rows,
            missing=missing,
        )
    # Only this request for the column names makes pyarrow decode them.
    return table.rename_columns(table.column_names if dialect.header else names)


def _problem(path: Path, dialect: Dialect, error: Exception) -> DataFileError:
    with open_text(path, "utf-8-sig" if dialect.encoding == UTF8 else dialect.encoding) as lines:
        table = itertools.islice(lines, dialect.skipped, None)
        problem = row_of_other_length(
            table, dialect.separator, len(dialect.first), dialect.skipped + 1
        )
    if problem:
        return DataFileError(f"{path}: {problem}")
    return DataFileError(
        f"{path}: {short_reason(error)}; save it again as UTF-8 text with one row per line"
    )


def parse_csv(
    source: Any,
    delimiter: str,
    options: Mapping[str, Any],
    types: Mapping[str, Any],
    columns: Sequence[str] = (),
    *,
    decimal: str = ".",
    dates: Sequence[str] = (),
    rows: int | None = None,
    missing: bool = True,
) -> Any:
    """Arrow table of CSV text: `columns`, or all of them.

    pyarrow infers the type of each column that is not in `types`. `dates` are formats besides
    ISO 8601. With `rows`, reading ends after as many rows or somewhat more. Without `missing`,
    the words that mean "missing" stay text.
    """
    pa = require_pyarrow()
    read = pa.csv.ReadOptions(**options)
    parse = pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    # "true" stays text; otherwise a column would change its type with the words it holds.
    convert = pa.csv.ConvertOptions(
        column_types=types,
        include_columns=columns,
        null_values=MISSING_VALUES,
        strings_can_be_null=missing,
        true_values=[],
        false_values=[],
        decimal_point=decimal,
        timestamp_parsers=[pa.csv.ISO8601, *dates] if dates else None,
    )
    if rows is None:
        return pa.csv.read_csv(source, read, parse, convert)
    batches, count = [], 0
    with pa.csv.open_csv(source, read, parse, convert) as reader:
        for batch in reader:
            batches.append(batch)
            count += batch.num_rows
            if count >= rows:
                break
        return pa.Table.from_batches(batches, reader.schema)


def first_row(path: Path, delimiter: str | None) -> tuple[list[str], str]:
    """Values of the first line that is not blank, and their separator."""
    with open_text(path) as lines:
        line = next((line for line in lines if line.strip()), None)
    if line is None:
        raise DataFileError(f"{path}: the file is empty; give one with rows")
    if "\0" in line:
        raise DataFileError(
            f"{path}: not a text file; if it is not CSV, name its format with ", Argument("format")
        )
    delimiter = delimiter or max(",;\t", key=line.count)
    return next(csv.reader([line], delimiter=delimiter)), delimiter


def row_of_other_length(
    lines: Iterable[str], delimiter: str, width: int, first_line: int = 1
) -> str | None:
    """Message about the first row with too few or too many values, if there is one.

    This is what pyarrow refuses most often, without saying in which line the row starts.
    """
    with contextlib.suppress(csv.Error):
        reader = csv.reader(lines, delimiter=delimiter)
        start = first_line
        for row in reader:
            if row and len(row) != width:
                return (
                    f"line {start} has {len(row)} values where the first has {width}; "
                    "fix the line, or quote values that contain the separator"
                )
            start = first_line + reader.line_num
    return None
