"""Theorems 8.2 and 8.3 in the hidden layer: norms and updates of units, margin of the outputs."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from widemargin import MLPClassifier, SimpleMLPClassifier, theory
from widemargin.reference.committees import Committee

PROPERTY = settings(deadline=None, max_examples=25)
SEEDS = st.integers(0, 10_000)
FLOAT32 = 1 + 1e-5  # committees have weights in float32


def problem(seed, rows=40, width=3):
    random = np.random.default_rng(seed)
    return random.normal(size=(rows, width)), np.where(np.arange(rows) % 2, 1.0, -1.0)


def separable(seed, gamma, rows=30, width=3):
    """Examples, and the margin ρ of a hyperplane through the origin over (x, 1)."""
    random = np.random.default_rng(seed)
    u = random.normal(size=width)
    u /= np.linalg.norm(u)
    X, y = problem(seed, rows, width)
    X = X + np.outer(y * (gamma + np.abs(X @ u)) - X @ u, u)
    return X, y, 2 * np.min(y * (X @ u))


def trained(start, X, y, epochs, rate, beta, inside=1.0):
    """Algorithm 8.2, with the number of updates of each unit; units move where |z| <= inside."""
    committee, counts, norms = start, np.zeros(len(start.a), dtype=int), []
    for l in list(range(len(y))) * epochs:
        x = X[l]
        if y[l] * committee.output(x) <= beta:
            chosen = np.abs(committee.units(x)) <= inside
            committee = committee.moved(chosen.astype(float), x, rate * y[l])
            counts += chosen
        norms.append((counts.copy(), np.hypot(np.linalg.norm(committee.v, axis=1), committee.a)))
    return committee, norms


def first_committee(seed, units, width=3, size=0.5):
    random = np.random.default_rng(seed + 1)
    return Committee(random.normal(0, size, (units, width)), random.normal(0, size, units))


def norms_of(committee):
    return np.hypot(np.linalg.norm(committee.v, axis=1), committee.a)


# ----------------------------------------------------------------------------------- norms of units


def holds_at_every_visit(norms, starts, R, rate):
    return all(
        norm <= theory.unit_norm_bound(int(t), R, rate, start=start) * (1 + 1e-9)
        for counts, lengths in norms
        for t, norm, start in zip(counts, lengths, starts, strict=True)
    )


@PROPERTY
@given(seed=SEEDS, rate=st.floats(0.01, 1.0), beta=st.floats(0.1, 5.0), units=st.integers(1, 6))
def test_the_norm_of_a_unit_after_its_updates(seed, rate, beta, units):
    X, y = problem(seed)
    start = first_committee(seed, units)
    _, norms = trained(start, X, y, 3, rate, beta)
    assert holds_at_every_visit(norms, norms_of(start), theory.radius(X), rate)


def test_it_fails_if_units_move_outside_their_range():
    """If every example moved every unit, |z| <= 1 would not bound the growth."""
    X, y = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
    start = Committee(np.array([[0.5], [-0.5]]), np.zeros(2))
    R, rate = theory.radius(X), 0.5
    for inside, expected in ((1.0, True), (np.inf, False)):
        _, norms = trained(start, X, y, 60, rate, beta=100.0, inside=inside)
        assert holds_at_every_visit(norms, norms_of(start), R, rate) == expected


@PROPERTY
@given(seed=SEEDS, rate=st.floats(0.01, 0.5), schedule=st.sampled_from(["constant", "decay"]))
def test_the_norms_of_a_trained_simple_mlp(seed, rate, schedule):
    """The updates of a unit are at most those of the committee, and λ at most the first one."""
    X, y = problem(seed)
    model = SimpleMLPClassifier(
        n_units=5,
        margin=2.0,
        learning_rate=rate,
        schedule=schedule,
        encoding=None,
        scaling=None,
        max_iter=1,
        random_state=seed,
        warm_start=True,
    )
    untrained = SimpleMLPClassifier(**model.get_params() | {"learning_rate": 1e-30}).fit(X, y)
    starts, ends = (
        np.hypot(np.linalg.norm(fit.coefs_[0][0, 0], axis=0), fit.intercepts_[0][0, 0])
        for fit in (untrained, model.set_params(max_iter=10).fit(X, y))
    )
    R = theory.radius(X)
    for start, end in zip(starts, ends, strict=True):
        bound = theory.unit_norm_bound(model.n_updates_, R, rate, start=float(start))
        assert end <= bound * FLOAT32


@PROPERTY
@given(seed=SEEDS, rate=st.floats(0.01, 0.3), gamma=st.floats(0.3, 1.0))
def test_updates_of_a_unit_on_separable_data(seed, rate, gamma):
    X, y, rho = separable(seed, gamma)
    start = first_committee(seed, 4)
    R, starts = theory.radius(X), norms_of(start)
    _, norms = trained(start, X, y, 100, rate, beta=50.0)  # β that is never reached
    for count, norm in zip(norms[-1][0], starts, strict=True):
        assert count <= theory.unit_updates_bound(R, rho, rate, start=float(norm)) * (1 + 1e-9)


def test_updates_are_not_bounded_if_no_hyperplane_separates():
    """XOR has no margin; with a ρ that it does not have, the bound is exceeded."""
    X = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    y = np.array([1.0, 1.0, -1.0, -1.0])
    start = first_committee(0, 2, width=2, size=0.1)
    _, norms = trained(start, X, y, 400, 0.1, beta=50.0)
    bound = theory.unit_updates_bound(theory.radius(X), 2.0, 0.1, start=norms_of(start).max())
    assert norms[-1][0].max() > bound


# ------------------------------------------------------------------------------------- output layer


def network(X, y, rate, seed, activation, **options):
    """Plain stochastic gradient on (8.10) without weight decay; the start is the same."""
    options = {"max_iter": 8, "alpha": 0.0, "weight_decay": 0.0} | options
    model = MLPClassifier(
        (4,),
        activation=activation,
        loss="margin",
        solver="sgd",
        momentum=0.0,
        batch_size=1,
        learning_rate_init=rate,
        tol=None,
        scaling=None,
        dtype="float64",
        random_state=seed,
        **options,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


@PROPERTY
@given(
    seed=SEEDS,
    rate=st.floats(0.001, 0.5),
    activation=st.sampled_from(["hard_tanh", "tanh", "logistic"]),
)
def test_the_margin_in_the_hidden_layer(seed, rate, activation):
    X, y = problem(seed)
    first = network(X, y, 1e-30, seed, activation, max_iter=1)
    model = network(X, y, rate, seed, activation)
    start = float(np.hypot(np.linalg.norm(first.coefs_[1]), first.intercepts_[1][0]))
    updates = np.cumsum([record["updates"] for record in model.history_])
    for t, record in zip(updates, model.history_, strict=True):
        bound = theory.hidden_margin_bound(int(t), 4, rate, start=start)
        assert record["geometric_margin"] >= bound * (1 - 1e-9)
        printed = 2.0 / np.sqrt(start**2 + t * rate**2 * (2 / rate + (4 + 1) ** 2))
        assert bound >= printed * (1 - 1e-9)  # with ‖Φ‖ <= N


def test_the_margin_bound_needs_bounded_units():
    """ReLU units have no ‖Φ(x)‖ <= √N: large inputs make the output weights grow faster."""
    X, y = problem(0)
    first = network(100 * X, y, 1e-30, 0, "relu", max_iter=1)
    model = network(100 * X, y, 0.01, 0, "relu", max_iter=1)
    start = float(np.hypot(np.linalg.norm(first.coefs_[1]), first.intercepts_[1][0]))
    bound = theory.hidden_margin_bound(model.n_updates_, 4, 0.01, start=start)
    assert model.history_[-1]["geometric_margin"] < bound


@PROPERTY
@given(seed=SEEDS, rate=st.floats(0.001, 0.3), activation=st.sampled_from(["hard_tanh", "tanh"]))
def test_norms_of_hidden_units_with_output_weights(seed, rate, activation):
    """With W the largest output weight of any epoch's end, after single visits."""
    X, y = problem(seed, rows=2)
    first = network(X, y, 1e-30, seed, activation, max_iter=1)
    model = network(X, y, rate, seed, activation, max_iter=1)
    # two visits: before each, |w_n| is at most the first plus one step of at most λ
    W = np.abs(first.coefs_[1][:, 0]) + rate
    starts, ends = (
        np.hypot(np.linalg.norm(fit.coefs_[0], axis=0), fit.intercepts_[0])
        for fit in (first, model)
    )
    for start, end, weight in zip(starts, ends, W, strict=True):
        bound = theory.unit_norm_bound(
            model.n_updates_, theory.radius(X), rate, start=start, output_weight=weight
        )
        assert end <= bound * (1 + 1e-9)


# ---------------------------------------------------------------------------------------- formulas


def test_formulas():
    assert theory.hidden_margin_bound(7, 9, 0.1) == pytest.approx(theory.margin_bound(7, 3.0, 0.1))
    assert theory.margin_bound(5, 2.0, 0.1, start=3.0) == pytest.approx(
        2 / np.sqrt(9 + 5 * 0.01 * (20 + 5))
    )
    assert theory.margin_bound(0, 2.0, 0.1, start=4.0) == pytest.approx(0.5)
    assert theory.unit_norm_bound(6, 2.0, 0.1, start=3.0, output_weight=0.5) == pytest.approx(
        np.sqrt(9 + 6 * 0.01 * (2 * 0.5 / 0.1 + 0.25 * 5))
    )
    assert theory.unit_norm_bound(6, 2.0, 0.1, start=3.0, output_weight=0.0) == 3.0
    assert theory.unit_updates_bound(2.0, 0.5, 0.1, start=1.5) == pytest.approx(
        16 * (20 + 5) + 4 / (0.5 * 0.1) * 1.5
    )
