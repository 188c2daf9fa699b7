"""Errata of Chapter 8 of the thesis and of the report; `docs/errata.md` lists them."""

import numpy as np
import pytest
from scipy.optimize import minimize

from widemargin import theory
from widemargin.datasets import fetch_connect4
from widemargin.reference.committees import Committee, simple_mlp
from widemargin.reference.perceptrons import margin_perceptron, perceptron, sgd_svm
from widemargin.reference.svm import decomposition, svm_problem

RANDOM = np.random.default_rng
CLASSES = np.array([1.0, -1.0])  # x = ±1, y = ±1


def primal(mu, w, b, X, y):
    """(8.6)."""
    return 0.5 * mu * w @ w + np.maximum(0, 1 - y * (X @ w + b)).mean()


# ------------------------------------------------------------ criteria and multipliers


def test_kink_of_the_criterion():
    """With G = 0 at the kink (8.11), the original perceptron never leaves its start at zero."""
    X, y = RANDOM(0).normal(size=(20, 3)), np.ones(20)
    w = np.zeros(3)
    for x, sign in zip(X, y, strict=True):
        f = w @ x
        slope = 0.0 if f == 0 else -sign * (sign * f < 0)  # (8.11) with (8.14)
        w = w - slope * x
    assert np.all(w == 0)
    assert perceptron(X, y, range(20))[2] > 0  # Algorithm 3.1, which takes the other slope


def test_multipliers_of_equal_examples():
    """Two equal examples on the margin: (8.7) holds for different α at the same minimum."""
    x, y, mu, L = np.array([1.0, 1.0, -1.0]), np.array([1.0, 1.0, -1.0]), 0.5, 3
    w, b, xi = 1.0, 0.0, np.zeros(3)
    for first in (0.0, 0.1, 0.25):
        alpha = np.array([first, 0.25 - first, 0.25])
        assert w == pytest.approx(np.sum(alpha * y * x) / mu)
        assert np.sum(alpha * y) == pytest.approx(0.0)
        assert np.all((alpha >= 0) & (alpha <= 1 / L))
        assert np.all(alpha * (1 - xi - y * (w * x + b)) == 0)
    gradients = np.column_stack([-y, -y * x])  # of the constraints, by b and w
    assert np.linalg.matrix_rank(gradients) < 3  # so they are dependent


# ------------------------------------------------------------------------- Theorem 8.1


def test_geometric_sum():
    L, step, epochs = 20, 0.01, 7
    alpha = 0.0
    for _ in range(epochs):
        alpha = (1 - step) ** L * alpha + step  # (8.17)
    shrunk = (1 - step) ** L
    assert step * (1 - shrunk**epochs) / (1 - shrunk) == pytest.approx(alpha)
    assert step * (1 - shrunk**epochs) / shrunk != pytest.approx(alpha, rel=0.5)


def test_epochs_to_the_bound():
    """−log(λμ)/(Lλμ) is right in the limit λμ → 0 with L fixed, and twice too large before."""
    L, step = 10_000, 1e-7
    exact = theory.bound_epochs(L, 1.0, step)
    assert exact == pytest.approx(7601.3, abs=0.1)
    assert np.log(2 / (L * step)) / (L * step) == pytest.approx(exact, rel=1e-3)
    assert -np.log(step) / (L * step) == pytest.approx(16_118, abs=1)
    ratios = [
        -np.log(step) / (50 * step) / theory.bound_epochs(50, 1.0, step)
        for step in (1e-4, 1e-8, 1e-16, 1e-32)
    ]
    assert np.all(np.diff(ratios) < 0)
    assert ratios[-1] == pytest.approx(1, abs=0.06)


def test_report_epochs_to_the_bound():
    assert np.log(10_000 * 1e-7) / (10_000 * 1e-7) < 0


