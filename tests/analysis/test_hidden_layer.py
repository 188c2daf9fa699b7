"""Theorem 8.4: at a minimum its residuals vanish, elsewhere they say what does not hold."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize

from widemargin import MLPClassifier, NilssonMLPClassifier, SimpleMLPClassifier
from widemargin.analysis import hidden_layer_svm
from widemargin.analysis.local_svm import solve_local
from widemargin.analysis.margin_network import margin_network
from widemargin.datasets import fetch_connect4, fetch_forest

MU, NU = 1e-4, 1.0  # a large ν keeps units between their kinks
SEEDS = st.integers(0, 10_000)
FEW = settings(deadline=None, max_examples=15)


def blobs(seed, rows=40, width=3):
    random = np.random.default_rng(seed)
    y = np.where(np.arange(rows) % 2 == 0, 1.0, -1.0)
    return random.normal(size=(rows, width)) + 0.7 * y[:, None], y


def network(X, y, units=1, activation="hard_tanh", **options):
    """A network in float64 that sees X as it is, after one epoch."""
    options = {"max_iter": 1, "scaling": None, "dtype": "float64"} | options
    model = MLPClassifier((units,), activation=activation, loss="margin", random_state=0, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def with_weights(model, V, a, w, b):
    parts = [np.asarray(part, dtype=float) for part in (V, a, w, b)]
    model._parameters = np.concatenate([part.ravel() for part in parts])
    return model


def straight_minimum(X, y, mu, nu):
    """The exact minimum of (8.28) with one unit that is between its kinks for every example.

    There f = u·x + b with u = wv. For a given u, the least of μw²/2 + ν‖v‖²/2 is √(μν) ‖u‖, at
    w² = √(ν/μ) ‖u‖. And u minimises √(μν) ‖u‖ + mean loss if it is the SVM with the weight decay
    √(μν)/‖u‖.
    """
    kappa = np.sqrt(mu * nu)

    def svm(decay):
        found = solve_local(X, y, np.ones(len(y)), np.full(len(y), 1 / len(y)), decay)
        return found.v, found.a

    def miss(log_decay):
        u, _ = svm(np.exp(log_decay))
        return log_decay + np.log(np.linalg.norm(u)) - np.log(kappa)

    u, b = svm(np.exp(brentq(miss, -9.0, 2.0, xtol=1e-12)))
    w = np.sqrt(np.sqrt(nu / mu) * np.linalg.norm(u))
    return (u / w)[:, None], [0.0], [[w]], [b]


def minimum(seed, units=3):
    """The same minimum shared by several units: any w_n v_n that add up to u, in parallel."""
    X, y = blobs(seed)
    V, _, w, b = straight_minimum(X, y, MU, NU)
    random = np.random.default_rng(seed)
    share = np.sqrt(random.dirichlet(np.ones(units))) * random.choice([-1.0, 1.0], size=units)
    model = with_weights(network(X, y, units), V * share, np.zeros(units), w[0] * share, b)
    return model, X, y


# ------------------------------------------------------------------------------------- at a minimum


@FEW
@given(seed=SEEDS)
def test_the_theorem_holds_at_a_minimum(seed):
    model, X, y = minimum(seed)
    found = hidden_layer_svm(model, X, y, mu=MU, nu=NU, width=1e-4, tol=1e-4)
    assert found.holds
    assert found.gradient < 1e-6
    assert found.output.excess <= 1e-6 * found.objective
    assert found.output.svm_margin == pytest.approx(found.output.margin, rel=1e-3)
    for unit in found.units:
        assert unit.excess <= 1e-6 * found.objective
        assert unit.n_lost == 0
        assert unit.n_local == len(y)
    assert "does not hold" not in str(found)


@FEW
@given(seed=SEEDS)
def test_weights_are_sparse_combinations_of_examples(seed):
    model, X, y = minimum(seed)
    found = hidden_layer_svm(model, X, y, mu=MU, nu=NU, width=1e-4)
    for unit in found.units:
        assert 0 < len(unit.support) < len(y)
        combined = unit.coef @ X[unit.support]
        np.testing.assert_allclose(combined, model.coefs_[0][:, unit.unit], atol=1e-5)
    assert np.all((found.alpha >= 0) & (found.alpha <= 1 / len(y)))


@FEW
@given(seed=SEEDS, unit=st.integers(0, 2))
def test_it_fails_when_a_unit_is_moved(seed, unit):
    """Not a minimum: the assumption of the theorem is broken on purpose."""
    model, X, y = minimum(seed)
    model.coefs_[0][:, unit] *= 1.5
    found = hidden_layer_svm(model, X, y, mu=MU, nu=NU, width=1e-4)
    assert not found.holds
    assert not found.unit_holds(found.units[unit])
    assert f"unit {unit}: (8.30) does not hold" in str(found)


@FEW
@given(seed=SEEDS)
def test_it_fails_when_the_output_layer_is_moved(seed):
    model, X, y = minimum(seed)
    model.intercepts_[1][0] += 0.5
    found = hidden_layer_svm(model, X, y, mu=MU, nu=NU, width=1e-4, tol=1e-3)
    assert not found.output_holds
    assert found.output.cost > found.output.optimum
    assert "(8.3): does not hold" in str(found)


def test_a_minimum_at_a_kink_does_not_satisfy_the_printed_equation():
    """Two examples at ±1, f = w h(vx): wv = 1 costs (μ/v² + νv²)/2 for v <= 1.

    For ν < μ the minimum is at the kink, v = w = 1. Then (8.7) gives α = μ/2 twice, and (8.30)
    would say ν = μ h'. It needs h' = ν/μ, where the thesis has 1.
    """
    X, y, mu, nu = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0]), 0.02, 0.005
    model = with_weights(network(X, y), [[1.0]], [0.0], [[1.0]], [0.0])
    net = margin_network(model, X, y, None, mu, nu)
    for step in np.random.default_rng(0).normal(scale=0.01, size=(500, 4)):
        v, a, w, b = np.array([1.0, 0.0, 1.0, 0.0]) + step
        moved = with_weights(model, [[v]], [a], [[w]], [b])
        assert margin_network(moved, X, y, None, mu, nu).objective >= net.objective
    model = with_weights(model, [[1.0]], [0.0], [[1.0]], [0.0])
    found = hidden_layer_svm(model, X, y, mu=mu, nu=nu)
    assert found.output_holds
    assert not found.holds
    unit = found.units[0]
    assert unit.n_at_kink == 2
    assert unit.residual > 0.5
    assert unit.kink_residual < 1e-6
    assert "if h' is free at 2 kinks" in str(found)


# ----------------------------------------------------------------------------------- trained models


def test_a_trained_network():
    """The cost of the output layer is next to that of the SVM; residuals say how far it is."""
    X, y = blobs(0, rows=200)
    y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
    model = network(X, y, 6, solver="lbfgs", tol=1e-9, max_iter=3000, alpha=0.01)
    found = hidden_layer_svm(model, X, y)
    assert found.objective == pytest.approx(model.history_[-1]["objective"], rel=1e-9)
    assert found.output.optimum <= found.output.cost
    assert found.output.excess <= 0.01 * found.objective
    for unit in found.units:
        assert unit.bound <= unit.optimum * (1 + 1e-9)
        assert unit.optimum <= unit.cost
        assert unit.kink_residual <= unit.residual * (1 + 1e-9)
        v, X_hat = model.coefs_[0][:, unit.unit], X[unit.support]
        combined = unit.coef @ X_hat
        assert unit.residual == pytest.approx(np.linalg.norm(v - combined) / np.linalg.norm(v))
        terms = np.abs(unit.coef) @ np.linalg.norm(X_hat, axis=1)
        assert unit.imbalance == pytest.approx(np.linalg.norm(v - combined) / terms)


@pytest.mark.parametrize("activation", ["tanh", "slanted_tanh", "logistic", "relu", "identity"])
def test_other_transfer_functions(activation):
    """The gradient of J is that of finite differences where no example is on the margin."""
    X, y = blobs(1)
    model = network(X, y, 2, activation)
    net = margin_network(model, X, y, None, MU, NU)
    alpha, _ = net.multipliers(0.0)
    by_w, by_b, by_V, by_a = net.gradient(alpha)
    expected = np.concatenate([by_V.ravel(), by_a, by_w, [by_b]])
    theta, slopes = model._parameters.copy(), []
    for step in 1e-6 * np.eye(len(theta)):
        costs = []
        for sign in (1.0, -1.0):
            model._parameters = theta + sign * step
            costs.append(margin_network(model, X, y, None, MU, NU).objective)
        slopes.append((costs[0] - costs[1]) / 2e-6)
    np.testing.assert_allclose(slopes, expected, atol=1e-6)
    model._parameters = theta
    found = hidden_layer_svm(model, X, y, units=[1])
    assert [unit.unit for unit in found.units] == [1]
    assert np.isnan(found.units[0].cost) == (activation not in ("relu", "identity"))


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_simple_mlp(fit_intercept):
    """w = 1: only b is an output parameter, and the margin is 2β/√N (8.6)."""
    X, y = blobs(2, rows=120)
    y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
    options = {"n_units": 5, "margin": 1.0, "fit_intercept": fit_intercept, "random_state": 0}
    model = SimpleMLPClassifier(**options).fit(sp.csr_array(X), y)
    net = margin_network(model, X, y, None, None, None)
    np.testing.assert_allclose(1.0 - y * model.decision_function(X), net.slack, atol=1e-5)
    found = hidden_layer_svm(model, X, y)
    loss = np.mean(np.maximum(0.0, net.slack))
    assert found.objective == pytest.approx(loss)
    assert found.output.margin == pytest.approx(model.geometric_margin_)
    assert found.output.residual == 0.0
    assert found.output.optimum <= found.output.cost
    shifts = np.append(y * net.slack, 0.0) if fit_intercept else [0.0]  # an optimum is at a kink
    best = min(np.mean(np.maximum(0.0, net.slack - y * shift)) for shift in shifts)
    assert found.output.optimum == pytest.approx(best, abs=1e-9)
    assert all(unit.optimum <= unit.cost for unit in found.units)


def test_weights_of_examples_are_their_costs():
    X, y = blobs(3)
    weights = np.random.default_rng(0).integers(1, 4, size=len(y)).astype(float)
    model = network(X, y, 2)
    weighted = hidden_layer_svm(model, X, y, weights, mu=MU, nu=NU)
    rows = np.repeat(np.arange(len(y)), weights.astype(int))
    repeated = hidden_layer_svm(model, X[rows], y[rows], mu=MU, nu=NU)
    assert weighted.objective == pytest.approx(repeated.objective)
    assert weighted.output.optimum == pytest.approx(repeated.output.optimum, rel=1e-4)
    assert weighted.units[0].optimum == pytest.approx(repeated.units[0].optimum, rel=1e-4)


# -------------------------------------------------------------------------------- the local machine


@FEW
@given(seed=SEEDS, nu=st.sampled_from([0.0, 0.01, 0.3]))
def test_local_machines_are_optimal(seed, nu):
    """Against a general solver, with margins of any sign."""
    random = np.random.default_rng(seed)
    X, y = blobs(seed, rows=12, width=2)
    p, c = random.normal(0.5, 1.0, size=12), random.uniform(0.01, 0.2, size=12)
    found = solve_local(X, y, p, c, nu)

    def cost(t):
        return 0.5 * nu * t[:2] @ t[:2] + c @ np.maximum(0, p - y * (X @ t[:2] + t[2]))

    point = np.append(found.v, found.a)
    assert cost(point) == pytest.approx(found.cost)
    assert found.bound <= found.cost * (1 + 1e-9)
    assert found.cost - found.bound <= 1e-5 * c.sum()
    for start in (point, np.zeros(3)):
        best = minimize(cost, start, method="Nelder-Mead", options={"maxiter": 2000})
        assert best.fun >= found.bound - 1e-9
    np.testing.assert_allclose(found.v * nu, (y * found.alpha) @ X, atol=1e-6)
    assert y @ found.alpha == pytest.approx(0.0, abs=1e-6)


# -------------------------------------------------------------------------------------- bad options


def test_what_it_refuses():
    X, y = blobs(4)
    with pytest.raises(ValueError, match="loss='margin'"):
        hidden_layer_svm(network(X, y).set_params(loss="log_loss"), X, y)
    deep = MLPClassifier((3, 3), loss="margin", max_iter=1, tol=None).fit(X, y)
    with pytest.raises(ValueError, match="2 hidden layers"):
        hidden_layer_svm(deep, X, y)
    with pytest.raises(ValueError, match="adamw"):
        hidden_layer_svm(network(X, y, solver="adamw"), X, y)
    with pytest.raises(ValueError, match="3 classes"):
        hidden_layer_svm(network(X, np.arange(len(y)) % 3), X, y)
    with pytest.raises(ValueError, match=r"units=\[7\]"):
        hidden_layer_svm(network(X, y), X, y, units=[7])
    with pytest.raises(TypeError, match="NilssonMLPClassifier"):
        hidden_layer_svm(NilssonMLPClassifier(n_units=3).fit(X, y), X, y)
    simple = SimpleMLPClassifier(n_units=3, n_committees=2).fit(X, y)
    with pytest.raises(ValueError, match="n_committees=1"):
        hidden_layer_svm(simple, X, y)
    with pytest.raises(ValueError, match="no output weights"):
        hidden_layer_svm(SimpleMLPClassifier(n_units=3).fit(X, y), X, y, mu=0.1)


# -------------------------------------------------------------------------------------- real tables


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("fetch", [fetch_forest, fetch_connect4])
def test_residuals_on_the_tables_of_the_thesis(fetch):
    """1,000 examples. Costs are within a per cent of J; equations are not said to hold if not."""
    data = fetch(split="thesis")
    X, y = data.X_train[:1000].astype(float), data.y_train[:1000]
    model = network(
        X,
        y,
        5,
        scaling="standard",
        solver="sgd",
        batch_size=1,
        momentum=0.0,
        learning_rate="linear",
        learning_rate_init=0.01,
        max_iter=300,
        tol=None,
        alpha=0.0,
        weight_decay=1.0,
    )
    found = hidden_layer_svm(model, X, y, width=0.1)
    assert found.output.excess <= 0.01 * found.objective
    assert max(unit.excess for unit in found.units) <= 0.01 * found.objective
    assert max(unit.imbalance for unit in found.units) <= 0.05
    broken = sum("(8.30) does not hold" in line for line in str(found).splitlines())
    assert broken == sum(not found.unit_holds(unit) for unit in found.units)
