r"""Empirical and expected risk, and how far apart they can be (thesis, Chapter 2).

Notation: :math:`R(f) = E\,Q(z, f)` is the expected risk and :math:`R_L(f)` the mean of Q over L
examples (2.4). :math:`\tau = \sup Q - \inf Q` is the spread of the loss (`spread`), 1 for counted
errors. h is the VC dimension (`capacity`). A bound fails with a probability of at most η (`eta`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from widemargin._typing import ArrayLike, FloatArray

__all__ = [
    "StructuralRisk",
    "empirical_risk",
    "excess_risk_bound",
    "lecture_risk_bound",
    "regularised_risk",
    "sensitivity",
    "structural_risk",
    "vc_confidence",
    "vc_probability",
]


def empirical_risk(losses: ArrayLike, sample_weight: ArrayLike = None) -> float:
    r"""The mean loss of examples, :math:`R_L` (2.4).

    If `losses` are those of all values that z can take, and `sample_weight` their probabilities,
    it is the expected risk :math:`R = E\,Q(z, f)` (2.3). Where the distribution is not known, which
    is the rule, `validation_interval` says what is known about R.

    Examples
    --------
    >>> empirical_risk([1.0, 0.0, 0.0, 1.0])
    0.5
    >>> empirical_risk([1.0, 0.0], sample_weight=[0.2, 0.8])  # the expected risk
    0.2
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


def sensitivity(A: ArrayLike, mu: float = 0.0) -> float:
    r"""How much a change of the data can change a solution (Definition 2.4).

    The solution f of :math:`A f = b` in the sense of (2.14),

    .. math:: \min_f\ \|A f - b\|^2 + \mu \|f\|^2

    is a linear function of b. A change of b by δ changes it by at most
    :math:`\|\delta\| \max_i s_i / (s_i^2 + \mu)`, where :math:`s_i` are the singular values of A.
    Without μ, the problem is not well-posed if a singular value is 0, and ill-posed in practice if
    one is small. With it, the factor is at most :math:`1/(2\sqrt\mu)`, whatever A is.

    Parameters
    ----------
    A : array-like of shape (n_equations, n_unknowns)
        The matrix.
    mu : float, default=0.0
        μ.

    Returns
    -------
    float
        The factor; infinite if there is no unique solution.

    Examples
    --------
    >>> nearly_singular = [[1.0, 1.0], [1.0, 1.001]]
    >>> sensitivity(nearly_singular) > 1000, sensitivity(nearly_singular, mu=0.01) < 5
    (True, True)
    """
    A = np.asarray(A, dtype=float)
    values = np.linalg.svd(A, compute_uv=False)
    if mu > 0.0:
        return float(np.max(values / (values**2 + mu)))
    if len(values) < A.shape[1] or values[-1] <= values[0] * max(A.shape) * np.finfo(float).eps:
        return np.inf
    return float(1.0 / values[-1])


# -------------------------------------------------------------- all functions: Vapnik-Chervonenkis


def _log_growth(capacity: float, n_examples: int) -> float:
    """Bound on the log of the growth function for 2L examples: h (1 + log(2L/h)), h ≤ 2L."""
    h = min(float(capacity), 2.0 * n_examples)
    return h * (1.0 + np.log(2.0 * n_examples / h)) if h > 0 else 0.0


def vc_probability(
    deviation: float,
    capacity: float,
    n_examples: int,
    *,
    spread: float = 1.0,
    as_printed: bool = False,
) -> float:
    r"""Bound on :math:`P[\sup_f |R_L(f) - R(f)| > \epsilon]` (Theorem 2.3).

    .. math:: 4 \exp\left(h\left(1 + \log\tfrac{2L}{h}\right)
              - \left(\tfrac{\epsilon}{\tau} - \tfrac{1}{L}\right)^2 L\right)

    The thesis prints :math:`(\epsilon - 1/L)^2 L/\tau^2`, which is the same for τ = 1, and claims
    too much for τ > 1; `as_printed` gives this formula. The bound is 1 for
    :math:`\epsilon \le \tau / L`. (The thesis also prints the supremum over :math:`F^\star`, the
    thresholds of Theorem 2.2; it is over F.)

    Examples
    --------
    >>> vc_probability(0.1, capacity=3, n_examples=100)
    1.0
    >>> vc_probability(0.1, capacity=3, n_examples=10_000) < 1e-20
    True
    """
    above = deviation / spread - (1.0 / spread if as_printed else 1.0) / n_examples
    if above <= 0.0:
        return 1.0
    exponent = np.log(4.0) + _log_growth(capacity, n_examples) - above**2 * n_examples
    return float(np.exp(min(0.0, exponent)))


