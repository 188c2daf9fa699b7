"""Which rows train the model, and which ones judge it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    StratifiedGroupKFold,
    train_test_split,
)

from widemargin._typing import IntArray
from widemargin.report.record import Decision

__all__ = ["Split", "check_rows", "make_split"]

MOST_HELD_OUT = 20_000
FEWEST_ROWS = 10  # of a table that can be divided
FEWEST_GROUPS = 3  # so that two are left to train and judge trials
USUAL_FOLDS = 5  # of groups, if there are as many
FEW_ROWS = 1_000  # that are judged by several folds, also if time is short


@dataclass(frozen=True, eq=False)
class Split:
    """Training rows in random order (or in that of time), held-out rows, and how to judge."""

    train: IntArray
    test: IntArray
    decision: Decision
    ordered: bool = False  # by time

    def sample(self, rows: float) -> IntArray:
        """At most as many of the training rows: a random part, or the last ones if ordered."""
        if len(self.train) <= rows:
            return self.train
        return self.train[-int(rows) :] if self.ordered else self.train[: int(rows)]

    def folds(
        self,
        rows: int,
        holdout: float,
        *,
        hurried: bool,
        groups: np.ndarray | None = None,
        classes: np.ndarray | None = None,
    ) -> Sequence[tuple[IntArray, IntArray]] | None:
        """The folds that trials are judged by; None leaves them to the model.

        If rows are ordered or time is short there is one, whose last rows judge.
        """
        if groups is not None:
            count = min(USUAL_FOLDS, len(np.unique(groups)))
            splitter = GroupKFold(count) if classes is None else StratifiedGroupKFold(count)
            return list(splitter.split(groups, classes, groups))
        if not self.ordered and not (hurried and rows >= FEW_ROWS):
            return None
        first = rows - max(1, int(holdout * rows))
        return [(np.arange(first), np.arange(first, rows))]


def make_split(
    y: np.ndarray,
    task: str,
    holdout: float,
    *,
    groups: np.ndarray | None = None,
    times: np.ndarray | None = None,
    all_rows: bool = False,
    seed: int = 0,
) -> Split:
    """Divides the rows.

    Parameters
    ----------
    y : ndarray
        The target.
    task : {"classification", "regression"}
        Classes keep their proportions.
    holdout : float
        The fraction held out, at most 20,000 rows.
    groups : ndarray, optional
        Groups of rows that stay together.
    times : ndarray, optional
        The last rows are held out.
    all_rows : bool
        Whether all rows train the model, since another file judges it.
    seed : int
        Decides which rows.
    """
    rows, random = len(y), np.random.RandomState(seed)
    check_rows(rows)
    every = np.arange(rows)
    if all_rows:
        order = every if times is None else np.argsort(times, kind="stable")
        why = "a test file was given"
        train = order if times is not None else random.permutation(rows)
        return Split(train, every[:0], Decision("held-out rows", "none", why), times is not None)
    count = max(1, min(MOST_HELD_OUT, round(holdout * rows)))
    shown = f"{count:,} of {rows:,} rows"
    if times is not None:
        order = np.argsort(times, kind="stable")
        return Split(
            order[:-count],
            order[-count:],
            Decision("held-out rows", shown, "the last ones in time", "--holdout"),
            ordered=True,
        )
    if groups is not None:
        return _by_groups(every, groups, count, rows, random)
    train, test = _at_random(every, y, task, count, random)
    why = "drawn at random"
    if task == "classification":
        why += ", with the proportions of the classes"
    decision = Decision("held-out rows", shown, why, "--holdout, --test, --groups or --time-column")
    return Split(train, test, decision)


def check_rows(rows: int) -> None:
    """Refuse a table that is too small to be divided."""
    if rows < FEWEST_ROWS:
        raise ValueError(
            f"the table has {rows} row{'s' * (rows != 1)} with a target; at least {FEWEST_ROWS} "
            "are needed to train a model and to judge it; collect more rows"
        )


def _by_groups(every: IntArray, groups: np.ndarray, count: int, rows: int, random: Any) -> Split:
    found = len(np.unique(groups))
    if found < FEWEST_GROUPS:
        raise ValueError(
            f"the column of --groups holds {found} group{'s' * (found != 1)}; at least "
            f"{FEWEST_GROUPS} are needed; leave out --groups, or name another column"
        )
    splitter = GroupShuffleSplit(1, test_size=count / rows, random_state=random)
    train, test = next(splitter.split(every, groups=groups))
    return Split(
        random.permutation(train),
        test,
        Decision(
            "held-out rows",
            f"{len(test):,} of {rows:,} rows",
            f"{len(np.unique(groups[test])):,} of {found:,} groups, drawn at random",
            "--holdout",
        ),
    )


def _at_random(
    every: IntArray, y: np.ndarray, task: str, count: int, random: Any
) -> tuple[IntArray, IntArray]:
    strata = None
    if task == "classification":
        _, strata, counts = np.unique(y, return_inverse=True, return_counts=True)
        if counts.min() < 2 or len(counts) > min(count, len(y) - count):
            return _rare_in_training(every, strata, counts, count, random)
    train, test = train_test_split(every, test_size=count, stratify=strata, random_state=random)
    return train, test


def _rare_in_training(
    every: IntArray, codes: IntArray, counts: IntArray, count: int, random: Any
) -> tuple[IntArray, IntArray]:
    """A random part, in which each class keeps at least one row for training."""
    order = random.permutation(every)
    _, firsts = np.unique(codes[order], return_index=True)
    kept = np.zeros(len(order), dtype=bool)
    kept[firsts] = True
    free = order[~kept]
    count = min(count, len(free))
    return np.concatenate([order[kept], free[count:]]), free[:count]
