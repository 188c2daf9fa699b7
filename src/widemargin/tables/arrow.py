"""CSV and Parquet files: pyarrow reads them, their columns are cleaned and become arrays."""

import contextlib
import csv
import errno
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from widemargin.tables.errors import Argument, DataFileError
from widemargin.tables.formats import open_arrow, open_text, read_errors, require_pyarrow

PARSE_UNIT_BYTES = 2**24  # pyarrow needs a whole line within one unit; wide tables have long lines
SECONDS_PER_DAY = 86_400

# Values that mean "missing"; "?" is the convention of the UCI repository.
MISSING_VALUES = ["", "?", "NA", "N/A", "n/a", "#N/A", "nan", "NaN", "NAN", "-nan", "null", "NULL"]


def read_parquet(path: Path) -> Any:
    """Arrow table of a Parquet file."""
    pa = require_pyarrow()
    if not path.is_file():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    remedy = "get it again from its source"
    with (
        read_errors(path, remedy, what="not a complete Parquet file", also=(ValueError,)),
        pa.parquet.ParquetFile(path) as file,
    ):
        return file.read()


def read_csv(path: Path, delimiter: str | None, header: bool, text: Sequence[str]) -> Any:
    """Arrow table of a CSV file; columns named in `text` stay text even if they hold numbers."""
    pa = require_pyarrow()
    first, delimiter = first_row(path, delimiter)
    names = [name.strip() if header else f"c{i}" for i, name in enumerate(first)]
    # pyarrow knows the columns by the names in the file, or f0, f1, ... if there are none.
    known_as = first if header else [f"f{i}" for i in range(len(first))]
    types = {k: pa.string() for k, name in zip(known_as, names, strict=True) if name in text}
    try:
        with open_arrow(path) as stream:
            options = {"autogenerate_column_names": not header, "block_size": PARSE_UNIT_BYTES}
            table = parse_csv(stream, delimiter, options, types)
        # Only this request for the column names makes pyarrow decode them.
        return table.rename_columns(table.column_names if header else names)
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        with open_text(path) as lines:
            problem = row_of_other_length(lines, delimiter, len(first))
        if problem:
            raise DataFileError(f"{path}: {problem}") from error
        message = f"{path}: {error}; save it again as UTF-8 text with one row per line"
        raise DataFileError(message) from error


def parse_csv(
    source: Any,
    delimiter: str,
    options: Mapping[str, Any],
    types: Mapping[str, Any],
    columns: Sequence[str] = (),
) -> Any:
    """Arrow table of CSV text: `columns`, or all of them.

    pyarrow infers the type of each column that is not in `types`.
    """
    pa = require_pyarrow()
    return pa.csv.read_csv(
        source,
        pa.csv.ReadOptions(**options),
        pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        # "true" stays text; otherwise a column would change its type with the words it holds.
        pa.csv.ConvertOptions(
            column_types=types,
            include_columns=columns,
            null_values=MISSING_VALUES,
            strings_can_be_null=True,
            true_values=[],
            false_values=[],
        ),
    )


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


def clean(column: Any, where: str, *, as_text: bool = False, parse: bool = False) -> Any:
    """Column of one simple type: numbers, booleans or strings; dates become days since 1970.

    With `parse` (CSV), strings are stripped and `MISSING_VALUES` are missing.  A column whose
    other strings are all numbers is then numeric, unless `as_text` is true.
    """
    pa = require_pyarrow()
    types = pa.types
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if types.is_null(kind):
        return column.cast(pa.string() if as_text else pa.float64())
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        text = column.cast(pa.large_string())
        return _parse(text, as_text) if parse else text
    if types.is_temporal(kind) and not types.is_interval(kind):
        return _days(column)
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind):
        return column
    if types.is_decimal(kind):
        return column.cast(pa.float64())
    what = "text that is not UTF-8" if types.is_binary(kind) else f"values of type {kind}"
    raise DataFileError(f"{where} holds {what}; convert it to numbers or UTF-8 text, or drop it")


