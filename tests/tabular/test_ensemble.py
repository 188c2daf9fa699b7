"""Greedy ensembles are never worse than their best member on the rows they were chosen by."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from widemargin.tabular.ensemble import greedy_weights, weighted_mean


def squared(y):
    return lambda p: float(np.mean((p - y) ** 2))


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 8), st.integers(0, 10_000))
def test_the_mean_is_no_worse_than_the_best_model(count, seed):
    random = np.random.default_rng(seed)
    y = random.normal(size=30)
    models = [y + random.normal(size=30) * random.uniform(0.1, 2.0) for _ in range(count)]
    weights = greedy_weights(models, squared(y))
    assert weights.sum() == pytest.approx(1.0)
    assert weights.min() >= 0.0
    best = min(squared(y)(model) for model in models)
    assert squared(y)(weighted_mean(models, weights)) <= best * (1 + 1e-12)


def test_opposite_errors_cancel():
    y = np.zeros(4)
    error = np.array([1.0, -1.0, 2.0, -2.0])
    weights = greedy_weights([y + error, y - error, y + 3.0], squared(y))
    np.testing.assert_allclose(weights, [0.5, 0.5, 0.0])


def test_a_perfect_model_is_alone():
    y = np.arange(5.0)
    np.testing.assert_array_equal(greedy_weights([y + 1.0, y, y - 1.0], squared(y)), [0, 1, 0])


@pytest.mark.parametrize("most", [1, 2, 3])
def test_at_most_as_many_models_as_allowed(most):
    random = np.random.default_rng(0)
    y = random.normal(size=50)
    models = [y + random.normal(size=50) for _ in range(10)]
    weights = greedy_weights(models, squared(y), max_models=most)
    assert np.count_nonzero(weights) <= most


def test_costs_are_kept():
    random = np.random.default_rng(1)
    y = random.normal(size=50)
    models = [y + random.normal(size=50) / (m + 1) for m in range(6)]
    costs = np.arange(1.0, 7.0)
    for most in (0.5, 1.0, 4.0, 9.0):
        weights = greedy_weights(models, squared(y), costs=costs, max_cost=most)
        assert costs[weights > 0].sum() <= max(most, 1.0)
