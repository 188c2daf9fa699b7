"""Feasible β of a linear machine, and examples at the edge of what a problem can hold."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from widemargin import LinearSVC
from widemargin._linear_inputs import LinearInputs
from widemargin._linear_problem import LinearProblem

X = np.random.default_rng(0).normal(size=(40, 3))
T = np.where(np.arange(40) % 2, 1.0, -1.0)


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
    clf = LinearSVC(loss="hinge", dual=True, C=C, random_state=0).fit(X, T)
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
