"""Runs the decomposition algorithm in slices of native work.

Between two slices `Control` is asked whether to stop (Ctrl-C, time limit, callbacks) and gets a
record for the history. A `Solution` says how far from the optimum it is.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from widemargin import _core
from widemargin._typing import FloatArray
from widemargin.svm.problem import Problem, certify
from widemargin.training.certified import PathState
from widemargin.training.control import Control

__all__ = ["Options", "Solution", "SolverState", "solve"]

STALLED_SLICES, STALLED_ITERATIONS = 5, 100  # without progress, before the solver gives up
BAR_CHARACTERS = 20  # of the progress bar
SHRINKING = {True: "checked", False: "never", "heuristic": "heuristic"}


@dataclass(frozen=True)
class Options:
    """How to solve a problem."""

    tol: float = 1e-3
    max_iter: int = -1  # steps of two variables; −1 means any number
    working_set: int = 0  # variables; 0 lets the core choose
    shrinking: bool | str = True
    cache_bytes: int = 200 << 20
    threads: int = 1

    def shared(self, problems: int) -> "Options":
        """For problems that are solved in parallel, with one thread each."""
        return replace(self, cache_bytes=self.cache_bytes // problems, threads=1)


@dataclass(eq=False)
class Solution:
    """Where a problem was left: β, f on its examples, and what is known of its optimality."""

    beta: FloatArray
    f: FloatArray
    biases: FloatArray
    violation: float  # of all examples; infinite if it was not measured, as are primal and gap
    primal: float
    dual: float
    reason: str = "tol"
    steps: int = 0
    kernel_evaluations: int = 0
    rows_wanted: int = 0
    rows_cached: int = 0

    @property
    def gap(self) -> float:
        return max(0.0, self.primal - self.dual)


@dataclass(eq=False)
class SolverState(PathState):
    """The solver of a problem, kept for the next C of a path: the same examples, other bounds."""

    kernel: Any = None  # for which the solver was made
    solver: _core.Decomposition | None = None
    factor: float = 1.0  # the next problem starts from the last solution times this factor


class _StallDetector:
    """Tells when rounding keeps a problem from its tol: neither J nor the violation still falls."""

    def __init__(self) -> None:
        self.cost = self.violation = np.inf
        self.iterations = self.slices = 0

    def __call__(self, progress: dict[str, Any]) -> bool:
        cost, violation = progress["cost"], progress["violation"]
        falls = cost < self.cost - 1e-13 * abs(self.cost) or violation < 0.99 * self.violation
        if falls or not progress["active"]:
            self.iterations, self.slices = progress["iterations"], 0
        self.cost, self.violation = min(cost, self.cost), min(violation, self.violation)
        self.slices += 1
        idle = progress["iterations"] - self.iterations
        return self.slices > STALLED_SLICES and idle > STALLED_ITERATIONS


Watch = Callable[[Callable[[], Solution]], bool]  # called after each slice; True to stop


def solve(
    kernel: Any,
    problem: Problem,
    options: Options,
    control: Control,
    *,
    diagonal: FloatArray | None = None,
    initial: FloatArray | None = None,
    number: int = 0,
    watch: Watch | None = None,
    state: SolverState | None = None,
) -> Solution:
    """Minimises J until no group's violation exceeds tol, or there is a reason to stop.

    Parameters
    ----------
    kernel : _core.KernelExamples or callable
        The examples of the problem, or a function that gives rows of their kernel matrix and
        comes with the `diagonal`.
    problem : Problem
        Its constants.
    options : Options
        How to solve it.
    control : Control
        What may stop the fit, and its history.
    diagonal : ndarray, optional
        k(x, x) of every example, for a kernel that is a function.
    initial : ndarray, optional
        A feasible β to start from.
    number : int
        The problem's number within the fit, for the history.
    watch : callable, optional
        Called after each slice with a function that gives the solution so far.
    state : SolverState, optional
        Where the solver is kept. If it holds one, `kernel` and `initial` are not used.

    Returns
    -------
    Solution
        Its reason is "tol", "max_iter", "time_limit", "interrupted", "callback", "rounding" if
        rounding keeps it from tol, or "shrunk" if examples that were set aside violate the
        conditions.
    """
    solver = None if state is None else state.solver
    shape = (-1, problem.examples)
    if state is not None and solver is not None:
        solver.change_bounds(state.factor, problem.low.reshape(shape), problem.high.reshape(shape))
    else:
        beta = np.ascontiguousarray(problem.initial if initial is None else initial)
        group = problem.group.astype(np.uint8) if len(problem.sums) > 1 else None
        solver = _core.Decomposition(
            kernel,
            diagonal=diagonal,
            beta=beta.reshape(shape),
            lo=problem.low.reshape(shape),
            hi=problem.high.reshape(shape),
            s=problem.s.reshape(shape),
            group=None if group is None else group.reshape(shape),
            working_set=options.working_set,
            shrinking=SHRINKING[options.shrinking],
            tol=options.tol,
            cache_bytes=options.cache_bytes,
            max_steps=options.max_iter,
            threads=options.threads,
        )

    def solution() -> Solution:
        return _solution(solver, problem, progress)

    progress = solver.run(0.0)
    if progress["complete"] and not progress["done"]:
        progress = solver.measure(0.0)  # the violation at the start, for the history
    first, reason, stalled = options.tol, None, _StallDetector()
    while reason is None:
        record = _record(progress, number, control)
        first = max(first, record["violation"]) if progress["active"] else first
        control.note(record, partial(_line, first, options.tol))
        if progress["done"]:
            reason = "max_iter" if progress["violation"] > options.tol else "tol"
        else:
            if watch is not None and watch(solution):
                control.stop("callback")
            reason = control.reason() or ("rounding" if stalled(progress) else None)
            if reason is None:
                progress = solver.run(control.slice())

    if not progress["complete"]:
        progress = solver.measure(control.closing())
        while reason == "tol" and not progress["complete"] and control.reason() is None:
            progress = solver.measure(control.slice())
        control.note(_record(progress, number, control), partial(_line, first, options.tol))
    result = solution()
    _check_finite(result)
    if state is not None:
        state.solver = solver if progress["complete"] else None
    result.reason = "shrunk" if reason == "tol" and result.violation > options.tol else reason
    return result


def _solution(solver: _core.Decomposition, problem: Problem, progress: dict[str, Any]) -> Solution:
    beta, f = np.empty(len(problem.z)), np.empty(problem.examples)
    solver.state(beta.reshape(-1, problem.examples), f)
    violation, biases, primal, dual = certify(problem, beta, f)
    if not progress["complete"]:
        violation, primal, dual = np.inf, np.inf, 0.0 - float(progress["cost"])
    return Solution(
        beta,
        f,
        biases,
        violation,
        primal,
        dual,
        steps=progress["steps"],
        kernel_evaluations=progress["kernel_evaluations"],
        rows_wanted=progress["rows_wanted"],
        rows_cached=progress["rows_cached"],
    )


def _check_finite(solution: Solution) -> None:
    if not (np.all(np.isfinite(solution.f)) and np.all(np.isfinite(solution.biases))):
        raise ValueError(
            "the kernel values overflow: the dual coefficients or intercepts are not finite. "
            "Scale the inputs, for example with StandardScaler"
        )


def _record(progress: dict[str, Any], number: int, control: Control) -> dict[str, float]:
    return {
        "problem": number,
        "iteration": progress["iterations"],
        "steps": progress["steps"],
        "violation": max(0.0, progress["violation"]) if progress["active"] else np.inf,
        "dual_objective": 0.0 - progress["cost"],
        "active": progress["active"],
        "seconds": control.seconds(),
    }


def _line(first: float, tol: float, record: dict[str, float]) -> str:
    """The record, with a bar from the first violation to tol on a logarithmic scale."""
    whole = np.log(max(first, 1.1 * tol) / tol)
    left = np.log(max(record["violation"], tol) / tol)
    done = round(BAR_CHARACTERS * (1.0 - min(1.0, left / whole)))
    return (
        f"problem {record['problem']}  iteration {record['iteration']:5d}  "
        f"steps {record['steps']:8d}  violation {record['violation']:8.2e} "
        f"|{'#' * done}{'.' * (BAR_CHARACTERS - done)}|  dual {record['dual_objective']:.6g}  "
        f"active {record['active']}  {record['seconds']:.2f} s"
    )
