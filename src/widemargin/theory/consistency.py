r"""Empirical risk minimisation, simulated: when does its minimum converge? (2.5)-(2.10)

Examples are numbers x, uniform in [0, 1], whose class is that of :math:`x > t^*`, turned over with
probability `noise`. All risks are known exactly:

- *thresholds*, functions :math:`x > t`, have :math:`R(t) = \nu + (1 - 2\nu)\,|t - t^*|`. Their VC
  dimension is 1, so :math:`R_L` converges uniformly (2.7), and so does its minimum.
- *memorisers*, functions that are +1 on finitely many points and −1 elsewhere, have an infinite VC
  dimension. The minimum of :math:`R_L` is 0 for every L, and the risk of what was found does not
  fall: the minimum of the empirical risk says nothing.
- *exceptions*, functions that are always right or always wrong but for finitely many points, tell
  the two sides of a deviation apart (Theorem 2.1).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from widemargin._typing import ArrayLike, FloatArray

__all__ = [
    "Consistency",
    "distribution_deviation",
    "simulate_exceptions",
    "simulate_memorisers",
    "simulate_thresholds",
]

TRUE_THRESHOLD = 0.4


@dataclass(frozen=True, eq=False)
class Consistency:
    """Risks of several samples of L examples, one entry per sample."""

    n_examples: int
    above: FloatArray  # sup over f of R(f) − R_L(f)
    below: FloatArray  # sup over f of R_L(f) − R(f)
    empirical: FloatArray  # R_L of the minimiser f_L
    expected: FloatArray  # R of f_L
    optimum: float  # the lowest R

    @property
    def deviation(self) -> FloatArray:
        r"""The largest deviation, :math:`\sup_f |R_L(f) - R(f)|` (2.7)."""
        return np.maximum(self.above, self.below)

    @property
    def gap(self) -> FloatArray:
        r"""What must vanish (Definition 2.2): :math:`|\inf_f R_L(f) - \inf_f R(f)|`."""
        return np.asarray(np.abs(self.empirical - self.optimum))

    def argument_holds(self) -> bool:
        r"""Whether every sample obeys (2.8)-(2.10), with its own deviation as ε.

        :math:`|R_L(f_L) - R(f_L)| \le \epsilon`, :math:`R(f_L) - R(f^*) \le 2\epsilon`, and so
        :math:`|\inf R_L - \inf R| \le 3\epsilon`. (It is at most ε; the argument of the thesis is
        not tight.)
        """
        epsilon = self.deviation + 1e-12
        return bool(
            np.all(np.abs(self.empirical - self.expected) <= epsilon)
            and np.all(self.expected - self.optimum <= 2.0 * epsilon)
            and np.all(self.gap <= 3.0 * epsilon)
        )


def _sample(
    n_examples: int, noise: float, random: np.random.Generator
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Examples in increasing order, and whether they are positive."""
    x = np.sort(random.random(n_examples))
    return x, (x > TRUE_THRESHOLD) ^ (random.random(n_examples) < noise)


def _risk(threshold: FloatArray, noise: float) -> FloatArray:
    """The expected risk of thresholds."""
    return np.asarray(noise + (1.0 - 2.0 * noise) * np.abs(threshold - TRUE_THRESHOLD))


def simulate_thresholds(
    n_examples: int,
    *,
    n_samples: int = 100,
    noise: float = 0.1,
    least_risk: float = 0.0,
    random_state: int = 0,
) -> Consistency:
    r"""Empirical risk minimisation over thresholds.

    Parameters
    ----------
    n_examples : int
        L.
    n_samples : int, default=100
        How many samples of L examples are drawn.
    noise : float, default=0.1
        The probability of a wrong class, below ½.
    least_risk : float, default=0.0
        c of Definition 2.2: only thresholds with :math:`R(t) \ge c` are considered.
    random_state : int, default=0
        The seed.

    Examples
    --------
    >>> few, many = simulate_thresholds(30), simulate_thresholds(3000)
    >>> bool(few.deviation.mean() > 5 * many.deviation.mean())
    True
    >>> few.argument_holds() and many.argument_holds()
    True
    """
    distance = max(0.0, (least_risk - noise) / (1.0 - 2.0 * noise))  # of t from t* at least
    if distance > max(TRUE_THRESHOLD, 1.0 - TRUE_THRESHOLD):
        raise ValueError(f"least_risk={least_risk}: no threshold has such a risk; lower it")
    random = np.random.default_rng(random_state)
    found = []
    for _ in range(n_samples):
        x, positive = _sample(n_examples, noise, random)
        ends = np.concatenate([[0.0], x, [1.0]])
        missed = np.concatenate([[0], np.cumsum(positive)])
        false = np.concatenate([np.cumsum(~positive[::-1])[::-1], [0]])
        risks = (missed + false) / n_examples  # of thresholds in [ends[k], ends[k + 1])
        # R_L is constant on such a piece and R is linear on either side of t*: what is left of a
        # piece there has its largest deviations at its ends.
        low, high = ends[:-1], ends[1:]
        left, right = low <= TRUE_THRESHOLD - distance, high >= TRUE_THRESHOLD + distance
        low = np.concatenate([low[left], np.maximum(low[right], TRUE_THRESHOLD + distance)])
        high = np.concatenate([np.minimum(high[left], TRUE_THRESHOLD - distance), high[right]])
        risks = np.concatenate([risks[left], risks[right]])
        above = max(np.max(_risk(t, noise) - risks) for t in (low, high))
        below = max(np.max(risks - _risk(t, noise)) for t in (low, high))
        best = int(np.argmin(risks))
        chosen = _risk(0.5 * (low[best] + high[best]), noise)
        found.append((above, below, risks[best], chosen))
    above, below, empirical, risk = np.array(found, dtype=float).T
    return Consistency(n_examples, above, below, empirical, risk, max(noise, least_risk))


