"""The columns of CSV and Parquet files, and how they become the arrays of a chunk."""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from widemargin import _core
from widemargin.tables import TableEncoder, text_columns
from widemargin.tables.arrow import clean, features, floats, is_text, target_array
from widemargin.tables.errors import Argument, DataFileError
from widemargin.tables.formats import MISSING_VALUES, require_pyarrow
from widemargin.tables.readers import check_names
from widemargin.tables.table import find_column

Where = Callable[[int], str]


@dataclass(frozen=True)
class ColumnOptions:
    """What the user asked of the columns, before any file is opened."""

    target: str | int
    columns: tuple[str | int, ...] | None
    encoder: Any
    target_is_text: bool | None
    dtype: Any


@dataclass(frozen=True)
class Schema:
    """The columns of a stream, which its first chunk and the user's options determine."""

    inputs: tuple[str, ...]
    target: str
    text: frozenset[str]  # columns that are read as text; may include the target
    types: dict[str, Any]  # Arrow types for parsing CSV text
    encoder: Any
    dtype: Any
    parse: bool  # CSV: strings may hold numbers and missing values

    @property
    def names(self) -> list[str]:
        """The columns to read."""
        return [*self.inputs, self.target]

    def check_present(self, names: Container[str], path: Path) -> None:
        """Refuse a file that lacks a column."""
        if absent := [name for name in self.names if name not in names]:
            raise DataFileError(
                f"{path}: lacks the column {absent[0]!r} of the first file; all files need the "
                "same columns"
            )

    def columns_of(self, table: Any, path: Path) -> dict[str, Any]:
        """Cleaned columns by name."""
        return {
            name: clean(
                table.column(name),
                f"{path}: column {name!r}",
                as_text=name in self.text,
                parse=self.parse,
            )
            for name in self.names
        }

    def X(self, columns: dict[str, Any], path: Path, where: Where) -> Any:
        """The inputs of a chunk."""
        if self.encoder is None:
            return self._numbers(columns, where)
        for name in self.inputs:
            if is_text(columns[name]) and name not in self.text:
                raise self._not_a_number(name, columns[name], where)
        _check_infinite({name: columns[name] for name in self.inputs}, where)
        chosen = [columns[name] for name in self.inputs]
        X = self.encoder.transform(features(chosen, self.inputs, frame=True, path=path))
        return (sp.csr_array(X) if sp.issparse(X) else np.ascontiguousarray(X)).astype(self.dtype)

    def y(self, columns: dict[str, Any], where: Where) -> np.ndarray:
        """The target of a chunk."""
        pa = require_pyarrow()
        column = columns[self.target]
        missing = pa.compute.is_null(column, nan_is_null=True)
        if (row := pa.compute.index(missing, True).as_py()) >= 0:
            raise DataFileError(
                f"{where(row)}: the target {self.target!r} is missing; fill it in, or drop the row"
            )
        if is_text(column) and self.target not in self.text:
            row = _first_word(column)
            raise DataFileError(
                f"{where(row)}: the target is {column[row].as_py()!r}, where others are numbers; "
                "fix the row, or name all classes, as text, with ",
                Argument("classes"),
            )
        return target_array(column, self.target)

    def _numbers(self, columns: dict[str, Any], where: Where) -> np.ndarray:
        numbers = []
        for name in self.inputs:
            if is_text(columns[name]):
                raise self._not_a_number(name, columns[name], where)
            with np.errstate(over="ignore"):
                values = floats(columns[name]).astype(self.dtype, copy=False)
            numbers.append(np.ascontiguousarray(values))
        X = np.empty((len(columns[self.target]), len(numbers)), self.dtype)
        if not _core.interleave(numbers, X):
            for name, values in zip(self.inputs, numbers, strict=True):
                self._check_finite(values, name, where)
        return X

    def _check_finite(self, values: np.ndarray, name: str, where: Where) -> None:
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            what = "missing" if np.isnan(values[bad[0]]) else f"infinite as {self.dtype}"
            raise DataFileError(
                f"{where(int(bad[0]))}: column {name!r} is {what}, where the first chunk has "
                "only numbers; fill it in, or (in Python) pass a fitted TableEncoder as ",
                Argument("encoder"),
            )

    def _not_a_number(self, name: str, column: Any, where: Where) -> DataFileError:
        row = _first_word(column)
        return DataFileError(
            f"{where(row)}: column {name!r} holds {column[row].as_py()!r} where earlier rows have "
            "numbers; fix the value, or leave it empty"
        )


