"""Rows in which every pair of values meets, in place of all combinations.

Most mistakes show where two options meet; three that meet add many cases and find few more. Where
three belong together, make two of them one axis, whose values are their combinations.
"""

from itertools import combinations, product

import pytest


def pairwise(*axes):
    """Rows with a value of each axis, so that every two values of two axes are in some row.

    Greedy: each row begins with the first pair that is missing, then every other axis gives the
    value with which most missing pairs are met, the first among equals. The rows are the same in
    every run.

    >>> pairwise("ab", (1, 2), (True, False))
    [('a', 1, True), ('a', 2, False), ('b', 1, False), ('b', 2, True)]
    """
    sizes = [len(axis) for axis in axes]
    if 0 in sizes:
        raise ValueError("an axis without values")
    if len(axes) < 2:
        return [(value,) for axis in axes for value in axis]
    missing = {
        ((a, i), (b, j)): None  # a dictionary keeps its order
        for a, b in combinations(range(len(axes)), 2)
        for i, j in product(range(sizes[a]), range(sizes[b]))
    }
    rows = []
    while missing:
        row = dict(next(iter(missing)))
        for axis in range(len(axes)):
            if axis not in row:
                row[axis] = max(range(sizes[axis]), key=lambda i: met(row, axis, i, missing))
        for pair in combinations(sorted(row.items()), 2):
            missing.pop(pair, None)
        rows.append(tuple(axes[axis][row[axis]] for axis in range(len(axes))))
    return rows


def met(row, axis, value, missing):
    """How many missing pairs a value meets, with those the row has already."""
    return sum(tuple(sorted([(axis, value), other])) in missing for other in row.items())


def every_pair(**axes):
    """Parametrises a test by its arguments' values: every pair of them meets in some case."""
    rows = pairwise(*(list(values) for values in axes.values()))
    if len(axes) == 1:
        return pytest.mark.parametrize(*axes, [value for (value,) in rows])
    ids = ["-".join(name(value) for value in row) for row in rows]
    return pytest.mark.parametrize(tuple(axes), rows, ids=ids)


def name(value):
    """How a value appears in a test's name: the same in every process."""
    return str(getattr(value, "__name__", value))
