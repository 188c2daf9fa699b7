"""Errata of Chapters 5, 6 and 7 of the thesis; `docs/errata.md` lists them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog

from widemargin.reference.svm import certificate, svm_problem

RANDOM = np.random.default_rng


# ---------------------------------------------------------------------------- Chapter 5


def test_variables_of_a_regression():
    """With the L variables α alone, no direction is feasible at α = 0; with all 2L there is one."""
    y, epsilon = np.array([1.0, -1.0]), 0.1
    z = np.repeat([-1.0, 1.0], 2)
    slope = z * np.concatenate([epsilon + y, epsilon - y])  # z (Kα/μ + γ) at α = 0

    def steepest(size):
        bounds = [(0, 1) if sign > 0 else (-1, 0) for sign in z[:size]]  # (5.18): z p ≥ 0
        found = linprog(slope[:size], A_eq=np.ones((1, size)), b_eq=[0.0], bounds=bounds)
        return found.fun

    assert steepest(2) == 0.0
    assert steepest(4) < -1.0


def test_biases_of_all_variables():
    """All free variables agree on b, but an example with α = 0 is on the wrong side."""
    x, y = np.array([1.0, -1.0, -3.0]), np.array([1.0, -1.0, 1.0])
    K, problem = np.outer(x, x), svm_problem("c_svc", y, C=10.0)
    beta = np.array([0.5, -0.5, 0.0])  # the machine of the first two
    slopes = y - K @ beta  # b_l (5.30)
    free = (beta > problem.low) & (beta < problem.high)
    assert np.ptp(slopes[free]) == 0.0  # max b_l − min b_l: training would end here
    assert certificate(K, problem, beta).violation > 1.0


def test_positive_definite_regression():
    """K (5.8) of a regression is singular on every pair α_l, α*_l, for any kernel."""
    X = RANDOM(0).normal(size=(5, 3))
    k = np.exp(-((X[:, None] - X[None]) ** 2).sum(2))
    assert np.linalg.eigvalsh(k).min() > 0.01
    z = np.repeat([-1.0, 1.0], 5)
    K = np.outer(z, z) * np.tile(k, (2, 2))
    for l in range(5):
        pair = np.ix_([l, 5 + l], [l, 5 + l])
        assert np.linalg.eigvalsh(K[pair])[0] == pytest.approx(0.0, abs=1e-12)


# ---------------------------------------------------------------------------- Chapter 6


def test_sum_over_experts():
    """log Σ_k e_lk P bounds as claimed; log e_lk Σ_k P is −∞ for every expert but one."""
    random = RANDOM(0)
    joint = random.uniform(0.05, 0.5, size=(20, 4))
    chosen = np.eye(4)[random.integers(4, size=20)]
    likelihood = -np.log(joint.sum(1)).sum()
    bound = -np.sum(chosen * np.log(joint))
    correct = -np.log((chosen * joint).sum(1)).sum()
    assert likelihood <= correct <= bound + 1e-12
    with np.errstate(divide="ignore"):
        printed = -np.log(chosen * joint.sum(1, keepdims=True)).sum(0)  # one sum per index k
    assert np.all(np.isinf(printed))  # none of them is at most the bound


def test_densities_are_not_one():
    """J_6.2 equals the likelihood as soon as other densities vanish, whatever P(x | k*) is."""
    random = RANDOM(0)
    density = np.diag(random.uniform(0.1, 30, size=5))  # of example l under expert k
    experts, prior = random.uniform(0.1, 0.9, size=(5, 5)), np.full(5, 0.2)
    joint = experts * density * prior
    chosen = np.eye(5, dtype=bool)
    assert -np.log(joint.sum(1)).sum() == pytest.approx(-np.log(joint[chosen]).sum())


def test_what_the_gater_minimises():
    """Step 3 of Algorithm 6.1 lowers the mixture's L_1, and may raise J_6.1 without limit.

    Two examples y = 1 at the same x, one for each expert, with P(y = 1 | k) of 0.9 and 0.8.
    """
    expert = np.array([0.9, 0.8])

    def mixture(g):
        return -2 * np.log(g * expert[0] + (1 - g) * expert[1])

    def hard(g):
        return -np.log(g * expert[0]) - np.log((1 - g) * expert[1])

    g = np.linspace(0.5, 0.999, 50)
    assert np.all(np.diff(mixture(g)) < 0)
    assert np.all(np.diff(hard(g)) > 0)
    assert hard(0.999) > hard(0.5) + 4


@pytest.mark.parametrize("p", [2, 3])
def test_examples_per_expert(p):
    """K experts of M = L/K examples: linear in L if M is a fixed number, not a fixed fraction."""

    def cost(L, M):
        return L / M * M**p

    assert cost(2_000_000, 5_000) == 2 * cost(1_000_000, 5_000)
    assert cost(2_000_000, 2_000_000 / 50) == 2**p * cost(1_000_000, 1_000_000 / 50)


def test_platt_sums_to_one():
    """1/(1 + exp(a − y w f)) is no distribution of y = ±1; 1/(1 + exp(y (a − w f))) is."""
    f, a, w = np.linspace(-3, 3, 7), 0.7, 1.5

    def printed(y):
        return 1 / (1 + np.exp(a - y * w * f))

    def correct(y):
        return 1 / (1 + np.exp(y * (a - w * f)))

    assert np.abs(printed(1) + printed(-1) - 1).max() > 0.3
    assert_allclose(correct(1) + correct(-1), 1)
    assert_allclose(correct(1), printed(1))


# ---------------------------------------------------------------------------- Chapter 7


def test_error_of_the_split():
    """J(θ) − J(θ°) − Σ J^i = ½ Σ_{i≠j} δ_i H^ij δ_j: a minus, both indices, ∂J/∂θ_i in (7.7)."""
    random, blocks = RANDOM(0), [slice(0, 2), slice(2, 5)]
    A, slope, step = (random.normal(size=s) for s in ((5, 5), 5, 5))
    H = A + A.T
    change = slope @ step + 0.5 * step @ H @ step  # J(θ) − J(θ°)
    split = sum(slope[b] @ step[b] + 0.5 * step[b] @ H[b, b] @ step[b] for b in blocks)
    one, two = blocks
    between = step[one] @ H[one, two] @ step[two]  # twice ½, as (i, j) and (j, i)
    assert change - split == pytest.approx(between)
    assert abs(change + split) != pytest.approx(abs(between))
    within = 0.5 * sum(step[b] @ H[b, b] @ step[b] for b in blocks)  # as printed, H^{i,i}
    assert abs(within) != pytest.approx(abs(between), rel=0.01)


def test_spectral_norm_is_a_singular_value():
    """A block (7.15) with c(z) < 0 has the largest eigenvalue 0; its norm is not 0."""
    z, y, x = -0.8, 1.0, np.array([1.0, 2.0])
    c = (1 - z**2) * (1 + 2 * z * y - 3 * z**2)
    block = c * np.outer(x, x)  # w_i w_j h' h' = 1
    assert c < 0
    assert np.linalg.eigvalsh(block).max() == pytest.approx(0.0, abs=1e-12)
    assert np.linalg.norm(block, 2) == pytest.approx(-c * 5)
    experts = np.outer([1.0, 0.0], [0.0, 1.0])  # (7.10): not symmetric, both eigenvalues are 0
    assert np.all(np.linalg.eigvals(experts) == 0)
    assert np.linalg.norm(experts, 2) == 1.0


@pytest.mark.parametrize("y", [1.0, -1.0])
def test_gradient_of_the_cross_entropy(y):
    """−y P(−y | x) w h' x; without the y, the sign is wrong for the negative class."""
    random = RANDOM(0)
    v, x, w, b = random.normal(size=3), random.normal(size=3), 0.7, 0.2

    def cost(v):
        return np.log1p(np.exp(-y * (w * np.tanh(v @ x) + b)))

    f = w * np.tanh(v @ x) + b
    printed = -1 / (1 + np.exp(y * f)) * w * (1 - np.tanh(v @ x) ** 2) * x
    numeric = [(cost(v + e) - cost(v - e)) / 2e-6 for e in 1e-6 * np.eye(3)]
    assert_allclose(y * printed, numeric, rtol=1e-6)