def test_solution_in_one_epoch():
    """Theorem 8.1 needs an example at its bound, or one that loses its weight.

    Here both examples are free support vectors, and one epoch finds the exact solution.
    """
    X, y, mu = CLASSES[:, None], CLASSES, 0.01
    rate = (1 - np.sqrt(1 - mu)) / mu
    w, b, _, _ = sgd_svm(X, y, [0, 1], [rate, rate], mu)
    optimum = decomposition(X @ X.T, svm_problem("c_svc", y, C=1 / (mu * 2)), tol=1e-12)
    assert primal(mu, w, b, X, y) == pytest.approx(mu * optimum.primal, rel=1e-12)
    assert w[0] == pytest.approx(1.0)
    assert theory.decay_epochs(2, rate, mu) > 99  # "at least 1/(Lλμ) epochs"


# ----------------------------------------------------------------- margins of perceptrons


def test_square_of_the_norm():
    """(8.26): 2/‖w‖ ≥ 2/√(‖w‖² + b²) always, 2/‖w‖ ≥ 2/√(‖w‖ + b²) not."""
    w, b = 4.0, 0.0
    assert 2 / w >= 2 / np.sqrt(w**2 + b**2)
    assert 2 / w < 2 / np.sqrt(w + b**2)


def test_radius_with_a_bias():
    """Theorem 8.2 with R² in place of (R + 1)²: small inputs x = ±r end with a smaller margin."""
    r, rate = 0.1, 300.0
    X, y = r * CLASSES[:, None], CLASSES
    w, b, updates = margin_perceptron(X, y, [0, 1] * 10, rate)
    assert updates < 20
    assert np.all(y * (X @ w + b) > 1)
    rho, largest = 2 / np.linalg.norm(w), 2 * r
    assert rho < largest / np.sqrt(1 + r**2) / (2 + r**2 * rate)  # as printed
    assert rho >= largest / np.sqrt(1 + r**2) / (2 + (r + 1) ** 2 * rate)
    assert rho >= theory.separable_margin_bound(r, largest, rate, bias=True)  # R² + 1 is enough


# ----------------------------------------------------------------------- hidden units


def test_norm_of_the_hidden_layer():
    """‖Φ(x)‖ ≤ √N, which is reached; N is a bound too, but makes Theorem 8.3 much weaker."""
    N = 100
    hidden = np.clip(RANDOM(0).normal(size=(1000, N), scale=5), -1, 1)
    assert np.linalg.norm(hidden, axis=1).max() <= np.sqrt(N)
    assert np.linalg.norm(np.ones(N)) == np.sqrt(N)
    bounds = [theory.margin_bound(1000, radius, 0.1) for radius in (np.sqrt(N), N)]
    assert bounds[0] > 8 * bounds[1]


def network_cost(theta, mu, nu):
    """(8.10) of one HardTanh unit on x = ±1, y = ±1."""
    w, v, a, b = theta
    f = b + w * np.clip(v * CLASSES + a, -1, 1)
    return mu / 2 * w**2 + nu / 2 * v**2 + np.maximum(0, 1 - CLASSES * f).mean()


def test_kinks_of_hidden_units():
    """A minimum puts examples on the kinks |v·x + a| = 1; (8.30) and the local SVM fail there."""
    mu, nu = 2.0, 0.1
    best = np.array([0.5, 1.0, 0.0, 0.0])
    random = RANDOM(0)
    starts = [best + 0.01 * random.normal(size=4), *random.normal(size=(30, 4), scale=2)]
    options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000}
    found = [
        minimize(network_cost, s, (mu, nu), method="Nelder-Mead", options=options).fun
        for s in starts
    ]
    assert network_cost(best, mu, nu) <= min(found) + 1e-9  # a global minimum
    total = mu * best[0]  # Σ α_l, since w = (1/μ) Σ α_l y_l Φ(x_l) and y_l Φ(x_l) = 1
    assert total == 1.0  # both α at their bound 1/L: both examples are within the margin
    assert best[0] / nu * total == pytest.approx(5.0)  # v by (8.30) with h'(±1) = 1; v is 1
    local = [nu / 2 * v**2 + max(0, 1 - best[0] * v) for v in (1.0, 2.0)]  # (8.32)
    assert local[1] < local[0]  # v = 1 does not solve the local SVM


