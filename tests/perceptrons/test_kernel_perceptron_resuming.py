"""The dual perceptron in several calls: warm starts, parts, early stopping, copies."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from helpers.dual_perceptron import PLAIN, ROWS, assert_same_machine, noisy
from widemargin import KernelPerceptron

# ---------------------------------------------------------------------------------------- resuming


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("classes", [2, 3])
def test_partial_fit_in_pieces_is_one_epoch(layout, classes):
    X, y = noisy(classes=classes)
    X = layout(X)
    whole = KernelPerceptron(max_iter=1, **PLAIN).fit(X, y)
    pieces = KernelPerceptron(**PLAIN)
    for first, last in [(0, 100), (100, 101), (101, 450), (450, ROWS)]:
        pieces.partial_fit(X[first:last], y[first:last], classes=np.unique(y))
    assert pieces.n_updates_ == whole.n_updates_
    np.testing.assert_allclose(pieces.intercept_, whole.intercept_)
    np.testing.assert_allclose(
        pieces.decision_function(X), whole.decision_function(X), rtol=1e-9, atol=1e-9
    )
    assert pieces.support_vectors_.shape[0] == len(pieces.support_)
    current = pieces.support_ >= 0
    np.testing.assert_array_equal(pieces.support_[current] + 450, whole.support_[-current.sum() :])


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
@pytest.mark.parametrize("sparse", [False, True])
def test_warm_start_goes_on_as_if_never_stopped(kernel, sparse):
    X, y = noisy()
    X = rbf_kernel(X, gamma=0.5) if kernel == "precomputed" else X
    X = sp.csr_array(X) if sparse else X
    options = {"kernel": kernel, "tol": None, "random_state": 0}
    whole = KernelPerceptron(max_iter=5, **options).fit(X, y)
    parts = KernelPerceptron(max_iter=2, warm_start=True, **options).fit(X, y)
    parts.set_params(max_iter=3).fit(X, y)
    assert_same_machine(parts, whole)
    assert [r["updates"] for r in parts.history_] == [r["updates"] for r in whole.history_]


def test_without_warm_start_fit_begins_anew():
    X, y = noisy()
    clf = KernelPerceptron(max_iter=2, tol=None, random_state=0)
    clf.fit(X, -y).fit(X, y)
    assert_same_machine(clf, KernelPerceptron(max_iter=2, tol=None, random_state=0).fit(X, y))
    assert len(clf.history_) == 2


def test_warm_start_on_other_examples_keeps_what_was_learnt():
    X, y = noisy()
    both = KernelPerceptron(max_iter=1, warm_start=True, **PLAIN)
    both.fit(X[:300], y[:300]).fit(X[300:], y[300:])
    whole = KernelPerceptron(max_iter=1, **PLAIN).fit(X, y)
    np.testing.assert_allclose(both.decision_function(X), whole.decision_function(X), rtol=1e-9)
    assert both.n_updates_ == whole.n_updates_


def test_it_stops_by_itself_when_nothing_is_wrong():
    X, _ = noisy(100)
    y = np.where(np.square(X).sum(axis=1) > 2, 1, 0)
    clf = KernelPerceptron(gamma=5.0, tol=None, max_iter=1000, random_state=0).fit(X, y)
    assert clf.stop_reason_ == "no_update"
    assert clf.converged_
    assert clf.n_iter_ < 1000
    assert clf.score(X, y) == 1.0


def test_a_warning_points_at_the_call_of_fit():
    X, y = noisy(100)
    with pytest.warns(ConvergenceWarning, match="max_iter=1") as caught:
        KernelPerceptron(max_iter=1).fit(X, y)
    assert [warning.filename for warning in caught] == [__file__]


def test_pickle():
    X, y = noisy()
    for inputs in (X, sp.csr_array(X)):
        clf = KernelPerceptron(max_iter=2, tol=None, random_state=0).fit(inputs, y)
        copy = pickle.loads(pickle.dumps(clf))
        assert_same_machine(copy, clf)
        np.testing.assert_array_equal(copy.decision_function(X), clf.decision_function(X))


# ---------------------------------------------------------------------------------- early stopping


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_early_stopping_returns_the_best_epoch_on_the_given_examples(layout):
    X, y = noisy()
    T, s = noisy(200, seed=1)
    clf = KernelPerceptron(early_stopping=True, n_iter_no_change=4, random_state=0)
    clf.fit(layout(X), y, X_val=layout(T), y_val=s)
    errors = [record["validation_error"] for record in clf.history_]
    assert clf.best_iter_ == 1 + np.argmin(errors)
    assert 1 - clf.score(layout(T), s) == pytest.approx(min(errors))
    updates = sum(record["updates"] for record in clf.history_[: clf.best_iter_])
    assert clf.n_updates_ == updates == np.abs(clf.dual_coef_).sum()
    assert clf.stop_reason_ == "early_stopping"
    # with these very examples, training alone goes through the same states
    again = KernelPerceptron(max_iter=clf.best_iter_, tol=None, random_state=0).fit(layout(X), y)
    assert_same_machine(again, clf)


def test_early_stopping_holds_out_a_part():
    X, y = noisy()
    clf = KernelPerceptron(early_stopping=True, validation_fraction=0.25, random_state=0).fit(X, y)
    assert {record["rows"] for record in clf.history_} == {ROWS - ROWS // 4}
    errors = np.array([record["validation_error"] for record in clf.history_])
    np.testing.assert_allclose(errors * (ROWS // 4), np.round(errors * (ROWS // 4)), atol=1e-6)
    assert clf.best_iter_ == 1 + np.argmin(errors)


@pytest.mark.parametrize("given", [False, True])
def test_early_stopping_with_a_precomputed_kernel(given):
    X, y = noisy()
    T, s = noisy(100, seed=1)
    options = {
        "gamma": 0.5,
        "scaling": None,
        "radius": 0.75,
        "early_stopping": True,
        "random_state": 0,
    }
    validation = {"X_val": T, "y_val": s} if given else {}
    named = KernelPerceptron(**options).fit(X, y, **validation)
    if given:
        validation["X_val"] = rbf_kernel(T, X, gamma=0.5)
    precomputed = KernelPerceptron(kernel="precomputed", **options)
    precomputed.fit(rbf_kernel(X, gamma=0.5), y, **validation)
    assert precomputed.best_iter_ == named.best_iter_
    assert_same_machine(precomputed, named)
