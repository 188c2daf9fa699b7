"""Perceptrons equal the NumPy reference, whatever the inputs come as."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from helpers.linear_perceptrons import (
    assert_same_function,
    both,
    layouts,
    model,
    problems,
    quick,
    standardised,
    standardized,
    visits,
)
from widemargin import MarginPerceptron, Perceptron, criteria
from widemargin.reference import perceptrons as reference

# --------------------------------------------------------------------- equal to the reference


@layouts
@standardized
@given(problems())
@quick
def test_perceptron_is_algorithm_3_1(layout, scaling, problem):
    X, y, _ = problem
    make, dtype = layout
    data = make(X.astype(dtype))
    clf = model(Perceptron, scaling=scaling).fit(data, y)
    Z = standardised(X) if scaling else X
    w, b, mistakes = reference.perceptron(Z, 2.0 * y - 1, visits(clf, len(y)))
    assert clf.n_updates_ == mistakes
    assert_same_function(clf, data, Z @ w + b)
    if not scaling:
        assert_allclose(clf.coef_[0], w, rtol=1e-10, atol=1e-10)
        assert_allclose(clf.intercept_, [b], rtol=1e-10, atol=1e-10)


@layouts
@standardized
@given(problems(), st.sampled_from([0.5, 1.0, 3.0]))
@quick
def test_margin_perceptron_is_algorithm_8_1(layout, scaling, problem, margin):
    X, y, _ = problem
    make, dtype = layout
    data = make(X.astype(dtype))
    clf = model(MarginPerceptron, scaling=scaling, margin=margin).fit(data, y)
    Z = standardised(X) if scaling else X
    order = visits(clf, len(y))
    w, b, updates = reference.margin_perceptron(Z, 2.0 * y - 1, order, 0.0371, margin)
    assert clf.n_updates_ == updates
    assert_same_function(clf, data, Z @ w + b)


@layouts
@standardized
@given(problems())
@quick
def test_sample_weights_multiply_the_steps(layout, scaling, problem):
    X, y, weights = problem
    make, dtype = layout
    data = make(X.astype(dtype))
    clf = model(MarginPerceptron, scaling=scaling).fit(data, y, weights)
    Z = standardised(X, weights) if scaling else X
    w, b = reference.stochastic_gradient(
        Z, 2.0 * y - 1, visits(clf, len(y)), 0.0371, criteria.Margin(1.0), weights
    )
    assert_same_function(clf, data, Z @ w + b)


@layouts
@standardized
@given(problems())
@quick
def test_average_is_the_mean_over_all_steps(layout, scaling, problem):
    X, y, _ = problem
    make, dtype = layout
    data = make(X.astype(dtype))
    clf = model(Perceptron, scaling=scaling, average=True).fit(data, y)
    Z = standardised(X) if scaling else X
    w, b = reference.averaged_perceptron(Z, 2.0 * y - 1, visits(clf, len(y)))
    assert_same_function(clf, data, Z @ w + b)


@layouts
@standardized
@given(problems())
@quick
def test_without_intercept_only_the_weights_move(layout, scaling, problem):
    X, y, _ = problem
    make, dtype = layout
    data = make(X.astype(dtype))
    clf = model(MarginPerceptron, scaling=scaling, fit_intercept=False).fit(data, y)
    Z, signs = standardised(X) if scaling else X, 2.0 * y - 1
    w = np.zeros(X.shape[1])
    for i in visits(clf, len(y)):
        if signs[i] * (w @ Z[i]) <= 1:
            w = w + 0.0371 * signs[i] * Z[i]
    assert_same_function(clf, data, Z @ w)
    if not scaling:
        assert_array_equal(clf.intercept_, [0.0])


def test_schedule_sets_the_step_of_each_epoch():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 4)), rng.integers(0, 2, 50)
    clf = MarginPerceptron(
        learning_rate=0.1, decay=0.5, max_iter=3, tol=None, shuffle=False, scaling=None
    ).fit(X, y)
    w, b = np.zeros(4), 0.0
    for epoch in range(3):
        for x, sign in zip(X, 2.0 * y - 1, strict=True):
            if sign * (w @ x + b) <= 1:
                w, b = w + 0.1 / (1 + 0.5 * epoch) * sign * x, b + 0.1 / (1 + 0.5 * epoch) * sign
    assert_allclose(np.append(clf.coef_, clf.intercept_), np.append(w, b), rtol=1e-10)


# ------------------------------------------------------------------------------- invariances


@both
@standardized
@given(problems(n_classes=3), st.booleans())
@quick
def test_csr_is_dense(Model, scaling, problem, average):
    X, y, weights = problem
    options = {"scaling": scaling, "average": average, "shuffle": True, "random_state": 3}
    dense = model(Model, **options).fit(X, y, weights)
    sparse = model(Model, **options).fit(sp.csr_array(X), y, weights)
    assert_allclose(dense.decision_function(X), sparse.decision_function(X), rtol=1e-9, atol=1e-9)
    assert sparse.n_updates_ == dense.n_updates_
    assert_allclose(sparse.feature_offset_, dense.feature_offset_, atol=1e-12)
    assert_allclose(sparse.feature_scale_, dense.feature_scale_, atol=1e-12)


@both
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_csr_stored_in_any_way_is_the_same_matrix(Model, index):
    """Explicit zeros, unsorted columns, an input in two parts, wide indices."""
    indptr = np.array([0, 3, 6, 6, 8], dtype=index)
    indices = np.array([2, 0, 2, 1, 0, 1, 2, 1], dtype=index)
    X = sp.csr_array((np.arange(-3.0, 5.0), indices, indptr), shape=(4, 3))
    before = [a.copy() for a in (X.data, X.indices, X.indptr)]
    clf = model(Model, scaling="standard").fit(X, [0, 1, 0, 1])
    dense = model(Model, scaling="standard").fit(X.toarray(), [0, 1, 0, 1])
    assert_allclose(clf.coef_, dense.coef_, rtol=1e-12)
    assert_allclose(clf.feature_scale_, dense.feature_scale_, rtol=1e-12)
    for a, b in zip(before, (X.data, X.indices, X.indptr), strict=True):
        assert_array_equal(a, b)


@both
def test_memory_that_is_strided_or_unaligned(Model):
    rng = np.random.default_rng(0)
    X, y = np.round(rng.normal(size=(50, 7))), np.arange(50) % 2
    expected = model(Model, scaling="standard").fit(sp.csr_array(X), y).coef_
    strided = sp.csr_array(X)
    strided.data, strided.indices = (np.repeat(a, 2)[::2] for a in (strided.data, strided.indices))
    assert_array_equal(model(Model, scaling="standard").fit(strided, y).coef_, expected)
    unaligned = np.empty(X.nbytes + 1, dtype=np.uint8)[1:].view(np.float64).reshape(X.shape)
    unaligned[:] = X
    assert_allclose(model(Model, scaling="standard").fit(unaligned, y).coef_, expected, rtol=1e-9)


@both
@standardized
def test_float32_is_close_to_float64(Model, scaling):
    rng = np.random.default_rng(0)
    X = rng.normal(1.0, 2.0, size=(400, 12))
    y = X @ rng.normal(size=12) + rng.normal(size=400) > 0
    double = model(Model, scaling=scaling, average=True).fit(X, y)
    single = model(Model, scaling=scaling, average=True).fit(X.astype(np.float32), y)
    assert single.coef_.dtype == np.float64
    assert np.mean(single.predict(X) == double.predict(X)) > 0.98
    scale = np.abs(double.decision_function(X)).max()
    assert_allclose(single.decision_function(X), double.decision_function(X), atol=0.02 * scale)


@both
@standardized
@given(problems())
@quick
def test_label_flip_is_sign_flip(Model, scaling, problem):
    X, y, weights = problem
    options = {"scaling": scaling, "average": True}
    clf = model(Model, **options).fit(X, y, weights)
    flipped = model(Model, **options).fit(X, 1 - y, weights)
    assert_array_equal(flipped.coef_, -clf.coef_)
    assert_array_equal(flipped.intercept_, -clf.intercept_)
    assert flipped.n_updates_ == clf.n_updates_


@both
@pytest.mark.parametrize(
    "labels",
    [["no", "yes"], [-1, 1], [3, 17], [False, True], [-0.0, 2.0], np.array(["b", "a"], object)],
    ids=repr,
)
def test_any_labels(Model, labels):
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    labels = np.sort(np.asarray(labels))
    clf = model(Model).fit(X, labels[codes])
    plain = model(Model).fit(X, codes)
    assert_array_equal(clf.coef_, plain.coef_)
    assert_array_equal(clf.classes_, labels)
    assert_array_equal(clf.predict(X), labels[plain.predict(X)])
    assert clf.score(X, labels[codes]) == plain.score(X, codes)


def test_zero_score_is_the_first_class():
    clf = Perceptron().fit([[1.0], [-1.0]], ["b", "a"])
    assert clf.decision_function([[-clf.intercept_[0] / clf.coef_[0, 0]]]) == [0.0]
    assert clf.predict([[-clf.intercept_[0] / clf.coef_[0, 0]]]) == ["a"]


@both
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_same_seed_is_the_same_model_on_any_number_of_threads(Model, n_classes, make):
    rng = np.random.default_rng(0)
    X, y = make(rng.normal(size=(300, 21))), rng.integers(0, n_classes, 300)
    first, *others = (
        model(
            Model, shuffle=True, random_state=5, scaling="standard", average=True, n_jobs=n_jobs
        ).fit(X, y)
        for n_jobs in (1, None, 2, 200_000)
    )
    other = model(Model, shuffle=True, random_state=6, scaling="standard").fit(X, y)
    for clf in others:
        assert_array_equal(clf.coef_, first.coef_)
        assert_array_equal(clf.intercept_, first.intercept_)
        assert_array_equal(clf.decision_function(X), first.decision_function(X))
        assert [r["criterion"] for r in clf.history_] == [r["criterion"] for r in first.history_]
    assert np.any(other.coef_ != first.coef_)


@both
@standardized
@given(problems(n_classes=3))
@quick
def test_multiclass_is_one_against_rest(Model, scaling, problem):
    X, y, weights = problem
    clf = model(Model, scaling=scaling).fit(X, y, weights)
    singles = [model(Model, scaling=scaling).fit(X, y == k, weights) for k in range(3)]
    assert_allclose(clf.coef_, np.vstack([s.coef_ for s in singles]), rtol=1e-9, atol=1e-12)
    scores = np.column_stack([s.decision_function(X) for s in singles])
    assert_allclose(clf.decision_function(X), scores, rtol=1e-9, atol=1e-9)
    assert_array_equal(clf.predict(X), clf.decision_function(X).argmax(axis=1))
    assert clf.n_updates_ == sum(s.n_updates_ for s in singles)
