"""What Chapter 6 says of mixtures holds for the reference: slopes, bounds, balance, Bayes' rule."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.mixture import GaussianMixture

from widemargin.reference.hard_mixture import (
    Gaussians,
    assign,
    bayes,
    criterion,
    em_step,
    fit_logistic,
    hard_criterion,
    log_softmax,
    logistic,
    mistakes,
    mixture,
    negative_log_likelihood,
    posterior,
)

CRITERIA = ["tanh_mse", "mse", "likelihood"]
seeds = st.integers(0, 2**32 - 1)


def problem(seed, name, L=7):
    rng = np.random.default_rng(seed)
    K, C = rng.integers(1, 6), 1 if name == "likelihood" else rng.integers(1, 4)
    f = rng.random((L, K, C)) if name == "likelihood" else rng.normal(size=(L, K, C))
    scale = rng.uniform(0.1, 3, C) if name == "mse" else None
    return rng.choice([-1.0, 1.0], (L, C)), f, 2 * rng.normal(size=(L, K)), scale


@pytest.mark.parametrize("name", CRITERIA)
@given(seed=seeds)
def test_slopes_are_numerical_slopes(name, seed):
    y, f, z, scale = problem(seed, name)
    _, found = criterion(name, y, f, z, scale)
    for k in range(z.shape[1]):
        step = 1e-6 * np.eye(z.shape[1])[k]
        above, _ = criterion(name, y, f, z + step, scale)
        below, _ = criterion(name, y, f, z - step, scale)
        assert_allclose(found[:, k], (above - below) / 2e-6, rtol=1e-5, atol=1e-8)


@given(seed=seeds)
def test_slope_of_the_likelihood_is_the_gate_minus_the_posterior(seed):
    _, f, z, _ = problem(seed, "likelihood")
    log_g = log_softmax(z)
    _, found = criterion("likelihood", None, f, z)
    expected = np.exp(log_g) - np.exp(posterior(log_g, np.log(f[:, :, 0])))
    assert_allclose(found, expected, rtol=1e-10, atol=1e-14)


def test_experts_that_exclude_an_example_cost_something_finite():
    Q, slope = criterion("likelihood", None, np.zeros((1, 3, 1)), np.ones((1, 3)))
    assert np.isfinite(Q[0])
    assert Q[0] > 80
    assert_array_equal(slope, 0)


def test_mistakes():
    m = np.array([[0.2, 0.9, 0.1], [0.5, 0.4, 0.3]])
    assert_array_equal(mistakes("mse", np.eye(3)[[1, 1]], m), [0, 1])
    assert_allclose(mistakes("mse", m + 1, m, np.array([1.0, 2.0, 3.0])), [6, 6])
    assert_array_equal(mistakes("likelihood", None, np.array([[0.5], [0.6]])), [1, 0])
    assert_array_equal(mistakes("tanh_mse", np.array([[-1.0]]), np.array([[0.0]])), [0])


@given(seed=seeds)
def test_bayes_rule(seed):
    rng = np.random.default_rng(seed)
    density, p, prior = rng.random((5, 3)), rng.random((5, 3)), rng.dirichlet(np.ones(3))
    joint = density * prior
    assert_allclose(np.exp(bayes(np.log(density), prior)), joint / joint.sum(1, keepdims=True))
    both = p * joint
    found = posterior(bayes(np.log(density), prior), np.log(p))
    assert_allclose(np.exp(found), both / both.sum(1, keepdims=True))


@given(seed=seeds)
def test_hard_criteria_bound_likelihoods(seed):
    rng = np.random.default_rng(seed)
    joint = np.log(rng.random((20, 4)))
    bound = negative_log_likelihood(joint)
    for partition in (rng.integers(0, 4, 20), joint.argmax(1), assign(joint)):
        assert hard_criterion(joint, partition) >= bound
    assert hard_criterion(joint, joint.argmax(1)) <= hard_criterion(joint, assign(joint))


def test_the_bound_is_reached_by_a_hard_partition():
    partition = np.array([0, 2, 1, 2])
    joint = np.where(np.eye(3)[partition] == 1, -0.3, -np.inf)
    assert hard_criterion(joint, partition) == pytest.approx(negative_log_likelihood(joint))


@given(L=st.integers(1, 60), K=st.integers(1, 9), seed=seeds)
def test_partitions_are_balanced_and_greedy(L, K, seed):
    scores = np.random.default_rng(seed).random((L, K))
    partition = assign(scores)
    sizes = np.zeros(K, dtype=int)
    for l, k in enumerate(partition):
        better = scores[l] > scores[l, k]
        assert np.all(sizes[better] == L // K + 1)  # those preferred were full
        sizes[k] += 1
    assert sizes.max() <= L // K + 1


def test_logistic_is_a_distribution_and_its_fit_the_least():
    rng = np.random.default_rng(0)
    f = rng.normal(size=300)
    y = np.where(rng.random(300) < np.exp(logistic(f, np.ones(300), 0.7, 1.5)), 1.0, -1.0)
    assert_allclose(np.exp(logistic(f, y, 0.7, 1.5)) + np.exp(logistic(f, -y, 0.7, 1.5)), 1)
    a, w = fit_logistic(f, y)
    least = -logistic(f, y, a, w).sum()
    for da, dw in [(1e-3, 0), (-1e-3, 0), (0, 1e-3), (0, -1e-3)]:
        assert -logistic(f, y, a + da, w + dw).sum() > least
    assert (a, w) == pytest.approx((0.7, 1.5), abs=0.5)


def gaussians(seed, N=3, d=2):
    rng = np.random.default_rng(seed)
    start = Gaussians(rng.dirichlet(np.ones(N)), rng.normal(size=(N, d)), np.ones((N, d)))
    return start, rng.normal(size=(40, d)) * [1, 3], rng.integers(1, 4, 40)


def test_densities():
    start, X, _ = gaussians(0)
    parts = [norm.pdf(X, m, np.sqrt(v)).prod(1) for m, v in zip(*start[1:], strict=True)]
    assert_allclose(np.exp(start.log_density(X)), start.weights @ parts)


@pytest.mark.parametrize("seed", range(5))
def test_em_raises_the_likelihood_and_takes_weights(seed):
    start, X, weights = gaussians(seed)
    one = em_step(start, X, weights)
    assert weights @ one.log_density(X) >= weights @ start.log_density(X)
    for found, expected in zip(one, em_step(start, np.repeat(X, weights, axis=0)), strict=True):
        assert_allclose(found, expected)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_em_is_that_of_scikit_learn():
    start, X, _ = gaussians(1)
    other = GaussianMixture(
        3,
        covariance_type="diag",
        max_iter=4,
        tol=0,
        reg_covar=0.01,
        weights_init=start.weights,
        means_init=start.means,
        precisions_init=1 / start.variances,
    ).fit(X)
    for _ in range(4):
        start = em_step(start, X, floor=0.01)
    assert_allclose(start.means, other.means_, rtol=1e-6, atol=1e-8)
    assert_allclose(start.variances, other.covariances_, rtol=1e-6)


def test_the_mixture_of_one_expert_is_the_expert():
    f = np.arange(6.0).reshape(3, 1, 2)
    assert_array_equal(mixture(np.ones((3, 1)), f), f[:, 0])
