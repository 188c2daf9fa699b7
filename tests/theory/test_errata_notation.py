"""The notations of the documents mean the same machines; `docs/errata.md` has the table."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import rbf_kernel

from widemargin import SVC, SVR, MarginPerceptron, Perceptron, theory
from widemargin.reference.svm import decomposition, svm_problem

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 2))
Y = np.where(X[:, 0] + 0.5 * RANDOM.normal(size=60) > 0, 1.0, -1.0)
VALUES = np.sin(2 * X[:, 0]) + 0.3 * RANDOM.normal(size=60)


def hinge(w, b):
    return np.maximum(0, 1 - Y * (X @ w + b))


def test_width_of_the_gaussian_kernel():
    """(3.38): γ = 1/(2σ²)."""
    sigma = 0.7
    squares = ((X[:, None] - X[None]) ** 2).sum(2)
    assert_allclose(np.exp(-squares / (2 * sigma**2)), rbf_kernel(X, gamma=1 / (2 * sigma**2)))


def test_weight_of_the_errors():
    """One machine minimises the thesis with μ, Fleuret with λ, Yuille with γ, and C everywhere."""
    C, L = 0.3, len(X)
    machine = SVC(kernel="linear", C=C, tol=1e-10).fit(X, Y)
    best, b = machine.coef_[0], machine.intercept_[0]
    mu, lam = 1 / (L * C), 1 / (2 * L * C)

    def costs(w, b):
        return np.array(
            [
                0.5 * w @ w + C * hinge(w, b).sum(),  # Rakotomamonjy, and Yuille with γ = C
                mu / 2 * w @ w + hinge(w, b).mean(),  # thesis (3.25), report (3)
                lam * w @ w + hinge(w, b).mean(),  # Fleuret
            ]
        )

    lowest = costs(best, b)
    assert_allclose(lowest, [lowest[0], lowest[0] / (L * C), lowest[0] / (L * C)])
    for step in 1e-3 * RANDOM.normal(size=(50, 3)):
        assert np.all(costs(best + step[:2], b + step[2]) >= lowest - 1e-9)


def test_multipliers():
    """The thesis's α are μ times the usual ones: at most 1/L instead of C."""
    C, L = 2.0, len(X)
    machine = SVC(kernel="linear", C=C, tol=1e-8).fit(X, Y)
    alpha = np.zeros(L)
    alpha[machine.support_] = np.abs(machine.dual_coef_[0]) / (L * C)
    mu = 1 / (L * C)
    assert alpha.max() == pytest.approx(1 / L)
    assert_allclose((alpha * Y) @ X / mu, machine.coef_[0], atol=1e-9)  # (3.32)


def test_multipliers_of_a_regression():
    """(3.34): α belongs to f − y ≤ ε + ξ. Ours, as LIBSVM's, belongs to y − f ≤ ε + ξ."""
    epsilon, C, L = 0.1, 3.0, len(X)
    model = SVR(C=C, epsilon=epsilon, gamma=1.0, tol=1e-8).fit(X, VALUES)
    coef = np.zeros(L)
    coef[model.support_] = model.dual_coef_[0]
    above = VALUES - model.predict(X)  # targets above the function
    assert np.all(coef[above > epsilon + 1e-6] == C)  # α of ours, α* of the thesis
    assert np.all(coef[above < -epsilon - 1e-6] == -C)
    found = decomposition(
        rbf_kernel(X, gamma=1.0), svm_problem("epsilon_svr", VALUES, C=C, epsilon=epsilon), 1e-8
    )
    ours, ours_star = found.beta[:L], -found.beta[L:]
    alpha_star, alpha = ours / (L * C), ours_star / (L * C)  # of the thesis
    assert_allclose(alpha_star - alpha, coef / (L * C), atol=1e-6)
    assert np.all(alpha[VALUES - found.f - found.biases[0] > 0] == 0)


def test_width_of_the_margin():
    """ρ = 2/‖w‖ is the whole width. Half of it is γ here, ρ of Rakotomamonjy, C of Yuille."""
    separable = X[np.abs(X[:, 0]) > 0.2]
    labels = np.sign(separable[:, 0])
    machine = SVC(kernel="linear", C=1e6, tol=1e-8).fit(separable, labels)
    norm = np.linalg.norm(machine.coef_[0])
    distances = labels * machine.decision_function(separable) / norm
    assert distances.min() == pytest.approx(1 / norm, rel=1e-6)
    found = MarginPerceptron(max_iter=1000, scaling=None, random_state=0).fit(separable, labels)
    assert found.geometric_margin_ == pytest.approx(2 / np.linalg.norm(found.coef_))
    assert theory.novikoff_bound(3.0, rho=0.5) == pytest.approx(3**2 / 0.25**2)  # R²/(ρ/2)²


def test_sign_of_zero():
    """sign(0) = −1 as in 3.1; Fleuret's σ(0) is +1. An update at f = 0 is common to all."""
    model = Perceptron(shuffle=False).fit([[1.0], [-1.0]], [1, -1])
    assert model.decision_function([[0.0]])[0] == 0.0
    assert model.predict([[0.0]])[0] == -1
