"""The columns of a data file as they are written in it, to be copied beside predictions."""

from pathlib import Path
from typing import Any

import numpy as np

from widemargin.tables.arrow import read_arrow, read_parquet
from widemargin.tables.csv_file import read_csv
from widemargin.tables.dialect import find_dialect
from widemargin.tables.errors import DataFileError
from widemargin.tables.formats import format_of, require_pyarrow
from widemargin.tables.raw import Reading

__all__ = ["original_columns"]


def original_columns(path: Path, format: str | None, reading: Reading) -> dict[str, np.ndarray]:
    """Each column of a file as an array: text of CSV files as it is, other values by their type.

    Parameters
    ----------
    path : Path
        A regular file with columns: CSV, TSV, Parquet or Arrow.
    format : str or None
        Its format, if the suffix does not tell.
    reading : Reading
        How a CSV file is read.
    """
    kind = format_of(path, format)
    if kind in ("svmlight", "npz"):
        raise DataFileError(
            f"{path}: {kind} files have no columns to keep; leave out --keep-columns"
        )
    if kind in ("parquet", "arrow"):
        table = read_parquet(path) if kind == "parquet" else read_arrow(path)
    else:
        table = _as_text(path, "\t" if kind == "tsv" else reading.separator, reading)
    return {
        str(name).strip() or f"unnamed {place}": _array(column)
        for place, (name, column) in enumerate(
            zip(table.column_names, table.columns, strict=True), start=1
        )
    }


def _as_text(path: Path, separator: str | None, reading: Reading) -> Any:
    dialect = find_dialect(
        path,
        separator=separator,
        header=reading.header,
        encoding=reading.encoding,
        decimal=reading.decimal,
        known=reading.known,
    )
    return read_csv(path, dialect, None, guessed=reading.encoding is None, missing=False)


def _array(column: Any) -> np.ndarray:
    """Numbers, booleans and moments as they are; everything else as text, "" where missing."""
    pa = require_pyarrow()
    types, kind = pa.types, column.type
    simple = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
    if simple and not column.null_count:
        return np.asarray(column.to_numpy())
    if types.is_floating(kind) or types.is_integer(kind):
        return np.asarray(column.cast(pa.float64()).to_numpy())
    if types.is_timestamp(kind) and kind.tz is None:
        return np.asarray(column.to_numpy())
    values = column.to_pylist()
    return np.array(["" if value is None else str(value) for value in values], dtype=str)
