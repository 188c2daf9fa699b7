"""The rows of a data file, before and after the target is taken out."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy import sparse

from widemargin._typing import IntArray
from widemargin.easy.memory import GROWTH, check_readable, readable_rows
from widemargin.easy.moments import moments
from widemargin.easy.options import Options
from widemargin.report.formats import plural
from widemargin.report.record import Finding
from widemargin.tables.arrow import check_finite, features, is_text, target_array
from widemargin.tables.dialect import Dialect
from widemargin.tables.errors import Argument, DataFileError
from widemargin.tables.formats import (
    format_of,
    read_errors,
    regular_file,
    require_pandas,
    require_pyarrow,
)
from widemargin.tables.numbers import read_npz, read_svmlight
from widemargin.tables.raw import RawTable, Reading, read_raw
from widemargin.tables.readers import check_names
from widemargin.tables.table import Table, find_column, no_column

__all__ = ["Data", "read"]

ROWS_AT_A_TIME = 10_000  # of a matrix that is checked
LIKELY_TARGETS = ("target", "label", "class", "y", "outcome", "response")


@dataclass(frozen=True, eq=False)
class Data:
    """Rows of a file whose target is known.

    Attributes
    ----------
    path : Path
        The file.
    names : list of str
        The columns that may be inputs.
    columns : list of Arrow columns, or None
        Those of a table with names.
    matrix : array or CSR matrix, or None
        The inputs of other files.
    y : ndarray or None
        The target of the rows that have one.
    present : ndarray of int or None
        These rows; None: all.
    target : str or None
        The name of the target.
    special : dict
        Arrow columns that are no inputs, by their role: "group", "time".
    order : list of str
        The names of all columns of the file.
    codes : tuple of str
        Columns whose numbers are codes of categories.
    kept : tuple of str
        Columns that are inputs although they look like identifiers.
    dropped : tuple of str
        Columns that are left out because the options say so.
    """

    path: Path
    names: list[str]
    columns: list[Any] | None = None
    matrix: Any = None
    y: np.ndarray | None = None
    present: IntArray | None = None
    target: str | None = None
    special: dict[str, tuple[str, np.ndarray]] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    codes: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    dialect: Dialect | None = None
    index_base: int | None = None
    named: bool = True
    findings: tuple[Finding, ...] = ()

    @property
    def rows(self) -> int:
        """The number of rows that can be used."""
        if self.present is not None:
            return len(self.present)
        return len(self.columns[0]) if self.columns else int(self.matrix.shape[0])

    def take(self, rows: IntArray) -> Any:
        """The inputs of some rows: a DataFrame, or an array without names."""
        rows = rows if self.present is None else self.present[rows]
        if self.columns is None:
            X = self.matrix[rows]
            if not self.named:
                return X
            return require_pandas("named columns").DataFrame(X, columns=self.names, copy=False)
        index = require_pyarrow().array(rows)
        columns = [column.take(index) for column in self.columns]
        frame = features(columns, self.names, frame=True, path=self.path)
        codes = [name for name in self.codes if name in self.names]
        return frame.astype(dict.fromkeys(codes, "category")) if codes else frame

    def without(self, names: Sequence[str]) -> Self:
        """The data without some columns."""
        gone = set(names)
        kept = [i for i, name in enumerate(self.names) if name not in gone]
        chosen = [self.names[i] for i in kept]
        if self.columns is not None:
            return replace(self, names=chosen, columns=[self.columns[i] for i in kept])
        return replace(self, names=chosen, matrix=self.matrix[:, kept])

    def role(self, name: str) -> np.ndarray | None:
        """The values of the column with this role, of the rows that can be used."""
        if name not in self.special:
            return None
        values: np.ndarray = self.special[name][1]
        return values if self.present is None else values[self.present]


def read(options: Options, *, need_target: bool = True, only: Sequence[str] | None = None) -> Data:
    """The rows of the data file; with `only`, these inputs, as far as the file has them.

    Raises
    ------
    DataFileError
        If the file cannot be used; the message says what to do.
    """
    path = options.data
    kind = format_of(path, options.format)
    with read_errors(path), regular_file(path) as file:
        if kind in GROWTH and file.is_file():
            check_readable(file, kind)
        if kind == "svmlight":
            table = read_svmlight(file, options.target, options.n_features, options.index_base)
            return _of_matrix(table, options, need_target)
        if kind == "npz":
            return _of_matrix(read_npz(file, options.target), options, need_target)
        few = None
        if kind in ("csv", "tsv"):
            few = readable_rows(file)
        wanted = [options.target, options.groups, options.time_column, *options.drop]
        known = [*options.reading.known, *(name for name in wanted if name is not None)]
        reading = replace(
            options.reading,
            known=known,
            rows=few,
            wanted=lambda names: _wanted(names, options, only),
        )
        if options.text and not reading.text:
            reading = replace(reading, text=options.text)
        raw = read_raw(file, kind, reading)
        check_names(raw.names, path, raw.columns)
        data = _of_table(raw, options, need_target)
    return data if few is None else replace(data, findings=(*data.findings, _too_large(raw)))


def _too_large(raw: RawTable) -> Finding:
    return Finding(
        "warning",
        "memory",
        f"the file is larger than half of the free memory: its first {raw.rows:,} rows were read",
        "shuffle the file, use a machine with more memory, or train with --stream and --model",
    )


def _wanted(names: list[str], options: Options, only: Sequence[str] | None) -> set[int]:
    """The places of the columns that have a role; those of `drop` may hold anything."""
    places = {find_column(names, name, options.data) for name in options.drop}
    places |= {i for i, name in enumerate(names) if name in options.drop}  # several of one name
    roles = set()
    for option in ("target", "groups", "time_column"):
        if (name := getattr(options, option)) is None:
            continue
        roles.add(find_column(names, name, options.data))
        if not roles.isdisjoint(places):
            raise DataFileError(
                f"{options.data}: column {name!r} is dropped, but it is also named by ",
                Argument(option),
                "; leave out one of them",
            )
    for name in options.keep:
        if find_column(names, name, options.data) in places:
            raise DataFileError(
                f"{options.data}: column {name!r} is dropped, but it is also named by ",
                Argument("keep"),
                "; leave out one of them",
            )
    if only is not None:
        return roles | {i for i, name in enumerate(names) if name in set(only)}
    return set(range(len(names))) - places


def _of_matrix(table: Table, options: Options, need_target: bool) -> Data:
    path = options.data
    if table.y is None and need_target:
        raise DataFileError(f"{path}: holds no target; add an array 'y' with one value per row")
    given = {
        "groups": options.groups,
        "time_column": options.time_column,
        "text": options.text,
        **({} if table.feature_names else {"drop": options.drop, "keep": options.keep}),
    }
    if used := [option for option, value in given.items() if value]:
        raise DataFileError(
            f"{path}: its columns have no names or types, which is needed for ",
            Argument(used[0]),
            "; leave it out, or write the table as CSV or Parquet",
        )
    _check_finite_matrix(table.X, path)
    names = list(table.feature_names) or [f"column {i}" for i in range(table.X.shape[1])]
    data = Data(
        path,
        names,
        matrix=table.X,
        y=table.y,
        target=table.target_name,
        order=names,
        index_base=table.index_base,
        named=bool(table.feature_names),
        kept=tuple(names[find_column(names, name, path)] for name in options.keep),
        dropped=tuple(names[find_column(names, name, path)] for name in options.drop),
    )
    return data.without(data.dropped) if data.dropped else data


def _check_finite_matrix(X: Any, path: Path) -> None:
    """Refuse infinite numbers, which no model takes; a block of rows at a time."""
    numbers = X.data if sparse.issparse(X) else X
    for start in range(0, len(numbers), ROWS_AT_A_TIME):
        infinite = np.argwhere(np.isinf(numbers[start : start + ROWS_AT_A_TIME]))
        if not len(infinite):
            continue
        place = start + int(infinite[0][0])
        row = int(np.searchsorted(X.indptr, place, side="right") - 1) if X is not numbers else place
        raise DataFileError(
            f"{path}: holds an infinite number, first in data row {row + 1}; replace such numbers"
        )


def _of_table(raw: RawTable, options: Options, need_target: bool) -> Data:
    path = options.data
    places: dict[str, int] = {}
    if options.target is None and need_target:
        likely = [name for name in raw.names if name.strip().lower() in LIKELY_TARGETS]
        names = likely or raw.names[-1:]
        raise DataFileError(
            f"{path}: the target column is not known; name it with ",
            Argument("target"),
            f", for example {', '.join(map(repr, names))}",
        )
    findings = [_odd(name, *found) for name, found in raw.odd.items()]
    wanted = {"target": options.target, "group": options.groups, "time": options.time_column}
    for role, name in wanted.items():
        if name is not None:
            place = find_column(raw.names, name, path)
            if place in places.values():
                raise DataFileError(f"{path}: column {name!r} cannot have two roles; name another")
            places[role] = place
    if unknown := [name for name in options.text if name not in raw.names]:
        raise no_column(raw.names, unknown[0], path)
    columns = raw.columns
    inputs = [i for i, c in enumerate(columns) if c is not None and i not in places.values()]
    if not inputs:
        raise DataFileError(f"{path}: has no column besides the target; add the inputs")
    for i in inputs:
        check_finite(columns[i], f"{path}: column {raw.names[i]!r}")
    data = Data(
        path,
        [raw.names[i] for i in inputs],
        columns=[columns[i] for i in inputs],
        order=list(raw.names),
        codes=tuple(name for name in raw.names if name in options.text),
        kept=tuple(raw.names[find_column(raw.names, name, path)] for name in options.keep),
        dropped=tuple(
            dict.fromkeys(n for n, c in zip(raw.names, columns, strict=True) if c is None)
        ),
        findings=tuple(findings),
        dialect=raw.dialect,
        special={
            role: (raw.names[place], _special(raw, place, role, path))
            for role, place in places.items()
            if role != "target"
        },
    )
    return _with_target(data, raw, places["target"]) if "target" in places else data


def _odd(name: str, example: str, count: int) -> Finding:
    return Finding(
        "warning",
        "mixed types",
        f"{name} holds numbers, and {plural(count, 'other value')} such as {example!r}; what is "
        "not a number counts as missing",
        f"if its values are categories, use --text {shlex.quote(name)}",
        (name,),
    )


def _special(raw: RawTable, place: int, role: str, path: Path) -> np.ndarray:
    """Groups as codes, times as numbers; missing groups are one group, missing times come first."""
    column, pa = raw.columns[place], require_pyarrow()
    if role == "group":
        codes = column.combine_chunks().dictionary_encode().indices
        return np.asarray(pa.compute.fill_null(codes, -1).to_numpy(zero_copy_only=False))
    if (numbers := moments(column)) is None:
        raise DataFileError(
            f"{path}: column {raw.names[place]!r} holds text, so its order is not known; write "
            "moments as 2026-01-31 or 2026-01-31 12:00, or as numbers"
        )
    return np.where(np.isnan(numbers), -np.inf, numbers)


def _with_target(data: Data, raw: RawTable, place: int) -> Data:
    """The rows whose target is known."""
    column, name, pa = raw.columns[place], raw.names[place], require_pyarrow()
    if pa.types.is_timestamp(column.type):
        raise DataFileError(
            f"{data.path}: the target {name!r} holds dates; write what to predict as a number, "
            "such as days until the event"
        )
    missing = pa.compute.is_null(column, nan_is_null=True)
    count = int(pa.compute.sum(missing).as_py() or 0)
    if count == len(column):
        raise DataFileError(
            f"{data.path}: the target {name!r} is missing in all rows; name another column with ",
            Argument("target"),
        )
    present = np.flatnonzero(~missing.to_numpy()) if count else None
    if count:
        column = column.filter(pa.compute.invert(missing))
    check_finite(column, f"{data.path}: the target {name!r}")
    y = target_array(column, f"{data.path}: column {name!r}")
    findings = list(data.findings)
    if count:
        findings.append(
            Finding(
                "warning",
                "missing target",
                f"the target is missing in {count:,} of {len(missing):,} rows; they were left out",
                "fill in the target if it is known; if a word such as NA is one of its classes, "
                "write it in another way",
                (name,),
            )
        )
    return replace(data, y=y, present=present, target=name, findings=tuple(findings))


def read_like(data: Data, options: Options, path: Path, inputs: Sequence[str]) -> Data:
    """Another file with the columns of `data`, such as test rows."""
    text: tuple[str, ...] = ()
    if data.columns is not None:
        types = dict(zip(data.names, data.columns, strict=True))
        text = tuple(name for name in inputs if is_text(types[name]))
    found = read(
        replace(
            options,
            data=path,
            format=options.format if path.suffix == options.data.suffix else None,
            target=data.target if data.columns is not None else None,
            n_features=data.matrix.shape[1] if not data.named else None,
            index_base=data.index_base,
            groups=None,
            time_column=None,
            drop=(),
            keep=(),
            text=data.codes,
            reading=Reading(known=data.order, text=text, dates=True, mostly=True),
        ),
        only=inputs,
    )
    if absent := [name for name in inputs if name not in found.names]:
        raise DataFileError(
            f"{path}: lacks the columns {', '.join(map(repr, absent[:5]))} of {data.path}; use a "
            "file with the same columns"
        )
    return found.without([name for name in found.names if name not in inputs])
