"""Findings about a table as a whole: its classes, repeated rows, the order of time, leakage."""

import shlex
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from widemargin.easy.data import Data
from widemargin.easy.leakage import predicts_alone
from widemargin.easy.moments import moments
from widemargin.report.record import Column, Finding
from widemargin.tables.formats import require_pandas
from widemargin.tables.values import text_of

__all__ = ["duplicates", "grouped", "leaks", "rare_classes", "time_order"]

MANY_MISSING = 0.5
SMALL_CLASS, TINY_CLASS = 0.15, 5  # fraction of the rows, rows
DUPLICATES = 0.01
FEW_ALIKE = 3  # findings of a kind that are told one by one
SORTED = 0.98  # fraction of neighbours in order
FEWEST_TIMES = 20  # that show an order
GROUPED = {
    "constant": "hold a single value",
    "missing": f"are missing in more than {MANY_MISSING:.0%} of the rows",
    "id": "have another value in each row, as identifiers have; they are left out",
    "text": "hold text that hardly repeats",
}


def grouped(findings: Sequence[Finding]) -> list[Finding]:
    """Findings of the same kind about many columns as one."""
    found: list[Finding] = []
    for kind, what in GROUPED.items():
        same = [finding for finding in findings if finding.kind == kind]
        if len(same) <= FEW_ALIKE:
            continue
        names = tuple(name for finding in same for name in finding.columns)
        shown = ", ".join(names[:FEW_ALIKE])
        text = f"{len(names):,} columns {what}: {shown}, ..."
        found.append(Finding(same[0].level, kind, text, same[0].advice, names))
    gone = {finding.kind for finding in found}
    return [*(finding for finding in findings if finding.kind not in gone), *found]


def rare_classes(y: np.ndarray, name: str | None) -> list[Finding]:
    values, counts = np.unique(y, return_counts=True)
    target = (str(name),)
    rare = values[counts < TINY_CLASS]
    if len(rare):
        shown = ", ".join(map(text_of, rare[:5])) + (", ..." if len(rare) > 5 else "")
        return [
            Finding(
                "warning",
                "rare classes",
                f"{len(rare)} of {len(values)} classes have fewer than {TINY_CLASS} rows: {shown}",
                "find more rows of them, or join them with other classes",
                target,
            )
        ]
    share = counts.min() / counts.sum()
    # The scorers called f1 and average_precision are about the second class.
    second = counts.argmin() == 1
    scorers = "balanced_accuracy" + (", f1 or average_precision" if second else " or f1_macro")
    if len(values) == 2 and share < SMALL_CLASS:
        return [
            Finding(
                "note",
                "imbalance",
                f"only {share:.1%} of the rows are of the class {text_of(values[counts.argmin()])}",
                "look at its precision and recall, not at the error; --metric "
                f"{scorers} chooses for them",
                target,
            )
        ]
    return []


def duplicates(sample: Any, y: np.ndarray | None, rows: int) -> list[Finding]:
    """Rows that are repeated in a sample of so many rows."""
    pandas = require_pandas("reports on columns")
    hashes = pandas.util.hash_pandas_object(sample, index=False).to_numpy()
    _, codes, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    repeated = counts[codes] > 1
    share = float(1.0 - len(counts) / len(hashes))
    if share < DUPLICATES:
        return []
    some = "the rows" if len(hashes) == rows else f"a sample of {len(hashes):,} rows"
    text = f"{share:.1%} of {some} have the same inputs as an earlier row"
    if y is not None:
        frame = pandas.DataFrame({"code": codes[repeated], "y": y[repeated]})
        differ = float((frame.groupby("code")["y"].nunique() > 1).mean())
        text += f"; in {differ:.0%} of such sets the target differs"
    return [
        Finding(
            "note",
            "duplicates",
            text,
            "if they are the same case recorded twice, remove them, or keep the rows of a case "
            "together with --groups: otherwise the held-out error is too low",
        )
    ]


def time_order(data: Data, columns: Sequence[Column]) -> list[Finding]:
    dates = [c.name for c in columns if c.kind == "date"]
    if data.columns is None or not dates or "time" in data.special:
        return []
    for name in dates:
        times = moments(data.columns[data.names.index(name)].drop_null())
        if times is None or len(times) < FEWEST_TIMES:
            continue
        order = float(np.mean(np.diff(times) >= 0))
        in_order = order > SORTED and times[0] < times[-1]
        what = "rows are sorted by" if in_order else "rows have dates in"
        return [
            Finding(
                "warning" if in_order else "note",
                "time order",
                f"{what} {name}, but held-out rows are drawn at random: the model is judged by "
                "rows between those that it has seen",
                "if it shall predict the future, hold out the last rows: --time-column "
                f"{shlex.quote(name)}",
                (name,),
            )
        ]
    return []


def leaks(
    sample: Any, y: np.ndarray, columns: Sequence[Column], task: str, deadline: float
) -> list[Finding]:
    found = []
    for column in columns:
        if time.perf_counter() > deadline:
            break
        if predicts_alone(sample[column.name], y, task):
            found.append(
                Finding(
                    "warning",
                    "leakage",
                    f"{column.name} alone predicts the target almost perfectly",
                    "check whether it is known when predictions are made; if not, "
                    f"--drop {shlex.quote(column.name)}",
                    (column.name,),
                )
            )
    return found
