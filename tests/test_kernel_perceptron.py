"""The dual perceptron: the lecture's algorithm, whatever the layout, the blocks or the calls."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel
from sklearn.preprocessing import StandardScaler

from widemargin import KernelPerceptron, Perceptron, reference
from widemargin._dual import BLOCK

ROWS = 2 * BLOCK + 88  # the last block is not full
IN_ORDER = {"shuffle": False, "tol": None}
PLAIN = {**IN_ORDER, "standardize": False, "gamma": 0.5, "radius": 0.75}


def noisy(n=ROWS, d=4, classes=2, seed=0):
    """Overlapping classes, a third of the inputs zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    scores = np.stack([np.sin(2 * X @ rng.normal(size=d)) for _ in range(classes)])
    y = (scores + 0.3 * rng.normal(size=scores.shape)).argmax(axis=0)
    return X, (2.0 * y - 1.0 if classes == 2 else y)


def alpha_y(clf, n):
    """α y of every training example, one column an output."""
    full = np.zeros((n, len(clf.dual_coef_)))
    full[clf.support_] = clf.dual_coef_.T
    return full


def assert_same_machine(a, b):
    """The same support vectors with the same α: not only the same predictions."""
    np.testing.assert_array_equal(a.support_, b.support_)
    np.testing.assert_array_equal(a.dual_coef_, b.dual_coef_)
    np.testing.assert_allclose(a.intercept_, b.intercept_, rtol=1e-9)
    np.testing.assert_allclose(a.margin_, b.margin_, rtol=1e-9)
    assert a.n_updates_ == b.n_updates_


# ---------------------------------------------------------------------------------- the algorithm


@pytest.mark.parametrize("n", [7, BLOCK - 1, BLOCK, BLOCK + 1, ROWS])
@pytest.mark.parametrize("epochs", [1, 4])
@pytest.mark.parametrize("radius", [None, 0.0, 0.75])
def test_equals_the_reference(n, epochs, radius):
    X, y = noisy(n)
    options = {**PLAIN, "radius": radius}
    clf = KernelPerceptron(max_iter=epochs, **options).fit(X, y)
    K, order = rbf_kernel(X, gamma=0.5), np.tile(np.arange(n), epochs)
    alpha, b, mistakes = reference.kernel_perceptron(K, y, order, clf.radius_)
    np.testing.assert_array_equal(alpha_y(clf, n)[:, 0] * y, alpha)
    assert clf.intercept_[0] == pytest.approx(b)
    assert clf.n_updates_ == mistakes == alpha.sum()
    np.testing.assert_allclose(clf.decision_function(X), (alpha * y) @ K + b, rtol=1e-9, atol=1e-9)


def test_history_counts_the_mistakes_of_each_epoch():
    X, y = noisy()
    clf = KernelPerceptron(max_iter=3, **PLAIN).fit(X, y)
    K, once = rbf_kernel(X, gamma=0.5), np.arange(ROWS)
    totals = [reference.kernel_perceptron(K, y, np.tile(once, e), 0.75)[2] for e in (1, 2, 3)]
    assert [record["updates"] for record in clf.history_] == np.diff([0, *totals]).tolist()


