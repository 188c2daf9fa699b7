r"""The problem of every exact support vector machine, and the certificate of a solution.

One problem serves classification and regression. With :math:`\beta_i = z_i \alpha_i` and
:math:`\mu = 1`, (5.6)-(5.8) are

.. math::

    \min_\beta\; J(\beta) = \tfrac12 \sum_{ij} \beta_i \beta_j\, k(x_{e(i)}, x_{e(j)})
        + \sum_i s_i \beta_i,
    \qquad 0 \le z_i \beta_i \le U_i, \qquad \sum_{i \in g} \beta_i = c_g

over M variables; :math:`e(i) = i \bmod L` is the example of variable i, :math:`s_i = z_i \gamma_i`.

===============  ====  ===========  ================  ==========  ===========================
kind             M     z            s                 U           sums c
===============  ====  ===========  ================  ==========  ===========================
``c_svc``        L     y            −y                C weight    0
``nu_svc``       L     y            0                 weight      ±ν W/2, one per sign
``epsilon_svr``  2L    +1 then −1   ε − y, −(ε + y)   C weight    0
``nu_svr``       2L    +1 then −1   −y                C weight    ±C ν W/2, one per sign
``one_class``    L     +1           0                 weight      ν W
===============  ====  ===========  ================  ==========  ===========================

W is the sum of the weights. With :math:`f_e = \sum_i \beta_i\, k(x_e, x_{e(i)})`, the bias for
which variable i satisfies its condition exactly is
:math:`v_i = -(f_{e(i)} + s_i) = -\partial J/\partial \beta_i` (5.30). β is optimal when, in each
group, no variable that can grow has a larger v than one that can shrink.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from widemargin._typing import FloatArray, IntArray

__all__ = [
    "Certificate",
    "Problem",
    "certify",
    "doubtful",
    "feasible_start",
    "machine",
    "one_of_each",
    "svm_problem",
]

Mask: TypeAlias = NDArray[np.bool_]
ROUNDING = 1e-13  # relative, of a sum


@dataclass(frozen=True, eq=False)
class Problem:
    """The constants of the general problem, and a feasible β to start from."""

    kind: str
    z: FloatArray
    s: FloatArray
    upper: FloatArray  # U
    group: IntArray  # 0, or with two groups 0 where z = +1 and 1 where z = −1
    sums: FloatArray  # c
    initial: FloatArray

    @cached_property
    def low(self) -> FloatArray:
        return np.where(self.z > 0, 0.0, -self.upper)

    @cached_property
    def high(self) -> FloatArray:
        return np.where(self.z > 0, self.upper, 0.0)

    @property
    def examples(self) -> int:
        """L, the number of examples."""
        return len(self.z) // (2 if self.kind.endswith("svr") else 1)

    @property
    def example(self) -> IntArray:
        """e(i), the example of each variable."""
        return np.arange(len(self.z)) % self.examples

    def of_variables(self, values: FloatArray) -> FloatArray:
        """Of each variable i, the value of its example e(i)."""
        return values if len(values) == len(self.z) else np.concatenate([values, values])

    def of_groups(self, values: FloatArray) -> FloatArray:
        """Of each variable i, the value of its group g(i)."""
        return values if len(values) == 1 else np.asarray(values[self.group])

    def coefficients(self, beta: FloatArray) -> FloatArray:
        """The coefficient of each example: the sum of its β."""
        folded: FloatArray = beta.reshape(-1, self.examples).sum(axis=0)
        return folded


def svm_problem(
    kind: str,
    y: FloatArray,
    weights: FloatArray | None = None,
    *,
    C: float = 1.0,
    nu: float = 0.5,
    epsilon: float = 0.1,
) -> Problem:
    """The problem of this kind for targets y: labels ±1, values, or for ``one_class`` anything.

    Examples
    --------
    >>> problem = svm_problem("epsilon_svr", np.array([1.0, 2.0]), C=10.0)
    >>> problem.s
    array([-0.9, -1.9, -1.1, -2.1])
    """
    y = np.asarray(y, dtype=np.float64)
    w = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=np.float64)
    one, W = np.ones(len(y)), w.sum()
    both = np.concatenate([one, -one])
    if kind == "c_svc":
        return _problem(kind, y, -y, C * w, [0.0])
    if kind == "nu_svc":
        return _problem(kind, y, 0 * y, w, [nu * W / 2, -nu * W / 2])
    if kind == "epsilon_svr":
        return _problem(kind, both, epsilon * both - np.tile(y, 2), C * np.tile(w, 2), [0.0])
    if kind == "nu_svr":
        c = C * nu * W / 2
        return _problem(kind, both, -np.tile(y, 2), C * np.tile(w, 2), [c, -c])
    if kind == "one_class":
        return _problem(kind, one, 0 * one, w, [nu * W])
    raise ValueError(f"kind={kind!r}; use c_svc, nu_svc, epsilon_svr, nu_svr or one_class")


def _problem(kind: str, z: FloatArray, s: FloatArray, U: FloatArray, sums: list[float]) -> Problem:
    """Add the groups and a first β: variables are raised to their bound one after the other.

    α* of ``nu_svr`` begin with the last example, so that α or α* of each example is 0.
    """
    group = (z < 0).astype(np.int64) * (len(sums) - 1)
    alpha = np.zeros(len(z))
    for g, total in enumerate(np.abs(sums)):
        members = np.flatnonzero(group == g)
        if kind == "nu_svr" and g == 1:
            members = members[::-1]
        u = U[members]
        if total > u.sum() * (1 + 1e-12):
            raise ValueError(f"nu makes the sum {total:g} where the bounds allow {u.sum():g}")
        if total > 0:  # bounds may be infinite if it is 0
            alpha[members] = np.clip(total - (np.cumsum(u) - u), 0.0, u)
    return Problem(kind, z, s, U, group, np.array(sums), z * alpha)


# -------------------------------------------------------------------------------- the certificate


class Certificate(NamedTuple):
    """How far β is from the optimum: J* is between −primal and −dual."""

    violation: float
    biases: FloatArray
    gap: float
    dual: float

    @property
    def primal(self) -> float:
        return self.dual + self.gap


def certify(
    problem: Problem, beta: FloatArray, f: FloatArray, error: FloatArray | None = None
) -> Certificate:
    r"""The violation of the KKT conditions, the biases, the primal (5.2) and the dual −J (5.6).

    .. math::

        P = \tfrac12 \|w\|^2 + \sum_i U_i \left|z_i (v_i - b_{g(i)})\right|_+ + \sum_g b_g c_g

    A bias is the mean of v over the free variables (5.29); without any, the middle of the interval
    that v allows (5.31). With :math:`r_i = z_i (v_i - b_{g(i)})` and :math:`\alpha_i = z_i \beta_i`
    the duality gap is a sum of terms that are not negative, for any feasible β and any biases:

    .. math:: P + J = \sum_i (U_i - \alpha_i) |r_i|_+ + \alpha_i |-r_i|_+

    `error` bounds how far each f may be from the exact one. Violation and gap are then the largest
    ones of all f within these bounds, and the primal is the dual plus this gap.
    """
    v, up, low = _negative_gradient(problem, beta, f)
    biases = _biases(problem, v, up, low)
    e = np.zeros(len(v)) if error is None else problem.of_variables(error)
    rises, falls = _excess(problem, v - problem.of_groups(biases), e)
    alpha = np.abs(beta)
    room = np.maximum(0.0, problem.upper - alpha)
    terms = np.maximum(_times(room, rises), _times(alpha, falls))
    most, least = _largest(problem, v + e, up), -_largest(problem, e - v, low)
    apart = [m - l for m, l in zip(most, least, strict=True) if m > -np.inf and l < np.inf]
    return Certificate(
        violation=max([0.0, *map(float, apart)]),
        biases=biases,
        gap=float(terms.sum()),
        dual=-(0.5 * _product(problem.coefficients(beta), f) + _product(problem.s, beta)),
    )


def doubtful(problem: Problem, beta: FloatArray, f: FloatArray, error: FloatArray) -> Mask:
    """Which examples may violate their conditions, if each f is known up to its `error`."""
    v, up, low = _negative_gradient(problem, beta, f)
    biases = _biases(problem, v, up, low)
    rises, falls = _excess(problem, v - problem.of_groups(biases), problem.of_variables(error))
    alpha = np.abs(beta)
    doubt = ((alpha < problem.upper) & (rises > 0)) | ((alpha > 0) & (falls > 0))
    return np.asarray(doubt.reshape(-1, problem.examples).any(axis=0))


def _negative_gradient(
    problem: Problem, beta: FloatArray, f: FloatArray
) -> tuple[FloatArray, Mask, Mask]:
    """v (5.30), and which variables can grow and which can shrink (5.18), (5.19)."""
    v = -(problem.of_variables(f) + problem.s)
    return v, beta < problem.high, beta > problem.low


def _largest(problem: Problem, v: FloatArray, where: Mask) -> FloatArray:
    """Of each group, the largest v of these variables; −∞ if there are none."""
    groups = range(len(problem.sums))
    masks = [where] if len(groups) == 1 else [where & (problem.group == g) for g in groups]
    return np.array([np.max(v, where=mask, initial=-np.inf) for mask in masks])


def _biases(problem: Problem, v: FloatArray, up: Mask, low: Mask) -> FloatArray:
    biases, free = np.zeros(len(problem.sums)), up & low
    for g in range(len(biases)):
        known = v[free if len(biases) == 1 else free & (problem.group == g)]
        if not len(known):
            ends = np.array([_largest(problem, v, up)[g], -_largest(problem, -v, low)[g]])
            known = ends[np.isfinite(ends)]
        biases[g] = known.mean() if len(known) else 0.0
    return biases


def _excess(
    problem: Problem, above: FloatArray, error: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """|r|₊ = ξ (5.3), (5.4) and |−r|₊, at most, where r = z (v − b) is known up to its error."""
    r = problem.z * above
    return np.maximum(0.0, r + error), np.maximum(0.0, error - r)


def _product(a: FloatArray, b: FloatArray) -> float:
    """a · b; without BLAS, whose threads would wait for more of it."""
    return float(np.einsum("i,i->", a, b))


def _times(weight: FloatArray, excess: FloatArray) -> FloatArray:
    """Their products; 0 · ∞ is 0."""
    both = (weight > 0) & (excess > 0)
    return np.multiply(weight, excess, where=both, out=np.zeros(len(weight)))


def machine(problem: Problem, beta: FloatArray, biases: FloatArray) -> tuple[FloatArray, float]:
    """Coefficients of the examples and intercept: the decision is Σ coef_l k(x_l, x) + intercept.

    For ``nu_svc`` both are divided by ρ = (b₋ − b₊)/2, so that the margins are ±1. They are left as
    they are if there is no margin: ρ is not positive, or so small that the quotients overflow.
    """
    coef, b = problem.coefficients(beta), float(biases.mean())
    if problem.kind != "nu_svc":
        return coef, b
    rho = float(biases[1] - biases[0]) / 2
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        finite = rho > 0 and np.isfinite(np.abs(coef / rho).sum() + abs(b / rho))
    return (coef / rho, b / rho) if finite else (coef, b)


def feasible_start(problem: Problem, beta: FloatArray) -> FloatArray:
    """A feasible β near a given one, which solved a similar problem.

    β is clipped to the box. In a group of sum 0, the sign with the larger sum is then scaled down,
    free variables first. Any other group has a single sign, whose variables are scaled down to
    the group's sum, or raised towards their bounds.

    Examples
    --------
    >>> problem = svm_problem("c_svc", np.array([1.0, 1.0, -1.0]), C=2.0)
    >>> feasible_start(problem, np.array([2.0, 1.0, -2.5]))
    array([ 2.,  0., -2.])
    """
    beta = np.clip(beta, problem.low, problem.high)
    for g, c in enumerate(problem.sums):
        sides = [(problem.group == g) & (problem.z == z) for z in (1.0, -1.0)]
        total = min(np.abs(beta[side]).sum() for side in sides) if c == 0 else abs(c)
        for side in sides:
            alpha = _with_sum(np.abs(beta[side]), problem.upper[side], total)
            beta[side] = problem.z[side] * alpha
    return beta


def one_of_each(beta: FloatArray) -> bool:
    """Whether α or α* of each example is 0, in problems that have both."""
    alpha, alpha_star = beta.reshape(2, -1)
    return not np.any((alpha != 0) & (alpha_star != 0))


def _with_sum(alpha: FloatArray, upper: FloatArray, total: float) -> FloatArray:
    """α with this sum: free ones are lowered first, or all are raised towards their bounds."""
    excess = alpha.sum() - total
    if excess > ROUNDING * total:
        free = np.where(alpha < upper, alpha, 0.0)
        falls = free if free.sum() >= excess else alpha
        alpha = alpha - falls * (excess / falls.sum())
    elif excess < -ROUNDING * total and len(alpha):
        room = upper - alpha
        alpha = alpha + room * min(1.0, -excess / max(room.sum(), -excess))
    return np.clip(alpha, 0.0, upper)
