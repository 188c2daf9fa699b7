"""OneClassSVM: the fraction ν outside, and scikit-learn's optimum."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import rbf_kernel

from widemargin import OneClassSVM
from widemargin.reference.svm import certificate, svm_problem

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 4)) * (rng.random((200, 4)) < 0.8)
X_NEW = rng.normal(size=(2000, 4)) * 1.5
WEIGHTS = rng.choice([0.0, 0.5, 1.0, 3.0], size=200)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weighted"])
@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "linear"},
        {"kernel": "poly", "degree": 2, "gamma": 0.2, "coef0": 1.0},
        {"kernel": "rbf", "gamma": 0.3},
        {"kernel": "sigmoid", "gamma": 0.01, "coef0": 0.5},
    ],
    ids=lambda options: options["kernel"],
)
def test_the_optimum_of_scikit_learn(options, weights, layout):
    inputs = X + 4.0  # away from the origin
    options = {**options, "nu": 0.3, "tol": 1e-6}
    ours = OneClassSVM(**options).fit(layout(inputs), sample_weight=weights)
    theirs = sklearn.svm.OneClassSVM(**options).fit(layout(inputs), sample_weight=weights)
    assert ours.converged_
    expected = theirs.score_samples(layout(X_NEW))
    assert_allclose(ours.score_samples(X_NEW), expected, atol=1e-4 * np.ptp(expected))
    assert_allclose(ours.offset_, theirs.offset_, rtol=2e-3)  # has some freedom


@pytest.mark.parametrize("nu", [0.01, 0.3, 0.9, 1.0])
def test_the_conditions_hold_on_every_example(nu):
    model = OneClassSVM(nu=nu, gamma=0.3).fit(X)
    beta = np.zeros(200)
    beta[model.support_] = model.dual_coef_[0]
    problem = svm_problem("one_class", np.ones(200), nu=nu)
    proof = certificate(rbf_kernel(X, gamma=0.3), problem, beta)
    assert proof.violation <= 1.01e-3
    assert_allclose(beta.sum(), nu * 200)
    assert np.mean(model.decision_function(X) < -2e-3) <= nu  # outliers
    assert len(model.support_) >= nu * 200


def test_scores_and_sides():
    model = OneClassSVM(nu=0.2).fit(X)
    assert_allclose(model.score_samples(X_NEW), model.decision_function(X_NEW) + model.offset_)
    assert_array_equal(model.predict(X_NEW), np.where(model.decision_function(X_NEW) > 0, 1, -1))
    assert_array_equal(OneClassSVM(nu=0.2).fit_predict(X), model.predict(X))


def test_a_weight_of_two_is_an_example_given_twice():
    weights = rng.integers(0, 3, size=200)
    repeated = np.repeat(np.arange(200), weights)
    weighted = OneClassSVM(gamma=0.3, tol=1e-8).fit(X, sample_weight=weights)
    twice = OneClassSVM(gamma=0.3, tol=1e-8).fit(X[repeated])
    assert_allclose(weighted.score_samples(X_NEW), twice.score_samples(X_NEW), atol=1e-5)


def test_precomputed_and_callable_kernels():
    expected = OneClassSVM(gamma=0.3, tol=1e-6).fit(X).decision_function(X_NEW)
    precomputed = OneClassSVM(kernel="precomputed", tol=1e-6).fit(rbf_kernel(X, gamma=0.3))
    K = rbf_kernel(X_NEW, X, gamma=0.3)
    assert_allclose(precomputed.decision_function(K), expected, atol=1e-4)
    function = OneClassSVM(kernel=lambda a, b: rbf_kernel(a, b, gamma=0.3), tol=1e-6).fit(X)
    assert_allclose(function.decision_function(X_NEW), expected, atol=1e-4)


def test_targets_are_ignored():
    assert_array_equal(
        OneClassSVM().fit(X, ["anything"] * 200).dual_coef_, OneClassSVM().fit(X).dual_coef_
    )
