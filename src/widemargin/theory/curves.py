r"""Figures 2.1 and 2.2 as numbers: risks against the number of examples and the capacity.

Both are simulated with distributions that are known, so that expected risks are exact.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from widemargin._typing import FloatArray
from widemargin.theory.consistency import simulate_thresholds
from widemargin.theory.risk import excess_risk_bound, structural_risk

__all__ = ["CapacityCurve", "LearningCurve", "capacity_curve", "learning_curve"]


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Mean risks of the minimiser of R_L, by the number of examples (Figure 2.1)."""

    sizes: NDArray[np.int64]
    empirical: FloatArray  # R_L(f_L)
    expected: FloatArray  # R(f_L)
    bound: FloatArray  # on R(f_L), with probability 1 − 2η (2.11)
    optimum: float  # inf R


def learning_curve(
    sizes: Sequence[int],
    *,
    n_samples: int = 100,
    noise: float = 0.1,
    eta: float = 0.05,
    random_state: int = 0,
) -> LearningCurve:
    """Risks against the number of examples, for thresholds (Figure 2.1).

    The empirical risk rises to the lowest expected risk, and the expected risk of the function
    that was found falls to it.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of examples.
    n_samples : int, default=100
        Over how many samples of each size the mean is taken.
    noise : float, default=0.1
        The lowest expected risk.
    eta : float, default=0.05
        η of (2.11).
    random_state : int, default=0
        The seed.

    Examples
    --------
    >>> curve = learning_curve([10, 1000])
    >>> bool(curve.empirical[0] < curve.optimum < curve.expected[1] < curve.expected[0])
    True
    """
    options = {"n_samples": n_samples, "noise": noise, "random_state": random_state}
    found = [simulate_thresholds(size, **options) for size in sizes]  # type: ignore[arg-type]
    return LearningCurve(
        np.asarray(sizes, dtype=np.int64),
        np.array([one.empirical.mean() for one in found]),
        np.array([one.expected.mean() for one in found]),
        np.array([noise + excess_risk_bound(1, size, eta) for size in sizes]),
        noise,
    )


@dataclass(frozen=True, eq=False)
class CapacityCurve:
    """Risks of the minimiser of R_L in nested sets of functions (Figure 2.2)."""

    capacities: NDArray[np.int64]
    empirical: FloatArray  # R_L(f_L)
    expected: FloatArray  # R(f_L)
    bound: FloatArray  # on R(f_L), for all sets at once (2.12)

    @property
    def chosen(self) -> int:
        """The capacity with the lowest bound: the choice of structural risk minimisation."""
        return int(self.capacities[np.argmin(self.bound)])

    @property
    def best(self) -> int:
        """The capacity with the lowest expected risk."""
        return int(self.capacities[np.argmin(self.expected)])


def capacity_curve(
    n_examples: int = 2000,
    *,
    largest: int = 40,
    noise: float = 0.1,
    changes: Sequence[float] = (0.15, 0.4, 0.5, 0.8),
    eta: float = 0.05,
    random_state: int = 0,
) -> CapacityCurve:
    r"""Risks against the capacity, for one training set (Figure 2.2).

    Examples are numbers, uniform in [0, 1]. Their class changes at the values `changes` and is
    wrong with probability ν (`noise`). :math:`F_h` are all functions whose sign changes at most
    h − 1 times; their capacity is h. The empirical risk falls with h. The expected risk,
    :math:`\nu + (1 - 2\nu)` times the length on which the function differs from the true classes,
    falls and rises again.

    Parameters
    ----------
    n_examples : int, default=2000
        L.
    largest : int, default=40
        The largest capacity; all from 1 on are computed.
    noise : float, default=0.1
        ν, below ½.
    changes : sequence of float, default=(0.15, 0.4, 0.5, 0.8)
        Where the true class changes, ascending.
    eta : float, default=0.05
        The probability that any of the bounds fails.
    random_state : int, default=0
        The seed.

    Examples
    --------
    >>> curve = capacity_curve()
    >>> curve.best, curve.chosen
    (5, 5)
    """
    random = np.random.default_rng(random_state)
    x = np.sort(random.random(n_examples))
    truth = np.asarray(changes, dtype=float)
    positive = (np.searchsorted(truth, x) % 2 == 0) ^ (random.random(n_examples) < noise)
    empirical, expected = [], []
    for errors, found, starts_positive in _best_alternating(x, positive, largest):
        empirical.append(errors / n_examples)
        # Two functions differ where an odd number of changes of both together is to the left.
        ends = np.concatenate([[0.0], np.sort(np.concatenate([truth, found])), [1.0]])
        differs = (np.arange(len(ends) - 1) + (not starts_positive)) % 2 == 1
        expected.append(noise + (1.0 - 2.0 * noise) * np.diff(ends)[differs].sum())
    capacities = np.arange(1, largest + 1)
    srm = structural_risk(empirical, capacities.tolist(), n_examples, eta=eta)
    return CapacityCurve(capacities, np.array(empirical), np.array(expected), srm.bound)


def _best_alternating(
    x: FloatArray, positive: NDArray[np.bool_], largest: int
) -> list[tuple[int, FloatArray, bool]]:
    """Fewest errors with at most 0, 1, … changes of sign; where they are; the first sign.

    Dynamic programming: the best function up to an example, by the changes so far and the sign
    there, keeps its sign from the example before or changes it.
    """
    errors = np.zeros((largest, 2), dtype=np.int64)  # by changes and sign (negative, positive)
    turned = np.zeros((len(x), largest, 2), dtype=bool)
    for l, label in enumerate(positive):
        if l:
            other = np.full_like(errors, len(x) + 1)
            other[1:] = errors[:-1, ::-1]
            turned[l] = other < errors
            errors = np.minimum(errors, other)
        errors[:, int(not label)] += 1
    found = []
    for count in range(largest):
        changes, sign, places = count, int(np.argmin(errors[count])), []
        least = int(errors[count, sign])
        for l in range(len(x) - 1, 0, -1):
            if turned[l, changes, sign]:
                places.append(0.5 * (x[l - 1] + x[l]))
                changes, sign = changes - 1, 1 - sign
        found.append((least, np.array(places[::-1]), bool(sign)))
    return found
