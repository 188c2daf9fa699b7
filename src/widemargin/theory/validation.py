r"""Hoeffding's inequality, and what validation examples say about the risk (2.6, 2.3.2).

:math:`\tau = \sup Q - \inf Q` is the spread of the loss (`spread`), 1 for counted errors. A bound
fails with a probability of at most η (`eta`).
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import beta

__all__ = [
    "Interval",
    "hoeffding_deviation",
    "hoeffding_probability",
    "validation_examples",
    "validation_interval",
]


def hoeffding_probability(deviation: float, n_examples: int, *, spread: float = 1.0) -> float:
    r"""Bound on :math:`P[|R_L(f) - R(f)| > \epsilon]`: :math:`2 e^{-2 L \epsilon^2/\tau^2}` (2.6).

    The function must not depend on the examples.

    Examples
    --------
    >>> round(hoeffding_probability(0.01, 15_000), 3)
    0.1
    """
    return float(min(1.0, 2.0 * np.exp(-2.0 * n_examples * (deviation / spread) ** 2)))


def hoeffding_deviation(
    eta: float, n_examples: int, *, spread: float = 1.0, n_choices: int = 1
) -> float:
    r"""How far the risk on validation examples may be from R, with probability 1 − η (2.3.2).

    .. math:: |R(f) - \tilde R(f)| \le \tau \sqrt{\frac{\log(2M/\eta)}{2 \tilde L}}

    where :math:`\tilde L` is the number of *validation* examples (the thesis prints L). If f is the
    best of M functions on these examples (`n_choices`), the bound must hold for all M at once,
    which costs log M.

    Examples
    --------
    >>> round(hoeffding_deviation(0.1, 15_000), 4)
    0.01
    >>> round(hoeffding_deviation(0.1, 15_000, n_choices=100), 4)
    0.0159
    """
    return float(spread * np.sqrt(np.log(2.0 * n_choices / eta) / (2.0 * n_examples)))


def validation_examples(deviation: float, eta: float, *, n_choices: int = 1) -> int:
    r"""How many validation examples make `hoeffding_deviation` at most this, for counted errors.

    Examples
    --------
    >>> validation_examples(0.01, 0.1)
    14979
    """
    return int(np.ceil(np.log(2.0 * n_choices / eta) / (2.0 * deviation**2)))


@dataclass(frozen=True)
class Interval:
    """An estimate and the interval that holds the true value with probability 1 − η."""

    estimate: float
    low: float
    high: float


def validation_interval(
    n_errors: int,
    n_examples: int,
    *,
    eta: float = 0.05,
    n_choices: int = 1,
    method: str = "exact",
) -> Interval:
    r"""An interval for the expected error rate from errors on validation examples.

    Parameters
    ----------
    n_errors, n_examples : int
        Errors on examples that had no part in training.
    eta : float, default=0.05
        The probability that the interval does not hold the expected error rate.
    n_choices : int, default=1
        The number of models of which the one with the fewest of these errors was chosen.
    method : {"exact", "hoeffding"}, default="exact"
        "exact" is the interval of Clopper and Pearson, from the binomial distribution. "hoeffding"
        is that of 2.3.2, which holds for any loss and is wider.

    Returns
    -------
    Interval

    Examples
    --------
    >>> found = validation_interval(150, 10_000)
    >>> round(found.low, 4), found.estimate, round(found.high, 4)
    (0.0127, 0.015, 0.0176)
    """
    if not 0 <= n_errors <= n_examples or n_examples < 1:
        raise ValueError(
            f"n_errors={n_errors} of n_examples={n_examples}: errors must be between 0 and the "
            "number of examples, which must be positive"
        )
    estimate = n_errors / n_examples
    if method == "hoeffding":
        width = hoeffding_deviation(eta, n_examples, n_choices=n_choices)
        return Interval(estimate, max(0.0, estimate - width), min(1.0, estimate + width))
    if method != "exact":
        raise ValueError(f"method={method!r} must be 'exact' or 'hoeffding'")
    tail, right = eta / (2.0 * n_choices), n_examples - n_errors
    low = beta.ppf(tail, n_errors, right + 1) if n_errors else 0.0
    high = beta.ppf(1.0 - tail, n_errors + 1, right) if right else 1.0
    return Interval(estimate, float(low), float(high))
