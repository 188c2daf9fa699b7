"""Empirical risk minimisation: when its minimum converges, and which side of a deviation counts."""

import numpy as np
import pytest
from scipy.stats import kstest, norm, poisson

from widemargin import theory


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
        50,
        good.above,
        good.below,
        good.empirical,
        good.expected + 3 * good.deviation,
        good.optimum,
    )
    assert good.argument_holds()
    assert not broken.argument_holds()


# ---------------------------------------------------------------------- Definition 2.2 and theorems


@pytest.mark.parametrize("least_risk", [0.0, 0.2, 0.4])
def test_the_minimum_over_every_subset_converges(least_risk):
    """Definition 2.2: over all thresholds whose risk is at least c."""
    found = [theory.simulate_thresholds(n, least_risk=least_risk) for n in (30, 300, 3000)]
    assert all(one.argument_holds() for one in found)
    assert all(one.optimum == max(0.1, least_risk) for one in found)
    assert all(np.all(one.expected >= one.optimum - 1e-12) for one in found)
    gaps = [one.gap.mean() for one in found]
    assert np.all(np.diff(gaps) < 0)
    assert gaps[-1] < 0.02


def test_deviations_of_a_subset_are_no_larger():
    whole, part = theory.simulate_thresholds(50), theory.simulate_thresholds(50, least_risk=0.3)
    assert np.all(part.above <= whole.above)
    assert np.all(part.below <= whole.below)
    assert np.all(part.empirical >= whole.empirical)
    with pytest.raises(ValueError, match="no threshold has such a risk"):
        theory.simulate_thresholds(50, least_risk=0.9)


def test_both_sides_against_a_fine_grid():
    found = theory.simulate_thresholds(40, n_samples=1, least_risk=0.3, random_state=3)
    random = np.random.default_rng(3)
    x = np.sort(random.random(40))
    positive = (x > 0.4) ^ (random.random(40) < 0.1)
    grid = np.linspace(0, 1, 100_001)
    expected = 0.1 + 0.8 * np.abs(grid - 0.4)
    grid, expected = grid[expected >= 0.3], expected[expected >= 0.3]
    empirical = np.mean((x[None, :] > grid[:, None]) != positive, axis=1)
    assert found.above[0] == pytest.approx(np.max(expected - empirical), abs=1e-4)
    assert found.below[0] == pytest.approx(np.max(empirical - expected), abs=1e-4)
    assert found.empirical[0] == pytest.approx(empirical.min())


@pytest.mark.parametrize("n", [1, 10, 1000])
def test_theorem_2_1_as_printed_is_neither_sufficient_nor_necessary(n):
    wrong = theory.simulate_exceptions(n, "always wrong")
    right = theory.simulate_exceptions(n, "always right")
    assert (wrong.below, wrong.gap) == (0.0, 1.0)  # the printed condition holds, the minimum fails
    assert (right.below, right.gap) == (1.0, 0.0)  # and the other way round
    assert (wrong.above, right.above) == (1.0, 0.0)  # the other side tells them apart
    assert wrong.argument_holds()
    assert right.argument_holds()
    with pytest.raises(ValueError, match="must be 'always wrong'"):
        theory.simulate_exceptions(n, "sometimes")


def test_a_function_that_is_always_right_hides_that_nothing_converges():
    """Why Definition 2.2 speaks of all subsets: consistency with that function is trivial."""
    wrong = theory.simulate_exceptions(100, "always wrong")
    right = theory.simulate_exceptions(100, "always right")
    minimum_of_both = min(wrong.empirical[0], right.empirical[0])
    assert minimum_of_both == min(wrong.optimum, right.optimum) == 0.0
    assert wrong.gap[0] == 1.0  # those with R >= c, for 0 < c <= 1


@pytest.mark.parametrize("distribution", [norm(), poisson(2.0)], ids=["normal", "poisson"])
def test_theorem_2_2_for_any_distribution(distribution):
    deviations = [
        np.mean(
            [
                theory.distribution_deviation(
                    distribution.rvs(n, random_state=seed), distribution.cdf
                )
                for seed in range(30)
            ]
        )
        for n in (10, 100, 1000)
    ]
    assert np.all(np.diff(deviations) < 0)
    assert deviations[0] / deviations[-1] == pytest.approx(10, rel=0.4)  # as 1 / √L


def test_theorem_2_2_is_the_statistic_of_kolmogorov_and_smirnov():
    x = np.random.default_rng(0).normal(size=50)
    assert theory.distribution_deviation(x, norm.cdf) == pytest.approx(kstest(x, "norm").statistic)
    coin = theory.distribution_deviation([0, 1, 1, 1], lambda t: (t >= 0) * 0.5 + (t >= 1) * 0.5)
    assert coin == pytest.approx(0.25)


def test_theorem_2_3_covers_theorem_2_2():
    """These functions have h = 1."""
    random, n, eta = np.random.default_rng(0), 200, 0.1
    deviations = [
        theory.distribution_deviation(random.normal(size=n), norm.cdf) for _ in range(1000)
    ]
    assert np.mean(np.array(deviations) > theory.vc_confidence(1, n, eta)) <= eta
