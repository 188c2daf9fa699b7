"""Rows that machines are trained on, and rows that they are judged by."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import (
    GroupKFold,
    PredefinedSplit,
    StratifiedGroupKFold,
    check_cv,
    train_test_split,
)
from sklearn.utils.validation import check_consistent_length

from widemargin._runtime.warning import warn_caller
from widemargin._typing import ArrayLike, IntArray
from widemargin.metrics.examples import Rows, nested_order
from widemargin.tabular.plan import fold_count
from widemargin.training.probability import folds_of

__all__ = ["Folds", "folds_of_table"]

GROUP_FOLDS = 5  # if there are groups, but no splitter
HELD_OUT = 0.2  # fraction of a large table
MAX_HELD_OUT_ROWS = 20_000

#: Training and test rows of each fold.
Folds = list[tuple[IntArray, IntArray]]


def folds_of_table(
    rows: Rows,
    cv: Any,
    groups: ArrayLike,
    random_state: int,
    *,
    stratified: bool,
    kept: NDArray[np.bool_] | None = None,
) -> Folds:
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
    kept : ndarray of bool, optional
        Of all rows of the user's table, which ones are in `rows`. Folds that are given as row
        numbers count all of them.
    """
    random = np.random.RandomState(random_state)
    if groups is not None:
        check_consistent_length(rows.y, groups)
    if cv is not None:
        folds = _folds_of_splitter(rows, cv, groups, kept, stratified=stratified)
    elif groups is not None:
        folds = _folds_of_groups(rows, groups, stratified=stratified)
    else:
        classes = len(np.unique(rows.y)) if stratified else 0
        folds = _own_folds(rows, fold_count(len(rows), classes), random, stratified=stratified)
    folds = _usable(folds, rows, stratified=stratified)
    return [
        (train[nested_order(rows.y[train], stratified=stratified, random=random)], test)
        for train, test in folds
    ]


def _own_folds(rows: Rows, count: int, random: np.random.RandomState, *, stratified: bool) -> Folds:
    if count > 1:
        codes = rows.y.astype(np.int64) if stratified else np.zeros(len(rows), dtype=np.int64)
        if np.bincount(codes).max() < 2:
            raise ValueError(
                f"no class has two rows (n_samples = {len(rows)}), one to learn and one to judge "
                "by; a classifier needs more rows, and a regression needs TabularRegressor"
                if stratified
                else f"n_samples = {len(rows)} leaves no row to judge by; use at least 3"
            )
        folds = folds_of(codes, n_splits=min(count, len(rows)), random_state=random)
        # The row of a class with one is always learnt, so it does not judge.
        return [(train, np.setdiff1d(test, train)) for train, test in folds]
    size = min(MAX_HELD_OUT_ROWS, round(HELD_OUT * len(rows)))
    every = np.arange(len(rows))
    if not stratified:
        train, test = train_test_split(every, test_size=size, random_state=random)
        return [(train, test)]
    _, code, counts = np.unique(rows.y, return_inverse=True, return_counts=True)
    single, several = every[counts[code] == 1], every[counts[code] > 1]
    strata = rows.y[several] if np.count_nonzero(counts > 1) <= size else None
    train, test = train_test_split(several, test_size=size, stratify=strata, random_state=random)
    return [(np.concatenate([train, single]), test)]


def _folds_of_groups(rows: Rows, groups: ArrayLike, *, stratified: bool) -> Folds:
    """Folds of whole groups."""
    try:
        names, numbers = np.unique(groups, return_inverse=True)
    except TypeError:  # names of several types, such as a missing one
        names, numbers = np.unique(groups.astype(str), return_inverse=True)
    if len(names) < 2:
        raise ValueError(
            "groups has one group only, but machines are judged by groups that they did not see; "
            "leave groups out"
        )
    count = min(GROUP_FOLDS, len(names))
    # Without a class that large, stratified folds are refused.
    stratified = stratified and np.bincount(rows.y.astype(np.int64)).max() >= count
    splitter = (StratifiedGroupKFold if stratified else GroupKFold)(count)
    return list(splitter.split(rows.y, rows.y, numbers))


def _folds_of_splitter(
    rows: Rows, cv: Any, groups: ArrayLike, kept: NDArray[np.bool_] | None, *, stratified: bool
) -> Folds:
    """The folds of `cv`, as numbers of the rows that were kept."""
    splitter = check_cv(cv, rows.y, classifier=stratified)
    folds = [
        (_numbers(train), _numbers(test)) for train, test in splitter.split(rows.X, rows.y, groups)
    ]
    if not folds:
        raise ValueError(f"cv={cv!r} has no folds; give one or more")
    of_table = isinstance(cv, PredefinedSplit) or not (hasattr(cv, "split") or np.isscalar(cv))
    if not of_table:
        return folds
    kept = np.ones(len(rows), dtype=bool) if kept is None else kept
    mentioned = np.concatenate([part for fold in folds for part in fold])
    if len(mentioned) and not 0 <= mentioned.min() <= mentioned.max() < len(kept):
        raise ValueError(
            f"cv holds row numbers from {mentioned.min()} to {mentioned.max()}, but the table has "
            f"{len(kept)} rows"
        )
    places = np.cumsum(kept) - 1
    return [(places[train[kept[train]]], places[test[kept[test]]]) for train, test in folds]


def _numbers(rows: ArrayLike) -> IntArray:
    """Row numbers, of which a splitter may have made a list or a mask."""
    rows = np.asarray(rows)
    return np.flatnonzero(rows) if rows.dtype == bool else rows.astype(np.int64)


def _usable(folds: Folds, rows: Rows, *, stratified: bool) -> Folds:
    """The folds with something to learn and something to judge by."""
    least = 2 if stratified else 1
    found = [
        (train, test)
        for train, test in folds
        if len(test) and len(np.unique(rows.y[train])) >= least
    ]
    if len(found) < len(folds):
        lacking = "rows to judge by, or two classes to learn" if stratified else "rows"
        message = f"{len(folds) - len(found)} of {len(folds)} folds lack {lacking}"
        if not found:
            raise ValueError(f"{message}; use another cv, or other groups")
        warn_caller(f"{message}; they are left out", UserWarning)
    return found
