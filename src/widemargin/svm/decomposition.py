"""Runs the decomposition algorithm: slices of native work, and between them what a user wants.

Ctrl-C, time limits, callbacks, history and progress are looked after here, once for the several
problems of a fit (`Control`). A `Solution` says how far from the optimum it is.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from widemargin import _core
from widemargin._typing import FloatArray
from widemargin.svm.problem import Problem, certify
from widemargin.training.control import Control

__all__ = ["Bench", "Options", "Solution", "solve"]

LAST_MEASURE = 0.25  # seconds for the violation of all examples after an early stop
STALLED_SLICES, STALLED_ITERATIONS = 5, 100  # without progress, before one gives up
SHRINKING = {True: "checked", False: "never", "heuristic": "heuristic"}


@dataclass(frozen=True)
class Options:
    """How to solve a problem."""

    tol: float = 1e-3
    max_iter: int = -1  # steps of two variables; −1: any number
    working_set: int = 0  # variables; 0: chosen by the core
    shrinking: bool | str = True
    cache_bytes: int = 200 << 20
    threads: int = 1

    def shared(self, problems: int) -> "Options":
        """For problems that are solved at the same time, a thread each."""
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
class Bench:
    """A solver that stays for the next problem of a path: the same examples, other bounds."""

    kernel: Any = None  # what it was made for
    solver: _core.Decomposition | None = None
    factor: float = 1.0  # the next problem starts from this times its solution


class _Stall:
    """Whether rounding keeps a problem from its tol: neither J nor the violation falls any more."""

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


Watch = Callable[[Callable[[], Solution]], bool]  # of a slice; True to stop


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
    bench: Bench | None = None,
) -> Solution:
    """Minimises J until no group's violation exceeds tol, or there is a reason to stop.

    Parameters
    ----------
    kernel : _core.KernelExamples or callable
        The examples of the problem, or a function that gives rows of their kernel matrix; it
        needs the `diagonal`.
    problem : Problem
        Its constants.
    options : Options
        How to solve it.
    control : Control
        What may stop it, and its history.
    diagonal : ndarray, optional
        k(x, x) of every example, for a kernel that is a function.
    initial : ndarray, optional
        A feasible β to start from.
    number : int
        Of the problem among those of the fit, for the history.
    watch : callable, optional
        Called after each slice with a function that gives the solution so far.
    bench : Bench, optional
        Where the solver is put, and found: then `kernel` and `initial` are not used.

    Returns
    -------
    Solution
        Its reason is "tol", "max_iter", "time_limit", "interrupted", "callback", "rounding" if
        that keeps it from tol, or "shrunk" if examples that were put aside violate the conditions.
    """
    solver = None if bench is None else bench.solver
    shape = (-1, problem.examples)
    if bench is not None and solver is not None:
        solver.change_bounds(bench.factor, problem.low.reshape(shape), problem.high.reshape(shape))
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
    first, reason, stalled = options.tol, None, _Stall()
    while reason is None:
        record = _record(progress, number, control)
        first = max(first, record["violation"]) if progress["active"] else first
        control.note(record, first, options.tol)
        if progress["done"]:
            reason = "max_iter" if progress["violation"] > options.tol else "tol"
        else:
            if watch is not None and watch(solution):
                control.stop("callback")
            reason = control.reason() or ("rounding" if stalled(progress) else None)
            if reason is None:
                progress = solver.run(control.slice())

    if not progress["complete"]:
        progress = solver.measure(LAST_MEASURE)
        while reason == "tol" and not progress["complete"] and control.reason() is None:
            progress = solver.measure(control.slice())
        control.note(_record(progress, number, control), first, options.tol)
    result = solution()
    _check_finite(result)
    if bench is not None:
        bench.solver = solver if progress["complete"] else None
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
