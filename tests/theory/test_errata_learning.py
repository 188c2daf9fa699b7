"""Errata of Chapters 2 and 3 and of Appendix A of the thesis; `docs/errata.md` lists them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.svm import SVC

from widemargin import theory

RANDOM = np.random.default_rng


# ---------------------------------------------------------------------------- Chapter 2


def test_one_sided_convergence():
    """Functions that are +1 on finitely many points, which all have the same expected risk.

    If only positive points can be learnt by heart, sup (R_L − R) → 0, but the minimum of R_L is 0.
    If only negative points can be spoilt, sup (R_L − R) stays large, but minimisation is safe.
    """
    rate, L = 0.6, 100_000  # of positives; the function −1 is wrong on them
    positives = np.mean(RANDOM(0).random(L) < rate)

    lowest, highest = 0.0, positives  # R_L of the first set
    assert highest - rate < 0.01  # the printed condition holds
    assert rate - lowest > 0.5  # the correct one does not
    assert abs(lowest - rate) > 0.5  # inf R_L is far from inf R

    lowest, highest = positives, 1.0  # R_L of the second set
    assert highest - rate > 0.3
    assert rate - lowest < 0.01
    assert abs(lowest - rate) < 0.01


def test_set_of_theorem_2_3():
    """The thresholds F* say nothing about another set F, with the same L and distribution."""
    L = 10_000
    thresholds, memorisers = theory.simulate_thresholds(L), theory.simulate_memorisers(L)
    assert thresholds.deviation.max() < 0.03
    assert memorisers.deviation.min() > 0.5


def test_unit_of_the_loss():
    """Losses of 0 or τ are τ times errors, so the probability must not depend on the unit."""
    h, n, spread, deviation = 1, 60, 50.0, 0.5

    def printed(deviation, spread):
        exponent = h * (1 + np.log(2 * n / h)) - (deviation - 1 / n) ** 2 * n / spread**2
        return 4 * np.exp(exponent)

    same = [theory.vc_probability(s * deviation, h, n, spread=s) for s in (1.0, spread)]
    assert same[0] == pytest.approx(same[1])
    assert printed(deviation, 1.0) == pytest.approx(same[0])
    assert printed(spread * deviation, spread) < printed(deviation, 1.0)
    widths = [theory.vc_confidence(h, n, 0.1, spread=s) for s in (1.0, spread)]
    assert widths[1] == pytest.approx(spread * widths[0])  # (2.12) with τ/L


def test_validation_examples():
    """With L the number of training examples, 15,000 would not give the 1 % of the text."""
    eta, training, validation = 0.1, 100, 15_000
    as_printed = np.sqrt(-np.log(eta / 2) / (2 * training))
    assert theory.hoeffding_deviation(eta, validation) == pytest.approx(0.01, rel=1e-3)
    assert as_printed > 0.1


# ---------------------------------------------------------------------------- Chapter 3


def test_gaussian_likelihood():
    """The constant of (3.11) counts every number: −(L n / 2) log 2π for L targets in R^n."""
    random, L, n = RANDOM(0), 7, 3
    error = random.normal(size=(L, n))
    density = np.exp(-0.5 * error**2) / np.sqrt(2 * np.pi)  # of each coordinate
    likelihood, squares = np.log(density).sum(), 0.5 * np.sum(error**2)
    assert likelihood == pytest.approx(-L * n / 2 * np.log(2 * np.pi) - squares)
    assert likelihood != pytest.approx(-1 / 2 * np.log(2 * np.pi) - squares, rel=0.5)


def test_taylor_half():
    """A quadratic function equals its expansion with ½, not without."""
    random = RANDOM(0)
    A, g, theta, step = (random.normal(size=s) for s in ((3, 3), 3, 3, 3))
    H = A + A.T

    def risk(t):
        return 0.5 * t @ H @ t + g @ t

    slope = H @ theta + g
    assert risk(theta + step) == pytest.approx(risk(theta) + step @ slope + 0.5 * step @ H @ step)
    assert risk(theta + step) != pytest.approx(risk(theta) + step @ slope + step @ H @ step)


def test_bounded_gradients():
    """Weight decay breaks vi) as printed, for ‖θ‖ > E; within a ball the gradient is bounded."""
    random, mu = RANDOM(0), 0.1
    x = random.normal(size=(50, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y = np.ones(50)

    def largest(radius):
        w = random.normal(size=(200, 3))
        w *= radius / np.linalg.norm(w, axis=1, keepdims=True)
        inside = (y * (w @ x.T) <= 1)[:, :, None]
        return np.linalg.norm(mu * w[:, None, :] - inside * y[:, None] * x, axis=2).max()

    assert largest(1e6) > 1e4
    assert max(largest(r) for r in (0.1, 1.0, 5.0)) <= 1 + mu * 5


def test_kernel_expansion():
    """f(x) = b + (1/μ) Σ α_l y_l k(x_l, x): with the α of (3.30) the factor is needed."""
    random, L, mu = RANDOM(0), 40, 0.05
    X = random.normal(size=(L, 2))
    y = np.where(X[:, 0] + 0.5 * random.normal(size=L) > 0, 1, -1)
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(2))
    machine = SVC(C=1 / (mu * L), kernel="precomputed", tol=1e-8).fit(K, y)
    f = machine.decision_function(K)
    alpha_y = np.zeros(L)
    alpha_y[machine.support_] = mu * machine.dual_coef_[0]
    assert np.all(np.abs(alpha_y) <= 1 / L + 1e-12)  # (3.31)
    assert_allclose(machine.intercept_ + K @ alpha_y / mu, f, atol=1e-8)
    assert np.abs(machine.intercept_ + K @ alpha_y - f).max() > 0.1


@pytest.mark.parametrize(("d", "p"), [(2, 2), (3, 2), (2, 3)])
def test_polynomial_dimension(d, p):
    """The rank of the kernel matrix of many points is the dimension of the feature space."""
    X = RANDOM(0).normal(size=(60, d))
    assert np.linalg.matrix_rank((1 + X @ X.T) ** p) == theory.polynomial_capacity(d, p)
    assert np.linalg.matrix_rank((X @ X.T) ** p) == theory.polynomial_capacity(d - 1, p)  # printed


# --------------------------------------------------------------------------- Appendix A


def test_qualified_constraints():
    """min x with x² ≤ 0: convex, solved by u = 0, but without multipliers and saddle point."""

    def lagrangian(v, multiplier):
        return v + multiplier * v**2

    for multiplier in (0.0, 0.5, 10.0, 1e4):
        slope = (lagrangian(1e-6, multiplier) - lagrangian(-1e-6, multiplier)) / 2e-6
        assert slope == pytest.approx(1.0)  # (A.3) asks for 0
        lower = -1 / (2 * multiplier) if multiplier else -1.0
        assert lagrangian(lower, multiplier) < lagrangian(0.0, multiplier)  # u is no minimum


def test_saddle_point():
    """L(v, m) = v m on [−1, 1]²: (0, 0) is a saddle point, but no maximum of L(v, ·) for v ≠ 0."""
    v = m = np.linspace(-1, 1, 21)
    L = np.outer(v, m)
    zero = 10
    assert L[zero].max() == L[zero, zero] == L[:, zero].min()  # with L(u, ·)
    others = np.delete(L, zero, axis=0)
    assert np.all(others.max(axis=1) > others[:, zero])  # with L(v, ·), as printed