def vc_confidence(
    capacity: float,
    n_examples: int,
    eta: float,
    *,
    spread: float = 1.0,
    as_printed: bool = False,
) -> float:
    r"""How far R and R_L may be apart for any function, with probability 1 − η (2.12).

    .. math:: \tau \left(\frac{1}{L} +
              \sqrt{\frac{h (1 + \log(2L/h)) - \log(\eta/4)}{L}}\right)

    For h > 2L, where :math:`(2eL/h)^h` no longer bounds the number of ways to label 2L examples,
    that number is at most :math:`2^{2L}`; the value used here, h = 2L, bounds it. The thesis has
    1/L where this has τ/L; `as_printed` gives its formula.

    Examples
    --------
    >>> round(vc_confidence(capacity=55, n_examples=100_000, eta=0.05), 4)
    0.0714
    """
    inside = (_log_growth(capacity, n_examples) - np.log(eta / 4.0)) / n_examples
    return float((1.0 if as_printed else spread) / n_examples + spread * np.sqrt(inside))


def excess_risk_bound(
    capacity: float,
    n_examples: int,
    eta: float,
    *,
    spread: float = 1.0,
    as_printed: bool = False,
) -> float:
    r"""How much worse than the best function the minimiser of R_L may be (Theorem 2.4, (2.11)).

    With probability 1 − 2η, :math:`R(f_L) \le \inf_f R(f) + B`, where B is `vc_confidence`, which
    brings :math:`R(f_L)` to :math:`R_L(f_L) \le R_L(f^*)`, and
    :math:`\tau \sqrt{-\log\eta / (2L)}`, which brings :math:`R_L(f^*)` to :math:`R(f^*)` by
    Hoeffding's inequality for one side. `as_printed` is as in `vc_confidence`.

    Examples
    --------
    >>> round(excess_risk_bound(capacity=55, n_examples=100_000, eta=0.05), 4)
    0.0753
    """
    one_side = spread * np.sqrt(-np.log(eta) / (2.0 * n_examples))
    return vc_confidence(capacity, n_examples, eta, spread=spread, as_printed=as_printed) + float(
        one_side
    )


def lecture_risk_bound(
    empirical_risk: float,
    capacity: float,
    n_examples: int,
    delta: float,
    *,
    constant: float = 1.0,
    as_printed: bool = False,
) -> float:
    r"""The bound on the expected risk in Rakotomamonjy's lecture, with probability 1 − δ.

    .. math:: R(h) \le R_{emp}(h) + C \sqrt{\frac{D (\log(2N/D) + 1) + \log(4/\delta)}{N}}

    where D is the capacity, for hyperplanes with a margin `margin_capacity`, and C a constant that
    the lecture does not give. With C = 1 it is `vc_confidence` without 1/L, and therefore holds
    for a slightly larger C only. The lecture prints :math:`\log(4\delta)`, so that a bound which
    may fail more often would be wider; `as_printed` gives this formula.

    Parameters
    ----------
    empirical_risk : float
        :math:`R_{emp}`.
    capacity : float
        D.
    n_examples : int
        N.
    delta : float
        δ.
    constant : float, default=1.0
        C.
    as_printed : bool, default=False
        Whether to compute the formula with the misprint.

    Examples
    --------
    >>> round(lecture_risk_bound(0.1, capacity=55, n_examples=100_000, delta=0.05), 4)
    0.1714
    """
    logarithm = np.log(4.0 * delta if as_printed else 4.0 / delta)
    inside = (_log_growth(capacity, n_examples) + logarithm) / n_examples
    return float(empirical_risk + constant * np.sqrt(inside))


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
