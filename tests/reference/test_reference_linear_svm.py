"""The reference of linear SVMs: exact, certified, and scikit-learn's optimum."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

from widemargin.reference.linear_svm import (
    LOSSES,
    LinearProblem,
    certificate,
    dual,
    feasible,
    primal,
    solve,
)

INTERCEPTS = [np.inf, 0.0, 1.0, 10.0]  # free, none, penalised
PROPERTY = settings(deadline=None, max_examples=60)
on_every_loss = pytest.mark.parametrize("loss", LOSSES)
on_every_intercept = pytest.mark.parametrize("s", INTERCEPTS)


def noisy(loss, n=60, seed=0):
    """Inputs away from the origin; labels ±1 that overlap, or real targets."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) + np.array([1.0, 0.0, -0.5, 0.0])
    target = X[:, 0] - X[:, 1] + 0.8 * rng.normal(size=n)
    return X, (np.where(target > 1, 1.0, -1.0) if loss.endswith("hinge") else target)


def weighted(n, seed=0):
    return np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 3.0], size=n)


def a_problem(loss, s=np.inf, C=1.0, weights=None, seed=0):
    X, t = noisy(loss, seed=seed)
    c = C * (np.ones(len(t)) if weights is None else weights)
    return LinearProblem(X, t, c, loss, 0.0 if loss.endswith("hinge") else 0.2, s)


def scale_of(problem):
    """What the value of the objective is rounded to: it is made of such terms."""
    power = 2 if problem.squared else 1
    return 1e-12 * float(problem.c @ (1 + np.abs(problem.t)) ** power)


def assert_optimal(problem, solution):
    P, D, gap = solution.certificate
    assert -scale_of(problem) <= gap <= 1e-9 * P + scale_of(problem)
    assert primal(problem, solution.w, solution.b) == P
    assert dual(problem, solution.beta) == pytest.approx(D, rel=1e-12, abs=scale_of(problem))


# -------------------------------------------------------------------------- against scikit-learn


@on_every_loss
@pytest.mark.parametrize("s", [0.0, 1.0, 10.0])
@pytest.mark.parametrize("weights", [None, weighted(60)], ids=["equal", "weighted"])
def test_is_the_optimum_of_liblinear(loss, s, weights):
    problem = a_problem(loss, s, C=0.5, weights=weights)
    ours = solve(problem)
    options = {"loss": loss, "C": 0.5, "fit_intercept": s > 0, "intercept_scaling": max(s, 1.0)}
    options |= {"dual": True, "tol": 1e-10, "max_iter": 1_000_000}
    model = LinearSVC if loss.endswith("hinge") else LinearSVR
    if model is LinearSVR:
        options["epsilon"] = problem.epsilon
    theirs = model(**options).fit(problem.X, problem.t, sample_weight=weights)
    w, b = np.ravel(theirs.coef_), float(np.ravel(theirs.intercept_)[0]) if s else 0.0

    assert_optimal(problem, ours)
    assert ours.certificate.primal == pytest.approx(primal(problem, w, b), rel=1e-6)
    assert ours.certificate.primal <= primal(problem, w, b) + 1e-9
    np.testing.assert_allclose(ours.w, w, atol=1e-3)
    assert ours.b == pytest.approx(b, abs=1e-3)


@pytest.mark.parametrize("loss", ["hinge", "epsilon_insensitive"])
@pytest.mark.parametrize("weights", [None, weighted(60)], ids=["equal", "weighted"])
def test_is_the_optimum_of_libsvm(loss, weights):
    """The machine with a linear kernel has a free intercept. (Its support_ skips weights of 0.)"""
    weights = None if weights is None else weights + 0.5
    problem = a_problem(loss, C=2.0, weights=weights)
    ours = solve(problem)
    options = {"kernel": "linear", "C": 2.0, "tol": 1e-8}
    model = SVC(**options) if loss == "hinge" else SVR(**options, epsilon=0.2)
    theirs = model.fit(problem.X, problem.t, sample_weight=weights)
    w, b = theirs.coef_[0], float(theirs.intercept_[0])

    assert_optimal(problem, ours)
    assert ours.certificate.primal == pytest.approx(primal(problem, w, b), rel=1e-6)
    np.testing.assert_allclose(ours.w, w, atol=1e-4)
    assert ours.b == pytest.approx(b, abs=1e-3)
    beta = np.zeros(len(problem.t))
    beta[theirs.support_] = theirs.dual_coef_[0]
    assert certificate(problem, w, b, beta).gap <= 1e-5 * ours.certificate.primal


@pytest.mark.parametrize("loss", ["squared_hinge", "squared_epsilon_insensitive"])
def test_a_free_intercept_is_a_penalised_one_whose_penalty_vanishes(loss):
    problem = a_problem(loss)
    ours, nearly = solve(problem), solve(a_problem(loss, s=1e4))
    assert ours.certificate.primal == pytest.approx(nearly.certificate.primal, rel=1e-6)
    assert ours.b == pytest.approx(nearly.b, abs=1e-4)


