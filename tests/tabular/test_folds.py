"""Folds: whatever says which rows judge, no row is judged by a machine that saw it."""

import warnings

import numpy as np
import pytest
from sklearn.model_selection import KFold, PredefinedSplit, TimeSeriesSplit

from widemargin.metrics.examples import Rows
from widemargin.tabular.folds import folds_of_table


def folds(y, cv=None, groups=None, kept=None, stratified=True):
    y = np.asarray(y, dtype=float)
    rows = Rows(np.zeros((len(y), 1)), y)
    return folds_of_table(rows, cv, groups, 0, stratified=stratified, kept=kept)


def sets(found):
    return [(set(train.tolist()), set(test.tolist())) for train, test in found]


CODES = np.arange(60) % 2


def test_rows_of_a_fold_are_numbers_lists_or_masks():
    part = np.arange(60) // 20
    numbers = [(np.flatnonzero(part != k), np.flatnonzero(part == k)) for k in range(3)]
    lists = [(train.tolist(), test.tolist()) for train, test in numbers]
    masks = [(part != k, part == k) for k in range(3)]
    expected = sets(numbers)
    for cv in (numbers, lists, masks, iter(numbers), PredefinedSplit(part)):
        assert sets(folds(CODES, cv)) == expected


@pytest.mark.parametrize("as_numbers", [False, True])
def test_row_numbers_count_rows_that_are_left_out(as_numbers):
    part, kept = np.arange(60) % 3, np.arange(60) % 4 > 0
    cv = PredefinedSplit(part)
    found = folds(CODES[kept], list(cv.split()) if as_numbers else cv, kept=kept)
    of_table = np.flatnonzero(kept)
    for k, (train, test) in enumerate(found):
        np.testing.assert_array_equal(part[of_table[test]], k)
        assert len(train) + len(test) == kept.sum()
        assert not np.any(part[of_table[train]] == k)


def test_other_splitters_see_the_rows_that_are_kept():
    kept = np.arange(60) % 4 > 0
    (train, test), *others = folds(CODES[kept], KFold(3), kept=kept)
    assert sorted([*train, *test]) == list(range(45))
    assert len(others) == 2


def test_numbers_beyond_the_table():
    with pytest.raises(ValueError, match=r"up to|to 60.*60 rows"):
        folds(CODES, [(np.arange(50), np.arange(50, 61))])


@pytest.mark.parametrize("stratified", [False, True])
@pytest.mark.parametrize("count", [2, 3, 12])
def test_groups_stay_together_even_if_they_are_few(count, stratified):
    groups = np.arange(60) // (60 // count)
    found = folds(CODES, groups=groups, stratified=stratified)
    assert len(found) == min(count, 5)
    for train, test in found:
        assert not set(groups[train]) & set(groups[test])
    assert sum(len(test) for _, test in found) == 60


def test_groups_with_names_of_several_types():
    groups = np.array([None, 1, "a", 2.5] * 15, dtype=object)
    assert len(folds(CODES, groups=groups)) == 4


def test_small_classes_in_groups():
    found = folds(np.arange(20) // 2, groups=np.arange(20) % 7)  # two rows of each class
    assert len(found) == 5


def test_one_group_is_refused():
    with pytest.raises(ValueError, match="one group only"):
        folds(CODES, groups=np.zeros(60))
    with pytest.raises(ValueError, match="inconsistent"):
        folds(CODES, groups=np.zeros(59))


def test_folds_that_have_one_class_to_learn_are_left_out():
    y = np.arange(60) >= 40
    with pytest.warns(UserWarning, match="2 of 3 folds lack"):
        ((train, test),) = folds(y, TimeSeriesSplit(3))
    assert set(np.unique(y[train])) == {False, True}
    assert test.min() > train.max()
    with pytest.raises(ValueError, match="3 of 3 folds lack"):
        folds(np.arange(60) >= 59, TimeSeriesSplit(3))


def test_folds_without_rows_to_judge_by_are_left_out():
    every = np.arange(60)
    with pytest.warns(UserWarning, match="1 of 2 folds lack"):
        found = folds(CODES, [(every, []), (every[:30], every[30:])])
    assert len(found) == 1


@pytest.mark.parametrize("rows", [40, 9000])
def test_a_class_with_one_row_is_always_learnt(rows):
    for place in range(0, rows, rows // 8):
        y = np.zeros(rows)
        y[place] = 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = folds(y)
        for train, test in found:
            assert place in train
            assert not set(train) & set(test)


def test_more_classes_than_rows_to_judge_by():
    y = np.arange(9000) // 2
    ((_, test),) = folds(y)
    assert len(test) == 1800


def test_classes_with_one_row_each_leave_nothing_to_judge_by():
    with pytest.raises(ValueError, match="no class has two rows"):
        folds(np.arange(20))


def test_a_splitter_without_folds():
    with pytest.raises(ValueError, match="no folds"):
        folds(CODES, [])
