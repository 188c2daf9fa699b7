"""Intervals of scores: they hold the true value about as often as they promise."""

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from widemargin.report import evaluate
from widemargin.report.intervals import (
    Resamples,
    area_interval,
    effective,
    f1_interval,
    median_interval,
    precision_interval,
    proportion,
    share_interval,
)

TRIALS = 150
#: Fewer hits than this are less likely than one in a thousand if 95 % is kept.
FEWEST_HITS = int(binom.ppf(0.001, TRIALS, 0.95))


class Drawn:
    """Rows of a known distribution, and a model that answers them."""

    def __init__(self, random, classes, rows):
        if classes:
            shares = np.arange(classes, 0, -1.0)
            self.y = random.choice(classes, size=rows, p=shares / shares.sum())
            outputs = random.normal(size=(rows, classes)) + 1.5 * np.eye(classes)[self.y]
            self.p = np.exp(outputs) / np.exp(outputs).sum(axis=1, keepdims=True)
            self.classes_, self.labels = np.arange(classes), self.p.argmax(axis=1)
            self.predict_proba = lambda X: self.p
        else:
            x = random.normal(size=rows)
            self.y, self.labels = 2 * x + random.normal(size=rows), 1.8 * x + 0.1
            self.predict_interval = lambda X, coverage: np.c_[self.labels - 2, self.labels + 2]

    def predict(self, X):
        return self.labels

    def measured(self, seed=0):
        task = "classification" if hasattr(self, "p") else "regression"
        return evaluate(self, None, self.y, task=task, seed=seed)["metrics"]


@pytest.mark.slow(seconds=10)
@pytest.mark.parametrize("classes", [2, 4, 0])
def test_intervals_hold_the_true_value_as_often_as_they_promise(classes):
    random = np.random.default_rng(classes)
    truth = {k: v["value"] for k, v in Drawn(random, classes, 400_000).measured().items()}
    found = [Drawn(random, classes, 200).measured(seed) for seed in range(TRIALS)]
    for name, true in truth.items():
        hits = sum(one[name]["low"] <= true <= one[name]["high"] for one in found)
        assert hits >= FEWEST_HITS, f"{name}: {hits} of {TRIALS}"
        values = np.array([one[name]["value"] for one in found])
        widths = np.array([one[name]["high"] - one[name]["low"] for one in found])
        # Nor are they wider than about twice what the spread of the values asks for.
        assert widths.mean() < 2.0 * 3.92 * values.std(), name


@pytest.mark.parametrize(("hits", "rows"), [(0, 1), (0, 30), (30, 30), (7, 50), (150, 10_000)])
def test_shares_have_the_exact_interval(hits, rows):
    exact = binomtest(hits, rows).proportion_ci(0.95)
    assert share_interval(hits / rows, rows) == pytest.approx((exact.low, exact.high))


def test_weights_make_intervals_wider():
    hits = np.arange(200) % 4 == 0
    equal = proportion(hits, np.full(200, 3.0))
    uneven = proportion(hits, np.where(np.arange(200) % 20 < 4, 9.0, 1.0))
    assert equal == proportion(hits, np.ones(200))
    assert uneven.value == pytest.approx(0.25)
    assert uneven.high - uneven.low > 1.3 * (equal.high - equal.low)
    assert effective(np.ones(7)) == 7
    assert effective(np.array([1.0, 1e-9])) == pytest.approx(1)


@pytest.mark.parametrize("area", [0.0, 0.2, 0.5, 0.97, 1.0])
def test_areas(area):
    low, high = area_interval(area, 20, 60)
    assert 0 <= low <= area <= high <= 1
    assert 0.02 < high - low < 0.35
    narrow = area_interval(area, 2000, 6000)
    assert narrow[1] - narrow[0] < 0.25 * (high - low)
    mirrored = area_interval(1 - area, 20, 60)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=0.05)  # V is not quite symmetric


def test_f1_of_perfect_answers_still_has_a_width():
    low, high = f1_interval(30, 0)
    assert high == 1.0
    phi = binomtest(30, 30).proportion_ci(0.95).low
    assert low == pytest.approx(2 * phi / (1 + phi))
    assert f1_interval(0, 0) == (0.0, 1.0)


def test_medians_lie_between_order_statistics():
    values = np.random.default_rng(0).permutation(101.0 * np.arange(101))
    found = median_interval(values, np.ones(101))
    assert found.value == 5050
    low, high = found.low / 101, found.high / 101
    assert binom.cdf(high, 101, 0.5) - binom.cdf(low, 101, 0.5) >= 0.95
    assert high - low < 25
    assert median_interval(values[:5], np.ones(5)).low is None


@pytest.mark.parametrize("rows", [100, 50_000])
def test_resampled_means_have_the_width_of_the_normal_interval(rows):
    values = np.random.default_rng(1).exponential(size=rows)
    weights = np.random.default_rng(2).integers(1, 4, rows).astype(float)
    found = Resamples(rows, 0).mean(values, weights)
    mean = np.average(values, weights=weights)
    spread = np.sqrt(np.sum((weights * (values - mean)) ** 2)) / weights.sum()
    assert found.value == pytest.approx(mean)
    assert found.high - found.low == pytest.approx(2 * 1.96 * spread, rel=0.15)


def test_few_rows_have_no_resampled_interval():
    assert Resamples(4, 0).mean(np.arange(4.0), np.ones(4)).low is None
    assert Resamples(5, 0).mean(np.arange(5.0), np.ones(5)).low is not None


def test_a_nearly_perfect_average_precision_has_a_narrow_interval():
    """The logit interval overflows there, or reaches far below what the rows show."""
    for value in (1.0, 1.0 - 1e-15, 0.9999):
        low, high = precision_interval(value, 700.0)
        assert 0.99 < low < value <= high == 1.0
