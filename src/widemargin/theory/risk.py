r"""Empirical and expected risk, and how far apart they can be (thesis, Chapter 2).

Notation: :math:`R(f) = E\,Q(z, f)` is the expected risk and :math:`R_L(f)` the mean of Q over L
examples (2.4). :math:`\tau = \sup Q - \inf Q` is the spread of the loss (`spread`), 1 for counted
errors. h is the VC dimension (`capacity`). A bound fails with a probability of at most η (`eta`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import beta

from widemargin._typing import ArrayLike, FloatArray

__all__ = [
    "Interval",
    "StructuralRisk",
    "empirical_risk",
    "excess_risk_bound",
    "hoeffding_deviation",
    "hoeffding_probability",
    "regularised_risk",
    "structural_risk",
    "validation_examples",
    "validation_interval",
    "vc_confidence",
    "vc_probability",
]


def empirical_risk(losses: ArrayLike, sample_weight: ArrayLike = None) -> float:
    r"""The mean loss of examples, :math:`R_L` (2.4).

    Examples
    --------
    >>> empirical_risk([1.0, 0.0, 0.0, 1.0])
    0.5
    """
    return float(np.average(losses, weights=sample_weight))


def regularised_risk(losses: ArrayLike, penalty: float, mu: float) -> float:
    r"""The regularised risk :math:`R_L(f) + \mu\,\Omega(f)` (2.14).

    Its minimiser also minimises :math:`R_L` over the functions whose penalty is not larger than its
    own. So μ chooses a set of functions, and thereby the capacity.

    Examples
    --------
    >>> regularised_risk([1.0, 0.0], penalty=2.0, mu=0.1)
    0.7
    """
    return empirical_risk(losses) + mu * penalty


# ------------------------------------------------------------------------- one function: Hoeffding


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


# -------------------------------------------------------------- all functions: Vapnik-Chervonenkis


def _log_growth(capacity: float, n_examples: int) -> float:
    """Bound on the log of the growth function for 2L examples: h (1 + log(2L/h)), h ≤ 2L."""
    h = min(float(capacity), 2.0 * n_examples)
    return h * (1.0 + np.log(2.0 * n_examples / h)) if h > 0 else 0.0


def vc_probability(
    deviation: float, capacity: float, n_examples: int, *, spread: float = 1.0
) -> float:
    r"""Bound on :math:`P[\sup_f |R_L(f) - R(f)| > \epsilon]` (Theorem 2.3).

    .. math:: 4 \exp\left(h\left(1 + \log\tfrac{2L}{h}\right)
              - \left(\tfrac{\epsilon}{\tau} - \tfrac{1}{L}\right)^2 L\right)

    The thesis prints :math:`(\epsilon - 1/L)^2 L/\tau^2`, which is the same for τ = 1, and claims
    too much for τ > 1. The bound is 1 for :math:`\epsilon \le \tau / L`.

    Examples
    --------
    >>> vc_probability(0.1, capacity=3, n_examples=100)
    1.0
    >>> vc_probability(0.1, capacity=3, n_examples=10_000) < 1e-20
    True
    """
    above = deviation / spread - 1.0 / n_examples
    if above <= 0.0:
        return 1.0
    exponent = np.log(4.0) + _log_growth(capacity, n_examples) - above**2 * n_examples
    return float(np.exp(min(0.0, exponent)))


def vc_confidence(capacity: float, n_examples: int, eta: float, *, spread: float = 1.0) -> float:
    r"""How far R and R_L may be apart for any function, with probability 1 − η (2.12).

    .. math:: \tau \left(\frac{1}{L} +
              \sqrt{\frac{h (1 + \log(2L/h)) - \log(\eta/4)}{L}}\right)

    For h > 2L, where :math:`(2eL/h)^h` no longer bounds the number of ways to label 2L examples,
    that number is at most :math:`2^{2L}`; the value used here, h = 2L, bounds it.

    Examples
    --------
    >>> round(vc_confidence(capacity=55, n_examples=100_000, eta=0.05), 4)
    0.0714
    """
    inside = (_log_growth(capacity, n_examples) - np.log(eta / 4.0)) / n_examples
    return float(spread * (1.0 / n_examples + np.sqrt(inside)))


def excess_risk_bound(
    capacity: float, n_examples: int, eta: float, *, spread: float = 1.0
) -> float:
    r"""How much worse than the best function the minimiser of R_L may be (Theorem 2.4, (2.11)).

    With probability 1 − 2η, :math:`R(f_L) \le \inf_f R(f) + B`, where B is `vc_confidence`, which
    brings :math:`R(f_L)` to :math:`R_L(f_L) \le R_L(f^*)`, and
    :math:`\tau \sqrt{-\log\eta / (2L)}`, which brings :math:`R_L(f^*)` to :math:`R(f^*)` by
    Hoeffding's inequality for one side.

    Examples
    --------
    >>> round(excess_risk_bound(capacity=55, n_examples=100_000, eta=0.05), 4)
    0.0753
    """
    one_side = spread * np.sqrt(-np.log(eta) / (2.0 * n_examples))
    return float(vc_confidence(capacity, n_examples, eta, spread=spread) + one_side)


@dataclass(frozen=True, eq=False)
class StructuralRisk:
    """The choice of structural risk minimisation, and what it was chosen by."""

    empirical: FloatArray
    confidence: FloatArray
    best: int  # the number of the set of functions

    @property
    def bound(self) -> FloatArray:
        """Bounds on the expected risk, which hold for all sets of functions at once."""
        return self.empirical + self.confidence


def structural_risk(
    empirical_risks: Sequence[float] | FloatArray,
    capacities: Sequence[float],
    n_examples: int,
    *,
    eta: float = 0.05,
    spread: float = 1.0,
) -> StructuralRisk:
    r"""Structural risk minimisation: the set of functions with the lowest bound (Figure 2.2).

    The sets are nested, :math:`F_1 \subset F_2 \subset \dots`, so the empirical risks of their
    minimisers fall while the capacities grow. To hold for all p sets at once, each bound uses η/p.

    Parameters
    ----------
    empirical_risks : sequence of float
        :math:`R_L` of the minimiser in each set.
    capacities : sequence of float
        Their VC dimensions.
    n_examples : int
        L.
    eta : float, default=0.05
        The probability that any of the bounds fails.
    spread : float, default=1.0
        τ.

    Examples
    --------
    >>> found = structural_risk([0.30, 0.10, 0.09, 0.08], [2, 5, 50, 500], n_examples=100_000)
    >>> found.best
    1
    """
    empirical = np.asarray(empirical_risks, dtype=float)
    if len(empirical) != len(capacities) or not len(empirical):
        raise ValueError(
            f"{len(empirical)} empirical risks and {len(capacities)} capacities: give one of each "
            "per set of functions"
        )
    confidence = np.array(
        [vc_confidence(h, n_examples, eta / len(empirical), spread=spread) for h in capacities]
    )
    return StructuralRisk(empirical, confidence, int(np.argmin(empirical + confidence)))
