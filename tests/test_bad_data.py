"""Bad data: the error names what is wrong, and a fitted model stays as it was."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

import widemargin
from helpers.bad_input import (
    BAD_DATA,
    NAMES,
    X,
    Y,
    assert_unchanged,
    bad_data,
    changed,
    every,
    fitted,
    is_unfitted,
    make,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*Theorem 8:sklearn.exceptions.ConvergenceWarning")


def test_there_are_estimators():
    assert {"Perceptron", "MarginPerceptron", "KernelPerceptron"} <= set(NAMES)


@every
@bad_data
def test_fit_refuses_bad_data(name, arguments, message):
    clf = make(name)
    with pytest.raises((ValueError, TypeError), match=message):
        clf.fit(*arguments)
    assert is_unfitted(clf)
    assert clf.fit(X, Y).predict(X).shape == (40,)  # the estimator is still usable


REFITS = [
    # Every pair of estimator and bad data, of estimator and warm_start, of bad data and warm_start.
    pytest.param(name, (i + j) % 2 == 0, *BAD_DATA[case], id=f"{name}-{case}")
    for i, name in enumerate(NAMES)
    for j, case in enumerate(BAD_DATA)
]


@pytest.mark.parametrize(("name", "warm_start", "arguments", "message"), REFITS)
def test_a_failed_refit_keeps_the_model(name, warm_start, arguments, message):
    clf, before = fitted(name, warm_start=warm_start)
    scores = clf.decision_function(X)
    with pytest.raises((ValueError, TypeError), match=message):
        clf.fit(*arguments)
    assert_unchanged(clf, before)
    assert_array_equal(clf.decision_function(X), scores)


@every
@bad_data
def test_a_failed_partial_fit_keeps_the_model(name, arguments, message, request):
    clf, before = fitted(name)
    if not hasattr(clf, "partial_fit"):
        pytest.skip(f"{name} has no partial_fit")
    if request.node.callspec.id.startswith(("one class", "continuous y")):
        message = "not in classes"  # a batch may hold one class, but not an unknown one
    data, y, *rest = arguments
    scores = clf.decision_function(X)
    with pytest.raises((ValueError, TypeError), match=message):
        clf.partial_fit(data, y, sample_weight=rest[0] if rest else None)
    assert_unchanged(clf, before)
    assert_array_equal(clf.decision_function(X), scores)


@every
@pytest.mark.parametrize("method", ["predict", "decision_function"])
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (X[:, :2], "2 features.*3 features"),
        (np.c_[X, X], "6 features.*3 features"),
        (X[0], "2D"),
        (changed(X, np.nan), "NaN"),
        (changed(X, np.inf), "infinity"),
        (changed(X, "text"), "text"),
        (X[:0], "0 sample"),
    ],
    ids=["few columns", "many columns", "one dimension", "NaN", "infinity", "text", "no rows"],
)
def test_predict_refuses_bad_data(name, method, data, message):
    clf, before = fitted(name)
    with pytest.raises(ValueError, match=message):
        getattr(clf, method)(data)
    assert_unchanged(clf, before)


@every
def test_predict_before_fit(name):
    with pytest.raises(NotFittedError, match="not fitted"):
        make(name).predict(X)


@every
def test_a_sparse_matrix_with_indices_outside_its_shape(name):
    """Such indices must not reach the loops of the core."""
    invalid = sp.csr_array(X.copy())
    invalid.indices[0] = 10_000_000
    with pytest.raises((ValueError, IndexError)):
        make(name).fit(invalid, Y)


@pytest.mark.parametrize("sparse", [False, True])
def test_inputs_whose_squares_overflow(sparse):
    X = np.array([[1.0, 1e200], [2.0, -1e200], [3.0, 1.0]])
    with pytest.raises(ValueError, match="column 1 of X, counted from 0, holds values too large"):
        widemargin.MarginPerceptron().fit(sp.csr_array(X) if sparse else X, [0, 1, 1])


def test_the_error_about_one_class_names_the_class():
    with pytest.raises(ValueError, match=r"one class only \('yes'\)"):
        widemargin.Perceptron().fit([[1.0], [2.0]], ["yes", "yes"])
