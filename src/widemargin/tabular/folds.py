"""Rows that machines are trained on, and rows that they are judged by."""

from typing import Any

import numpy as np
from sklearn.model_selection import (
    GroupKFold,
    StratifiedGroupKFold,
    check_cv,
    train_test_split,
)

from widemargin._typing import ArrayLike, IntArray
from widemargin.metrics.examples import Rows, nested_order
from widemargin.tabular.plan import fold_count
from widemargin.training.probability import folds_of

__all__ = ["folds_of_table"]

GROUP_FOLDS = 5  # if there are groups, but no splitter
HELD_OUT = 0.2  # fraction of a large table
MAX_HELD_OUT_ROWS = 20_000


def folds_of_table(
    rows: Rows, cv: Any, groups: ArrayLike, random_state: int, *, stratified: bool
) -> list[tuple[IntArray, IntArray]]:
    """Training and test rows of each fold, training rows in an order whose prefixes are samples.

    Parameters
    ----------
    rows : Rows
        The table.
    cv : None, int, splitter or iterable
        As in scikit-learn; None decides by the number of rows, or makes five folds of groups.
    groups : array-like of shape (n,), optional
        Groups for the splitter.
    random_state : int
        The seed.
    stratified : bool
        Whether y holds codes of classes, whose proportions every fold keeps.
    """
    random = np.random.RandomState(random_state)
    if cv is None and groups is None:
        classes = len(np.unique(rows.y)) if stratified else 0
        folds = _own_folds(rows, fold_count(len(rows), classes), random, stratified=stratified)
    else:
        if cv is None:  # groups are given, and stay together
            cv = (StratifiedGroupKFold if stratified else GroupKFold)(GROUP_FOLDS)
        splitter = check_cv(cv, rows.y, classifier=stratified)
        folds = list(splitter.split(rows.X, rows.y, groups))
    return [
        (train[nested_order(rows.y[train], stratified=stratified, random=random)], test)
        for train, test in folds
    ]


def _own_folds(
    rows: Rows, count: int, random: np.random.RandomState, *, stratified: bool
) -> list[tuple[IntArray, IntArray]]:
    if count > 1:
        codes = rows.y.astype(np.int64) if stratified else np.zeros(len(rows), dtype=np.int64)
        return folds_of(codes, n_splits=min(count, len(rows)), random_state=random)
    size = min(MAX_HELD_OUT_ROWS, round(HELD_OUT * len(rows)))
    strata = rows.y if stratified and np.unique(rows.y, return_counts=True)[1].min() > 1 else None
    every = np.arange(len(rows))
    train, test = train_test_split(every, test_size=size, stratify=strata, random_state=random)
    return [(train, test)]
