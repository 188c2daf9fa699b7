"""What the columns of a table hold, and what a user should know before training."""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from widemargin.easy.amounts import amount_among
from widemargin.easy.data import Data
from widemargin.easy.quiet import quiet
from widemargin.easy.table_findings import (
    MANY_MISSING,
    duplicates,
    grouped,
    leaks,
    rare_classes,
    time_order,
)
from widemargin.easy.task import prepared
from widemargin.report.record import Column, Finding
from widemargin.tables.formats import require_pandas, require_pyarrow
from widemargin.tables.frames import open_table
from widemargin.tables.values import kind_of, text_of

__all__ = ["Inspection", "inspect"]

SAMPLE_ROWS = 20_000
MOST_COLUMNS = 2_000  # that are examined one by one
HARDLY_REPEATS = 0.5  # different texts, relative to the rows
MOSTLY_NUMBERS = 0.5
ID_NAME = re.compile(r"(^|[_\W])(id|uuid|guid|key|index|rowid|row)($|[_\W\d])|Id$|ID$|^unnamed")
LOOKS_LIKE_DATE = re.compile(r"\d{1,4}[/.-]\d{1,2}[/.-]\d{2,4}.*")


@dataclass(frozen=True, eq=False)
class Inspection:
    """What was found.

    Attributes
    ----------
    columns : list of Column
        The columns that may be inputs.
    findings : list of Finding
        What to look at, the most serious first.
    left_out : list of str
        Columns that tell nothing about other rows, such as row numbers.
    """

    columns: list[Column]
    findings: list[Finding]
    left_out: list[str]


def inspect(
    data: Data, task: str | None = None, *, keep: Sequence[str] = (), seconds: float = 30.0
) -> Inspection:
    """Looks at a sample of the rows, for at most about so many seconds.

    Parameters
    ----------
    data : Data
        The rows.
    task : {"classification", "regression"} or None
        What the target holds, if there is one.
    keep : sequence of str
        Columns that are used although they look like identifiers.
    seconds : float
        After so many seconds the search for leakage ends.
    """
    deadline = time.perf_counter() + seconds
    random = np.random.RandomState(0)
    rows = np.arange(data.rows)
    if data.rows > SAMPLE_ROWS:
        rows = np.sort(random.choice(data.rows, SAMPLE_ROWS, replace=False))
    findings = list(data.findings)
    if data.y is not None and task == "classification":
        findings += rare_classes(data.y, data.target)
    sample = _sample(data, rows)
    columns: list[Column] = []
    for name in list(sample.columns)[:MOST_COLUMNS]:
        column, found = _look(data, name, sample[name])
        columns.append(column)
        findings += found
    left_out = [c.name for c in columns if c.role == "left out" and c.name not in keep]
    columns = [c if c.name in left_out or c.role == "input" else _kept(c) for c in columns]
    if len(data.names) > MOST_COLUMNS:
        findings.append(
            Finding(
                "note",
                "many columns",
                f"{len(data.names):,} columns; the first {MOST_COLUMNS:,} were looked at",
                "leave columns out with --drop",
            )
        )
    findings += duplicates(sample, None if data.y is None else data.y[rows], data.rows)
    findings += time_order(data, columns)
    if data.y is not None and task is not None:
        used = [c for c in columns if c.role == "input" and c.kind != "constant"]
        with quiet():
            findings += leaks(sample, prepared(data.y, task)[rows], used, task, deadline)
    findings = grouped(findings)
    levels = {"error": 0, "warning": 1, "note": 2}
    findings.sort(key=lambda finding: levels[finding.level])
    return Inspection(columns, findings, left_out)


def _sample(data: Data, rows: np.ndarray) -> Any:
    X = data.take(rows)
    if hasattr(X, "iloc"):
        return X
    pandas = require_pandas("reports on columns")
    if sparse.issparse(X):  # columns with the most values; the others are hardly ever used
        counts = np.diff(X.tocsc().indptr)
        places = np.sort(np.argsort(-counts, kind="stable")[:MOST_COLUMNS])
        return pandas.DataFrame(
            X[:, places].toarray(), columns=[data.names[place] for place in places]
        )
    return pandas.DataFrame(X, columns=data.names)


def _kept(column: Column) -> Column:
    return Column(column.name, column.kind, column.missing, column.levels, "input", "kept")


