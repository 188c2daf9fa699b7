"""The reference of Crammer and Singer's machine: exact, certified, and LIBLINEAR's optimum."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.svm import LinearSVC

from widemargin.linear_svm.circulation import circulation as circulation_of_production
from widemargin.reference.crammer_singer import (
    CrammerSingerProblem,
    circulation,
    crammer_singer_certificate,
    crammer_singer_dual,
    crammer_singer_feasible,
    crammer_singer_primal,
    solve_crammer_singer,
)
from widemargin.reference.linear_svm import LinearProblem, solve

INTERCEPTS = [np.inf, 0.0, 1.0, 10.0]  # free, none, penalised
PROPERTY = settings(deadline=None, max_examples=60)


def three_classes(n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.normal(size=(n, 2)) + np.array([[1.0, 0], [0, 1.5], [-1, -1]])[y], y


def test_is_the_optimum_of_liblinear():
    X, y = three_classes()
    for s in (0.0, 1.0, 5.0):
        problem = CrammerSingerProblem(X, y, np.full(len(y), 0.5), 3, s)
        ours = solve_crammer_singer(problem)
        theirs = LinearSVC(
            C=0.5, multi_class="crammer_singer", tol=1e-8, max_iter=1_000_000,
            fit_intercept=s > 0, intercept_scaling=max(s, 1.0),
        ).fit(X, y)  # fmt: skip
        b = theirs.intercept_ if s else np.zeros(3)
        value = crammer_singer_primal(problem, theirs.coef_, b)
        assert ours.certificate.primal == pytest.approx(value, rel=1e-5)
        assert ours.certificate.primal <= value * (1 + 1e-9)
        np.testing.assert_allclose(X @ ours.w.T + ours.b, X @ theirs.coef_.T + b, atol=0.02)


@st.composite
def problems(draw):
    n, K = draw(st.integers(2, 9)), draw(st.integers(2, 4))
    X = draw(hnp.arrays(float, (n, 2), elements=st.integers(-2, 2).map(float)))
    y = draw(hnp.arrays(np.int64, n, elements=st.integers(0, K - 1)))
    C = 10.0 ** draw(st.integers(-4, 4))
    c = C * draw(hnp.arrays(float, n, elements=st.sampled_from([0.0, 0.5, 1.0, 2.0])))
    s = draw(st.sampled_from(INTERCEPTS))
    if s == np.inf:  # every class needs an example
        X, y = np.vstack([X, np.eye(4, 2)[:K]]), np.concatenate([y, np.arange(K)])
        c = np.concatenate([c, np.full(K, C)])
    return CrammerSingerProblem(X, y, c, K, s)


@PROPERTY
@given(problem=problems())
def test_solves_to_a_certified_optimum(problem):
    w, b, beta, (P, D, gap) = solve_crammer_singer(problem)
    rounding = 1e-12 * problem.c.sum()
    assert -rounding <= gap <= 1e-9 * P + rounding
    assert crammer_singer_primal(problem, w, b) == P
    assert crammer_singer_dual(problem, beta) == pytest.approx(D, rel=1e-12, abs=rounding)
    np.testing.assert_allclose(w.sum(axis=0), 0, atol=1e-6 * (1 + np.abs(w).max()))


@PROPERTY
@given(problem=problems(), seed=st.integers(0, 2**31 - 1))
def test_bounds_hold_everywhere(problem, seed):
    rng, shape = np.random.default_rng(seed), (len(problem.y), problem.K)
    beta = 10.0 ** rng.integers(-3, 3) * problem.c.max() * rng.normal(size=shape)
    w, b = rng.normal(size=(problem.K, 2)), np.zeros(problem.K)
    if problem.intercept_scaling:
        b = rng.normal(size=problem.K)
    P, D, gap = crammer_singer_certificate(problem, w, b, beta)
    assert np.isfinite(D)
    assert gap >= -1e-9 * (1 + P + abs(D))


@pytest.mark.parametrize("s", INTERCEPTS)
def test_of_two_classes_is_a_machine_with_the_hinge_loss(s):
    """w₁ = −w₀ = w/2: half the norm, so that C is doubled, and P is twice as large."""
    X, y = three_classes()
    y, c = np.minimum(y, 1), np.ones(len(y))
    ours = solve_crammer_singer(CrammerSingerProblem(X, y, c, 2, s))
    binary = solve(LinearProblem(X, 2.0 * y - 1, 2 * c, intercept_scaling=s))
    assert 2 * ours.certificate.primal == pytest.approx(binary.certificate.primal, rel=1e-9)
    np.testing.assert_allclose(ours.w[1] - ours.w[0], binary.w, atol=1e-4)
    assert ours.b[1] - ours.b[0] == pytest.approx(binary.b, abs=1e-3)


def test_free_intercepts_need_an_example_of_each_class():
    with pytest.raises(ValueError, match=r"class 2 has no weight: .* use intercept_scaling < inf"):
        CrammerSingerProblem(np.eye(3), np.array([0, 1, 2]), np.array([1.0, 1.0, 0.0]), 3)


@pytest.mark.parametrize("lowered", [circulation, circulation_of_production])
@PROPERTY
@given(A=hnp.arrays(float, (4, 4), elements=st.floats(0, 10, width=16)))
def test_circulation_is_balanced_and_below(lowered, A):
    np.fill_diagonal(A, 0.0)
    C, rounding = lowered(A), 1e-12 * (1 + A.sum())
    assert np.all((C >= 0) & (A + rounding >= C))
    np.testing.assert_allclose(C.sum(axis=0), C.sum(axis=1), atol=rounding)
    np.testing.assert_allclose(lowered(A + A.T), A + A.T, atol=rounding)


def test_projection_keeps_what_is_feasible():
    X, y = three_classes()
    problem = CrammerSingerProblem(X, y, np.ones(len(y)), 3)
    beta = solve_crammer_singer(problem).beta
    np.testing.assert_allclose(crammer_singer_feasible(problem, beta), beta, atol=1e-12)
