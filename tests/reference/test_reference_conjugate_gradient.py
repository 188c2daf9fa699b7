"""The projected conjugate gradient finds the optimum of quadratic problems within bounds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.metrics.pairwise import rbf_kernel

from widemargin.reference.conjugate_gradient import projected_conjugate_gradient
from widemargin.reference.svm import decomposition, svm_problem

PROPERTY = settings(deadline=None, max_examples=60)


def random_problem(seed, n, rank):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, rank))
    low, high = -rng.uniform(0, 1, n), rng.uniform(0, 1, n)
    start = np.choose(rng.integers(3, size=n), [low, 0.3 * low, high])  # often on a bound
    return A @ A.T, rng.normal(size=n), start, low, high


@PROPERTY
@given(seed=st.integers(0, 10**6), n=st.integers(1, 12), rank=st.integers(1, 12))
def test_conditions_of_the_optimum(seed, n, rank):
    """Feasible, and no v that can grow exceeds one that can shrink; also if H is singular."""
    H, g, start, low, high = random_problem(seed, n, rank)
    found, _ = projected_conjugate_gradient(H, g, start, low, high, tol=1e-7)
    assert np.all((found >= low) & (found <= high))
    assert found.sum() == pytest.approx(start.sum(), abs=1e-12)
    v = -(H @ found + g)
    up, down = v[found < high], v[found > low]
    if len(up) and len(down):
        assert up.max() - down.min() <= 1e-7


@pytest.mark.parametrize("seed", range(5))
def test_the_minimum_of_another_method(seed):
    H, g, start, low, high = random_problem(seed, 8, 8)
    found, _ = projected_conjugate_gradient(H, g, start, low, high)

    def cost(beta):
        return 0.5 * beta @ H @ beta + g @ beta

    other = minimize(
        cost,
        start,
        jac=lambda beta: H @ beta + g,
        bounds=np.column_stack([low, high]),
        constraints={"type": "eq", "fun": lambda b: b.sum() - start.sum(), "jac": np.ones_like},
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    assert cost(found) == pytest.approx(other.fun, abs=1e-8)
    assert cost(found) <= other.fun + 1e-9


def test_as_many_steps_as_variables_without_bounds():
    """Conjugate directions: n − 1 steps on the plane Σβ = 0, up to rounding."""
    rng = np.random.default_rng(0)
    A, n = rng.normal(size=(9, 9)), 9
    H, g = A @ A.T / 9 + np.eye(9), rng.normal(size=9)
    wide = np.full(n, 1e6)
    _, steps = projected_conjugate_gradient(H, g, np.zeros(n), -wide, wide, tol=1e-9)
    assert steps <= n
    steepest = np.zeros(n)
    for _ in range(steps):  # the gradient alone gets less far
        r = -(H @ steepest + g)
        r -= r.mean()
        steepest += r @ r / (r @ H @ r) * r
    r = -(H @ steepest + g)
    assert np.ptp(r) > 1e-6


@pytest.mark.parametrize("kind", ["c_svc", "nu_svc", "epsilon_svr", "nu_svr", "one_class"])
@pytest.mark.parametrize("q", [4, 10, 50])
def test_decomposition_by_gradients(kind, q):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    target = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=60)
    y = target if kind.endswith("svr") else np.where(target > 0, 1.0, -1.0)
    K, problem = rbf_kernel(X), svm_problem(kind, y, C=2.0, nu=0.4)
    pairs = decomposition(K, problem, tol=1e-7)
    found = decomposition(K, problem, tol=1e-7, q=q, sub_problem="gradient")
    assert found.violation <= 1.01e-7
    assert found.dual == pytest.approx(pairs.dual, rel=1e-8)
    assert found.beta.sum() == pytest.approx(pairs.beta.sum(), abs=1e-10)
    np.testing.assert_allclose(found.f, pairs.f, atol=1e-5)
