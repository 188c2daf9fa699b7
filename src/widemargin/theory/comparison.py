"""Is one model better than another? Tests on their errors (thesis 2.3.2)."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import binom, chi2, norm
from scipy.stats import t as student

from widemargin._typing import ArrayLike

__all__ = [
    "McNemar",
    "PairedLosses",
    "Proportions",
    "PublishedRates",
    "mcnemar",
    "paired_losses",
    "published_rates",
    "two_proportions",
]


@dataclass(frozen=True)
class McNemar:
    """McNemar's test of two models on the same examples."""

    only_first: int  # examples that only the first model gets wrong
    only_second: int
    p_value: float  # of as large a difference between equally good models

    @property
    def better(self) -> str:
        """Which model has fewer errors."""
        if self.only_first == self.only_second:
            return "neither"
        return "first" if self.only_first < self.only_second else "second"


def mcnemar(y: ArrayLike, first: ArrayLike, second: ArrayLike, *, method: str = "exact") -> McNemar:
    r"""McNemar's test: have two models the same error rate?

    Only examples count on which exactly one model is wrong, b and c of them. If the models are
    equally good, each is the one that is wrong with probability ½.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        True classes of examples that had no part in training.
    first, second : array-like of shape (n_samples,)
        Classes that the models predict.
    method : {"exact", "corrected", "chi2"}, default="exact"
        "exact" uses the binomial distribution, "corrected" :math:`(|b - c| - 1)^2/(b + c)` and
        "chi2" :math:`(b - c)^2/(b + c)`, both with one degree of freedom.

    Returns
    -------
    McNemar
        With a p-value for both sides.

    Examples
    --------
    >>> y = np.zeros(100)
    >>> first, second = y.copy(), y.copy()
    >>> first[:4], second[10:30] = 1, 1
    >>> found = mcnemar(y, first, second)
    >>> found.only_first, found.only_second, round(found.p_value, 4), found.better
    (4, 20, 0.0015, 'first')
    """
    y, first, second = (np.ravel(values) for values in (y, first, second))
    if not len(y) == len(first) == len(second):
        raise ValueError(
            f"y has {len(y)} examples, the predictions {len(first)} and {len(second)}; they must "
            "be of the same examples"
        )
    wrong, also_wrong = first != y, second != y
    b, c = int(np.sum(wrong & ~also_wrong)), int(np.sum(also_wrong & ~wrong))
    if b + c == 0:
        p_value = 1.0
    elif method == "exact":
        p_value = min(1.0, 2.0 * float(binom.cdf(min(b, c), b + c, 0.5)))
    elif method == "corrected":
        p_value = float(chi2.sf(max(0, abs(b - c) - 1) ** 2 / (b + c), 1))
    elif method == "chi2":
        p_value = float(chi2.sf((b - c) ** 2 / (b + c), 1))
    else:
        raise ValueError(f"method={method!r} must be 'exact', 'corrected' or 'chi2'")
    return McNemar(b, c, p_value)


@dataclass(frozen=True)
class PairedLosses:
    """The test of the losses of two models on the same examples."""

    difference: float  # mean loss of the first minus that of the second
    low: float  # of the interval that holds the true difference with probability 95 %
    high: float
    p_value: float  # of as large a difference between equally good models

    @property
    def better(self) -> str:
        """Which model has the smaller mean loss."""
        if self.difference == 0.0:
            return "neither"
        return "first" if self.difference < 0.0 else "second"


def paired_losses(first: ArrayLike, second: ArrayLike, *, level: float = 0.95) -> PairedLosses:
    r"""Student's test of paired losses: have two models the same mean loss?

    With the differences :math:`d_l` of the losses of the same example, their mean
    :math:`\bar d` and standard deviation s, :math:`t = \bar d \sqrt{n} / s` has about the
    distribution of Student with n − 1 degrees of freedom if the models are equally good.

    Parameters
    ----------
    first, second : array-like of shape (n_samples,)
        The losses of each example, such as squared errors, of examples that had no part in
        training.
    level : float, default=0.95
        The probability of the interval.

    Returns
    -------
    PairedLosses
        With a p-value for both sides.

    Examples
    --------
    >>> found = paired_losses([1.0, 1.2, 0.9, 1.1], [0.5, 0.6, 0.4, 0.7])
    >>> round(found.difference, 3), found.better, found.p_value < 0.01
    (0.5, 'second', True)
    """
    differences = np.ravel(first).astype(np.float64) - np.ravel(second).astype(np.float64)
    count = len(differences)
    if count < 2:
        raise ValueError(f"{count} examples have losses; the test needs at least 2")
    mean, error = float(differences.mean()), float(differences.std(ddof=1) / np.sqrt(count))
    if error == 0.0:
        return PairedLosses(mean, mean, mean, 1.0 if mean == 0.0 else 0.0)
    half = error * float(student.ppf(0.5 + level / 2.0, count - 1))
    p_value = float(2.0 * student.sf(abs(mean) / error, count - 1))
    return PairedLosses(mean, mean - half, mean + half, p_value)


