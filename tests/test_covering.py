"""The covers of all pairs that replace full products of cases: nothing of a pair is lost."""

import doctest
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import covering
from helpers.covering import pairwise

axes_of_any_size = st.lists(
    st.lists(st.integers(), min_size=1, max_size=7, unique=True), min_size=1, max_size=6
)


@given(axes_of_any_size)
def test_every_pair_occurs(axes):
    rows = pairwise(*axes)
    assert all(value in axis for row in rows for value, axis in zip(row, axes, strict=True))
    assert {row[0] for row in rows} == set(axes[0])
    for a, b in combinations(range(len(axes)), 2):
        assert {(row[a], row[b]) for row in rows} == {(i, j) for i in axes[a] for j in axes[b]}


@given(axes_of_any_size)
def test_the_rows_are_the_same_again(axes):
    assert pairwise(*axes) == pairwise(*axes)


def test_a_cover_is_much_smaller_than_the_product():
    sizes = (6, 4, 5, 3)
    assert len(pairwise(*map(range, sizes))) <= 36  # 30 is the least, 360 are all
    assert len(pairwise(*[range(2)] * 10)) <= 14  # of 1024


def test_an_axis_without_values_is_refused():
    with pytest.raises(ValueError, match="without values"):
        pairwise([1, 2], [])


def test_the_example():
    assert doctest.testmod(covering).failed == 0
