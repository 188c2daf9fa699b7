"""The bounds hold in every training, and the enclosing ball holds every example."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import minimize
from sklearn.metrics.pairwise import rbf_kernel

from widemargin import MarginPerceptron, Perceptron, theory
from widemargin.reference import perceptrons as reference

PROPERTY = settings(deadline=None, max_examples=40)
ROUNDING = 1 - 1e-9
UNIT = st.floats(-1, 1, width=32)
SEEDS = st.integers(0, 2**31 - 1)


@st.composite
def separable(draw, bias):
    """Examples at least γ from a hyperplane; two of them attain γ on opposite sides.

    Gives X, y, the largest margin ρ = 2γ, and the margin of (u, a) over the examples (x, 1).
    """
    n, d = draw(st.integers(0, 30)), draw(st.integers(1, 5))
    u = draw(hnp.arrays(float, d, elements=UNIT))
    assume(np.linalg.norm(u) > 0.1)
    u /= np.linalg.norm(u)
    a = draw(UNIT) if bias else 0.0
    gamma = draw(st.floats(0.2, 1.0))
    points = draw(hnp.arrays(float, (n, d), elements=UNIT))
    signs = draw(hnp.arrays(float, n, elements=st.sampled_from([-1.0, 1.0])))

    distance = points @ u + a
    points += np.outer(signs * (gamma + np.abs(distance)) - distance, u)
    X = np.vstack([points, (gamma - a) * u, (-gamma - a) * u])
    y = np.concatenate([signs, [1.0, -1.0]])
    order = draw(st.permutations(range(n + 2)))
    gamma = np.min(y * (X @ u + a))  # after rounding
    return X[order], y[order], 2 * gamma, 2 * gamma / np.hypot(1.0, a)


# --------------------------------------------------------------------------------- separable data


@pytest.mark.slow
@pytest.mark.parametrize("bias", [False, True])
@PROPERTY
@given(data=st.data(), seed=SEEDS)
def test_mistakes_of_the_perceptron(bias, data, seed):
    X, y, _, tilted = data.draw(separable(bias))
    bound = theory.novikoff_bound(theory.radius(X), tilted, bias=bias)
    clf = Perceptron(
        fit_intercept=bias,
        scaling=None,
        tol=None,
        max_iter=int(bound) + 2,  # each epoch but the last makes a mistake
        random_state=seed,
    ).fit(X, y)
    assert clf.stop_reason_ == "no_update"
    assert clf.n_updates_ <= bound / ROUNDING
    np.testing.assert_array_equal(clf.predict(X), y)


@pytest.mark.slow
@pytest.mark.parametrize("bias", [False, True])
@PROPERTY
@given(data=st.data(), rate=st.floats(0.1, 2.0), beta=st.floats(0.5, 2.0), seed=SEEDS)
def test_updates_and_margin_of_the_margin_perceptron(bias, data, rate, beta, seed):
    X, y, largest, tilted = data.draw(separable(bias))
    R = theory.radius(X)
    bound = theory.separable_updates_bound(R, tilted, rate, beta=beta, bias=bias)
    clf = MarginPerceptron(
        margin=beta,
        learning_rate=rate,
        schedule="constant",
        fit_intercept=bias,
        scaling=None,
        early_stopping=False,
        tol=None,
        max_iter=int(bound) + 2,
        random_state=seed,
    ).fit(X, y)
    assert clf.stop_reason_ == "no_update"
    assert clf.n_updates_ <= bound / ROUNDING
    promised = theory.separable_margin_bound(R, largest, rate, beta=beta, bias=bias)
    assert clf.geometric_margin_ >= promised * ROUNDING
    # 2β/‖w‖ is a margin: no example is closer to the hyperplane than half of it
    distances = y * clf.decision_function(X) / np.linalg.norm(clf.coef_)
    assert 2 * distances.min() >= clf.geometric_margin_ * ROUNDING


def test_no_hyperplane_of_the_construction_has_a_larger_margin():
    """Check ρ of `separable` on one case, by minimising ‖w‖ subject to y (w·x + b) >= 1."""
    rng = np.random.default_rng(0)
    u, gamma = np.array([0.6, 0.8]), 0.3
    points = rng.uniform(-1, 1, size=(12, 2))
    y = np.sign(rng.normal(size=12))
    points += np.outer(y * (gamma + np.abs(points @ u)) - points @ u, u)
    X, y = np.vstack([points, gamma * u, -gamma * u]), np.append(y, [1.0, -1.0])
    best = minimize(
        lambda v: v[:2] @ v[:2],
        np.append(u / gamma, 0.0),
        constraints={"type": "ineq", "fun": lambda v: y * (X @ v[:2] + v[2]) - 1},
        method="SLSQP",
    )
    assert 2 / np.linalg.norm(best.x[:2]) == pytest.approx(2 * gamma, rel=1e-6)


# --------------------------------------------------------------------------------------- any data


def check_margin_after_every_epoch(clf, R, *, bias):
    """Theorem 8.3, and the looser form that the thesis prints."""
    rate, beta = clf.learning_rate, clf.margin
    updates = np.cumsum([record["updates"] for record in clf.history_])
    assert updates[-1] == clf.n_updates_
    for t, record in zip(updates, clf.history_, strict=True):
        promised = theory.margin_bound(t, R, rate, beta=beta, bias=bias)
        printed = 2 * beta / rate / np.sqrt(t * (2 * beta / rate + (R + 1) ** 2))
        assert record["geometric_margin"] >= promised * ROUNDING
        assert promised >= printed * ROUNDING


@st.composite
def anything(draw):
    """Any inputs and labels; inputs are small integers, so that no variance is tiny."""
    n, d = draw(st.integers(2, 40)), draw(st.integers(1, 5))
    X = draw(hnp.arrays(float, (n, d), elements=st.integers(-5, 5).map(float)))
    y = draw(hnp.arrays(float, n, elements=st.sampled_from([-1.0, 1.0])))
    y[:2] = -1, 1
    return X, y


def standardised(X):
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("scaling", [None, "standard"])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("schedule", ["constant", "decay", "invscaling"])
@settings(deadline=None, max_examples=20)
@given(
    data=anything(),
    rate=st.floats(1e-3, 2.0),
    beta=st.floats(0.25, 4.0),
    bias=st.booleans(),
    seed=SEEDS,
)
def test_margin_after_every_epoch(scaling, layout, schedule, data, rate, beta, bias, seed):
    X, y = data
    clf = MarginPerceptron(
        margin=beta,
        learning_rate=rate,
        schedule=schedule,
        fit_intercept=bias,
        scaling=scaling,
        early_stopping=False,
        tol=None,
        max_iter=8,
        random_state=seed,
    ).fit(layout(X), y)
    R = theory.radius(standardised(X) if scaling else X)
    check_margin_after_every_epoch(clf, R, bias=bias)


def test_the_margin_bound_is_nearly_reached():
    """Examples that always agree come close to the bound."""
    X, y = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
    clf = MarginPerceptron(
        learning_rate=1.0,
        schedule="constant",
        fit_intercept=False,
        scaling=None,
        max_iter=1,
        tol=None,
    ).fit(X, y)
    promised = theory.margin_bound(clf.n_updates_, 1.0, 1.0, bias=False)
    assert promised <= clf.geometric_margin_ <= 1.3 * promised


def test_without_updates_the_bound_is_infinite():
    assert theory.margin_bound(0, 1.0, 0.1) == np.inf


# ------------------------------------------------------------------------------------ the formulas


def test_bounds_agree_with_the_formulas():
    assert theory.novikoff_bound(3.0, 0.5) == 4 * 9 / 0.25
    assert theory.novikoff_bound(3.0, 0.5, bias=True) == 4 * 10 / 0.25
    assert theory.separable_updates_bound(3.0, 0.5, 0.1) == pytest.approx(16 * (20 + 9))
    assert theory.separable_margin_bound(3.0, 0.5, 0.1) == pytest.approx(0.5 / 2.9)
    assert theory.separable_margin_bound(3.0, 0.5, 0.1, bias=True) == pytest.approx(
        0.5 / np.sqrt(10) / 3.0
    )
    assert theory.margin_bound(4, 3.0, 0.1) == pytest.approx(20 / np.sqrt(4 * 30))


@PROPERTY
@given(R=st.floats(0.1, 10), rho=st.floats(0.01, 1), rate=st.floats(0.01, 1), s=st.floats(0.1, 10))
def test_bounds_do_not_depend_on_the_scale_of_the_threshold(R, rho, rate, s):
    """w/s with threshold β/s and step λ/s is the same machine, so the bounds must agree."""
    for bound in (theory.separable_updates_bound, theory.separable_margin_bound):
        assert bound(R, rho, s * rate, beta=s) == pytest.approx(bound(R, rho, rate))
    assert theory.margin_bound(7, R, s * rate, beta=s) == pytest.approx(
        theory.margin_bound(7, R, rate)
    )


@PROPERTY
@given(seed=SEEDS, n=st.integers(2, 40), d=st.integers(1, 6), gamma=st.floats(0.05, 1.0))
def test_each_mistake_lowers_the_potential(seed, n, d, gamma):
    """Yuille's proof: V falls by R² or more per mistake, and V(0) / R² is Novikoff's bound."""
    random = np.random.default_rng(seed)
    u = random.normal(size=d)
    u /= np.linalg.norm(u)
    X, y = random.normal(size=(n, d)), random.choice([-1.0, 1.0], size=n)
    X += np.outer(y * (gamma + np.abs(X @ u)) - X @ u, u)
    R, rho, w = theory.radius(X), 2 * np.min(y * (X @ u)), np.zeros(d)
    values = [theory.potential(w, u, R, rho)]
    for x, label in [*zip(X, y, strict=True)] * 5:
        if label * (w @ x) <= 0:
            w = w + label * x
            values.append(theory.potential(w, 3 * u, R, rho))
    assert np.all(np.diff(values) <= -(R**2) * ROUNDING + 1e-9 * values[0])
    assert values[0] / R**2 == pytest.approx(theory.novikoff_bound(R, rho))
    assert len(values) - 1 <= theory.novikoff_bound(R, rho) / ROUNDING


def test_a_mistake_may_raise_the_potential_of_a_vector_that_does_not_separate():
    """What Yuille's proof assumes is needed: an example on the wrong side of u breaks it."""
    u, x = np.array([1.0, 0.0]), np.array([-0.8, 0.6])  # y = 1, but u·x < 0
    before = theory.potential(np.zeros(2), u, radius=1.0, rho=0.5)
    assert theory.potential(x, u, radius=1.0, rho=0.5) > before - 1.0


