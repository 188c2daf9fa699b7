"""Perceptrons equal the NumPy reference, whatever the inputs come as."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils import compute_sample_weight

from widemargin import MarginPerceptron, Perceptron, criteria
from widemargin.reference import perceptrons as reference

quick = settings(deadline=None, max_examples=15)
LAYOUTS = {
    f"{name}-{dtype.__name__}": (make, dtype)
    for name, make in {"dense": np.asarray, "csr": sp.csr_array}.items()
    for dtype in (np.float64, np.float32)
}
layouts = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
standardized = pytest.mark.parametrize("scaling", [None, "standard"], ids=["raw", "standard"])
both = pytest.mark.parametrize("Model", [Perceptron, MarginPerceptron])


def model(Model, **options):
    """Epochs in the order given, none of them skipped, with a constant step."""
    defaults = {"max_iter": 4, "tol": None, "shuffle": False}
    if Model is MarginPerceptron:
        defaults |= {"schedule": "constant", "learning_rate": 0.0371}
    return Model(**(defaults | options))


@st.composite
def problems(draw, n_classes=2, min_rows=8):
    """Random inputs, some of them zero; every class is there.

    The first column has no zeros: otherwise a score may be 0 in exact arithmetic, and which side
    of the kink it falls on is then a matter of rounding.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(min_rows, 40)), draw(st.integers(1, 37))
    X = rng.normal(draw(st.sampled_from([0.0, 2.0])), 1.5, size=(n, d))
    X[:, 1:] *= rng.random((n, d - 1)) < draw(st.sampled_from([0.2, 0.7, 1.0]))
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)])
    return X.astype(np.float32).astype(float), rng.permutation(y), rng.uniform(0.2, 3.0, n)


def standardised(X, weights=None):
    mean = np.average(X, axis=0, weights=weights)
    scale = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
    return (X - mean) / np.where(scale <= 1e-12 * np.abs(mean), 1.0, scale)


def visits(clf, n):
    return np.tile(np.arange(n), clf.n_iter_)


def assert_same_function(clf, data, expected):
    """f(x) agrees, and coef_ and intercept_ are weights for the inputs as given."""
    tolerance = {"rtol": 1e-9, "atol": 1e-9 * max(1.0, np.abs(expected).max())}
    found = clf.decision_function(data)
    assert_allclose(found, expected, **tolerance)
    assert_allclose((data @ clf.coef_.T + clf.intercept_).reshape(found.shape), found, **tolerance)


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


# --------------------------------------------------------------------------- standardisation


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
def test_partial_fit_goes_on_after_fit(Model):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 5)), rng.integers(0, 2, 60)
    clf = model(Model, scaling=None, max_iter=2).fit(X, y).partial_fit(X, y)
    three = model(Model, scaling=None, max_iter=3).fit(X, y)
    assert_allclose(clf.coef_, three.coef_, rtol=1e-12)
    assert len(clf.history_) == 3
