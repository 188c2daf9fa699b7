r"""Regression with one variable per example, as SMO of Flake and Lawrence (2002) has it.

The thesis selects :math:`\alpha_l` and :math:`\alpha_l^*` independently (5.3.1). Others, among
them Nodelib, which Tables 5.3 to 5.6 compare, select both together: the variable is
:math:`\lambda_l = \alpha_l - \alpha_l^*` with α and α* as in `widemargin.reference.svm`, and

.. math:: J(\lambda) = \tfrac12 \lambda^T K \lambda - y \cdot \lambda + \epsilon \sum_l |\lambda_l|,
          \qquad |\lambda_l| \le U_l, \qquad \sum_l \lambda_l = 0.
"""

import numpy as np

from widemargin._typing import FloatArray
from widemargin.reference.svm import Problem, Solution, certificate

__all__ = ["pair_decomposition"]


def pair_decomposition(
    K: FloatArray, problem: Problem, tol: float = 1e-3, max_iter: int = 100_000
) -> Solution:
    r"""Minimise J by two examples at a time, until no pair's violation exceeds tol.

    J falls by at most :math:`u_l = y_l - f_l - \epsilon` per unit that :math:`\lambda_l \ge 0`
    grows (:math:`+\epsilon` if it is negative), and rises by at least :math:`w_l`, the same with
    :math:`\lambda_l > 0`, per unit that it shrinks. The pair has the largest u and the smallest w;
    f has no bias yet.

    Parameters
    ----------
    K : ndarray of shape (L, L)
        The kernel matrix.
    problem : Problem
        Of kind ``"epsilon_svr"``.
    tol, max_iter
        As in `widemargin.reference.svm.decomposition`, whose solution has the same form.

    Examples
    --------
    >>> from widemargin.reference.svm import svm_problem
    >>> x, y = np.array([-1.0, 1.0]), np.array([-2.0, 2.0])
    >>> problem = svm_problem("epsilon_svr", y, C=10.0, epsilon=0.5)
    >>> solution = pair_decomposition(np.outer(x, x), problem)
    >>> problem.coefficients(solution.beta), solution.f
    (array([-0.75,  0.75]), array([-1.5,  1.5]))
    """
    if problem.kind != "epsilon_svr":
        raise ValueError(f"kind={problem.kind!r}; pairs of α and α* are those of 'epsilon_svr'")
    L, upper = len(problem.y), problem.upper[: len(problem.y)]
    net, f = np.zeros(L), np.zeros(L)
    iterations = 0
    while iterations < max_iter:
        residual = problem.y - f
        grow = np.where(net >= 0, residual - problem.epsilon, residual + problem.epsilon)
        shrink = np.where(net > 0, residual - problem.epsilon, residual + problem.epsilon)
        i = int(np.argmax(np.where(net < upper, grow, -np.inf)))
        j = int(np.argmin(np.where(net > -upper, shrink, np.inf)))
        if not (net[i] < upper[i] and net[j] > -upper[j]) or grow[i] - shrink[j] <= tol:
            break
        moved = _line_minimum(K, net, i, j, float(grow[i] - shrink[j]), upper, problem.epsilon)
        f += moved * (K[i] - K[j])
        iterations += 1
    beta = np.concatenate([np.maximum(net, 0.0), np.minimum(net, 0.0)])
    f = K @ net
    violation, biases, primal, dual = certificate(K, problem, beta)
    return Solution(beta, f, biases, violation, primal, dual, iterations)


def _line_minimum(
    K: FloatArray,
    net: FloatArray,
    i: int,
    j: int,
    slope: float,
    upper: FloatArray,
    epsilon: float,
) -> float:
    """Raises λ_i and lowers λ_j to the minimum of J; returns by how much.

    J is a parabola between kinks, where λ_i or λ_j passes 0 and the slope falls by 2ε.
    """
    rho = float(K[i, i] - 2.0 * K[i, j] + K[j, j])
    start_i, start_j, moved = net[i], net[j], 0.0
    kinks = sorted(t for t in (-start_i, start_j) if t > 0)
    end = min(upper[i] - start_i, start_j + upper[j])
    for stop in [*(t for t in kinks if t < end), end]:
        minimum = moved + slope / rho if rho > 0 else np.inf
        if minimum <= stop:
            moved = minimum
            break
        slope -= rho * (stop - moved) + 2.0 * epsilon
        moved = stop
        if slope <= 0:
            break
    net[i] = upper[i] if moved == upper[i] - start_i else start_i + moved
    net[j] = -upper[j] if moved == start_j + upper[j] else start_j - moved
    return float(moved)
