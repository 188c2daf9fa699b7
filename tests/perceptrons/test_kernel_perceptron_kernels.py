"""The dual perceptron's bias and kernels, however the kernel and the inputs are given."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel
from sklearn.preprocessing import StandardScaler

from helpers.dual_perceptron import IN_ORDER, PLAIN, ROWS, alpha_y, assert_same_machine, noisy
from widemargin import KernelPerceptron
from widemargin.reference import perceptrons as reference
from widemargin.reference.kernels import distance_kernel


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
    scaled = KernelPerceptron(**{**options, "gamma": "scale", "scaling": "standard"}).fit(X, y)
    assert scaled.gamma_ == pytest.approx(1 / (4 * StandardScaler().fit_transform(X).var()))


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid", "exponential", "laplacian"])
@pytest.mark.parametrize("classes", [2, 3])
def test_sparse_inputs_standardised_are_dense_inputs_standardised(kernel, classes):
    X, y = noisy(classes=classes)
    options = {**IN_ORDER, "max_iter": 3, "kernel": kernel, "coef0": 1.0, "radius": 1.0}
    dense = KernelPerceptron(**options).fit(X, y)
    sparse = KernelPerceptron(**options).fit(sp.csr_array(X), y)
    explicit = KernelPerceptron(**options, scaling=None).fit(StandardScaler().fit_transform(X), y)
    assert sp.issparse(sparse.support_vectors_)
    assert_same_machine(dense, sparse)
    assert_same_machine(dense, explicit)


@pytest.mark.parametrize("scaling", [None, "standard"])
@pytest.mark.parametrize("trained_on", [np.asarray, sp.csr_array])
def test_a_machine_takes_the_other_layout_too(trained_on, scaling):
    X, y = noisy()
    clf = KernelPerceptron(max_iter=2, tol=None, scaling=scaling, random_state=0)
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


@pytest.mark.parametrize("scaling", [None, "standard"])
def test_a_function_is_a_kernel_too(scaling):
    X, y = noisy()
    T, _ = noisy(50, seed=1)
    options = {**PLAIN, "max_iter": 3, "scaling": scaling, "radius": None}
    named = KernelPerceptron(kernel="poly", coef0=1.0, **options).fit(X, y)
    function = KernelPerceptron(
        kernel=lambda A, B: polynomial_kernel(A, B, 3, 0.5, 1.0), **options
    ).fit(X, y)
    assert_same_machine(named, function)
    np.testing.assert_allclose(
        function.decision_function(T), named.decision_function(T), rtol=1e-7, atol=1e-9
    )


@pytest.mark.parametrize(("kernel", "exponent"), [("exponential", 1.5), ("laplacian", 0.5)])
def test_powers_of_distances_are_kernels_too(kernel, exponent):
    X, y = noisy()
    options = {**PLAIN, "max_iter": 3}
    named = KernelPerceptron(**{**options, "kernel": kernel, "exponent": exponent}).fit(X, y)
    given = KernelPerceptron(**{**options, "kernel": "precomputed"})
    given.fit(distance_kernel(kernel, X, X, 0.5, exponent), y)
    assert_same_machine(named, given)
    with pytest.raises(ValueError, match=r"exponent=1.5.*'laplacian'.*exponent <= 1"):
        KernelPerceptron(kernel="laplacian", exponent=1.5).fit(X, y)


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
