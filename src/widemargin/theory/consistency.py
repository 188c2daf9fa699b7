r"""Empirical risk minimisation, simulated: when does its minimum converge? (2.5)-(2.10)

Examples are numbers x, uniform in [0, 1], whose class is that of :math:`x > t^*`, turned over with
probability `noise`. All risks are known exactly:

- *thresholds*, functions :math:`x > t`, have :math:`R(t) = \nu + (1 - 2\nu)\,|t - t^*|`. Their VC
  dimension is 1, so :math:`R_L` converges uniformly (2.7), and so does its minimum.
- *memorisers*, functions that are +1 on finitely many points and −1 elsewhere, have an infinite VC
  dimension. The minimum of :math:`R_L` is 0 for every L, and the risk of what was found does not
  fall: the minimum of the empirical risk says nothing.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from widemargin._typing import FloatArray

__all__ = ["Consistency", "simulate_memorisers", "simulate_thresholds"]

TRUE_THRESHOLD = 0.4


@dataclass(frozen=True, eq=False)
class Consistency:
    """Risks of several samples of L examples, one entry per sample."""

    n_examples: int
    deviation: FloatArray  # sup over f of |R_L(f) − R(f)|
    empirical: FloatArray  # R_L of the minimiser f_L
    expected: FloatArray  # R of f_L
    optimum: float  # the lowest R

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
            and np.all(np.abs(self.empirical - self.optimum) <= 3.0 * epsilon)
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
    n_examples: int, *, n_samples: int = 100, noise: float = 0.1, random_state: int = 0
) -> Consistency:
    """Empirical risk minimisation over thresholds.

    Parameters
    ----------
    n_examples : int
        L.
    n_samples : int, default=100
        How many samples of L examples are drawn.
    noise : float, default=0.1
        The probability of a wrong class, below ½.
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
    random = np.random.default_rng(random_state)
    found = []
    for _ in range(n_samples):
        x, positive = _sample(n_examples, noise, random)
        # Between two examples, R_L is constant and R is linear or has its minimum: the largest
        # deviation is at an end of such a piece, or at the true threshold.
        ends = np.concatenate([[0.0], x, [1.0]])
        missed = np.concatenate([[0], np.cumsum(positive)])
        false = np.concatenate([np.cumsum(~positive[::-1])[::-1], [0]])
        risks = (missed + false) / n_examples  # of thresholds in [ends[k], ends[k + 1])
        low, high = ends[:-1], ends[1:]
        nearest = np.clip(TRUE_THRESHOLD, low, high)
        deviation = max(np.abs(risks - _risk(t, noise)).max() for t in (low, high, nearest))
        best = int(np.argmin(risks))
        found.append((deviation, risks[best], _risk(0.5 * (low[best] + high[best]), noise)))
    deviations, empirical, risk = np.array(found, dtype=float).T
    return Consistency(n_examples, deviations, empirical, risk, noise)


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
    deviation = np.maximum(rate, 1.0 - rate) * np.ones_like(share)
    return Consistency(n_examples, deviation, np.zeros_like(share), np.full_like(share, rate), rate)
