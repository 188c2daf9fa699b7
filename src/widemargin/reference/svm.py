r"""The exact support vector machine in NumPy: five problems, their certificates, one algorithm.

The decomposition algorithm of Chapter 5 minimises, over :math:`\beta = z\alpha`,

.. math::

    J(\beta) = \tfrac12 \sum_{ij} \beta_i \beta_j\, k(x_{e(i)}, x_{e(j)}) + s \cdot \beta,
    \qquad 0 \le z_i \beta_i \le U_i, \qquad \sum_{i \in g} \beta_i = c_g.

Classifiers and the one-class machine have one variable per example. Regressions have two:
:math:`\alpha_l` with z = 1, of targets above the tube, is variable l, and :math:`\alpha^*_l` with
z = −1 is variable L + l. They are named as in LIBSVM: the thesis's (3.34) and 5.1.1 have α and α*
the other way round.
K is always the whole matrix of kernel values.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from widemargin._typing import FloatArray, IntArray
from widemargin.criteria import EpsilonInsensitive, Margin
from widemargin.reference.conjugate_gradient import projected_conjugate_gradient

__all__ = ["Problem", "certificate", "decomposition", "machine", "svm_problem"]

Mask: TypeAlias = NDArray[np.bool_]
KINDS = ("c_svc", "nu_svc", "epsilon_svr", "nu_svr", "one_class")
TAU = 1e-12  # the least curvature when partners are compared, as in LIBSVM


@dataclass(frozen=True, eq=False)
class Problem:
    """One of the five models, with its numbers; y are labels ±1 or targets."""

    kind: str
    y: FloatArray
    weights: FloatArray
    C: float
    nu: float
    epsilon: float

    @property
    def regression(self) -> bool:
        return self.kind.endswith("svr")

    @property
    def example(self) -> IntArray:
        """e(i), the example of each variable."""
        return np.tile(np.arange(len(self.y)), 2 if self.regression else 1)

    @cached_property
    def z(self) -> FloatArray:
        if self.regression:
            return np.repeat([1.0, -1.0], len(self.y))
        return self.y if self.kind.endswith("svc") else np.ones(len(self.y))

    @cached_property
    def s(self) -> FloatArray:
        """The linear term: −y, and of ε-SVR also ε z; none for ``nu_svc`` and ``one_class``."""
        if self.kind in ("nu_svc", "one_class"):
            return np.zeros(len(self.y))
        tube = self.epsilon if self.kind == "epsilon_svr" else 0.0
        return (tube * self.z if tube else 0.0) - self.y[self.example]

    @property
    def scale(self) -> float:
        """What multiplies the weights: C, or 1 where ν takes its place."""
        return 1.0 if self.kind in ("nu_svc", "one_class") else self.C

    @cached_property
    def upper(self) -> FloatArray:
        """U."""
        return self.scale * self.weights[self.example]

    @cached_property
    def low(self) -> FloatArray:
        return np.minimum(0.0, self.z * self.upper)

    @cached_property
    def high(self) -> FloatArray:
        return np.maximum(0.0, self.z * self.upper)

    @cached_property
    def sums(self) -> FloatArray:
        """c: ν fixes the sum of all α, or that of each sign; otherwise Σ β = 0."""
        total = self.scale * self.nu * self.weights.sum()
        if self.kind == "one_class":
            return np.array([total])
        return np.array([total / 2, -total / 2] if self.kind.startswith("nu") else [0.0])

    @cached_property
    def group(self) -> IntArray:
        """0; with two sums 0 where z = +1 and 1 where z = −1."""
        return np.where((self.z < 0) & (len(self.sums) == 2), 1, 0)

    @property
    def initial(self) -> FloatArray:
        """A feasible β: variables are raised to their bound one after the other.

        α* of ``nu_svr`` begin with the last example, so that α or α* of each example is 0.
        """
        beta = np.zeros(len(self.z))
        for g, c in enumerate(np.abs(self.sums)):
            members = np.flatnonzero(self.group == g)
            for i in members[::-1] if self.regression and g == 1 else members:
                beta[i] = self.z[i] * min(self.upper[i], c)
                c -= abs(beta[i])
        return beta

    def coefficients(self, beta: FloatArray) -> FloatArray:
        """The coefficient of each example: α − α* in a regression."""
        return np.asarray(np.bincount(self.example, weights=beta), dtype=np.float64)


def svm_problem(
    kind: str,
    y: FloatArray,
    weights: FloatArray | None = None,
    *,
    C: float = 1.0,
    nu: float = 0.5,
    epsilon: float = 0.1,
) -> Problem:
    """The problem of this kind, if it has a solution.

    Examples
    --------
    >>> problem = svm_problem("epsilon_svr", np.array([1.0, 2.0]), C=10.0)
    >>> problem.s
    array([-0.9, -1.9, -1.1, -2.1])
    """
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r}; use {', '.join(KINDS[:-1])} or {KINDS[-1]}")
    y = np.asarray(y, dtype=np.float64)
    w = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=np.float64)
    problem = Problem(kind, y, w, C, nu, epsilon)
    for g, c in enumerate(np.abs(problem.sums)):
        room = problem.upper[problem.group == g].sum()
        if c > room * (1 + 1e-12):
            raise ValueError(f"nu makes the sum {c:g} where the bounds allow {room:g}")
    return problem


# -------------------------------------------------------------------------------- the certificate


class Certificate(NamedTuple):
    """How far β is from the optimum: J is between −primal and −dual."""

    violation: float
    biases: FloatArray
    primal: float
    dual: float


def certificate(K: FloatArray, problem: Problem, beta: FloatArray) -> Certificate:
    """The violation of the KKT conditions, the biases, the primal (5.2) and the dual −J (5.6)."""
    coef = problem.coefficients(beta)
    f = K @ coef
    v, up, low = _slopes(problem, beta, f)
    most, least = _extremes(problem, v, up, low)
    biases = np.zeros(len(problem.sums))
    for g, ends in enumerate(zip(most, least, strict=True)):
        free = v[up & low & (problem.group == g)]  # (5.29); without any, the middle (5.31)
        known = free if len(free) else np.array([end for end in ends if np.isfinite(end)])
        biases[g] = known.mean() if len(known) else 0.0
    half = 0.5 * (coef @ f)
    return Certificate(
        violation=max(0.0, float(np.max(most - least))),
        biases=biases,
        primal=float(half + _cost(problem, f, biases)),
        dual=-float(half + problem.s @ beta),
    )


def _cost(problem: Problem, f: FloatArray, biases: FloatArray) -> float:
    """What the primal of each model adds to ½‖w‖²: (3.34), and Schölkopf et al., 2000 and 2001."""
    y, w, b = problem.y, problem.weights, biases.mean()
    nu = problem.nu * w.sum()
    if problem.kind == "c_svc":
        return float(problem.C * w @ Margin(1.0).value(y, f + b))
    if problem.kind == "epsilon_svr":
        return float(problem.C * w @ EpsilonInsensitive(problem.epsilon).value(y, f + b))
    if problem.kind == "one_class":  # ρ = −b
        return float(w @ Margin(-b).value(1.0, f) + nu * b)
    half = float(biases[0] - biases[1]) / 2  # −ρ of ``nu_svc``, ε of ``nu_svr``
    if problem.kind == "nu_svc":
        return float(w @ Margin(-half).value(y, f + b) + nu * half)
    above, below = np.maximum(0.0, f + b - y - half), np.maximum(0.0, y - f - b - half)
    return float(problem.C * (nu * half + w @ (above + below)))  # ε may be negative on the way


# ---------------------------------------------------------------------------------- the algorithm


class Solution(NamedTuple):
    """Where the decomposition stopped: β, f on the examples, its certificate."""

    beta: FloatArray
    f: FloatArray
    biases: FloatArray
    violation: float
    primal: float
    dual: float
    iterations: int


def decomposition(
    K: FloatArray,
    problem: Problem,
    tol: float = 1e-3,
    max_iter: int = 100_000,
    q: int = 2,
    initial: FloatArray | None = None,
    sub_problem: str = "pairs",
) -> Solution:
    """Minimise J by working sets of q variables, until no group's violation exceeds tol.

    q is even. With pairs and q = 2 each iteration moves the pair of `_pair`; otherwise it solves
    (5.20) on the working set (5.16), to a tenth of the violation, by pairs or, with
    ``sub_problem="gradient"``, by a projected conjugate gradient (5.4.1). `initial` must be
    feasible.

    Examples
    --------
    >>> K, y = np.array([[1.0, -1.0], [-1.0, 1.0]]), np.array([1.0, -1.0])
    >>> solution = decomposition(K, svm_problem("c_svc", y))
    >>> solution.beta, solution.primal, solution.dual
    (array([ 0.5, -0.5]), 0.5, 0.5)
    """
    beta = (problem.initial if initial is None else initial).copy()
    f = K @ problem.coefficients(beta)
    everything = np.ones(len(beta), dtype=bool)
    iterations = 0
    while iterations < max_iter:
        violation = _violation(problem, beta, f, everything)
        if violation <= tol:
            break
        if q == 2 and sub_problem == "pairs":
            _move(K, problem, beta, f, everything)
        else:
            W = _working_set(problem, beta, f, q)
            solve = {"pairs": _by_pairs, "gradient": _by_gradient}[sub_problem]
            solve(K, problem, beta, f, W, max(tol / 2, violation / 10))
        iterations += 1
    f = K @ problem.coefficients(beta)
    violation, biases, primal, dual = certificate(K, problem, beta)
    return Solution(beta, f, biases, violation, primal, dual, iterations)


def _slopes(problem: Problem, beta: FloatArray, f: FloatArray) -> tuple[FloatArray, Mask, Mask]:
    """v = −∂J/∂β (5.30), and which variables can grow and which can shrink (5.18), (5.19)."""
    return -(f[problem.example] + problem.s), beta < problem.high, beta > problem.low


def _extremes(
    problem: Problem, v: FloatArray, up: Mask, low: Mask
) -> tuple[FloatArray, FloatArray]:
    """The largest v that can grow and the smallest that can shrink, of each group."""
    groups = [problem.group == g for g in range(len(problem.sums))]
    most = [np.max(v[up & members], initial=-np.inf) for members in groups]
    least = [np.min(v[low & members], initial=np.inf) for members in groups]
    return np.array(most), np.array(least)


def _violation(problem: Problem, beta: FloatArray, f: FloatArray, W: Mask) -> float:
    v, up, low = _slopes(problem, beta, f)
    most, least = _extremes(problem, v, up & W, low & W)
    return float(np.max(most - least))


def _working_set(problem: Problem, beta: FloatArray, f: FloatArray, q: int) -> Mask:
    """The steepest feasible direction with q components (5.16): q/2 at each end of v.

    All are of the group with the largest violation.
    """
    v, up, low = _slopes(problem, beta, f)
    most, least = _extremes(problem, v, up, low)
    members = problem.group == np.argmax(most - least)
    W = np.zeros(len(v), dtype=bool)
    for allowed, order in ((up & members, -v), (low & members, v)):
        indices = np.flatnonzero(allowed)
        W[indices[np.argsort(order[indices], kind="stable")[: q // 2]]] = True
    return W


def _by_pairs(
    K: FloatArray, problem: Problem, beta: FloatArray, f: FloatArray, W: Mask, tol: float
) -> None:
    """Minimise J over the variables of W (5.20), by a bounded number of pairs."""
    for _ in range(100 * np.count_nonzero(W)):
        if _violation(problem, beta, f, W) <= tol:
            break
        _move(K, problem, beta, f, W)


def _by_gradient(
    K: FloatArray, problem: Problem, beta: FloatArray, f: FloatArray, W: Mask, tol: float
) -> None:
    """The same by a projected conjugate gradient; W is of one group, so its sum stays."""
    e = problem.example[W]
    H, before = K[np.ix_(e, e)], beta[W]
    linear = f[e] + problem.s[W] - H @ before
    beta[W], _ = projected_conjugate_gradient(
        H, linear, before, problem.low[W], problem.high[W], tol
    )
    f += K[:, e] @ (beta[W] - before)


def _pair(K: FloatArray, problem: Problem, v: FloatArray, up: Mask, low: Mask) -> tuple[int, int]:
    r"""Which β to raise and which to lower (Fan, Chen and Lin, 2005, second order).

    Of each group, i has the largest v and j the largest decrease of J, :math:`(v_i - v_j)^2/2\rho`
    with :math:`\rho = k_{ii} - 2 k_{ij} + k_{jj}`; the better group wins.
    """
    e, diagonal = problem.example, np.diag(K)
    best, pair = -np.inf, (0, 0)
    for g in range(len(problem.sums)):
        members = problem.group == g
        can_grow = np.where(up & members, v, -np.inf)
        i = int(np.argmax(can_grow))
        difference = can_grow[i] - v
        rho = diagonal[e[i]] - 2.0 * K[e[i], e] + diagonal[e]
        partners = low & members & (difference > 0)
        gain = np.where(partners, difference**2 / np.maximum(rho, TAU), -np.inf)
        j = int(np.argmax(gain))
        if gain[j] > best:
            best, pair = gain[j], (i, j)
    return pair


def _move(K: FloatArray, problem: Problem, beta: FloatArray, f: FloatArray, W: Mask) -> None:
    """Solve (5.20) for the best pair of W: β_i + δ, β_j − δ with δ from (5.27), kept in the box."""
    v, up, low = _slopes(problem, beta, f)
    i, j = _pair(K, problem, v, up & W, low & W)
    a, b = problem.example[[i, j]]
    rho = float(K[a, a] - 2.0 * K[a, b] + K[b, b])
    minimum = float(v[i] - v[j]) / rho if rho > 0 else np.inf  # a line when ρ = 0: to its end
    room_i, room_j = problem.high[i] - beta[i], beta[j] - problem.low[j]
    delta = min(minimum, room_i, room_j)
    beta[i] = problem.high[i] if delta == room_i else beta[i] + delta  # exactly on the bound
    beta[j] = problem.low[j] if delta == room_j else beta[j] - delta
    f += delta * (K[:, a] - K[:, b])


def machine(problem: Problem, solution: Solution) -> tuple[FloatArray, float]:
    """Coefficients of the examples and intercept: f(x) = Σ coef_l k(x_l, x) + intercept.

    Those of ``nu_svc`` are divided by ρ, so that the margins are at ±1.
    """
    coef, b = problem.coefficients(solution.beta), float(solution.biases.mean())
    if problem.kind != "nu_svc":
        return coef, b
    rho = float(solution.biases[1] - solution.biases[0]) / 2
    return (coef / rho, b / rho) if rho > 0 else (coef, b)