# --------------------------------------------------------------------------------------- by hand


def test_two_points():
    """x = ±1: the margin is the distance, α = 1/2 each (or C, when that is less)."""
    X, t = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
    for C, alpha in ((10.0, 0.5), (0.25, 0.25)):
        ours = solve(LinearProblem(X, t, np.full(2, C)))
        np.testing.assert_allclose(ours.beta, [alpha, -alpha], atol=1e-6)
        assert ours.w == pytest.approx([2 * alpha], abs=1e-6)
        assert ours.certificate.primal == pytest.approx(2 * alpha * (1 - alpha))


def test_squared_losses_of_one_point():
    """½ w² + C (1 − w)² is least at w = 2C/(1 + 2C), with 1 − ε for 1 in regression."""
    X, t = np.ones((1, 1)), np.ones(1)
    for C in (0.1, 1.0, 10.0):
        for loss, epsilon in (("squared_hinge", 0.0), ("squared_epsilon_insensitive", 0.25)):
            ours = solve(LinearProblem(X, t, np.full(1, C), loss, epsilon, 0.0))
            assert ours.w == pytest.approx([(1 - epsilon) * 2 * C / (1 + 2 * C)])
            assert ours.beta == pytest.approx(ours.w)  # w = β x


@on_every_loss
def test_the_median_and_the_mean(loss):
    """Without inputs a free intercept is a median (a mean, squared) of the targets or labels."""
    t = np.array([1.0, 1.0, 1.0, -1.0, -1.0])
    problem = LinearProblem(np.zeros((5, 1)), t, np.ones(5), loss)
    assert solve(problem).b == pytest.approx(t.mean() if problem.squared else 1.0, abs=1e-6)


@on_every_intercept
def test_labels_of_one_kind_need_no_weights(s):
    X, _ = noisy("hinge")
    ours = solve(LinearProblem(X, -np.ones(len(X)), np.ones(len(X)), "hinge", 0.0, s))
    if s == np.inf:
        assert ours.certificate.primal <= 1e-9
        assert ours.b <= -1 + 1e-6
        np.testing.assert_allclose(ours.w, 0, atol=1e-5)
    assert_optimal(LinearProblem(X, -np.ones(len(X)), np.ones(len(X)), "hinge", 0.0, s), ours)


@on_every_loss
@on_every_intercept
def test_no_weight_and_no_loss(loss, s):
    problem = a_problem(loss, s, weights=np.zeros(60))
    assert solve(problem).certificate == (0.0, 0.0, 0.0)
    if not loss.endswith("hinge"):
        wide = LinearProblem(problem.X, problem.t, np.ones(60), loss, 100.0, s)
        assert solve(wide).certificate == (0.0, 0.0, 0.0)


def test_what_the_projection_takes():
    """The positive side has 3.5, the negative 2: the free 1.5 goes, those at bounds stay."""
    t, c = np.array([1.0, 1.0, 1.0, -1.0]), np.array([1.0, 2.0, 1.0, 2.0])
    problem = LinearProblem(np.zeros((4, 1)), t, c)
    np.testing.assert_allclose(
        feasible(problem, np.array([1.0, 1.5, 1.0, -2.0])), [1.0, 0.0, 1.0, -2.0]
    )
    np.testing.assert_allclose(
        feasible(problem, np.array([9.0, 1.0, -5.0, -0.5])), [0.5, 0.0, 0.0, -0.5]
    )
    penalised = LinearProblem(np.zeros((4, 1)), t, c, intercept_scaling=1.0)
    np.testing.assert_allclose(
        feasible(penalised, np.array([9.0, 1.0, -5.0, 0.5])), [1.0, 1.0, 0.0, 0.0]
    )


def test_dual_of_what_is_not_feasible():
    problem = LinearProblem(np.zeros((2, 1)), np.array([1.0, -1.0]), np.ones(2))
    for beta in ([1.0, -0.5], [2.0, -2.0], [-0.5, 0.5]):
        assert dual(problem, np.array(beta)) == -np.inf
    assert dual(problem, np.array([1.0, -1.0])) == 2.0


@pytest.mark.parametrize(
    ("options", "message"),
    [({"loss": "log"}, "loss='log'; use one of hinge"), ({"epsilon": 0.1}, "has no tube; use 0")],
)
def test_bad_problems_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        LinearProblem(np.zeros((2, 1)), np.array([1.0, -1.0]), np.ones(2), **options)


# -------------------------------------------------------------------------------------- theorems


