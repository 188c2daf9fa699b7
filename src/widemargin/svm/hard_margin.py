r"""Hard margins, C = ∞: no example may be inside the margin.

.. math:: \min_{w, b} \tfrac12 \|w\|^2 \quad\text{with}\quad y_l (w \cdot \Phi(x_l) + b) \ge 1

The dual has no upper bounds, and is unbounded if the classes cannot be separated. So another
problem is solved, which has a solution in any case: the two nearest points of the convex hulls of
the classes,

.. math:: \min_\beta \tfrac12 \Bigl\|\sum_l \beta_l \Phi(x_l)\Bigr\|^2 \quad\text{with}\quad
          \sum_{y_l = 1} \beta_l = a, \; \sum_{y_l = -1} \beta_l = -a, \; y_l \beta_l \ge 0

for any a > 0, which is a problem of kind ``nu_svc``. With u the smallest output of the positive
examples, v the largest of the others and :math:`r = (u - v)/2`, the machine f/r is that of the
hard margin once its conditions hold. At any β, :math:`2r/\|w\| \le \rho \le \|w\|/a` for the
widest margin ρ. The classes are separated if r > 0; they are not, as far as numbers can tell, if
the upper bound falls below a millionth of the size of the examples in feature space.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from widemargin._typing import FloatArray
from widemargin.svm.decomposition import Options, Solution
from widemargin.svm.problem import Problem, certify
from widemargin.svm.solve import Task, unsolved
from widemargin.training.separable import NotSeparableError

__all__ = ["separated", "solve_hard_margins"]

SMALLEST_MARGIN = 1e-6  # that counts as one, relative to the root of the largest kernel value
TIGHTER = 0.4  # of tol, for each class: their violations add up
FINER = 100.0  # the factor of a if the classes are not yet separated
MAX_ROUNDS = 30

#: Solves tasks with these options from a feasible β each, watched or not.
Solve = Callable[[Sequence[Task], Options, Sequence[FloatArray], Any], list[Solution]]


def solve_hard_margins(
    tasks: Sequence[Task],
    options: Options,
    initial: Sequence[FloatArray | None] | None,
    watcher: Any,
    solve: Solve,
) -> list[Solution]:
    """Solve problems of kind ``c_svc`` without upper bounds.

    Each round has a scale a for each problem, such that its r will be about 1: then the tolerance
    of the solver is that of the machine.

    Returns
    -------
    list of Solution
        Of the given problems. Its primal is ½ ‖w‖²/r², the cost of a machine that has no example
        inside its margin.
    """
    rounds = [_Rounds(number, task.problem) for number, task in enumerate(tasks)]
    for each, beta in zip(rounds, initial or [None] * len(rounds), strict=True):
        each.begin(beta)
    left = options.max_iter

    def seen(number: int, solution: Callable[[], Solution]) -> bool:
        problem = tasks[number].problem
        return bool(watcher(number, lambda: separated(problem, solution()) or unsolved(problem)))

    for _ in range(MAX_ROUNDS):
        hulls = [Task(task.ids, each.hulls) for task, each in zip(tasks, rounds, strict=True)]
        how = replace(options, tol=TIGHTER * options.tol, max_iter=left)
        starts = [each.start for each in rounds]
        found = solve(hulls, how, starts, None if watcher is None else seen)
        if left >= 0:
            left = max(0, left - max(solution.steps for solution in found))
        for each, solution in zip(rounds, found, strict=True):
            each.take(solution, options.tol)
        if all(each.solution is not None for each in rounds):
            break
    return [each.solution or replace(each.last, reason="rounding") for each in rounds]


class _Rounds:
    """One problem on its way to the scale at which its margin is 1."""

    def __init__(self, number: int, problem: Problem) -> None:
        self.number, self.problem = number, problem
        self.scale, self.beta = 1.0, np.zeros(len(problem.z))  # a, and the next start
        self.solution: Solution | None = None  # when there is nothing more to do
        self.steps = self.kernel_values = 0

    def begin(self, beta: FloatArray | None) -> None:
        """Start from a feasible β of the given problem."""
        if beta is not None and np.any(beta):
            self.beta, self.scale = beta, float(np.abs(beta).sum()) / 2

    @property
    def hulls(self) -> Problem:
        z, a, zero = self.problem.z, self.scale, np.zeros(len(self.problem.z))
        upper = np.full(len(z), 2.0 * a)  # which the sums do not let a variable reach
        return Problem("nu_svc", z, zero, upper, (z < 0).astype(int), np.array([a, -a]), self.start)

    @property
    def start(self) -> FloatArray:
        """The β of the last round with the sums of this one; one example per class at first."""
        z, a = self.problem.z, self.scale
        beta = self.beta if np.any(self.beta) else np.zeros(len(z))
        if not np.any(beta):
            for sign in (1.0, -1.0):
                beta[int(np.argmax(z == sign))] = sign
        sums = [np.abs(beta[z == sign]).sum() for sign in (1.0, -1.0)]
        return np.asarray(np.where(z > 0, beta * (a / sums[0]), beta * (a / sums[1])))

    def take(self, found: Solution, tol: float) -> None:
        """Keep the solution of a round if it is good enough, otherwise choose the next scale."""
        self.steps += found.steps
        self.kernel_values += found.kernel_evaluations
        done, machine = found.reason in ("tol", "rounding"), separated(self.problem, found)
        self.last = _without_margin(found) if machine is None else machine
        if machine is not None and done and machine.violation <= tol:
            self.solution = replace(machine, reason="tol")
        elif not done or (machine is not None and found.reason == "rounding"):
            self.solution = replace(self.last, reason=found.reason)
        else:
            bound = float(np.sqrt(max(0.0, _squared_norm(found)))) / self.scale
            tiny = bound <= SMALLEST_MARGIN * np.sqrt(found.kernel_size)
            if machine is None and (tiny or found.reason == "rounding"):
                raise NotSeparableError(self.number, bound)
            factor = FINER if machine is None else _factor(self.problem, found)
            self.beta, self.scale = found.beta, self.scale * factor
        for solution in filter(None, (self.solution, self.last)):
            solution.steps, solution.kernel_evaluations = self.steps, self.kernel_values


def _squared_norm(found: Solution) -> float:
    """‖w‖² = β·f, at most."""
    return float(found.beta @ found.f + np.abs(found.beta) @ found.error)


def _ends(problem: Problem, found: Solution) -> tuple[float, float]:
    """The smallest output of positive examples at least, and the largest of others at most."""
    positive = problem.z > 0
    low = float((found.f - found.error)[positive].min())
    return low, float((found.f + found.error)[~positive].max())


def _factor(problem: Problem, found: Solution) -> float:
    """1/r; not positive if the classes are not separated, or not known to be."""
    u, v = _ends(problem, found)
    return 2.0 / (u - v) if np.isfinite(u) and np.isfinite(v) and u != v else 0.0


def separated(problem: Problem, found: Solution) -> Solution | None:
    """The machine f/r, which has no example inside its margin; None if there is no such machine."""
    factor = _factor(problem, found)
    if not (factor > 0.0 and np.isfinite(factor)):
        return None
    beta, f, error = factor * found.beta, factor * found.f, factor * found.error
    square = factor**2 * _squared_norm(found)
    dual = float(np.abs(beta).sum()) - 0.5 * square
    return replace(
        found,
        beta=beta,
        f=f,
        error=error,
        biases=np.array([-0.5 * factor * sum(_ends(problem, found))]),
        violation=certify(problem, beta, f, error).violation,
        gap=max(0.0, 0.5 * square - dual),
        dual=dual,
    )


def _without_margin(found: Solution) -> Solution:
    """What an early stop leaves before the classes are separated; nothing is known of its cost."""
    biases = np.array([float(found.biases.mean())])
    return replace(found, biases=biases, violation=np.inf, gap=np.inf, dual=0.0)
