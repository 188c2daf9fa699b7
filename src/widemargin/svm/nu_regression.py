r"""ν-SVR by a solver in which at most one of α and α* of an example is positive.

The sums of α and of α* are C ν W/2 each. As long as the tube has a width, :math:`\epsilon > 0`,
an example is on one side of it, and :math:`\alpha_l \alpha^*_l = 0`. Where ν is so large that the
tube closes, the solution is that of ε-SVR with ε = 0. Its sums are smaller; the difference is added
to α and α* of the same examples, which changes neither f nor J.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from widemargin._typing import FloatArray
from widemargin.svm.decomposition import Solution
from widemargin.svm.problem import Problem, feasible_start, one_of_each

__all__ = ["nu_regression"]

Run = Callable[[Problem, FloatArray | None], Solution]


def nu_regression(problem: Problem, initial: FloatArray | None, tol: float, run: Run) -> Solution:
    """Solves a problem of kind ``nu_svr``.

    Parameters
    ----------
    problem : Problem
        The problem.
    initial : ndarray or None
        A feasible β to start from.
    tol : float
        The largest violation allowed.
    run : callable
        Solves a problem from a feasible β in which α or α* of each example is 0.

    Returns
    -------
    Solution
        Of the given problem.
    """
    one_sum = np.zeros_like(problem.group)
    zero = np.zeros_like(problem.z)
    closed = replace(
        problem, kind="epsilon_svr", group=one_sum, sums=np.zeros(1), initial=zero
    )  # s = −y is that of ε = 0
    begin = problem.initial if initial is None else initial
    solution, steps = None, 0
    for _ in range(2):  # the second time from the solution with ε = 0
        if one_of_each(begin):
            solution = run(problem, begin)
            if solution.reason not in ("tol", "shrunk") or solution.violation <= tol:
                break
            steps += solution.steps
        start = None if solution is None else feasible_start(closed, solution.beta)
        solution = run(closed, start)
        if solution.reason != "tol" or _missing(problem, solution) >= 0:
            solution = _fill(problem, solution)
            break
        steps += solution.steps
        begin = feasible_start(problem, solution.beta)
    else:
        solution = run(problem, begin)
    solution.steps += steps
    if solution.reason == "tol" and solution.violation > tol:
        solution.reason = "rounding"
    return solution


def _missing(problem: Problem, solution: Solution) -> float:
    """By how much the sum of α, which equals that of α*, is too small."""
    return float(problem.sums[0] - np.abs(solution.beta).sum() / 2)


def _fill(problem: Problem, solution: Solution) -> Solution:
    """The solution with the sums that the problem asks for; f changes only if they are smaller."""
    missing = _missing(problem, solution)
    alpha = np.abs(solution.beta).reshape(2, -1)
    room = np.maximum(0.0, problem.upper.reshape(2, -1)[0] - alpha.max(axis=0))
    scale = 1.0
    if missing < 0:
        scale = float(problem.sums[0] / (problem.sums[0] - missing))
    elif room.sum() > 0:
        alpha += room * min(1.0, missing / room.sum())
    beta = np.clip(scale * problem.z * alpha.ravel(), problem.low, problem.high)
    moved = np.abs(problem.coefficients(beta) - scale * problem.coefficients(solution.beta)).sum()
    rounding = solution.kernel_size * moved if moved > 0 else 0.0  # of α − α*
    f, error = scale * solution.f, scale * solution.error + rounding
    filled = solution.certified(problem, beta=beta, f=f, error=error)
    if not np.isfinite(solution.violation):
        filled.violation = filled.gap = np.inf
    return filled
