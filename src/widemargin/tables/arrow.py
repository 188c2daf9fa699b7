"""Arrow tables: Parquet and Arrow files, and columns that are cleaned and become arrays."""

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from widemargin.tables.errors import DataFileError
from widemargin.tables.formats import MISSING_VALUES, read_errors, require_pyarrow

SECONDS_PER_DAY = 86_400
MOSTLY = 0.9  # fraction of the values that are numbers, for a column of numbers
LOOKED_AT, LEAST_NUMBERS, LEAST_DIFFERENT = 5_000, 10, 5  # values that decide about it
NUMBER_PATTERN = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


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


def read_arrow(path: Path) -> Any:
    """Arrow table of an Arrow or Feather file, or of an Arrow stream."""
    pa = require_pyarrow()
    if not path.is_file():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    remedy = "write it again, with pyarrow.feather.write_feather for example"
    with read_errors(path, remedy, what="not a complete Arrow file", also=(ValueError,)):
        with open(path, "rb") as stream:
            beginning = stream.read(6)
        opener = pa.ipc.open_file if beginning == b"ARROW1" else pa.ipc.open_stream
        with pa.OSFile(str(path)) as source, opener(source) as reader:
            return reader.read_all()


def clean(
    column: Any,
    where: str,
    *,
    as_text: bool = False,
    parse: bool = False,
    decimal: str = ".",
    dates: bool = False,
) -> Any:
    """Column of one simple type: numbers, booleans or strings; dates become days since 1970.

    With `parse` (CSV), strings are stripped and `MISSING_VALUES` are missing.  A column whose
    other strings are all numbers is then numeric, unless `as_text` is true.  With `dates`, dates
    and moments become moments without a zone.
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
        return _parse(text, as_text, decimal) if parse else text
    if dates and (types.is_date(kind) or types.is_timestamp(kind)):
        return column.cast(pa.timestamp("ms"), safe=False)
    if types.is_temporal(kind) and not types.is_interval(kind):
        return _days(column)
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind):
        return column
    if types.is_decimal(kind):
        return column.cast(pa.float64())
    what = "text that is not UTF-8" if types.is_binary(kind) else f"values of type {kind}"
    raise DataFileError(f"{where} holds {what}; convert it to numbers or UTF-8 text, or drop it")


def _parse(text: Any, as_text: bool, decimal: str) -> Any:
    pa = require_pyarrow()
    text = pa.compute.utf8_trim_whitespace(text)
    missing = pa.compute.is_in(text, value_set=pa.array(MISSING_VALUES, text.type))
    text = pa.compute.if_else(missing, pa.scalar(None, text.type), text)
    plain = text if decimal == "." else pa.compute.replace_substring(text, decimal, ".")
    for number in () if as_text else (pa.int64(), pa.float64()):
        try:
            return plain.cast(number)
        except pa.ArrowInvalid:
            continue
    return text


def mostly_numbers(column: Any, decimal: str = ".") -> tuple[Any, str, int] | None:
    """Text that is nearly always a number as numbers, with one of the other values and their count.

    None if more than a tenth of the values are no numbers, or different numbers are few.
    """
    pa = require_pyarrow()
    compute = pa.compute
    if not _are_mostly_numbers(column.slice(0, LOOKED_AT), decimal):
        return None
    plain = column if decimal == "." else compute.replace_substring(column, decimal, ".")
    good = compute.fill_null(compute.match_substring_regex(plain, NUMBER_PATTERN), True)
    if compute.mean(good).as_py() < MOSTLY:
        return None
    others = column.filter(compute.invert(good))
    numbers = compute.if_else(good, plain, pa.scalar(None, plain.type)).cast(pa.float64())
    example = others[0].as_py() if len(others) else ""
    return numbers, example, len(others)


def _are_mostly_numbers(column: Any, decimal: str) -> bool:
    compute = require_pyarrow().compute
    present = column.drop_null()
    if len(present) < LEAST_NUMBERS:
        return False
    plain = present if decimal == "." else compute.replace_substring(present, decimal, ".")
    good = compute.match_substring_regex(plain, NUMBER_PATTERN)
    different = compute.count_distinct(present.filter(good)).as_py()
    return bool(compute.mean(good).as_py() >= MOSTLY and different >= LEAST_DIFFERENT)


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


def is_simple(column: Any) -> bool:
    """Whether a cleaned column holds booleans or moments, which pandas has types for."""
    types = require_pyarrow().types
    return bool(types.is_boolean(column.type) or types.is_timestamp(column.type))


def features(
    columns: Sequence[Any],
    names: Sequence[str],
    *,
    frame: bool,
    path: object,
    rows: int | None = None,
) -> Any:
    """Cleaned columns as a float array, or as a DataFrame if some are text or incomplete."""
    types = {str(column.type) for column in columns}
    numeric = not any(is_text(c) or is_simple(c) for c in columns)
    if numeric and columns and not frame:
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
        c.to_pandas() if is_text(c) or is_simple(c) else _finite(c, f"{path}: column {name!r}")
        for c, name in zip(columns, names, strict=True)
    ]
    # Without columns only the index tells how many rows there are.
    index = pandas.RangeIndex(rows) if rows is not None and not columns else None
    return pandas.DataFrame(dict(zip(names, simple, strict=True)), index=index)


def check_finite(column: Any, where: str) -> None:
    """Refuse infinite numbers in a cleaned column; the message counts the rows of the file."""
    pa = require_pyarrow()
    if pa.types.is_floating(column.type) and pa.compute.any(pa.compute.is_inf(column)).as_py():
        _finite(column, where)


def _finite(column: Any, where: str) -> Any:
    numbers = floats(column)
    if (infinite := np.flatnonzero(np.isinf(numbers))).size:
        raise DataFileError(
            f"{where} is infinite in {infinite.size} of {len(numbers)} rows, first in data row "
            f"{infinite[0] + 1}, which holds {numbers[infinite[0]]}; replace these values, or "
            "leave them empty"
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
