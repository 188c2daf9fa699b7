"""SVR and NuSVR: the optimum, as scikit-learn's and as the certificate says."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel

from widemargin import SVR, NuSVR
from widemargin.reference.svm import certificate, svm_problem

KERNELS = {
    "linear": {},
    "poly": {"degree": 2, "gamma": 0.2, "coef0": 1.0},
    "rbf": {"gamma": 0.3},
    "sigmoid": {"gamma": 0.01, "coef0": 0.0},
}
CLASSES = {"SVR": SVR, "NuSVR": NuSVR}
NUMBERS = {"SVR": {"epsilon": 0.2}, "NuSVR": {"nu": 0.4}}
KINDS = {"SVR": "epsilon_svr", "NuSVR": "nu_svr"}
on_both = pytest.mark.parametrize("name", CLASSES)
rng = np.random.default_rng(0)
X = rng.normal(size=(200, 5)) * (rng.random((200, 5)) < 0.7)
Y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=200)
X_NEW = rng.normal(size=(2000, 5))
WEIGHTS = rng.choice([0.0, 0.5, 1.0, 3.0], size=200)


def kernel_matrix(kernel, X):
    return pairwise_kernels(X, metric=kernel, **KERNELS[kernel])


def proof_of(name, model, K, y, weights, **parameters):
    """The certificate of a fitted model of either library."""
    kept = np.flatnonzero(np.ones(len(y)) if weights is None else weights)
    problem = svm_problem(
        KINDS[name], y[kept], None if weights is None else weights[kept], **parameters
    )
    coef = np.zeros(len(y))
    coef[model.support_] = (
        model.dual_coef_.toarray()[0] if sp.issparse(model.dual_coef_) else (model.dual_coef_[0])
    )
    coef = coef[kept]
    beta = np.concatenate([np.maximum(coef, 0), np.minimum(coef, 0)])
    return certificate(K[np.ix_(kept, kept)], problem, beta)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weighted"])
@pytest.mark.parametrize("kernel", KERNELS)
@on_both
def test_the_optimum_of_scikit_learn(name, kernel, weights, layout):
    number = NUMBERS[name]
    options = {"kernel": kernel, "tol": 1e-5, "C": 2.0, **KERNELS[kernel], **number}
    ours = CLASSES[name](**options).fit(layout(X), Y, weights)
    theirs = getattr(sklearn.svm, name)(**options).fit(layout(X), Y, weights)
    K = kernel_matrix(kernel, X)
    proof = proof_of(name, ours, K, Y, weights, C=2.0, **number)
    their_proof = proof_of(name, theirs, K, Y, weights, C=2.0, **number)
    assert proof.violation <= 1.1e-5
    assert proof.dual >= their_proof.dual - 1e-4 * abs(their_proof.dual)
    assert_allclose(ours.dual_objective_, proof.dual, rtol=1e-4)
    expected = theirs.predict(X_NEW) - theirs.intercept_  # the bias may have some freedom
    found = ours.predict(X_NEW) - ours.intercept_
    assert_allclose(found, expected, atol=2e-4 * np.ptp(expected))
    assert isinstance(ours.n_iter_, int)
    assert ours.n_support_.shape == (1,)


@st.composite
def hard_problems(draw):
    n, width = draw(st.integers(1, 40)), draw(st.integers(1, 4))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = generator.normal(size=(n, width)) * 10.0 ** draw(st.integers(-3, 3))
    if draw(st.booleans()):
        X[n // 2 :] = X[: n - n // 2]
    y = generator.normal(size=n) * 10.0 ** draw(st.integers(-2, 2))
    if draw(st.booleans()):
        y[:] = y[0]
    weights = generator.choice([0.5, 1.0, 2.0], size=n) if draw(st.booleans()) else None
    return X, y, weights, 10.0 ** draw(st.floats(-6, 4))


@settings(deadline=None, max_examples=60)
@given(hard_problems(), st.sampled_from([0.0, 0.01, 1.0]))
def test_the_conditions_hold_on_every_example(problem, epsilon):
    X, y, weights, C = problem
    model = SVR(C=C, epsilon=epsilon).fit(X, y, weights)
    assert model.stop_reason_ == "tol"
    K = rbf_kernel(X, gamma=model.gamma_)
    proof = proof_of("SVR", model, K, y, weights, C=C, epsilon=epsilon)
    rounding = 1e-14 * np.abs(model.dual_coef_).sum()
    assert proof.violation <= 1.01e-3 + rounding
    most = (C if weights is None else C * weights.max()) * len(y)
    assert model.duality_gap_ <= (1.01e-3 + rounding) * most


@settings(deadline=None, max_examples=60)
@given(hard_problems(), st.sampled_from([0.01, 0.5, 0.97, 1.0]))
def test_nu_from_a_wide_tube_to_a_closed_one(problem, nu):
    """For an optimal ε > 0 or ε = 0, the dual is at least as high as that of LIBSVM."""
    X, y, weights, C = problem
    model = NuSVR(C=C, nu=nu).fit(X, y, weights)
    assert model.stop_reason_ == "tol"
    assert model.kkt_violation_ <= 1.01e-3
    theirs = sklearn.svm.NuSVR(C=C, nu=nu, gamma=model.gamma_).fit(X, y, weights)
    K = rbf_kernel(X, gamma=model.gamma_)
    coef = np.zeros(len(y))
    coef[theirs.support_] = theirs.dual_coef_[0]
    dual = coef @ y - 0.5 * coef @ K @ coef  # sums that overlap do not change it
    most = (
        np.sum(C if weights is None else C * weights) * 1.0 if weights is not None else C * len(y)
    )
    assert model.dual_objective_ >= dual - 1.01e-3 * most - 1e-6 * abs(dual)


@on_both
def test_precomputed_and_callable_kernels(name):
    named = CLASSES[name](gamma=0.3, tol=1e-6).fit(X, Y)
    expected = named.predict(X_NEW)
    precomputed = CLASSES[name](kernel="precomputed", tol=1e-6).fit(rbf_kernel(X, gamma=0.3), Y)
    assert_allclose(precomputed.predict(rbf_kernel(X_NEW, X, gamma=0.3)), expected, atol=1e-4)
    function = CLASSES[name](kernel=lambda a, b: rbf_kernel(a, b, gamma=0.3), tol=1e-6).fit(X, Y)
    assert_allclose(function.predict(X_NEW), expected, atol=1e-4)


@on_both
def test_a_weight_of_two_is_an_example_given_twice(name):
    weights = rng.integers(0, 3, size=200)
    repeated = np.repeat(np.arange(200), weights)
    options = {"gamma": 0.3, "tol": 1e-8}
    weighted = CLASSES[name](**options).fit(X, Y, weights)
    twice = CLASSES[name](**options).fit(X[repeated], Y[repeated])
    assert_allclose(weighted.predict(X_NEW), twice.predict(X_NEW), atol=1e-5)


def test_nothing_to_support():
    model = SVR(epsilon=100.0).fit(X, Y)
    assert model.support_vectors_.shape == (0, 5)
    assert_allclose(model.predict(X_NEW), model.intercept_[0])
    assert model.duality_gap_ == 0.0
    linear = SVR(kernel="linear", epsilon=100.0).fit(sp.csr_array(X), Y)
    assert_array_equal(linear.coef_, np.zeros((1, 5)))
    assert_allclose(linear.predict(X_NEW), linear.intercept_[0])


def test_coef_of_the_linear_kernel():
    model = SVR(kernel="linear", tol=1e-6).fit(X, Y)
    assert_allclose(model.predict(X_NEW), X_NEW @ model.coef_[0] + model.intercept_)
    with pytest.raises(ValueError, match="read-only"):
        model.coef_[0, 0] = 1.0


@pytest.mark.parametrize(
    ("options", "weights", "message"),
    [
        ({"epsilon": -1.0}, None, "'epsilon' parameter"),
        ({"gamma": 0.0}, None, r"gamma=0\.0 makes every kernel value the same"),
        ({}, np.zeros(200), "zero"),
        ({}, np.full(200, -1.0), "(?i)negative"),
        ({}, np.ones(3), "sample_weight"),
    ],
)
def test_bad_input(options, weights, message):
    with pytest.raises(ValueError, match=message):
        SVR(**options).fit(X, Y, weights)