@settings(deadline=None, max_examples=30)
@given(data=st.data(), n=st.integers(2, 30), d=st.integers(1, 4), radius=st.integers(0, 3))
def test_equals_the_reference_on_ties(data, n, d, radius):
    """Small integers: many scores are exactly 0, and no sum is rounded."""
    X = data.draw(hnp.arrays(float, (n, d), elements=st.integers(-3, 3).map(float)))
    y = data.draw(hnp.arrays(float, n, elements=st.sampled_from([-1.0, 1.0])))
    y[:2] = -1, 1
    options = {**PLAIN, "kernel": "linear", "radius": float(radius)}
    clf = KernelPerceptron(max_iter=5, **options).fit(X, y)
    alpha, b, mistakes = reference.kernel_perceptron(
        X @ X.T, y, np.tile(np.arange(n), 5), float(radius)
    )
    np.testing.assert_array_equal(alpha_y(clf, n)[:, 0] * y, alpha)
    assert clf.intercept_[0] == b
    assert clf.n_updates_ == mistakes


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_linear_kernel_is_the_primal_perceptron(fit_intercept):
    X, y = noisy()
    options = {**IN_ORDER, "max_iter": 5, "standardize": False, "fit_intercept": fit_intercept}
    dual = KernelPerceptron(kernel="linear", radius=1.0, **options).fit(X, y)
    primal = Perceptron(**options).fit(X, y)
    assert dual.n_updates_ == primal.n_updates_
    np.testing.assert_allclose(
        dual.decision_function(X), primal.decision_function(X), rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(dual.dual_coef_ @ dual.support_vectors_, primal.coef_, atol=1e-9)
    assert dual.margin_ == pytest.approx(primal.margin_)


def test_shuffled_orders_are_seeded():
    X, y = noisy()
    machines = [
        KernelPerceptron(max_iter=2, tol=None, random_state=seed).fit(X, y) for seed in (3, 3, 4)
    ]
    assert_same_machine(machines[0], machines[1])
    assert not np.array_equal(alpha_y(machines[0], ROWS), alpha_y(machines[2], ROWS))


def test_several_classes_are_one_perceptron_each():
    X, y = noisy(classes=3)
    labels = np.array(["low", "middle", "high"])[y]
    clf = KernelPerceptron(max_iter=3, **PLAIN).fit(X, labels)
    K, order = rbf_kernel(X, gamma=0.5), np.tile(np.arange(ROWS), 3)
    margins = []
    for k, label in enumerate(clf.classes_):
        signs = np.where(labels == label, 1.0, -1.0)
        alpha, b, _ = reference.kernel_perceptron(K, signs, order, 0.75)
        np.testing.assert_array_equal(alpha_y(clf, ROWS)[:, k], alpha * signs)
        assert clf.intercept_[k] == pytest.approx(b)
        margins.append(2 / np.sqrt((alpha * signs) @ K @ (alpha * signs)))
    assert clf.n_updates_ == np.abs(clf.dual_coef_).sum()
    assert clf.margin_ == pytest.approx(min(margins))
    scores = clf.decision_function(X)
    np.testing.assert_array_equal(clf.predict(X), clf.classes_[scores.argmax(axis=1)])


@pytest.mark.parametrize("sparse", [False, True])
def test_margin_is_two_over_the_norm_of_w(sparse):
    X, y = noisy()
    clf = KernelPerceptron(max_iter=4, tol=None, random_state=0)
    clf.fit(sp.csr_array(X) if sparse else X, y)
    support = StandardScaler().fit(X).transform(X[clf.support_])
    coefficients = clf.dual_coef_[0]
    norm = np.sqrt(coefficients @ rbf_kernel(support, gamma=clf.gamma_) @ coefficients)
    assert clf.margin_ == pytest.approx(2 / norm)
    assert clf.history_[-1]["margin"] == clf.margin_


# ------------------------------------------------------------------------------ bias and kernels


def test_radius_is_that_of_the_smallest_ball():
    X, y = noisy(200)
    clf = KernelPerceptron(max_iter=1, **{**PLAIN, "radius": None}).fit(X, y)
    _, expected = reference.enclosing_ball(rbf_kernel(X, gamma=0.5), steps=2000)
    assert clf.radius_ == pytest.approx(expected, rel=0.02)
    assert np.abs(clf.intercept_ / clf.radius_**2) % 1 == pytest.approx(0, abs=1e-6)


def test_radius_does_not_depend_on_how_the_kernel_is_given():
    X, y = noisy(200)
    K = rbf_kernel(X, gamma=0.5)
    options = {**PLAIN, "radius": None, "max_iter": 1}
    radius = KernelPerceptron(**options).fit(X, y).radius_
    assert KernelPerceptron(**{**options, "kernel": "precomputed"}).fit(
        K, y
    ).radius_ == pytest.approx(radius)


def test_without_a_bias():
    X, y = noisy()
    clf = KernelPerceptron(fit_intercept=False, max_iter=2, **PLAIN).fit(X, y)
    alpha, _, _ = reference.kernel_perceptron(
        rbf_kernel(X, gamma=0.5), y, np.tile(np.arange(ROWS), 2), radius=0.0
    )
    np.testing.assert_array_equal(alpha_y(clf, ROWS)[:, 0] * y, alpha)
    assert clf.intercept_[0] == 0.0


def test_gamma_by_name():
    X, y = noisy()
    options = {**PLAIN, "max_iter": 1}
    assert KernelPerceptron(**{**options, "gamma": "auto"}).fit(X, y).gamma_ == 0.25
    raw = KernelPerceptron(**{**options, "gamma": "scale"}).fit(X, y)
    assert raw.gamma_ == pytest.approx(1 / (4 * X.var()))
    scaled = KernelPerceptron(**{**options, "gamma": "scale", "standardize": True}).fit(X, y)
    assert scaled.gamma_ == pytest.approx(1 / (4 * StandardScaler().fit_transform(X).var()))


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid"])
@pytest.mark.parametrize("classes", [2, 3])
def test_sparse_inputs_standardised_are_dense_inputs_standardised(kernel, classes):
    X, y = noisy(classes=classes)
    options = {**IN_ORDER, "max_iter": 3, "kernel": kernel, "coef0": 1.0, "radius": 1.0}
    dense = KernelPerceptron(**options).fit(X, y)
    sparse = KernelPerceptron(**options).fit(sp.csr_array(X), y)
    explicit = KernelPerceptron(**options, standardize=False).fit(
        StandardScaler().fit_transform(X), y
    )
    assert sp.issparse(sparse.support_vectors_)
    assert_same_machine(dense, sparse)
    assert_same_machine(dense, explicit)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("trained_on", [np.asarray, sp.csr_array])
def test_a_machine_takes_the_other_layout_too(trained_on, standardize):
    X, y = noisy()
    clf = KernelPerceptron(max_iter=2, tol=None, standardize=standardize, random_state=0)
    clf.fit(trained_on(X + 1.0 * (X != 0)), y)
    other = X[:50]
    np.testing.assert_allclose(
        clf.decision_function(sp.csr_array(other)), clf.decision_function(other), rtol=1e-9
    )


@pytest.mark.parametrize("first", [np.asarray, sp.csr_array])
def test_layouts_may_change_between_calls_of_partial_fit(first):
    X, y = noisy()
    second = sp.csr_array if first is np.asarray else np.asarray
    mixed, plain = KernelPerceptron(**PLAIN), KernelPerceptron(**PLAIN)
    mixed.partial_fit(first(X[:300]), y[:300]).partial_fit(second(X[300:]), y[300:])
    plain.partial_fit(X[:300], y[:300]).partial_fit(X[300:], y[300:])
    assert mixed.n_updates_ == plain.n_updates_
    np.testing.assert_allclose(mixed.decision_function(X), plain.decision_function(X), rtol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_precomputed_kernel_is_the_named_one(classes, sparse):
    X, y = noisy(classes=classes)
    T, _ = noisy(50, seed=1)
    layout = sp.csr_array if sparse else np.asarray
    options = {**PLAIN, "max_iter": 3}
    named = KernelPerceptron(**options).fit(X, y)
    given = KernelPerceptron(**{**options, "kernel": "precomputed"})
    given.fit(layout(rbf_kernel(X, gamma=0.5)), y)
    assert_same_machine(named, given)
    np.testing.assert_allclose(
        given.decision_function(layout(rbf_kernel(T, X, gamma=0.5))),
        named.decision_function(T),
        rtol=1e-9,
        atol=1e-9,
    )


@pytest.mark.parametrize("standardize", [False, True])
def test_a_function_is_a_kernel_too(standardize):
    X, y = noisy()
    T, _ = noisy(50, seed=1)
    options = {**PLAIN, "max_iter": 3, "standardize": standardize, "radius": None}
    named = KernelPerceptron(kernel="poly", coef0=1.0, **options).fit(X, y)
    function = KernelPerceptron(
        kernel=lambda A, B: polynomial_kernel(A, B, 3, 0.5, 1.0), **options
    ).fit(X, y)
    assert_same_machine(named, function)
    np.testing.assert_allclose(
        function.decision_function(T), named.decision_function(T), rtol=1e-7, atol=1e-9
    )


def test_a_function_may_get_sparse_inputs_as_they_are():
    X, y = noisy(100)
    options = {**PLAIN, "max_iter": 2}
    dense = KernelPerceptron(kernel=laplacian_kernel, **options).fit(X, y)
    sparse = KernelPerceptron(kernel=laplacian_kernel, **options).fit(sp.csr_array(X), y)
    assert_same_machine(dense, sparse)


def test_single_precision_inputs():
    X, y = noisy()
    X = X.astype(np.float32)
    options = {**IN_ORDER, "max_iter": 2}
    single = KernelPerceptron(**options).fit(X, y)
    assert_same_machine(single, KernelPerceptron(**options).fit(X.astype(np.float64), y))
    assert single.support_vectors_.dtype == np.float32


# ------------------------------------------------------------------------------- weights, labels


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
def test_weight_zero_is_absence(standardize, classes):
    X, y = noisy(classes=classes)
    weights = (np.random.default_rng(1).random(ROWS) < 0.6).astype(float)
    X[weights == 0] *= 100  # would change the statistics and the radius
    options = {**IN_ORDER, "max_iter": 3, "standardize": standardize}
    weighted = KernelPerceptron(**options).fit(X, y, sample_weight=weights)
    kept = np.flatnonzero(weights)
    absent = KernelPerceptron(**options).fit(X[kept], y[kept])
    assert weighted.radius_ == pytest.approx(absent.radius_)
    assert weighted.gamma_ == pytest.approx(absent.gamma_)
    np.testing.assert_array_equal(weighted.support_, kept[absent.support_])
    np.testing.assert_array_equal(weighted.dual_coef_, absent.dual_coef_)
    np.testing.assert_allclose(weighted.intercept_, absent.intercept_, rtol=1e-6)
    assert weighted.n_updates_ == absent.n_updates_


def test_a_weight_multiplies_the_step():
    X, y = noisy()
    options = {**PLAIN, "max_iter": 3}
    once = KernelPerceptron(**options).fit(X, y)
    fourfold = KernelPerceptron(**options).fit(X, y, sample_weight=np.full(ROWS, 4.0))
    np.testing.assert_array_equal(fourfold.dual_coef_, 4 * once.dual_coef_)
    np.testing.assert_array_equal(fourfold.intercept_, 4 * once.intercept_)
    assert fourfold.n_updates_ == once.n_updates_
    assert fourfold.margin_ == pytest.approx(once.margin_ / 4)


@pytest.mark.parametrize(
    ("class_weight", "weights"),
    [
        ({-1.0: 3.0}, lambda y: np.where(y < 0, 3.0, 1.0)),
        ({-1.0: 0.5, 1.0: 2.0}, lambda y: np.where(y < 0, 0.5, 2.0)),
        (
            "balanced",
            lambda y: np.where(y < 0, len(y) / 2 / np.sum(y < 0), len(y) / 2 / sum(y > 0)),
        ),
    ],
)
def test_class_weights_are_sample_weights(class_weight, weights):
    X, y = noisy()
    keep = (y > 0) | (np.arange(ROWS) % 3 > 0)
    X, y = X[keep], y[keep]
    options = {**PLAIN, "max_iter": 2}
    by_class = KernelPerceptron(class_weight=class_weight, **options).fit(X, y)
    by_sample = KernelPerceptron(**options).fit(X, y, sample_weight=weights(y))
    assert_same_machine(by_class, by_sample)
    assert by_class.n_updates_ != KernelPerceptron(**options).fit(X, y).n_updates_


def test_exchanging_the_labels_exchanges_the_signs():
    X, y = noisy()
    options = {**IN_ORDER, "max_iter": 3}
    a, b = (KernelPerceptron(**options).fit(X, labels) for labels in (y, -y))
    np.testing.assert_array_equal(a.dual_coef_, -b.dual_coef_)
    np.testing.assert_array_equal(a.intercept_, -b.intercept_)


# ---------------------------------------------------------------------------------- going on


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
    np.testing.assert_allclose(pieces.margin_, whole.margin_)
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


# ------------------------------------------------------------------------------- early stopping


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
        "standardize": False,
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


# --------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "cosine"}, "kernel"),
        ({"gamma": 0.0}, "gamma"),
        ({"radius": -1.0}, "radius"),
        ({"degree": -1}, "degree"),
        ({"kernel": "precomputed"}, "square"),
    ],
)
def test_bad_options(options, message):
    X, y = noisy(20)
    with pytest.raises(ValueError, match=message):
        KernelPerceptron(**options).fit(X, y)


