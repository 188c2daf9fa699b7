"""The first half of a run: read the file, understand its columns, decide, divide the rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from widemargin._typing import IntArray
from widemargin.easy.clock import Clock
from widemargin.easy.data import Data, read, read_like
from widemargin.easy.inspection import Inspection, inspect
from widemargin.easy.memory import available_bytes, largest_rows
from widemargin.easy.metric import choose_metric
from widemargin.easy.models import new_search
from widemargin.easy.options import DEFAULT_SECONDS, Options
from widemargin.easy.quiet import quiet
from widemargin.easy.split import Split, check_rows, make_split
from widemargin.easy.task import decide_task, prepared
from widemargin.report.record import Decision, Finding

__all__ = ["Prepared", "prepare"]

INSPECTION_SHARE, MOST_INSPECTION = 0.08, 15.0  # of the time limit, seconds
MOST_INDICATORS = 64  # of a column, as in `TableEncoder`
FEWEST_ROWS = 100  # that there must be memory for

Say = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Prepared:
    """Everything that is decided before the first model is trained."""

    data: Data
    inspection: Inspection
    task: str
    y: np.ndarray
    split: Split
    rows: IntArray  # to train on
    metric: str | None
    decisions: tuple[Decision, ...]
    findings: tuple[Finding, ...]
    dropped: list[str]
    test: Data | None = None

    def judged_by(self) -> tuple[Any, np.ndarray]:
        """A function of rows that returns inputs, and the targets, of what judges the model."""
        if self.test is not None:
            return self.test.take, prepared(np.asarray(self.test.y), self.task)
        return (lambda rows: self.data.take(self.split.test[rows])), self.y[self.split.test]


def prepare(options: Options, clock: Clock, say: Say) -> Prepared:
    """Reads and decides; the messages of errors say what to do."""
    _check(options)
    say(f"reading {options.data.name}")
    with clock.stage("reading"):
        data = read(options)
    assert data.y is not None
    check_rows(data.rows)
    decision = decide_task(data.y, options.task)
    task = decision.value.partition(",")[0]
    y = prepared(data.y, task)
    with quiet():
        metric, metric_decision = choose_metric(options.metric, task, y)
    new_search(task, options.settings)  # whose parameters are checked before the work begins
    say(f"looking at {len(data.names):,} columns")
    with clock.stage("inspection"):
        seconds = min(MOST_INSPECTION, INSPECTION_SHARE * clock.limit)
        inspection = inspect(data, task, keep=data.kept, seconds=seconds)
    left_out = inspection.left_out if data.named else []
    if data.named and set(left_out) >= set(data.names):
        raise ValueError(
            f"{data.path}: no column tells anything about the target: {', '.join(left_out[:5])} "
            "are identifiers or constant; add columns, or use one with --keep"
        )
    data = data.without(left_out) if left_out else data
    with quiet():
        split = make_split(
            y,
            task,
            options.holdout,
            groups=data.role("group"),
            times=data.role("time"),
            all_rows=options.test is not None,
        )
    test = None
    if options.test is not None:
        with clock.stage("reading"):
            test = read_like(data, options, options.test, data.names)
        _check_test(test, data, y, task)
        shown = Decision("held-out rows", f"{test.rows:,} rows", f"{options.test.name} was given")
        split = replace(split, decision=shown)
    rows, sampled, found = _rows(options, clock, data, inspection, split)
    if test is not None:  # no rows are drawn at random
        known = [finding for finding in inspection.findings if finding.kind != "time order"]
        inspection = replace(inspection, findings=known)
    limit = options.time_limit
    return Prepared(
        data,
        inspection,
        task,
        y,
        split,
        rows,
        metric,
        (
            replace(decision, what="task"),
            split.decision,
            metric_decision,
            *_reading(data),
            *sampled,
            Decision(
                "time limit",
                "none" if limit is None else f"{limit:g} s",
                "the default" if limit == DEFAULT_SECONDS else "given",
                "--time-limit SECONDS, 0 for none",
            ),
            *_columns_left_out(left_out, data.dropped),
        ),
        (*inspection.findings, *found),
        [*data.dropped, *left_out],
        test,
    )


def _check_test(test: Data, data: Data, y: np.ndarray, task: str) -> None:
    """Refuse test rows whose targets are all of another kind."""
    values = np.asarray(test.y)
    if task == "regression" and values.dtype.kind not in "biuf":
        raise ValueError(
            f"{test.path}: the target holds text, such as {str(values[0])!r}, and in {data.path} "
            "numbers; use a file of the same kind"
        )
    if task == "regression":
        return
    found, classes = np.unique(prepared(values, task)), np.unique(y)
    if found.dtype.kind != classes.dtype.kind or not np.isin(found, classes).any():
        shown = ", ".join(map(str, found[:4]))
        raise ValueError(
            f"{test.path}: the target holds {shown}, and none of the classes of {data.path.name}, "
            f"such as {classes[0]}; use a file of the same kind"
        )


def _check(options: Options) -> None:
    if not 0.0 < options.holdout < 1.0:
        raise ValueError(f"--holdout {options.holdout:g} is not between 0 and 1; use 0.2")
    if options.test is not None and not Path(options.test).is_file():
        raise FileNotFoundError(f"{options.test}: there is no such file; check the name")
    if options.time_column is not None and options.groups is not None:
        raise ValueError(
            "--groups and --time-column cannot be combined; use --time-column if the model shall "
            "predict the future of known groups, --groups if it shall predict new groups"
        )


def _rows(
    options: Options, clock: Clock, data: Data, inspection: Inspection, split: Split
) -> tuple[IntArray, list[Decision], list[Finding]]:
    """The rows to train on: all, or a part if time or memory do not suffice for more."""
    width = _encoded_width(data, inspection)
    most = {
        "--max-rows": float(options.max_rows or np.inf),
        "the time limit": clock.rows(width),
        "the free memory": largest_rows(width),
    }
    why = min(most, key=lambda name: most[name])
    if most["the free memory"] < FEWEST_ROWS:
        raise MemoryError(
            f"{data.path}: {width:,} inputs need more memory than the free "
            f"{available_bytes() / 2**30:.1f} GiB; leave columns out with --drop, or train with "
            "--stream and --model"
        )
    rows = split.sample(most[why])
    if len(rows) == len(split.train):
        return rows, [], []
    part = "the last ones" if split.ordered else "drawn at random"
    shown = f"{len(rows):,} of {len(split.train):,} rows"
    remedy = "a longer --time-limit" if why == "the time limit" else "more memory"
    return (
        rows,
        [Decision("training rows", shown, f"{why} allows no more", "--time-limit, --max-rows")],
        [
            Finding(
                "note",
                "sample",
                f"the model is trained on {shown}, {part}, because of {why}",
                "use all rows as they are" if why == "--max-rows" else f"{remedy} uses more rows",
            )
        ],
    )


def _encoded_width(data: Data, inspection: Inspection) -> int:
    """About how many inputs the encoder makes of the columns."""
    width = max(0, len(data.names) - len(inspection.columns))
    for column in inspection.columns:
        if column.role == "input":
            levels = min(MOST_INDICATORS, column.levels or 1) if column.kind == "category" else 1
            width += levels + (column.missing > 0)
    return max(1, width)


def _reading(data: Data) -> list[Decision]:
    """How a CSV file was read."""
    if data.dialect is None:
        return []
    dialect = data.dialect
    name = {"\t": "tab", ",": "comma", ";": "semicolon", " ": "space"}.get(dialect.separator)
    header = "header in the first line" if dialect.header else "no header"
    parts = [f"separator {name or dialect.separator}", header, dialect.encoding]
    if dialect.decimal == ",":
        parts.append("decimal comma")
    return [
        Decision(
            "reading",
            ", ".join(parts),
            "found in the first lines",
            "--separator, --header / --no-header, --encoding, --decimal",
        )
    ]


def _columns_left_out(left_out: list[str], dropped: Sequence[str]) -> list[Decision]:
    found = []
    if left_out:
        shown = ", ".join(left_out[:10]) + (", ..." if len(left_out) > 10 else "")
        why = "identifiers and constants tell nothing about new rows"
        found.append(Decision("columns left out", shown, why, "--keep NAME"))
    if dropped:
        found.append(Decision("columns dropped", ", ".join(dropped), "given", "--drop"))
    return found
