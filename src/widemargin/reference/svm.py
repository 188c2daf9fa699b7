r"""The exact support vector machine in NumPy: the decomposition algorithm of Chapter 5.

The problem, in :math:`\beta = z\alpha`, is that of `widemargin.svm.problem`: minimise J over a
box, with the sum of β given in each group. K is the whole matrix of kernel values.
"""

from typing import NamedTuple

import numpy as np

from widemargin._typing import FloatArray
from widemargin.svm import problem as _svm_problem
from widemargin.svm.problem import Certificate, Mask, Problem, certify, svm_problem
from widemargin.svm.problem import extremes as _extremes
from widemargin.svm.problem import wishes as _wishes

__all__ = ["Problem", "certificate", "decomposition", "machine", "svm_problem"]

TAU = 1e-12  # the least curvature when partners are compared, as LIBSVM has it


def certificate(K: FloatArray, problem: Problem, beta: FloatArray) -> Certificate:
    """The violation of the KKT conditions, the biases, the primal (5.2) and the dual −J (5.6)."""
    return certify(problem, beta, K @ problem.coefficients(beta))


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
) -> Solution:
    """Minimise J by working sets of q variables, until no group's violation exceeds tol.

    q is even. With q = 2 each iteration moves the pair of `_pair`; otherwise it solves (5.20) on
    the working set (5.16), to a tenth of the violation. `initial` must be feasible.

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
        if q == 2:
            _move(K, problem, beta, f, everything)
        else:
            W = _working_set(problem, beta, f, q)
            _sub_problem(K, problem, beta, f, W, max(tol / 2, violation / 10))
        iterations += 1
    f = K @ problem.coefficients(beta)
    violation, biases, primal, dual = certificate(K, problem, beta)
    return Solution(beta, f, biases, violation, primal, dual, iterations)


def _violation(problem: Problem, beta: FloatArray, f: FloatArray, W: Mask) -> float:
    v, up, low = _wishes(problem, beta, f)
    most, least = _extremes(problem, v, up & W, low & W)
    return float(np.max(most - least))


def _working_set(problem: Problem, beta: FloatArray, f: FloatArray, q: int) -> Mask:
    """The steepest feasible direction with q components (5.16): q/2 at each end of v.

    They are of the group that is violated most.
    """
    v, up, low = _wishes(problem, beta, f)
    most, least = _extremes(problem, v, up, low)
    members = problem.group == np.argmax(most - least)
    W = np.zeros(len(v), dtype=bool)
    for allowed, order in ((up & members, -v), (low & members, v)):
        indices = np.flatnonzero(allowed)
        W[indices[np.argsort(order[indices], kind="stable")[: q // 2]]] = True
    return W


def _sub_problem(
    K: FloatArray, problem: Problem, beta: FloatArray, f: FloatArray, W: Mask, tol: float
) -> None:
    """Minimise J over the variables of W (5.20), by pairs; a bounded number of them."""
    for _ in range(100 * np.count_nonzero(W)):
        if _violation(problem, beta, f, W) <= tol:
            break
        _move(K, problem, beta, f, W)


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
    v, up, low = _wishes(problem, beta, f)
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
    """Coefficients of the examples and intercept: f(x) = Σ coef_l k(x_l, x) + intercept."""
    return _svm_problem.machine(problem, solution.beta, solution.biases)
