"""Validation: intervals hold as often as they say, and choosing among models has its price."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.probability import DRAWS, violated
from widemargin import theory

SIZES, RATES = st.integers(1, 10**7), st.floats(1e-6, 0.5)


@given(eta=RATES, n=SIZES, spread=st.floats(0.1, 10))
def test_hoeffding_forwards_and_backwards(eta, n, spread):
    deviation = theory.hoeffding_deviation(eta, n, spread=spread)
    assert theory.hoeffding_probability(deviation, n, spread=spread) == pytest.approx(eta)


def test_fifteen_thousand_validation_examples_give_one_per_cent():
    assert theory.hoeffding_deviation(0.1, 15_000) < 0.01
    assert theory.hoeffding_deviation(0.1, 14_900) > 0.01
    n = theory.validation_examples(0.01, 0.1)
    assert theory.hoeffding_deviation(0.1, n) <= 0.01 < theory.hoeffding_deviation(0.1, n - 1)


@pytest.mark.parametrize("rate", [0.5, 0.1, 0.01])
@pytest.mark.parametrize("method", ["exact", "hoeffding"])
def test_intervals_hold_the_error_rate(rate, method):
    eta, n = 0.1, 300
    errors = np.random.default_rng(0).binomial(n, rate, size=DRAWS)
    found = [theory.validation_interval(int(e), n, eta=eta, method=method) for e in errors]
    missed = np.mean([not one.low <= rate <= one.high for one in found])
    assert missed <= violated(eta)


def test_choosing_among_models_costs():
    """The best of many useless models looks good; an interval that forgets the choice is wrong."""
    eta, n, models = 0.1, 200, 50
    errors = np.random.default_rng(0).binomial(n, 0.5, size=(DRAWS, models)).min(axis=1)
    free = [theory.validation_interval(int(e), n, eta=eta) for e in errors]
    paid = [theory.validation_interval(int(e), n, eta=eta, n_choices=models) for e in errors]
    assert np.mean([one.high < 0.5 for one in free]) > 0.8
    assert np.mean([one.high < 0.5 for one in paid]) <= violated(eta)


def test_exact_intervals_are_inside_those_of_hoeffding():
    for errors in (0, 3, 150, 299, 300):
        exact, wide = (
            theory.validation_interval(errors, 300, method=m) for m in ("exact", "hoeffding")
        )
        assert wide.low <= exact.low <= exact.estimate <= exact.high <= wide.high


@pytest.mark.parametrize(
    ("arguments", "text"),
    [((5, 3), "between 0 and"), ((-1, 3), "between 0 and"), ((0, 0), "positive")],
)
def test_impossible_counts_are_refused(arguments, text):
    with pytest.raises(ValueError, match=text):
        theory.validation_interval(*arguments)
    with pytest.raises(ValueError, match="'exact' or 'hoeffding'"):
        theory.validation_interval(1, 2, method="bayes")


def test_the_bound_of_one_function_fails_for_the_best_of_many():
    """Hoeffding's inequality is not uniform: a set of functions needs its capacity."""
    random, n, eta = np.random.default_rng(0), 100, 0.1
    deviations = np.abs(random.binomial(n, 0.5, size=(DRAWS, 200)) / n - 0.5).max(axis=1)
    assert np.mean(deviations > theory.hoeffding_deviation(eta, n)) > 0.9
    assert np.mean(deviations > theory.hoeffding_deviation(eta, n, n_choices=200)) <= violated(eta)
