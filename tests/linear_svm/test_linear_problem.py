"""Feasible β of a linear machine, good points, and extreme examples."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from widemargin import LinearSVC, LinearSVR
from widemargin.linear_svm.inputs import LinearInputs
from widemargin.linear_svm.problem import LinearProblem

X = np.random.default_rng(0).normal(size=(40, 3))
T = np.where(np.arange(40) % 2, 1.0, -1.0)
GRID = np.linspace(0.0, 1.0, 21)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("at_bounds", [0, 39, 40])
def test_the_sum_is_zero_within_bounds(squared, labels, at_bounds):
    c = np.where(np.arange(40) < 10, 0.3, 0.1)
    problem = LinearProblem(LinearInputs(X), T, c, 0.0, labels, squared, np.inf)
    share = np.where(np.arange(40) < at_bounds, 1.0, 0.4)
    for excess in (0.0, 1e-17, 0.05):
        beta = T * c * share
        beta[1] -= excess
        found = problem.feasible(beta)
        low, high = problem.bounds
        assert np.all((low <= found) & (found <= high))
        assert abs(found.sum()) < 1e-15
        assert_allclose(found, beta, atol=0.2)


def test_all_examples_at_their_bounds():
    """As many of both classes, and so small a C that no β is free."""
    C = 1e-4 / 3
    options = {"loss": "hinge", "dual": True, "intercept_scaling": None, "random_state": 0}
    clf = LinearSVC(C=C, **options).fit(X, T)
    assert clf.converged_


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_examples_without_inputs(loss):
    """Without an intercept their loss is the same for every w; their β is still needed."""
    padded, targets = np.vstack([X, np.zeros((5, 3))]), np.append(T, [1.0, 1.0, -1.0, 1.0, -1.0])
    options = {"loss": loss, "dual": True, "fit_intercept": False, "random_state": 0}
    clf = LinearSVC(**options).fit(padded, targets)
    alone = LinearSVC(**options).fit(X, T)
    assert clf.converged_
    assert_allclose(clf.primal_objective_, alone.primal_objective_ + 5.0, rtol=1e-3)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("intercept", [0.0, 4.0, np.inf])
def test_the_best_point_near_two(squared, labels, intercept):
    """Its cost is right; no point between the two is much better, nor a multiple of one of them."""
    target = T if labels else 3.0 * X[:, 0] + 1.0
    epsilon = 0.0 if labels else 0.2
    problem = LinearProblem(
        LinearInputs(X), target, np.full(40, 0.7), epsilon, labels, squared, intercept
    )
    rng = np.random.default_rng(1)
    for _ in range(20):
        two = [(rng.normal(size=3), float(rng.normal()) if intercept else 0.0) for _ in range(2)]
        ends = problem.points(*two)
        found = problem.best_near(*two)
        assert_allclose(found.cost, problem.point(found.w, found.b).cost, rtol=1e-12)
        assert_allclose(found.f, X @ found.w + found.b, atol=1e-12)
        (w, b), (v, a) = two
        between = [problem.point(w + t * (v - w), b + t * (a - b)).cost for t in GRID]
        assert found.cost <= min(between) + 0.01 * (max(end.cost for end in ends) - found.cost)
        alone = problem.best_near((w, b), (w, b))
        multiples = [problem.point(s * w, s * b).cost for s in 0.5 + 1.5 * GRID]
        assert alone.cost <= min(multiples) + 0.01 * (ends[0].cost - alone.cost)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e6, 1e9, 1e12])
def test_targets_of_any_size(scale, fit_intercept):
    """Where coordinate descent would take too long, the other solver takes over."""
    y = scale * (X @ [3.0, -1.0, 0.5] + 1.0 + T)
    reg = LinearSVR(fit_intercept=fit_intercept, random_state=0).fit(X, y)
    assert reg.stop_reason_ == "tol"