@given(X=hnp.arrays(float, (5, 3), elements=UNIT))
@PROPERTY
def test_radius_is_the_largest_norm(X):
    expected = np.linalg.norm(X, axis=1).max()
    assert theory.radius(X) == pytest.approx(expected)
    assert theory.radius(sp.csr_array(X)) == pytest.approx(expected)


# --------------------------------------------------------------------------------- enclosing ball


def ball_of(K, **options):
    return theory.enclosing_ball(K.__getitem__, np.diag(K).copy(), **options)


def distances_from_centre(K, alpha):
    return np.sqrt(np.maximum(np.diag(K) - 2 * K @ alpha + alpha @ K @ alpha, 0))


POINTS = st.integers(1, 15).flatmap(
    lambda n: st.integers(1, 3).flatmap(
        lambda d: hnp.arrays(float, (n, d), elements=st.floats(-10, 10, width=16))
    )
)


@PROPERTY
@given(X=POINTS, rbf=st.booleans(), max_iter=st.sampled_from([1, 2, 5, 10_000]))
def test_the_ball_holds_every_example(X, rbf, max_iter):
    """Also if the search is stopped early."""
    K = rbf_kernel(X, gamma=0.1) if rbf else X @ X.T
    ball = ball_of(K, max_iter=max_iter)
    assert np.all(ball.alpha >= 0)
    assert ball.alpha.sum() == pytest.approx(1.0)
    slack = 1e-6 * np.sqrt(np.diag(K).max())
    assert distances_from_centre(K, ball.alpha).max() <= ball.radius + slack
    assert ball.lower_bound <= ball.radius + slack
    if max_iter == 10_000:
        assert ball.radius - ball.lower_bound <= 1e-3 * ball.radius + slack