def test_a_function_with_sparse_inputs_to_standardise():
    X, y = noisy(20)
    with pytest.raises(ValueError, match="standardize=False"):
        KernelPerceptron(kernel=rbf_kernel).fit(sp.csr_array(X), y)


def test_a_precomputed_kernel_cannot_meet_new_examples():
    X, y = noisy(40)
    K = rbf_kernel(X)
    clf = KernelPerceptron(kernel="precomputed").fit(K, y)
    with pytest.raises(ValueError, match="40"):  # as many columns as training examples
        clf.predict(K[:, :30])
    with pytest.raises(ValueError, match="whole matrix"):
        clf.partial_fit(K[:30], y[:30])


def test_a_precomputed_kernel_keeps_row_numbers_and_no_vectors():
    X, y = noisy(40)
    clf = KernelPerceptron(kernel="precomputed").fit(rbf_kernel(X), y)
    assert len(clf.support_) == clf.dual_coef_.shape[1] > 0
    assert clf.support_vectors_.shape == (0, 0)  # as in scikit-learn's SVC


def test_validation_examples_that_would_be_ignored():
    X, y = noisy(40)
    with pytest.raises(ValueError, match="early_stopping=True"):
        KernelPerceptron().fit(X, y, X_val=X, y_val=y)
    with pytest.raises(ValueError, match="both or neither"):
        KernelPerceptron(early_stopping=True).fit(X, y, X_val=X)


def test_labels_that_were_never_named():
    X, y = noisy(40)
    clf = KernelPerceptron().partial_fit(X, y)
    with pytest.raises(ValueError, match=r"7\.0"):
        clf.partial_fit(X, np.full(40, 7.0))
    with pytest.raises(ValueError, match="classes"):
        clf.partial_fit(X, y, classes=[0, 1])
