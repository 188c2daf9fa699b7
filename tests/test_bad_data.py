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
    cases_for,
    changed,
    every,
    every_online,
    fitted,
    has,
    is_unfitted,
    make,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*Theorem 8:sklearn.exceptions.ConvergenceWarning")


def test_there_are_estimators():
    assert {"Perceptron", "MarginPerceptron", "KernelPerceptron"} <= set(NAMES)


@every
def test_fit_refuses_bad_data(name, subtests):
    clf = make(name)
    for what, (arguments, message) in cases_for(name, BAD_DATA):
        with subtests.test(what):
            with pytest.raises((ValueError, TypeError), match=message):
                clf.fit(*arguments)
            assert is_unfitted(clf)
    assert clf.fit(X, Y).predict(X).shape == (40,)  # the estimator is still usable


REFITS = [(name, warm) for name in NAMES for warm in (False, has(name, "warm_start"))]


@pytest.mark.parametrize(("name", "warm_start"), dict.fromkeys(REFITS))
def test_a_failed_refit_keeps_the_model(name, warm_start, subtests):
    clf, before = fitted(name, **({"warm_start": True} if warm_start else {}))
    scores = clf.decision_function(X)
    for what, (arguments, message) in cases_for(name, BAD_DATA):
        with subtests.test(what):
            with pytest.raises((ValueError, TypeError), match=message):
                clf.fit(*arguments)
            assert_unchanged(clf, before)
            assert_array_equal(clf.decision_function(X), scores)


@every_online
def test_a_failed_partial_fit_keeps_the_model(name, subtests):
    clf, before = fitted(name)
    scores = clf.decision_function(X)
    for what, ((data, y, *rest), message) in BAD_DATA.items():
        if what in ("one class", "continuous y"):
            message = "not in classes"  # a batch may hold one class, but not an unknown one
        with subtests.test(what):
            with pytest.raises((ValueError, TypeError), match=message):
                clf.partial_fit(data, y, sample_weight=rest[0] if rest else None)
            assert_unchanged(clf, before)
            assert_array_equal(clf.decision_function(X), scores)


BAD_ROWS = {
    "few columns": (X[:, :2], "2 features.*3 features"),
    "many columns": (np.c_[X, X], "6 features.*3 features"),
    "one dimension": (X[0], "2D"),
    "NaN": (changed(X, np.nan), "NaN"),
    "infinity": (changed(X, np.inf), "infinit"),
    "text": (changed(X, "text"), "text"),
    "no rows": (X[:0], "0 sample"),
}


@every
def test_predict_refuses_bad_data(name, subtests):
    clf, before = fitted(name)
    for method in ("predict", "decision_function"):
        for what, (data, message) in cases_for(name, BAD_ROWS):
            with subtests.test(what, method=method):
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
