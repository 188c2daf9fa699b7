"""The conditions of Theorem 3.2 hold where they are said to, and fail where they are said to."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from widemargin import criteria, schedules, theory

CRITERIA = {
    "perceptron": criteria.Perceptron(),
    "margin": criteria.Margin(1.0),
    "squared_margin": criteria.SquaredMargin(1.0),
    "cross_entropy": criteria.CrossEntropy(),
    "mse": criteria.MSE(),
    "tanh_mse": criteria.TanhMSE(),
    "epsilon_insensitive": criteria.EpsilonInsensitive(0.1),
}
TRANSFERS = {
    "tanh": (np.tanh, lambda z: 1 - np.tanh(z) ** 2),
    "slanted_tanh": (lambda z: np.tanh(z) + 0.01 * z, lambda z: 1.01 - np.tanh(z) ** 2),
    "hard_tanh": (lambda z: np.clip(z, -1, 1), lambda z: (np.abs(z) <= 1).astype(float)),
    "sigmoid": (
        lambda z: 0.5 + 0.5 * np.tanh(z / 2),
        lambda z: 0.25 * (1 - np.tanh(z / 2) ** 2),
    ),
    "relu": (lambda z: np.maximum(z, 0), lambda z: (z > 0).astype(float)),
    "identity": (lambda z: z, np.ones_like),
}
D, N = 2, 3


def overlapping(seed=0, rows=60):
    random = np.random.default_rng(seed)
    y = np.where(np.arange(rows) % 2, 1.0, -1.0)
    return np.clip(random.normal(size=(rows, D)) + 0.3 * y[:, None], -3, 3), y


def separated():
    X, y = overlapping()
    return X + 8.0 * y[:, None], y


class Linear:
    """f and the derivatives of f, with θ = (w, b)."""

    size, decayed = D + 1, np.array([1.0, 1.0, 0.0])

    def __call__(self, X, theta):
        derivatives = np.column_stack([X, np.ones(len(X))])
        return derivatives @ theta, derivatives


class Network:
    """The same for θ = (V, a, w, b); the Simple MLP has no w."""

    def __init__(self, transfer, simple=False):
        self.h, self.slope = TRANSFERS[transfer]
        self.simple, self.size = simple, D * N + N + (0 if simple else N) + 1
        self.decayed = np.ones(self.size)
        self.decayed[D * N : D * N + N] = self.decayed[-1] = 0.0

    def parts(self, theta):
        V, a = theta[: D * N].reshape(D, N), theta[D * N : D * N + N]
        return V, a, np.ones(N) if self.simple else theta[-N - 1 : -1], theta[-1]

    def __call__(self, X, theta):
        V, a, w, b = self.parts(theta)
        z = X @ V + a
        by_sum = self.slope(z) * w
        by_V = (X[:, :, None] * by_sum[:, None, :]).reshape(len(X), -1)
        by_w = np.zeros((len(X), 0)) if self.simple else self.h(z)
        return self.h(z) @ w + b, np.column_stack([by_V, by_sum, by_w, np.ones(len(X))])


MODELS = {"linear": Linear(), "simple_mlp": Network("hard_tanh", simple=True)}
MODELS |= {f"mlp {transfer}": Network(transfer) for transfer in TRANSFERS}


def conditions(name, criterion, **options):
    model, _, transfer = name.partition(" ")
    return theory.convergence_conditions(model, criterion, transfer=transfer or None, **options)


def gradients(model, criterion, X, y, theta, mu=0.0):
    f, derivatives = model(X, theta)
    slopes = CRITERIA[criterion].derivative(y, f)
    return slopes[:, None] * derivatives + mu * model.decayed * theta


def risk(model, criterion, X, y, theta):
    return float(np.mean(CRITERIA[criterion].value(y, model(X, theta)[0])))


# ---------------------------------------------------------------------------------- iii: schedules


@settings(deadline=None)
@given(
    name=st.sampled_from(["constant", "decay", "invscaling"]),
    decay=st.sampled_from([0.0, 0.01, 0.1, 2.0]),
    power_t=st.sampled_from([0.0, 0.3, 0.5, 0.6, 0.8, 1.0, 1.2, 2.0]),
)
def test_sums_of_schedules_that_go_on(name, decay, power_t):
    """Cauchy: a falling series a(e) has a finite sum if and only if 2^k a(2^k) has."""
    rate = schedules.make_schedule(name, 0.1, decay=decay, power_t=power_t)

    def finite(power):
        terms = [2.0**k * rate(2.0**k) ** power for k in (60, 61)]
        return terms[1] / terms[0] < 1 - 1e-6

    found = theory.schedule_condition(name, decay=decay, power_t=power_t)
    assert found.holds == (not finite(1) and finite(2))


@pytest.mark.parametrize("name", schedules.ENDING_SCHEDULES)
def test_a_schedule_that_ends_has_a_finite_sum(name):
    assert schedules.make_schedule(name, 0.1, epochs=10).epochs == 10
    assert theory.schedule_condition(name).holds is False


def test_every_schedule_is_known():
    for name in schedules.SCHEDULES:
        theory.schedule_condition(name)
    assert theory.schedule_condition("inverse").holds
    with pytest.raises(ValueError, match="'sometimes' is unknown"):
        theory.schedule_condition("sometimes")


# ---------------------------------------------------------------------------------- i, ii: the risk


@settings(deadline=None, max_examples=100)
@given(
    name=st.sampled_from(list(MODELS)),
    criterion=st.sampled_from(list(CRITERIA)),
    seed=st.integers(0, 1000),
)
def test_the_mean_gradient_is_that_of_the_risk(name, criterion, seed):
    """At points where no example is at a kink, which random points are; and the risk is >= 0."""
    model, (X, y) = MODELS[name], overlapping(seed)
    theta = np.random.default_rng(seed).normal(size=model.size)
    found = gradients(model, criterion, X, y, theta).mean(axis=0)
    steps = 1e-7 * np.eye(model.size)
    slopes = [
        (risk(model, criterion, X, y, theta + s) - risk(model, criterion, X, y, theta - s)) / 2e-7
        for s in steps
    ]
    close = np.abs(found - slopes) < 1e-4
    smooth = conditions(name, criterion)["ii"].holds
    assert np.all(close) if smooth else np.mean(close) > 0.5  # a step may cross a kink
    assert risk(model, criterion, X, y, theta) >= 0
    assert conditions(name, criterion)["i"].holds


def sides(model, criterion, X, y, theta, direction):
    """The derivatives of the risk on both sides of a point."""
    here = risk(model, criterion, X, y, theta)
    there = [risk(model, criterion, X, y, theta + s * direction) for s in (1e-6, -1e-6)]
    return (there[0] - here) / 1e-6, (here - there[1]) / 1e-6


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("name", MODELS)
def test_a_finite_set_has_kinks_exactly_where_it_is_said(name, criterion):
    """One example at f = 0, f = 1 or f = 1 − ε, or a unit at a kink: are both slopes equal?"""
    model, random = MODELS[name], np.random.default_rng(3)
    X, y = np.array([[0.6, -0.4]]), np.array([1.0])
    worst = 0.0
    for goal in (0.0, 1.0, 0.9):
        theta = 0.3 * random.normal(size=model.size)
        theta[-1] += goal - model(X, theta)[0][0]
        towards_b = np.eye(model.size)[-1]
        worst = max(worst, abs(np.subtract(*sides(model, criterion, X, y, theta, towards_b))))
    if name != "linear":
        for kink in (0.0, 1.0):
            theta = 0.3 * random.normal(size=model.size)
            V, a, _, _ = model.parts(theta)
            theta[D * N] += kink - (X @ V + a)[0, 0]  # the first hidden bias
            theta[-1] += -0.5 - model(X, theta)[0][0]  # where no criterion has a kink
            towards_a = np.eye(model.size)[D * N]
            worst = max(worst, abs(np.subtract(*sides(model, criterion, X, y, theta, towards_a))))
    assert (worst < 1e-4) == conditions(name, criterion)["ii"].holds
    assert conditions(name, criterion, finite=False)["ii"].holds


def test_at_zero_weights_even_the_expected_risk_has_a_kink():
    """All positive examples are at the margin if w = 0 and b = β; so (8.12) needs w ≠ 0.

    And by (8.11) the Perceptron, which begins at zero, would never move.
    """
    model, (X, y) = Linear(), overlapping(rows=10_000)
    theta, up = np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.0, 1.0])
    above, below = sides(model, "margin", X, y, theta, up)
    assert above - below == pytest.approx(0.5, abs=1e-3)
    assert np.all(y * model(X, np.zeros(3))[0] == 0)


# ---------------------------------------------------------------------------- iv, vi: the gradients


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("name", MODELS)
def test_the_growth_of_gradients(name, criterion):
    """E‖G‖² over 1 + ‖θ‖², for θ of growing size: all of it, or only the output layer."""
    model, (X, y) = MODELS[name], overlapping()
    growth = 0.0
    for seed in range(5):
        theta = np.random.default_rng(seed).normal(size=model.size)
        for grown in (np.ones(model.size), np.arange(model.size) >= model.size - N - 1):
            ratios = []
            for size in (1e3, 1e4):
                large = theta * np.where(grown, size, 0.1)
                squares = np.sum(gradients(model, criterion, X, y, large, mu=0.1) ** 2, axis=1)
                ratios.append(squares.mean() / (1 + large @ large))
            growth = max(growth, ratios[1] / ratios[0])
    assert (growth < 2.0) == conditions(name, criterion)["iv"].holds
    if growth >= 2.0:
        assert growth > 50  # E‖G‖² grows as the fourth power


@pytest.mark.parametrize("name", MODELS)
def test_as_printed_the_last_condition_excludes_weight_decay(name):
    """‖G‖ is bounded where θ is small, and with weight decay not where θ is large."""
    model, (X, y) = MODELS[name], overlapping()
    theta = np.random.default_rng(0).normal(size=model.size)
    small, large = (
        np.linalg.norm(gradients(model, "margin", X, y, s * theta, mu=0.1), axis=1).max()
        for s in (1.0, 1e6)
    )
    assert conditions(name, "margin", weight_decay=True)["vi"].holds
    assert small < 100 < large


# ------------------------------------------------------------------------------- v: the confinement


def push(model, criterion, X, y, theta, mu):
    """θ · ∂R/∂θ."""
    return float(theta @ gradients(model, criterion, X, y, theta, mu).mean(axis=0))


def smallest_push(criterion, X, y, mu):
    """Over linear models of norm 1e4, also along the axes of w and b."""
    random = np.random.default_rng(0)
    directions = np.vstack([random.normal(size=(3000, 3)), np.eye(3), -np.eye(3), [[1, 1, 0]]])
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    return min(push(Linear(), criterion, X, y, 1e4 * u, mu) for u in directions)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_confinement_of_linear_models(criterion):
    overlap, apart = overlapping(), separated()
    found = theory.convergence_conditions("linear", criterion, weight_decay=True)["v"]
    confined = all(smallest_push(criterion, *data, 0.01) > 1e-6 for data in (overlap, apart))
    assert found.holds == confined

    found = theory.convergence_conditions("linear", criterion)["v"]
    pushes = [smallest_push(criterion, *data, 0.0) for data in (overlap, apart)]
    if found.holds is False:
        assert min(pushes) <= 1e-6
    elif "hyperplane" in found.reason:
        assert pushes[0] > 1e-6 >= pushes[1]
    else:
        X, y = overlap
        assert pushes[0] > 1e-6
        collinear = np.column_stack([X[:, 0], X[:, 0]])  # (1, −1) changes nothing
        flat = push(Linear(), criterion, collinear, y, np.array([1e4, -1e4, 0.0]), 0.0)
        assert flat == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("weight_decay", [False, True])
@pytest.mark.parametrize("name", [name for name in MODELS if name != "linear"])
def test_networks_are_not_confined(name, weight_decay):
    """The counterexample of the reason, for the slanted tanh too; of any size."""
    model, (X, y) = MODELS[name], overlapping()
    found = conditions(name, "margin", weight_decay=weight_decay)["v"]
    assert found.holds is False
    theta = np.zeros(model.size)
    hidden = slice(0, D * N + N) if not weight_decay else slice(D * N, D * N + N)
    if name == "simple_mlp":
        hidden = slice(D * N, D * N + N)  # biases that saturate the units
    theta[hidden] = 1e6
    assert push(model, "margin", X, y, theta, 0.01 * weight_decay) == 0.0


# ---------------------------------------------------------------------------------------- the whole


def test_which_models_of_the_thesis_converge():
    options = {"schedule": "inverse", "weight_decay": True, "finite": False}
    assert theory.convergence_conditions("linear", "margin", **options).holds is True
    assert theory.convergence_conditions("linear", "cross_entropy", **options).holds is True
    constant = options | {"schedule": "constant"}
    assert theory.convergence_conditions("linear", "margin", **constant).holds is False
    undecayed = options | {"weight_decay": False}
    assert theory.convergence_conditions("linear", "margin", **undecayed).holds is None
    network = theory.convergence_conditions("mlp", "margin", transfer="tanh", **options)
    assert network.holds is False
    assert "v   does not hold" in str(network)


def test_bad_names():
    with pytest.raises(ValueError, match="model='tree' is unknown"):
        theory.convergence_conditions("tree", "margin")
    with pytest.raises(ValueError, match="criterion='hinge' is unknown"):
        theory.convergence_conditions("linear", "hinge")
    with pytest.raises(ValueError, match="transfer=None does not fit"):
        theory.convergence_conditions("mlp", "margin")
    with pytest.raises(ValueError, match="transfer='tanh' does not fit"):
        theory.convergence_conditions("linear", "margin", transfer="tanh")
