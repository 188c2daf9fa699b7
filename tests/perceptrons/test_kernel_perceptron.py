"""The dual perceptron: the lecture's algorithm, whatever the blocks, the weights or the labels."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics.pairwise import rbf_kernel

from helpers.dual_perceptron import IN_ORDER, PLAIN, ROWS, alpha_y, assert_same_machine, noisy
from widemargin import KernelPerceptron, Perceptron
from widemargin.perceptrons.kernel_learner import EXAMPLES_PER_BLOCK as BLOCK
from widemargin.reference import perceptrons as reference

# ----------------------------------------------------------------------------------- the algorithm


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
    options = {**IN_ORDER, "max_iter": 5, "scaling": None, "fit_intercept": fit_intercept}
    dual = KernelPerceptron(kernel="linear", radius=1.0, **options).fit(X, y)
    primal = Perceptron(**options).fit(X, y)
    assert dual.n_updates_ == primal.n_updates_
    np.testing.assert_allclose(
        dual.decision_function(X), primal.decision_function(X), rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(dual.dual_coef_ @ dual.support_vectors_, primal.coef_, atol=1e-9)


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
    for k, label in enumerate(clf.classes_):
        signs = np.where(labels == label, 1.0, -1.0)
        alpha, b, _ = reference.kernel_perceptron(K, signs, order, 0.75)
        np.testing.assert_array_equal(alpha_y(clf, ROWS)[:, k], alpha * signs)
        assert clf.intercept_[k] == pytest.approx(b)
    assert clf.n_updates_ == np.abs(clf.dual_coef_).sum()
    scores = clf.decision_function(X)
    np.testing.assert_array_equal(clf.predict(X), clf.classes_[scores.argmax(axis=1)])


# --------------------------------------------------------------------------------- weights, labels


@pytest.mark.parametrize("scaling", [None, "standard"])
@pytest.mark.parametrize("classes", [2, 3])
def test_weight_zero_is_absence(scaling, classes):
    X, y = noisy(classes=classes)
    weights = (np.random.default_rng(1).random(ROWS) < 0.6).astype(float)
    X[weights == 0] *= 100  # would change the statistics and the radius
    options = {**IN_ORDER, "max_iter": 3, "scaling": scaling}
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


# ------------------------------------------------------------------------------------------ errors


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
    with pytest.raises(ValueError, match="scaling=None"):
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