@PROPERTY
@given(x=hnp.arrays(float, st.integers(1, 20), elements=st.floats(-10, 10, width=16)))
def test_the_radius_on_a_line_is_half_the_range(x):
    ball = ball_of(np.outer(x, x), tol=1e-6)
    assert ball.radius == pytest.approx(np.ptp(x) / 2, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_the_ball_in_the_plane_is_the_smallest_circle(seed):
    X = np.random.default_rng(seed).normal(size=(25, 2))
    ball = ball_of(X @ X.T, tol=1e-6)
    best = minimize(  # min t subject to ‖x_l - c‖² <= t
        lambda v: v[2],
        np.append(X.mean(axis=0), 20.0),
        constraints={"type": "ineq", "fun": lambda v: v[2] - np.square(X - v[:2]).sum(axis=1)},
        method="SLSQP",
    )
    np.testing.assert_allclose(ball.alpha @ X, best.x[:2], atol=1e-2)
    assert ball.radius == pytest.approx(np.sqrt(best.x[2]), rel=1e-4)
    assert ball.lower_bound <= np.sqrt(best.x[2]) * (1 + 1e-6)


@pytest.mark.parametrize("gamma", [0.01, 0.3, 3.0])
def test_the_ball_in_feature_space_agrees_with_the_reference(gamma):
    K = rbf_kernel(np.random.default_rng(0).normal(size=(40, 3)), gamma=gamma)
    _, above = reference.enclosing_ball(K, steps=3000)  # approaches R from above
    ball = ball_of(K, tol=1e-4)
    assert ball.lower_bound <= above
    assert ball.radius == pytest.approx(above, rel=0.01)
    assert ball.radius <= 1.0 / ROUNDING  # Φ(x) lies on the unit sphere


def test_the_ball_of_orthogonal_examples():
    n = 10
    assert ball_of(np.eye(n), tol=1e-6).radius == pytest.approx(np.sqrt(1 - 1 / n), rel=1e-5)