def simulate_memorisers(
    n_examples: int, *, n_samples: int = 100, noise: float = 0.1, random_state: int = 0
) -> Consistency:
    """Empirical risk minimisation over all functions that are +1 on finitely many points.

    The minimiser is +1 on the positive examples and nowhere else, so it is wrong on every new
    positive one. Parameters are those of `simulate_thresholds`.

    Examples
    --------
    >>> found = simulate_memorisers(3000)
    >>> float(found.empirical.max()), round(float(found.expected.min()), 2)
    (0.0, 0.58)
    """
    random = np.random.default_rng(random_state)
    rate = (1.0 - TRUE_THRESHOLD) * (1.0 - noise) + TRUE_THRESHOLD * noise  # of positives
    share = np.array(
        [np.mean(_sample(n_examples, noise, random)[1]) for _ in range(n_samples)], dtype=float
    )
    # Functions differ from −1 on a set of measure zero, so all have R = rate, while R_L takes
    # every value from 0 to 1.
    all_same = np.full_like(share, rate)
    return Consistency(n_examples, all_same, 1.0 - all_same, 0.0 * share, all_same, rate)


def simulate_exceptions(n_examples: int, rule: str) -> Consistency:
    r"""Functions that follow a rule but for finitely many points: the sides of Theorem 2.1.

    Exceptions from "always wrong" learn points by heart: R is 1 and :math:`R_L` anything from 0 to
    1. Its minimum does not converge to that of R, although :math:`\sup_f (R_L(f) - R(f)) = 0`,
    which the thesis prints as a sufficient condition. Exceptions from "always right" spoil points:
    R is 0 and :math:`R_L` anything. Its minimum does converge, although
    :math:`\sup_f (R_L(f) - R(f)) = 1`, so the printed condition is not necessary either. The
    other side, :math:`\sup_f (R(f) - R_L(f))`, is 1 and 0, as it should be.

    Parameters
    ----------
    n_examples : int
        L; the examples differ.
    rule : {"always wrong", "always right"}
        What is done on all other points.

    Returns
    -------
    Consistency
        With one entry: no risk depends on the sample.

    Examples
    --------
    >>> found = simulate_exceptions(100, "always wrong")
    >>> float(found.below[0]), float(found.above[0]), float(found.gap[0])
    (0.0, 1.0, 1.0)
    """
    if rule not in ("always wrong", "always right"):
        raise ValueError(f"rule={rule!r} must be 'always wrong' or 'always right'")
    share = np.arange(n_examples + 1) / n_examples  # of the examples that are exceptions
    risk = 1.0 if rule == "always wrong" else 0.0  # a set of measure zero does not change it
    empirical = np.abs(risk - share)
    above, below = np.max(risk - empirical), np.max(empirical - risk)
    sides = np.array([[above], [below], [np.min(empirical)], [risk]])
    return Consistency(n_examples, sides[0], sides[1], sides[2], sides[3], risk)


def distribution_deviation(x: ArrayLike, cdf: Callable[[FloatArray], FloatArray]) -> float:
    r"""The deviation of Theorem 2.2 (Glivenko and Cantelli): :math:`\sup_t |F_L(t) - F(t)|`.

    The loss is 1 for z < t, so :math:`R(f) = P(z < t)`, and :math:`R_L` is the fraction of the
    examples below t. For every distribution the deviation tends to 0; the set of these functions
    has VC dimension 1. For continuous F it is the statistic of Kolmogorov and Smirnov.

    Parameters
    ----------
    x : array-like of shape (n_examples,)
        The examples.
    cdf : callable
        F, the probability of a value that is not larger. It may have jumps.

    Examples
    --------
    >>> round(distribution_deviation([0.1, 0.5, 0.9], lambda t: np.clip(t, 0, 1)), 3)
    0.233
    """
    values, counts = np.unique(np.asarray(x, dtype=float), return_counts=True)
    upto = np.cumsum(counts) / counts.sum()
    before = np.concatenate([[0.0], upto[:-1]])
    at, just_below = cdf(values), cdf(np.nextafter(values, -np.inf))
    return float(max(np.abs(upto - at).max(), np.abs(before - just_below).max()))
