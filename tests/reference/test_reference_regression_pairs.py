"""One net variable per example reaches the optimum of two, and of the exact machine."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel

from widemargin import SVR
from widemargin.reference.regression_pairs import pair_decomposition
from widemargin.reference.svm import decomposition, svm_problem

PROPERTY = settings(deadline=None, max_examples=60)


@PROPERTY
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 15),
    kernel=st.sampled_from([linear_kernel, rbf_kernel]),
    C=st.sampled_from([0.1, 1.0, 10.0]),
    epsilon=st.sampled_from([0.0, 0.1, 1.0]),
)
def test_the_optimum_of_independent_variables(seed, n, kernel, C, epsilon):
    """Many equal inputs, so that the kernel matrix is singular; some weights are 0."""
    rng = np.random.default_rng(seed)
    X, weights = rng.integers(-2, 3, size=(n, 2)) * 1.0, rng.choice([0.0, 1.0, 2.0], n)
    problem = svm_problem("epsilon_svr", rng.normal(size=n), weights, C=C, epsilon=epsilon)
    K = kernel(X)
    found, other = pair_decomposition(K, problem, tol=1e-6), decomposition(K, problem, tol=1e-6)
    assert found.violation <= 1.01e-6
    assert found.dual == pytest.approx(other.dual, abs=2e-6 * problem.upper.sum() + 1e-9)
    alpha, alpha_star = found.beta[:n], -found.beta[n:]
    assert np.all(alpha * alpha_star == 0)
    assert np.all((alpha >= 0) & (alpha_star >= 0))
    assert np.all(alpha + alpha_star <= problem.upper[:n])
    assert found.beta.sum() == pytest.approx(0.0, abs=1e-10)


def test_every_iteration_lowers_the_cost():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    problem = svm_problem("epsilon_svr", np.sin(X[:, 0]), C=3.0, epsilon=0.05)
    K = rbf_kernel(X)
    duals = [pair_decomposition(K, problem, 1e-6, max_iter=n).dual for n in range(0, 60, 3)]
    assert np.all(np.diff(duals) > 0)


@pytest.mark.parametrize(
    "solve",
    [pair_decomposition, partial(decomposition, q=10, sub_problem="gradient")],
    ids=["net pairs", "conjugate gradient"],
)
def test_as_the_exact_machine(solve):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 4))
    y = np.sin(X[:, 0]) + 0.2 * rng.normal(size=200)
    model = SVR(C=5.0, epsilon=0.1, gamma=0.5, tol=1e-6).fit(X, y)
    problem = svm_problem("epsilon_svr", y, C=5.0, epsilon=0.1)
    found = solve(rbf_kernel(X, gamma=0.5), problem, tol=1e-6)
    assert found.dual == pytest.approx(model.dual_objective_, rel=1e-6)
    coef = np.zeros(200)
    coef[model.support_] = model.dual_coef_[0]
    np.testing.assert_allclose(problem.coefficients(found.beta), coef, atol=1e-3)


def test_other_machines_are_refused():
    with pytest.raises(ValueError, match="kind='c_svc'; pairs"):
        pair_decomposition(np.eye(2), svm_problem("c_svc", np.array([1.0, -1.0])))