def is_number(text: str | None) -> bool:
    """Whether a value of a CSV file is a number, or missing."""
    if text is None or text.strip() in MISSING_VALUES:
        return True
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text  # Python reads 1_000 as a number; data files do not mean it


def _first_word(column: Any) -> int:
    """The first row of a text column that does not hold a number."""
    values = enumerate(column.to_pylist())
    return next((row for row, value in values if not is_number(value)), 0)


def infer_schema(table: Any, path: Path, options: ColumnOptions, *, parse: bool) -> Schema:
    """The schema that the first rows of a stream imply."""
    names = [str(name).strip() for name in table.column_names]
    check_names(names, path)
    table = table.rename_columns(names)
    target = names[find_column(names, options.target, path)]
    if options.columns is None:
        inputs = tuple(name for name in names if name != target)
    else:
        inputs = tuple(names[find_column(names, column, path)] for column in options.columns)
    if not inputs or target in inputs:
        raise DataFileError(
            f"{path}: needs a target and at least one other column as input; the target is "
            f"{target!r}, the inputs are {list(inputs)!r}"
        )
    encoded = text_columns(options.encoder) if hasattr(options.encoder, "transform") else None
    text = frozenset(encoded or ()) | ({target} if options.target_is_text else set())
    rough = Schema(inputs, target, text, {}, None, options.dtype, parse)
    columns = rough.columns_of(table, path)
    if encoded is None:
        text |= {name for name in inputs if is_text(columns[name])}
    if options.target_is_text is None and is_text(columns[target]):
        text |= {target}
    encoder = options.encoder
    if isinstance(encoder, str):  # "auto"
        encoder = _encoder(columns, inputs, path)
    elif encoder is None and (words := sorted(text & set(inputs))):
        raise DataFileError(
            f"{path}: column {words[0]!r} holds text; use ",
            Argument("encoder", "auto"),
            ", or name only columns of numbers in ",
            Argument("columns"),
        )
    types = {name: _type(table.column(name).type, name in text) for name in (*inputs, target)}
    if target not in text:
        del types[target]  # integers stay integers
    return Schema(inputs, target, text, types, encoder, options.dtype, parse)


def _encoder(columns: dict[str, Any], inputs: Sequence[str], path: Path) -> Any:
    """A fitted encoder if some inputs are text, booleans or missing, otherwise None."""
    pa = require_pyarrow()
    chosen = [columns[name] for name in inputs]
    plain = not any(is_text(c) or pa.types.is_boolean(c.type) for c in chosen)
    if plain and not any(np.isnan(floats(c)).any() for c in chosen):
        return None
    frame = features(chosen, inputs, frame=True, path=path)
    try:
        return TableEncoder().set_output(transform="default").fit(frame)
    except ValueError as error:
        raise DataFileError(f"{path}: {error}; use a file with more rows") from error


def _type(inferred: Any, text: bool) -> Any:
    """The Arrow type of a CSV column, the same for all chunks."""
    pa = require_pyarrow()
    if text or pa.types.is_string(inferred):
        return pa.string()
    return inferred if pa.types.is_temporal(inferred) else pa.float64()


def _check_infinite(columns: dict[str, Any], where: Where) -> None:
    pa = require_pyarrow()
    for name, column in columns.items():
        if pa.types.is_floating(column.type):
            row = pa.compute.index(pa.compute.is_inf(column), True).as_py()
            if row >= 0:
                raise DataFileError(
                    f"{where(row)}: column {name!r} is infinite; fix it, or leave it empty"
                )
