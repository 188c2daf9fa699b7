"""The bounds of Chapter 2 hold as often as they say, and the printed numbers come out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from widemargin import theory

DRAWS = 1000
SIZES, RATES = st.integers(1, 10**7), st.floats(1e-6, 0.5)


def violated(probability, draws=DRAWS):
    """A fraction of draws that a bound which holds with 1 − η exceeds once in a million runs."""
    return binom.isf(1e-6, draws, probability) / draws


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


@given(h=st.integers(1, 1000), n=st.integers(1, 10**6), eta=RATES, spread=st.floats(0.1, 10))
def test_confidence_inverts_theorem_2_3(h, n, eta, spread):
    deviation = theory.vc_confidence(h, n, eta, spread=spread)
    found = theory.vc_probability(deviation, h, n, spread=spread)
    assert found == pytest.approx(eta, rel=1e-6)


@given(h=st.integers(1, 50), n=st.integers(1, 500), eta=RATES)
def test_the_confidence_covers_the_growth_function(h, n, eta):
    """L (width − 1/L)² + log(η/4) bounds the log of Sauer's number for 2L, also for h > 2L."""
    width = theory.vc_confidence(h, n, eta) - 1 / n
    log_growth = n * width**2 + np.log(eta / 4)
    assert np.log(float(theory.sauer_bound(h, 2 * n))) <= log_growth * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize("n", [20, 200])
def test_theorems_2_3_and_2_4_on_thresholds(n):
    """Thresholds have h = 1; their deviations are known exactly."""
    eta = 0.1
    found = theory.simulate_thresholds(n, n_samples=DRAWS)
    assert np.mean(found.deviation > theory.vc_confidence(1, n, eta)) <= violated(eta)
    excess = found.expected - found.optimum
    assert np.mean(excess > theory.excess_risk_bound(1, n, eta)) <= violated(2 * eta)


def test_the_bound_of_one_function_fails_for_the_best_of_many():
    """Hoeffding's inequality is not uniform: a set of functions needs its capacity."""
    random, n, eta = np.random.default_rng(0), 100, 0.1
    deviations = np.abs(random.binomial(n, 0.5, size=(DRAWS, 200)) / n - 0.5).max(axis=1)
    assert np.mean(deviations > theory.hoeffding_deviation(eta, n)) > 0.9
    assert np.mean(deviations > theory.hoeffding_deviation(eta, n, n_choices=200)) <= violated(eta)


def test_structural_risk_minimisation():
    capacities = [1, 5, 25, 125, 625]
    risks = np.array([0.4, 0.2, 0.12, 0.1, 0.09])
    few = theory.structural_risk(risks, capacities, 5000)
    many = theory.structural_risk(risks, capacities, 10**9)
    assert few.best < many.best == 4
    assert np.all(np.diff(few.confidence) > 0)
    assert np.argmin(few.bound) == few.best
    with pytest.raises(ValueError, match="one of each"):
        theory.structural_risk(risks, capacities[:2], 100)


def test_regularisation_chooses_a_set_of_functions():
    """The minimiser of the regularised risk is the best of those with at most its penalty."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(50, 3)), random.normal(size=50)
    w = np.linalg.solve(X.T @ X / 50 + 0.3 * np.eye(3), X.T @ y / 50)

    def risks(w):
        losses, penalty = (y - X @ w) ** 2, w @ w
        return theory.empirical_risk(losses), theory.regularised_risk(losses, penalty, 0.3)

    others = w + 0.5 * random.normal(size=(DRAWS, 3))
    assert all(risks(other)[1] >= risks(w)[1] for other in others)
    smaller = [other for other in others if other @ other <= w @ w]
    assert smaller
    assert all(risks(other)[0] >= risks(w)[0] for other in smaller)


# ----------------------------------------------------------------------------- consistency


def test_the_minimum_over_thresholds_converges():
    found = [theory.simulate_thresholds(n, n_samples=200) for n in (10, 100, 1000, 10_000)]
    assert all(one.argument_holds() for one in found)
    means = [one.deviation.mean() for one in found]
    assert np.all(np.diff(means) < 0)
    assert means[0] / means[-1] == pytest.approx(np.sqrt(1000), rel=0.3)  # as 1 / √L
    assert np.abs(found[-1].empirical - found[-1].optimum).max() < 0.02


def test_the_deviation_is_the_largest():
    """Against a fine grid of thresholds, for one sample."""
    found = theory.simulate_thresholds(40, n_samples=1, noise=0.2, random_state=3)
    random = np.random.default_rng(3)
    x = np.sort(random.random(40))
    positive = (x > 0.4) ^ (random.random(40) < 0.2)
    grid = np.linspace(0, 1, 100_001)
    empirical = np.mean((x[None, :] > grid[:, None]) != positive, axis=1)
    deviation = np.abs(empirical - (0.2 + 0.6 * np.abs(grid - 0.4))).max()
    assert deviation <= found.deviation[0] <= deviation + 1e-4
    assert found.empirical[0] == pytest.approx(empirical.min())


def test_the_minimum_over_memorisers_does_not():
    for n in (10, 10_000):
        found = theory.simulate_memorisers(n)
        assert np.all(found.empirical == 0)
        assert np.all(found.expected == found.optimum)
        assert found.optimum > 0.5
        assert np.all(found.deviation > 0.5)


def test_a_broken_argument_is_noticed():
    good = theory.simulate_thresholds(50)
    broken = theory.Consistency(
        50, good.deviation, good.empirical, good.expected + 3 * good.deviation, good.optimum
    )
    assert good.argument_holds()
    assert not broken.argument_holds()