@st.composite
def problems(draw):
    """Small integers for inputs: duplicates, constant columns; any weight may be 0."""
    loss, n, d = draw(st.sampled_from(LOSSES)), draw(st.integers(1, 12)), draw(st.integers(1, 3))
    X = draw(hnp.arrays(float, (n, d), elements=st.integers(-2, 2).map(float)))
    if draw(st.booleans()):
        X[:, 0] = draw(st.sampled_from([0.0, 1.0, 30.0]))
    C = 10.0 ** draw(st.integers(-4, 4))
    c = C * draw(hnp.arrays(float, n, elements=st.sampled_from([0.0, 0.5, 1.0, 1.0, 2.0])))
    if loss.endswith("hinge"):
        t, epsilon = draw(hnp.arrays(float, n, elements=st.sampled_from([-1.0, 1.0]))), 0.0
    else:
        t = draw(hnp.arrays(float, n, elements=st.floats(-3, 3, width=16)))
        epsilon = draw(st.sampled_from([0.0, 0.1, 1.0]))
        if draw(st.booleans()):
            t = np.abs(t) + 2.0  # all on one side
    return LinearProblem(X, t, c, loss, epsilon, draw(st.sampled_from(INTERCEPTS)))


@PROPERTY
@given(problem=problems())
def test_solves_to_a_certified_optimum(problem):
    assert_optimal(problem, solve(problem))


@PROPERTY
@given(problem=problems(), seed=st.integers(0, 2**31 - 1))
def test_every_dual_value_is_below_every_primal_value(problem, seed):
    rng, (n, d) = np.random.default_rng(seed), problem.X.shape
    size = 10.0 ** rng.integers(-3, 3)
    beta = feasible(problem, size * problem.c.max() * rng.normal(size=n))
    w, b = size * rng.normal(size=d), size * rng.normal() if problem.intercept_scaling else 0.0
    proof, rounding = certificate(problem, w, b, beta), 1e-9 * (scale_of(problem) + size**2)
    assert proof.dual > -np.inf
    assert proof.gap >= -rounding - 1e-9 * abs(proof.dual)
    np.testing.assert_allclose(feasible(problem, beta), beta, atol=1e-9 * (1 + np.abs(beta).max()))


@PROPERTY
@given(problem=problems(), seed=st.integers(0, 2**31 - 1))
def test_no_move_makes_it_better(problem, seed):
    ours, rng = solve(problem), np.random.default_rng(seed)
    for size in (1e-6, 1e-3, 1.0):
        w = ours.w + size * rng.normal(size=len(ours.w))
        b = ours.b + (size * rng.normal() if problem.intercept_scaling else 0.0)
        assert primal(problem, w, b) >= ours.certificate.dual - scale_of(problem)


@on_every_loss
@on_every_intercept
def test_kkt_conditions(loss, s):
    """w = Σ β x; an example with a loss has β at its bound (squared: β = ±2 c ξ), others 0."""
    problem = a_problem(loss, s)
    w, b, beta, _ = solve(problem)
    np.testing.assert_allclose(w, problem.X.T @ beta, atol=1e-5)
    f, size = problem.X @ w + b, np.abs(beta)
    xi = 1 - problem.t * f if loss.endswith("hinge") else np.abs(f - problem.t) - problem.epsilon
    if problem.squared:
        np.testing.assert_allclose(size, 2 * problem.c * np.maximum(0, xi), atol=1e-4)
    else:
        np.testing.assert_allclose(size[xi > 1e-4], problem.c[xi > 1e-4], atol=1e-4)
        np.testing.assert_allclose(size[xi < -1e-4], 0, atol=1e-4)
    assert beta.sum() == pytest.approx(
        0 if s == np.inf else b / s**2 if s else beta.sum(), abs=1e-5
    )


# ----------------------------------------------------------------------------------- invariances


@on_every_loss
@on_every_intercept
def test_weight_two_is_a_duplicate_and_weight_zero_is_absence(loss, s):
    weights = np.repeat([0.0, 1.0, 2.0], 20)
    index = np.repeat(np.arange(60), weights.astype(int))
    one = a_problem(loss, s, weights=weights)
    copied = LinearProblem(one.X[index], one.t[index], np.ones(60), loss, one.epsilon, s)
    a, b = solve(one), solve(copied)
    assert a.certificate.primal == pytest.approx(b.certificate.primal, rel=1e-9)
    np.testing.assert_allclose(a.w, b.w, atol=1e-4)
    assert not np.any(a.beta[:20])


@on_every_loss
@on_every_intercept
def test_opposite_targets_give_the_opposite_machine(loss, s):
    one = a_problem(loss, s)
    a, b = solve(one), solve(LinearProblem(one.X, -one.t, one.c, loss, one.epsilon, s))
    np.testing.assert_allclose(a.w, -b.w, atol=1e-4)
    assert a.b == pytest.approx(-b.b, abs=1e-3)


@on_every_loss
def test_a_free_intercept_makes_the_origin_free(loss):
    one = a_problem(loss)
    moved = LinearProblem(one.X + 50.0, one.t, one.c, loss, one.epsilon)
    a, b = solve(one), solve(moved)
    assert a.certificate.primal == pytest.approx(b.certificate.primal, rel=1e-9)
    np.testing.assert_allclose(a.w, b.w, atol=1e-4)
