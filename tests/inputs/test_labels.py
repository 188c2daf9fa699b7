"""Weights, classes and errors of examples."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from widemargin.inputs.labels import (
    check_labels,
    counted_rows,
    encode_labels,
    example_errors,
    example_weights,
)


@pytest.mark.parametrize(
    "y",
    [
        np.array([3, -2, 3, 5]),
        np.array([3, -2000, 3, 5]),
        np.array([250, 3, 5], dtype=np.uint8),
        np.array(["b", "a", "b"]),
        np.array([0.0, 2.0, 1.0]),
        [True, False, True],
    ],
)
def test_classes_are_the_sorted_values(y):
    assert_array_equal(check_labels(y), np.unique(y))


def test_codes():
    assert_array_equal(encode_labels(["a", "b", "a"], np.array(["a", "b"])), [-1, 1, -1])
    assert_array_equal(encode_labels([5, 1, 9], np.array([1, 5, 9])), [1, 0, 2])
    with pytest.raises(ValueError, match=r"not in classes=\[1, 5, 9\].*\[4\]"):
        encode_labels([5, 4], np.array([1, 5, 9]))


def test_errors_of_two_classes_of_several_and_of_values():
    assert_array_equal(
        example_errors(np.array([[0.5], [0.0], [-1.0]]), np.array([1, 1, -1])), [0, 1, 0]
    )
    scores = np.array([[3.0, 3.0, 1.0], [0.0, 1.0, 2.0]])
    assert_array_equal(example_errors(scores, np.array([1.0, 2.0])), [1, 0])
    y = np.array([[1.0, 2.0], [0.0, 0.0]])
    f = np.array([[0.0, 4.0], [0.0, 0.0]])
    assert_allclose(example_errors(f, y, np.array([0.5, 0.25])), [0.5 + 1.0, 0.0])


def test_rows_that_count():
    assert_array_equal(counted_rows(3, None), [0, 1, 2])
    assert_array_equal(counted_rows(3, np.array([0.0, 2.0, 0.5])), [1, 2])


def test_weights_that_are_zero():
    X, y, classes = np.zeros((4, 1)), np.array([0, 0, 1, 1]), np.array([0, 1])
    assert example_weights(X, y, None, None, classes) is None
    with pytest.raises(ValueError, match="non-zero"):
        example_weights(X, y, np.zeros(4), None, classes)
    with pytest.raises(ValueError, match="gives every example weight zero"):
        example_weights(X, y, [1, 1, 0, 0], {0: 0.0}, classes)
    with pytest.raises(ValueError, match="all examples of class 1 have weight zero"):
        example_weights(X, y, [1, 1, 0, 0], None, classes, every_class=True)
    assert_array_equal(example_weights(X, y, [1, 2, 3, 4], {1: 2.0}, classes), [1, 2, 6, 8])