@dataclass(frozen=True)
class Proportions:
    """The test of two error rates on independent examples."""

    first: float
    second: float
    statistic: float  # standard normal between equally good models
    p_value: float


def two_proportions(
    first_errors: float, second_errors: float, n_first: int, n_second: int | None = None
) -> Proportions:
    r"""The test of two proportions: are two error rates the same?

    .. math:: z = \frac{p_1 - p_2}{\sqrt{p (1 - p) (1/n_1 + 1/n_2)}}

    where p is the error rate of both together. It treats the examples of the two models as
    independent. If they are the same ones, `mcnemar` is the better test, but it needs the
    predictions; published tables only have the error rates.

    Parameters
    ----------
    first_errors, second_errors : float
        The numbers of errors.
    n_first, n_second : int
        The numbers of examples; the second is the same by default.

    Returns
    -------
    Proportions
        With a p-value for both sides.

    Examples
    --------
    The report's Table 1 calls a Simple MLP better than an SVM on Connect-4, 10.3 against 11.4 % of
    10,000 examples, with 99 % confidence:

    >>> found = two_proportions(1030, 1140, 10_000)
    >>> round(found.statistic, 2), round(found.p_value, 3)
    (-2.5, 0.012)
    """
    n_second = n_first if n_second is None else n_second
    p1, p2 = first_errors / n_first, second_errors / n_second
    pooled = (first_errors + second_errors) / (n_first + n_second)
    spread = np.sqrt(pooled * (1.0 - pooled) * (1.0 / n_first + 1.0 / n_second))
    z = 0.0 if spread == 0.0 else float((p1 - p2) / spread)
    return Proportions(p1, p2, z, float(2.0 * norm.sf(abs(z))))


@dataclass(frozen=True)
class PublishedRates:
    """What can be said about two printed error rates on the same examples."""

    p_value: float  # two proportions, from the rates as printed
    lowest: float  # the same, from the rates before rounding that differ most
    highest: float  # from those that differ least
    common_errors: int | None  # that McNemar's test needs to reach the level; None: never


def published_rates(
    first: float, second: float, n_examples: int, *, rounding: float = 0.1, level: float = 0.01
) -> PublishedRates:
    r"""Is the difference of two printed error rates more than chance?

    Printed rates leave two things open. They are rounded, so the test of two proportions has a
    range of p-values. And they do not say on how many examples both models were wrong. McNemar's
    test leaves these out: with the same difference and more errors in common, its p-value is
    smaller.

    Parameters
    ----------
    first, second : float
        Error rates in percent, of the same examples.
    n_examples : int
        How many examples there are.
    rounding : float, default=0.1
        The unit of the last digit that is printed.
    level : float, default=0.01
        The p-value of the claim, 0.01 for 99 % confidence.

    Examples
    --------
    The report's Simple MLP and SVM on Connect-4, 10.3 and 11.4 % (Table 1):

    >>> found = published_rates(10.3, 11.4, 10_000)
    >>> [round(p, 4) for p in (found.p_value, found.lowest, found.highest)]
    [0.0124, 0.0064, 0.023]
    >>> found.common_errors
    190
    """
    scale, half = n_examples / 100.0, np.sign(second - first) * rounding / 2.0
    p_value, lowest, highest = (
        two_proportions((first - by) * scale, (second + by) * scale, n_examples).p_value
        for by in (0.0, half, -half)
    )
    wrong = sorted(round(rate * scale) for rate in (first, second))
    common = np.arange(wrong[0] + 1)
    b, both = wrong[0] - common, sum(wrong) - 2 * common
    reached = 2.0 * binom.cdf(b, np.maximum(both, 1), 0.5) < level
    needed = int(np.argmax(reached)) if reached.any() else None
    return PublishedRates(p_value, lowest, highest, needed)
