"""Perceptrons: weights of examples, scaling of inputs, examples in pieces."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils import compute_sample_weight

from helpers.linear_perceptrons import (
    both,
    layouts,
    model,
    problems,
    quick,
    standardised,
    standardized,
    visits,
)
from widemargin import MarginPerceptron, Perceptron
from widemargin.reference import perceptrons as reference

# ----------------------------------------------------------------------------------- weights


@both
@standardized
@given(problems(min_rows=30), st.booleans(), st.booleans())
@quick
def test_zero_weight_is_absence(Model, scaling, problem, average, early_stopping):
    X, y, weights = problem
    weights[::3] = 0.0
    here = weights > 0
    if min(np.bincount(y[here], minlength=2)) < 4:
        return
    options = {"scaling": scaling, "average": average, "early_stopping": early_stopping}
    options |= {"shuffle": True, "random_state": 0, "validation_fraction": 0.3}
    clf = model(Model, **options).fit(X, y, weights)
    absent = model(Model, **options).fit(X[here], y[here], weights[here])
    assert_allclose(clf.coef_, absent.coef_, rtol=1e-9, atol=1e-12)
    assert_allclose(clf.intercept_, absent.intercept_, rtol=1e-9, atol=1e-12)
    assert clf.n_updates_ == absent.n_updates_
    assert [r["error"] for r in clf.history_] == [r["error"] for r in absent.history_]


@both
@given(problems(n_classes=3))
@quick
def test_class_weight_is_sample_weight(Model, problem):
    X, y, weights = problem
    by_class = model(Model, class_weight={0: 2.0, 2: 0.5}).fit(X, y, weights)
    by_example = model(Model).fit(X, y, weights * np.array([2.0, 1.0, 0.5])[y])
    assert_array_equal(by_class.coef_, by_example.coef_)
    balanced = model(Model, class_weight="balanced").fit(X, y)
    by_example = model(Model).fit(X, y, compute_sample_weight("balanced", y))
    assert_array_equal(balanced.coef_, by_example.coef_)


def test_class_weight_of_classes_missing_from_a_batch():
    X = np.array([[1.0], [2.0], [-1.0]])
    clf = Perceptron(class_weight={"b": 3.0})
    clf.partial_fit(X[:2], ["a", "a"], classes=["a", "b"]).partial_fit(X[2:], ["b"])
    plain = Perceptron().partial_fit(X, ["a", "a", "b"], sample_weight=[1.0, 1.0, 3.0])
    assert_array_equal(clf.coef_, plain.coef_)


# --------------------------------------------------------------------------- scaling


@both
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("constant", [0.0, 1.0, -0.1, 1e3 + 0.1, 1e6 + 0.1, 1e-9])
def test_constant_columns_do_not_matter(Model, make, constant):
    if constant > 1e5 and make is sp.csr_array:
        pytest.skip("implicit centring loses digits where a sparse column has no zeros")
    rng = np.random.default_rng(0)
    n = 20_000  # enough for the sum of a column to be rounded
    X, y = rng.normal(size=(n, 3)), rng.integers(0, 2, n)
    wider = np.insert(X, 1, constant, axis=1)
    clf = model(Model, scaling="standard", max_iter=1).fit(make(wider), y)
    without = model(Model, scaling="standard", max_iter=1).fit(make(X), y)
    assert clf.feature_scale_[1] == 1.0
    assert clf.coef_[0, 1] == pytest.approx(0.0, abs=1e-6 * np.abs(clf.coef_).max())
    assert np.mean(clf.predict(make(wider)) == without.predict(make(X))) > 0.999


def test_long_constant_columns_are_found():
    X = np.column_stack([np.full(200_000, 0.1), np.tile([-1.0, 1.0], 100_000)])
    clf = model(MarginPerceptron, max_iter=1).fit(X, X[:, 1])
    assert_allclose(clf.feature_offset_, [0.1, 0.0], rtol=1e-14)
    assert_array_equal(clf.feature_scale_, [1.0, 1.0])
    assert abs(clf.coef_[0, 0]) < 1e-9


@both
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_big_offsets_are_standardised_away(Model, make):
    rng = np.random.default_rng(0)
    # Sparse rows are centred implicitly, with sums as large as offset² times the steps: nobody
    # stores such data sparsely, but what is lost must stay within reason.
    offset = 1e6 if make is np.asarray else 1e4
    X, y = rng.normal(size=(500, 6)) + offset, rng.integers(0, 2, 500)
    clf = model(Model, scaling="standard").fit(make(X), y)
    Z = standardised(X)
    order, signs = visits(clf, 500), 2.0 * y - 1
    if Model is Perceptron:
        w, b, updates = reference.perceptron(Z, signs, order)
    else:
        w, b, updates = reference.margin_perceptron(Z, signs, order, 0.0371)
    assert clf.n_updates_ == updates
    expected = Z @ w + b
    assert_allclose(clf.decision_function(X), expected, atol=1e-6 * np.abs(expected).max())


# ------------------------------------------------------------------------------- partial_fit


@both
@layouts
@given(problems(n_classes=3), st.integers(1, 9), st.booleans())
@quick
def test_partial_fit_in_pieces_is_one_epoch(Model, layout, problem, size, average):
    X, y, weights = problem
    make, dtype = layout
    X = X.astype(dtype)
    options = {"scaling": None, "average": average}
    whole = model(Model, max_iter=1, **options).fit(make(X), y, weights)
    clf = model(Model, **options)
    for i in range(0, len(y), size):
        part = slice(i, i + size)
        clf.partial_fit(make(X[part]), y[part], classes=[0, 1, 2], sample_weight=weights[part])
    assert_allclose(clf.coef_, whole.coef_, rtol=1e-10, atol=1e-12)
    assert_allclose(clf.intercept_, whole.intercept_, rtol=1e-10, atol=1e-12)
    assert clf.n_updates_ == whole.n_updates_


@both
@layouts
@given(problems(), st.integers(1, 9))
@quick
def test_partial_fit_keeps_running_moments(Model, layout, problem, size):
    X, y, weights = problem
    make, dtype = layout
    clf = model(Model, scaling="standard")
    for i in range(0, len(y), size):
        part = slice(i, i + size)
        clf.partial_fit(
            make(X[part].astype(dtype)), y[part], classes=[0, 1], sample_weight=weights[part]
        )
    whole = model(Model, scaling="standard").fit(make(X.astype(dtype)), y, weights)
    assert_allclose(clf.feature_offset_, whole.feature_offset_, rtol=1e-9, atol=1e-12)
    assert_allclose(clf.feature_scale_, whole.feature_scale_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("average", [False, True])
def test_new_statistics_do_not_change_the_model(average):
    """Rows that are already right move the statistics but not the function."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 4))
    y = X[:, 0] > 0
    clf = Perceptron(scaling="standard", average=average, max_iter=10_000, tol=None).fit(X, y)
    assert clf.stop_reason_ == "no_update"
    fixed = Perceptron(scaling="standard", max_iter=10_000, tol=None).fit(X, y)
    more = rng.normal(5.0, 3.0, size=(80, 4))
    before, mean, w = clf.decision_function(X), clf.feature_offset_, clf._state["w"].copy()
    clf.partial_fit(more, fixed.predict(more))
    assert np.all(np.abs(clf.feature_offset_ - mean) > 0.5)
    assert_allclose(clf._state["w"], w, rtol=1e-9, atol=1e-12)
    if not average:  # the average moves towards the weights that stay
        assert_allclose(clf.decision_function(X), before, rtol=1e-9, atol=1e-9)


@both
def test_partial_fit_resumes_after_fit(Model):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 5)), rng.integers(0, 2, 60)
    clf = model(Model, scaling=None, max_iter=2).fit(X, y).partial_fit(X, y)
    three = model(Model, scaling=None, max_iter=3).fit(X, y)
    assert_allclose(clf.coef_, three.coef_, rtol=1e-12)
    assert len(clf.history_) == 3
