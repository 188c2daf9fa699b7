"""Errata of the lectures of Yuille and Rakotomamonjy; `docs/errata.md` lists them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from widemargin import theory
from widemargin.reference.svm import decomposition, svm_problem

RANDOM = np.random.default_rng
X = RANDOM(0).normal(size=(40, 3))
Y = np.where(X[:, 0] + 0.7 * RANDOM(1).normal(size=40) > 0, 1.0, -1.0)


def hinge_slopes(a, b, X, y):
    """The gradient of each example's hinge loss."""
    inside = y * (X @ a + b) < 1
    return np.where(inside[:, None], -y[:, None] * X, 0.0)


# -------------------------------------------------------------------------------- Yuille


def test_yuille_start():
    """sign(a·x) < 0 is false at a = 0 for every x: the algorithm would return zero."""
    a = np.zeros(3)
    for x in X * Y[:, None]:
        if np.sign(a @ x) < 0:
            a = a + x
    assert np.all(a == 0)
    for x in X * Y[:, None]:
        if a @ x <= 0:  # 2.5
            a = a + x
    assert np.any(a != 0)


def test_yuille_sign():
    """‖a − c + x‖² = ‖a − c‖² + ‖x‖² + 2 (a − c)·x; with the minus the proof would fail."""
    a, c, x = X[:3]
    left = np.sum((a - c + x) ** 2)
    assert left == pytest.approx(np.sum((a - c) ** 2) + x @ x + 2 * (a - c) @ x)
    assert left != pytest.approx(np.sum((a - c) ** 2) + x @ x - 2 * (a - c) @ x)


def test_yuille_moved_examples():
    """A slack moves x by C z y a: negative examples move down, and the step has the factor C."""
    a, b, C, z = np.array([1.0, 0.0]), 0.0, 0.5, 3.0
    for y in (1.0, -1.0):
        x = np.array([-y, 2.0])  # on the wrong side by 1
        constraint = y * (a @ x + b) >= C * (1 - z)
        assert constraint == (y * (a @ (x + C * z * y * a) + b) >= C)
    assert not y * (a @ (x + C * z * a) + b) >= C  # as printed, for y = −1


def test_yuille_box():
    """0 ≤ α ≤ γ: at the solution α + τ = γ, so that α ≤ τ fails for every α at its bound."""
    gamma = 0.5
    found = decomposition(X @ X.T, svm_problem("c_svc", Y, C=gamma), tol=1e-8)
    alpha = np.abs(found.beta)
    tau = gamma - alpha
    assert np.all((alpha >= 0) & (alpha <= gamma))
    assert np.any(alpha > tau)


def test_yuille_slack():
    """The least slack is 1 − y (a·x + b); without b the constraint is not met."""
    a, b, x, y = np.array([1.0]), -0.5, np.array([0.2]), 1.0
    assert y * (a @ x + b) >= 1 - (1 - y * (a @ x + b))
    assert not y * (a @ x + b) >= 1 - (1 - y * (a @ x))


def test_yuille_decay():
    """Updates of all N examples add up to −∂L/∂a with a decay of 1/N, not of 1/(2N)."""
    a, b, gamma, N = np.array([0.3, -0.2, 0.5]), 0.1, 2.0, len(X)
    slopes = gamma * hinge_slopes(a, b, X, Y)
    gradient = a + slopes.sum(0)
    assert_allclose(np.sum(a / N + slopes, axis=0), gradient)
    assert np.abs(np.sum(a / (2 * N) + slopes, axis=0) - gradient).max() > 0.2


# -------------------------------------------------------------------------- Rakotomamonjy


def test_rakotomamonjy_norm():
    """A canonical hyperplane has ‖w*‖ = 1/ρ; with √(R/ρ) the last step gives another bound."""
    R, rho = 2.0, 0.1
    assert np.sqrt(R / rho) != pytest.approx(1 / rho)
    assert (R * (1 / rho)) ** 2 == pytest.approx(R**2 / rho**2)
    assert (R * np.sqrt(R / rho)) ** 2 != pytest.approx(R**2 / rho**2)
    assert theory.novikoff_bound(R, 2 * rho) == pytest.approx(R**2 / rho**2)


def test_rakotomamonjy_start():
    """y⟨w, x⟩ < 0 is false at w = 0: as stochastic gradient it must be ≤, like the algorithm."""
    w = np.zeros(3)
    for x, y in zip(X, Y, strict=True):
        if y * (w @ x) < 0:
            w = w + y * x
    assert np.all(w == 0)


def test_rakotomamonjy_logarithm():
    """A bound that may fail more often must not be wider, as with log(4δ)."""
    delta = np.array([0.01, 0.1, 0.5])
    assert np.all(np.diff([theory.vc_confidence(3, 1000, eta) for eta in delta]) < 0)
    assert np.all(np.diff(np.log(4 * delta)) > 0)
    assert np.all(np.diff(np.log(4 / delta)) < 0)


def test_rakotomamonjy_multipliers():
    """The coefficients of the example do not add up to zero, even before they were rounded."""
    total = 0.16 - 0.064 - 0.103
    assert abs(total) > 0.005 + 0.0005 + 0.0005


def test_rakotomamonjy_gradient():
    """The slope is 0 where y_i f(x_i) ≥ 1; y_i x_i is a vector and says nothing."""
    w, b, step = np.array([0.3, -0.2, 0.5]), 0.1, 1e-6

    def cost(w):
        return np.maximum(0, 1 - Y * (X @ w + b)).sum()

    numeric = [(cost(w + e) - cost(w - e)) / (2 * step) for e in step * np.eye(3)]
    assert_allclose(hinge_slopes(w, b, X, Y).sum(0), numeric, rtol=1e-6)


def test_rakotomamonjy_decay():
    """Steps of all N examples add up to −α times the gradient with α/(CN), not with α/C."""
    w, b, C, N = np.array([0.3, -0.2, 0.5]), 0.1, 0.5, len(X)
    slopes = hinge_slopes(w, b, X, Y)
    gradient = w / C + slopes.sum(0)
    assert_allclose(np.sum(w / (C * N) + slopes, axis=0), gradient)
    assert np.abs(np.sum(w / C + slopes, axis=0) - gradient).max() > 10