def _look(data: Data, name: str, values: Any) -> tuple[Column, list[Finding]]:
    """One column: its kind, whether it is left out, what to know about it."""
    missing = _missing(data, name, values)
    present = values.dropna()
    levels, count = int(present.nunique()), len(present)
    findings = []
    if levels <= 1 and (levels == 0 or missing == 0):
        kind, what = (
            "constant",
            "only missing values" if levels == 0 else f"only {text_of(present.iloc[0])}",
        )
        advice = "it tells nothing about the target, so the file does not need it"
        finding = Finding("note", "constant", f"{name} holds {what}", advice, (name,))
        return Column(name, kind, missing, levels, "left out", what), [finding]
    kind = kind_of(open_table(values.to_frame()).column(0))
    text = kind == "category"
    if text and (amount := amount_among(present)) is not None:
        findings.append(
            Finding(
                "warning",
                "numbers as text",
                f"{name} holds text such as {amount!r}, which may be numbers with a unit or with "
                "signs between thousands; it is not taken for numbers",
                "write plain numbers, such as 1234.5, and the unit in the name of the column",
                (name,),
            )
        )
    if missing > MANY_MISSING * data.rows:
        findings.append(
            Finding(
                "note",
                "missing",
                f"{name} is missing in {missing / data.rows:.0%} of the rows",
                "check whether a missing value means something",
                (name,),
            )
        )
    dates = text and _look_like_dates(present)
    # A model of columns without names takes all of them.
    if data.named and _is_identifier(name, present, kind, levels, count):
        if dates:
            findings.append(_unread_dates(name, present, "it is left out"))
            return Column(name, kind, missing, levels, "left out", "dates as text"), findings
        findings.append(
            Finding(
                "note",
                "id",
                f"{name} has another value in each row, as identifiers have; it is left out",
                "use --keep NAME if it tells something about new rows",
                (name,),
            )
        )
        return Column(name, "id", missing, levels, "left out", "another in each row"), findings
    if dates:
        findings.append(_unread_dates(name, present, "it is taken for categories"))
        return Column(name, kind, missing, levels, "input", "dates as text"), findings
    note = ""
    if text:
        note, more = _text_notes(name, present, levels, count)
        findings += more
    shown = levels if kind in ("category", "boolean") else None
    return Column(name, kind, missing, shown, "input", note), findings


def _missing(data: Data, name: str, values: Any) -> int:
    """Missing values in the rows that are used; without columns, in the sample, scaled up."""
    if data.columns is None:
        return round(float(values.isna().mean()) * data.rows)
    column, pa = data.columns[data.names.index(name)], require_pyarrow()
    if data.present is not None:
        column = column.take(pa.array(data.present))
    found = int(column.null_count)
    if pa.types.is_floating(column.type):
        compute = pa.compute
        found = int(compute.sum(compute.is_null(column, nan_is_null=True)).as_py() or 0)
    return found


def _look_like_dates(present: Any) -> bool:
    return all(LOOKS_LIKE_DATE.fullmatch(str(word)) for word in present.iloc[:200])


def _unread_dates(name: str, present: Any, what: str) -> Finding:
    return Finding(
        "warning",
        "dates",
        f"{name} looks like dates, such as {str(present.iloc[0])!r}, but days and months may be in "
        f"either order; {what}",
        "write dates as 2026-01-31",
        (name,),
    )


def _is_identifier(name: str, present: Any, kind: str, levels: int, count: int) -> bool:
    if count < 20 or levels < count:
        return False
    if kind == "category":
        return True
    numbers = kind == "number" and present.dtype.kind in "iuf"
    if not numbers or np.any(present.to_numpy(np.float64) % 1):
        return False
    steps = np.diff(np.sort(present.to_numpy(np.float64)))
    named = bool(ID_NAME.search(name))
    consecutive = bool(np.mean(steps == steps.min()) > 0.9) and levels > 50
    in_order = consecutive and bool(np.all(np.diff(present.to_numpy(np.float64)) > 0))
    return named or in_order


def _text_notes(name: str, present: Any, levels: int, count: int) -> tuple[str, list[Finding]]:
    words = [str(word) for word in present.iloc[:2000]]
    share = np.mean([_is_number(word) for word in words])
    if MOSTLY_NUMBERS < share < 1:  # with --text, codes of categories are all numbers
        odd = next(word for word in words if not _is_number(word))
        finding = Finding(
            "warning",
            "mixed types",
            f"{name} is taken for categories because of values such as {odd!r}, although most of "
            "its values are numbers",
            "replace these values by numbers, or leave them empty",
            (name,),
        )
        return "numbers and text", [finding]
    if count >= 50 and levels > HARDLY_REPEATS * count:
        finding = Finding(
            "note",
            "text",
            f"{name} holds text that hardly repeats ({levels:,} different values in {count:,} "
            "rows); rare values share one indicator",
            "group the values, or make numbers of the text",
            (name,),
        )
        return "hardly repeats", [finding]
    return "", []


def _is_number(word: str) -> bool:
    try:
        float(word.replace(",", "."))
    except ValueError:
        return False
    return True
