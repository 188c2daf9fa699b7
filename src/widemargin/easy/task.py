"""Whether a target holds classes or values, and why."""

import numpy as np

from widemargin.easy.amounts import amount_among
from widemargin.report.record import Decision
from widemargin.tables.errors import Argument, ArgumentError

__all__ = ["decide_task", "prepared"]

FEW_VALUES = 20  # integers with at most as many values are classes
MANY_VALUES, LEAST_ROWS, MOST_UNEVEN = 100, 20, 10.0  # of codes of classes 0, 1, 2, ...
FEWEST_ROWS_PER_CLASS = 2  # on average
TASKS = ("classification", "regression")


def decide_task(y: np.ndarray, wanted: str | None) -> Decision:
    """The task that the values of a target suggest, unless it is given.

    Examples
    --------
    >>> decide_task(np.array(["no", "yes", "no", "yes"]), None).value
    'classification, 2 classes'
    >>> decide_task(np.array([0.5, 2.25, 1.0]), None).value
    'regression'
    """
    if wanted is not None and wanted not in TASKS:
        raise ArgumentError(Argument("task", wanted), f"; use {' or '.join(TASKS)}")
    values, counts = np.unique(y, return_counts=True)
    task, why = (wanted, "given") if wanted else _found(values, counts)
    if task == "regression" and values.dtype.kind not in "iufb":
        raise ArgumentError(
            Argument("task", wanted),
            f": the target holds text, such as {str(values[0])!r}; use numbers, or classification",
        )
    _check_values(values, counts, task)
    other = TASKS[1 - TASKS.index(task)]
    shown = task if task == "regression" else f"classification, {len(values):,} classes"
    text = values.dtype.kind not in "iufb"  # which is no value of a regression
    return Decision("task", shown, why, "" if text else f"--task {other}")


def _check_values(values: np.ndarray, counts: np.ndarray, task: str) -> None:
    if len(values) == 1:
        raise ValueError(
            f"the target holds a single value, {values[0]!s}, so there is nothing to learn; use "
            "rows with other values too, or name another column with --target"
        )
    rows = int(counts.sum())
    if task == "classification" and rows < FEWEST_ROWS_PER_CLASS * len(values):
        remedy = "name another column with --target"
        if values.dtype.kind in "iuf":
            remedy += ", or use --task regression"
        elif (amount := amount_among(values)) is not None:
            remedy = f"if values such as {amount!r} are numbers, write them plainly, such as 1234.5"
        raise ValueError(
            f"the target holds {len(values):,} different values in {rows:,} rows, so no class can "
            f"be learnt; {remedy}"
        )


def _found(values: np.ndarray, counts: np.ndarray) -> tuple[str, str]:
    if values.dtype.kind not in "iuf":
        what = "truth values" if values.dtype.kind == "b" else f"{len(values):,} different texts"
        return "classification", f"the target holds {what}"
    fractions = values[values != np.round(values)]
    if fractions.size:
        return "regression", f"the target holds fractions, such as {fractions[0]:g}"
    what = f"{len(values):,} different integers"
    if len(values) <= min(FEW_VALUES, counts.sum() / 2):
        return "classification", f"the target holds {what}"
    codes = values[0] in (0, 1) and values[-1] - values[0] == len(values) - 1
    even = counts.min() >= LEAST_ROWS and counts.max() <= MOST_UNEVEN * counts.min()
    if len(values) <= MANY_VALUES and codes and even:
        return "classification", f"the target holds {what} without gaps, each in many rows"
    return "regression", f"the target holds {what}"


def prepared(y: np.ndarray, task: str) -> np.ndarray:
    """The target as models take it: floats, or classes that are integers or text."""
    if task == "regression":
        return y.astype(np.float64)
    if y.dtype.kind == "f":
        whole = y.astype(np.int64)
        return whole if np.array_equal(whole, y) else y.astype(str)
    return y.astype(str) if y.dtype.kind == "b" else y