def test_units_that_start_equal():
    """Algorithm 8.2 from zero: all units stay the same, so the committee is one unit."""
    random = RANDOM(0)
    X = random.normal(size=(200, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
    start = Committee(np.zeros((5, 2)), np.zeros(5))
    end, updates = simple_mlp(start, X, y, list(range(200)) * 3, 0.01, 1.0)
    assert updates > 100
    assert np.all(end.v == end.v[0])
    assert np.all(end.a == end.a[0])


# ---------------------------------------------------------------------------- the report


def test_report_dual():
    """(9) without 1/μ, with the weights (11), misses the minimum of (3) unless μ = 1."""
    random, L, mu = RANDOM(0), 30, 0.02
    X = random.normal(size=(L, 2))
    y = np.where(X[:, 0] + random.normal(size=L) > 0, 1.0, -1.0)
    K = X @ X.T

    def machine(C, factor):
        found = decomposition(K, svm_problem("c_svc", y, C=C), tol=1e-8)
        w = factor * (found.beta @ X)
        errors = [primal(mu, w, b, X, y) for b in np.linspace(-5, 5, 2001)]
        return min(errors)

    correct = machine(1 / (mu * L), 1.0)  # α/μ solves the usual dual
    printed = machine(1 / L, 1 / mu)
    assert printed > 1.05 * correct


def test_report_kkt_sign():
    """(7) asks for φ ≥ 0, but a solution has φ ≤ 0 (5), and φ < 0 somewhere."""
    random = RANDOM(0)
    X = random.normal(size=(30, 2))
    y = np.where(X[:, 0] + random.normal(size=30) > 0, 1.0, -1.0)
    found = decomposition(X @ X.T, svm_problem("c_svc", y), tol=1e-10)
    margins = y * (found.f + found.biases[0])
    slack = np.maximum(0, 1 - margins)
    phi = np.concatenate([-slack, 1 - slack - margins])
    assert phi.max() <= 1e-9
    assert phi.min() < -0.1


def test_report_lost_rate():
    """(25) needs λ: with small λ, tλ ≤ (2/ρ) √t √(2/λ + R²) gives another bound than (26)."""
    rate, R, rho = 0.01, 1.0, 0.5
    by_thesis = 4 / rho**2 * (2 / rate + R**2)  # from tλ ≤ (2/ρ) λ √t √(2/λ + R²)
    by_report = by_thesis / rate**2  # from (25) as printed
    assert theory.separable_updates_bound(R, rho, rate) == pytest.approx(by_thesis)
    assert by_report > 1000 * by_thesis


def test_report_local_decay():
    """A decay ν/w^i < 0 for w^i < 0 has no minimum; (35) without w^i is another constraint."""
    nu, w = 0.1, -2.0
    costs = [
        0.5 * (nu / w) * v**2 + np.maximum(0, 1 - CLASSES * v * CLASSES).mean()
        for v in (1.0, 1e3, 1e6)
    ]
    assert np.all(np.diff(costs) < 0)
    assert costs[-1] < -1e9
    v, a, b, x, y = 0.4, 0.0, 0.2, -1.0, 1.0  # y f = y (b + w (v x + a)) = 1
    assert y * (b + w * (v * x + a)) == pytest.approx(1.0)
    assert y * w * (v * x + a) >= 1 - y * b - 1e-12  # (8.32)
    assert y * (v * x + a) < 1 - y * b  # (35)


def test_report_algorithm_2():
    """It tests y (w·x + b) with w = 0, which never changes: the output f(x) is meant."""
    start = Committee(np.array([[1.0], [2.0]]), np.zeros(2))
    x, y, margin = np.array([1.0]), 1.0, 1.5
    assert y * start.output(x) > margin  # no update
    assert y * (0.0 * x[0] + start.b) <= margin  # the printed test asks for one
    assert simple_mlp(start, x[None], np.array([y]), [0], 0.1, margin)[1] == 0


def test_report_significance():
    """10.3 against 11.4 % of 10,000 examples: 98.8 % on two sides."""
    assert theory.two_proportions(1030, 1140, 10_000).p_value == pytest.approx(0.012, abs=5e-4)


@pytest.mark.data
def test_report_balance():
    """Connect-4, wins against the rest, is not balanced."""
    assert np.mean(fetch_connect4().target == 1) == pytest.approx(0.658, abs=1e-3)