def _parse(text: Any, as_text: bool) -> Any:
    pa = require_pyarrow()
    text = pa.compute.utf8_trim_whitespace(text)
    missing = pa.compute.is_in(text, value_set=pa.array(MISSING_VALUES, text.type))
    text = pa.compute.if_else(missing, pa.scalar(None, text.type), text)
    for number in () if as_text else (pa.int64(), pa.float64()):
        try:
            return text.cast(number)
        except pa.ArrowInvalid:
            continue
    return text


def _days(column: Any) -> Any:
    """Dates as days since 1970, times as days since midnight, durations as days; NaN if missing."""
    pa = require_pyarrow()
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("ms"))
    if column.type == pa.time32("s") or column.type == pa.time32("ms"):
        units = column.cast(pa.int32()).cast(pa.float64())
    else:
        units = column.cast(pa.int64()).cast(pa.float64(), safe=False)
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[column.type.unit]
    return pa.compute.divide(units, float(SECONDS_PER_DAY * per_second))


def is_text(column: Any) -> bool:
    """Whether a cleaned column holds strings."""
    return str(column.type) in ("string", "large_string")


def features(columns: Sequence[Any], names: Sequence[str], *, frame: bool, path: object) -> Any:
    """Cleaned columns as a float array, or as a DataFrame if some are text or incomplete."""
    pa = require_pyarrow()
    types = {str(column.type) for column in columns}
    numeric = not any(is_text(c) or pa.types.is_boolean(c.type) for c in columns)
    if numeric and not frame:
        dtype = np.float32 if types <= {"float", "halffloat"} else np.float64
        X = np.empty((len(columns[0]), len(columns)), dtype)
        for j, column in enumerate(columns):
            X[:, j] = _finite(column, f"{path}: column {names[j]!r}")
        if not np.isnan(X).any():
            return X
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            f"{path} has text or missing values, which need pandas: pip install pandas"
        ) from error
    simple = [
        c.to_pandas()
        if is_text(c) or str(c.type) == "bool"
        else _finite(c, f"{path}: column {name!r}")
        for c, name in zip(columns, names, strict=True)
    ]
    return pandas.DataFrame(dict(zip(names, simple, strict=True)))


def _finite(column: Any, where: str) -> Any:
    numbers = floats(column)
    if (infinite := np.flatnonzero(np.isinf(numbers))).size:
        raise DataFileError(
            f"{where} is infinite in {infinite.size} of {len(numbers)} rows, first in data row "
            f"{infinite[0] + 1}; replace these values, or leave them empty"
        )
    return numbers


def floats(column: Any) -> Any:
    """Cleaned numbers as an array of float32 or float64, NaN where they are missing."""
    pa = require_pyarrow()
    narrow = str(column.type) in ("float", "halffloat")
    # Integers above 2^53 are rounded, as always in floating point.
    numbers = column.cast(pa.float32() if narrow else pa.float64(), safe=False)
    if numbers.null_count:  # fill_null copies even when there is nothing to fill
        numbers = pa.compute.fill_null(numbers, float("nan"))
    return numbers.to_numpy()


def target_array(column: Any, where: str) -> np.ndarray:
    """Cleaned target column as an array of integers, floats, booleans or strings."""
    pa = require_pyarrow()
    missing = pa.compute.is_null(column, nan_is_null=True)
    if count := pa.compute.sum(missing).as_py():
        row = pa.compute.index(missing, True).as_py() + 1
        raise DataFileError(
            f"{where} is missing in {count} of {len(column)} rows, first in data row {row}; "
            "remove these rows or fill in the target"
        )
    if is_text(column):
        coded = column.combine_chunks().dictionary_encode()
        words: np.ndarray = np.array(coded.dictionary.to_pylist())
        labels: np.ndarray = words[coded.indices.to_numpy()]
        return labels
    return np.asarray(column.to_numpy())
