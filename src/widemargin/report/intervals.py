r"""Intervals around what held-out rows show: 95 of 100 such intervals hold the true value.

Shares of rows have the exact interval of Clopper and Pearson. What is a function of shares or of
areas has a closed form below. Other functions of sums over rows are computed again on resampled
rows (the bootstrap). Rows with weights count as the number of equal rows that would say as much,
:math:`(\sum w)^2 / \sum w^2`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit
from scipy.stats import binom, norm, t

from widemargin._typing import FloatArray
from widemargin.theory import validation_interval

__all__ = [
    "CONFIDENCE",
    "Measure",
    "Resamples",
    "Z",
    "area_interval",
    "effective",
    "f1_interval",
    "mean_of_independent",
    "median_interval",
    "precision_interval",
    "proportion",
    "share_interval",
    "wider",
]

CONFIDENCE = 0.95
ETA = 1.0 - CONFIDENCE
Z = float(norm.ppf(1.0 - ETA / 2.0))
RESAMPLES = 400
GROUPS = 2000  # of rows that are drawn together, if rows are more
FEWEST_OF_A_KIND = 5  # for an approximation by a normal distribution
FEWEST_ROWS = 5  # a bootstrap of fewer would promise too much

Bounds = tuple[float | None, float | None]


@dataclass(frozen=True)
class Measure:
    """A value of held-out rows with its interval; bounds are None if there is no interval."""

    value: float
    low: float | None = None
    high: float | None = None
    method: str = ""

    @classmethod
    def of(cls, value: Any, bounds: Bounds, method: str) -> "Measure":
        """The measure with bounds that hold its value."""
        low, high = bounds
        if low is None or high is None:
            return cls(float(value))
        return cls(float(value), min(float(low), float(value)), max(float(high), value), method)


def effective(weights: FloatArray) -> float:
    """How many rows of equal weight say as much as these."""
    return float(np.sum(weights) ** 2 / np.sum(np.square(weights)))


def share_interval(share: float, rows: float) -> tuple[float, float]:
    """The exact interval of a share of rows; a fraction of a row counts to its disadvantage.

    Examples
    --------
    >>> low, high = share_interval(0.015, 10_000)
    >>> round(low, 4), round(high, 4)
    (0.0127, 0.0176)
    """
    whole = max(1, int(rows + 1e-9))
    hits = share * whole
    low = validation_interval(max(0, int(np.floor(hits + 1e-9))), whole, eta=ETA).low
    high = validation_interval(min(whole, int(np.ceil(hits - 1e-9))), whole, eta=ETA).high
    return low, high


def proportion(hits: Any, weights: FloatArray) -> Measure:
    """The share of rows that `hits` marks."""
    share = min(1.0, float(np.sum(weights * hits) / np.sum(weights)))
    return Measure.of(share, share_interval(share, effective(weights)), "exact")


def f1_interval(right: float, wrong: float, scale: float = 1.0) -> tuple[float, float]:
    r"""The exact interval of F1 from hits, and false and missed alarms together.

    :math:`F_1 = 2\phi/(1+\phi)` with the share :math:`\phi` of hits among hits, false alarms and
    misses. `scale` turns weights into rows.
    """
    total = right + wrong
    bounds = share_interval(right / total, total * scale) if total > 0 else (0.0, 1.0)
    return (2 * bounds[0] / (1 + bounds[0]), 2 * bounds[1] / (1 + bounds[1]))


def area_interval(area: float, positive: float, negative: float) -> tuple[float, float]:
    r"""The score interval of an area under the ROC curve (Newcombe 2006, method 5).

    Its ends are the θ at which the area found is 1.96 standard deviations away, where the
    variance is that of Hanley and McNeil at θ. The interval has a width even if the area is 1.

    Parameters
    ----------
    area : float
        The area.
    positive, negative : float
        How many rows there are of each side.
    """
    mean = (positive + negative) / 2.0

    def excess(theta: float) -> float:
        inner = (1 - theta) / (2 - theta) + theta / (1 + theta)
        variance = theta * (1 - theta) * (1 + (mean - 1) * inner) / (positive * negative)
        return float((area - theta) ** 2 - Z**2 * variance)

    below, above = min(area, 1 - 1e-12), max(area, 1e-12)
    low = brentq(excess, 0.0, below) if excess(0.0) > 0 > excess(below) else 0.0
    high = brentq(excess, above, 1.0) if excess(1.0) > 0 > excess(above) else 1.0
    return float(low), float(high)


def precision_interval(value: float, positive: float) -> tuple[float, float]:
    """The logit interval of an average precision (Boyd, Eng and Page 2013).

    Near 0 and 1 the logit has no normal distribution; the interval is that of a share of the
    positive rows there, of which the logit interval is an approximation.

    Examples
    --------
    >>> [round(end, 4) for end in precision_interval(0.9999, 700)]
    [0.9921, 1.0]
    """
    if positive * min(value, 1.0 - value) < FEWEST_OF_A_KIND:
        return share_interval(value, positive)
    width = Z / np.sqrt(positive * value * (1 - value))
    return float(expit(logit(value) - width)), float(expit(logit(value) + width))


def mean_of_independent(
    values: FloatArray, lows: FloatArray, highs: FloatArray
) -> tuple[float, float]:
    r"""The interval of a mean of K independent estimates from their own intervals (Zou, Donner).

    Its distances from the mean are :math:`\frac1K \sqrt{\sum_k (\hat\theta_k - l_k)^2}` and the
    same with the upper ends.
    """
    mean, count = float(np.mean(values)), len(values)
    below = np.sqrt(np.sum(np.square(values - lows))) / count
    above = np.sqrt(np.sum(np.square(highs - values))) / count
    return mean - float(below), mean + float(above)


def wider(one: Bounds, other: tuple[float, float]) -> tuple[float, float]:
    """The bounds within 0 and 1 that hold both intervals."""
    if one[0] is None or one[1] is None:
        return other
    return max(0.0, min(one[0], other[0])), min(1.0, max(one[1], other[1]))


def median_interval(values: FloatArray, weights: FloatArray) -> Measure:
    """The median, with the interval between two order statistics."""
    order = np.argsort(values, kind="stable")
    ordered, share = values[order], np.cumsum(weights[order]) / np.sum(weights)
    rows = max(1, int(effective(weights) + 1e-9))

    def at(level: float) -> float:
        return float(ordered[min(len(ordered) - 1, int(np.searchsorted(share, level - 1e-12)))])

    equal = bool(np.all(weights == weights[0]))
    value = float(np.median(values)) if equal else at(0.5)
    if rows < FEWEST_ROWS + 1:  # even the whole range holds the median too rarely
        return Measure(value)
    low, high = binom.ppf(ETA / 2, rows, 0.5), binom.ppf(1 - ETA / 2, rows, 0.5) + 1
    return Measure.of(value, (at(max(low, 1) / rows), at(min(high, rows) / rows)), "order")


class Resamples:
    """Sums over rows of 400 bootstrap resamples.

    More than 2,000 rows are drawn as 2,000 groups of random rows: a sum over rows then has the
    same variance, and the cost does not grow.

    Parameters
    ----------
    rows : int
        How many rows there are.
    seed : int
        Decides what is drawn.
    """

    def __init__(self, rows: int, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.groups = min(rows, GROUPS)
        few = rows <= GROUPS
        self.group = np.arange(rows) if few else random.permutation(rows) % GROUPS
        equal = np.full(self.groups, 1.0 / self.groups)
        self.drawn = random.multinomial(self.groups, equal, size=RESAMPLES).astype(np.float64)

    def sums(self, *columns: FloatArray) -> list[FloatArray]:
        """The sum of each column over the rows of each resample."""
        return [self.drawn @ np.bincount(self.group, one, self.groups) for one in columns]

    def sums_by_class(self, codes: FloatArray, weights: FloatArray, classes: int) -> FloatArray:
        """The weight of each class in each resample, of shape (resamples, classes)."""
        cell = self.group * classes + codes
        found = np.bincount(cell, weights, self.groups * classes)
        return np.asarray(self.drawn @ found.reshape(self.groups, classes))

    def bounds(self, values: FloatArray) -> Bounds:
        """Quantiles of a statistic of the resamples, wider if rows are few (Hesterberg 2015)."""
        values = values[np.isfinite(values)]
        n = self.groups
        if n < FEWEST_ROWS or len(values) < RESAMPLES // 2:
            return None, None
        tail = norm.cdf(-np.sqrt(n / (n - 1)) * t.ppf(1 - ETA / 2, n - 1))
        low, high = np.quantile(values, [tail, 1 - tail])
        return float(low), float(high)

    def mean(self, values: FloatArray, weights: FloatArray) -> Measure:
        """The weighted mean of values of rows."""
        total, weight = self.sums(values * weights, weights)
        with np.errstate(invalid="ignore", divide="ignore"):
            bounds = self.bounds(total / weight)
        return Measure.of(np.average(values, weights=weights), bounds, "bootstrap")
