"""Runs the decomposition algorithm in slices of native work, and verifies what it claims.

Between two slices `Control` is asked whether to stop (Ctrl-C, time limit, callbacks) and gets a
record for the history. When the solver is done, f is verified (`svm/verification.py`). If the
conditions do not hold for the verified f, the solver continues from it: what float32 gets wrong is
then only the change since, so that a few rounds reach any `tol` that float64 can verify.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from widemargin import _core
from widemargin._typing import FloatArray
from widemargin.svm.problem import Problem, certify
from widemargin.svm.verification import Verifier
from widemargin.training.certified import PathState
from widemargin.training.control import Control

__all__ = ["Options", "Solution", "SolverState", "Validation", "solve"]

CLAIMS = ("tol", "max_iter", "rounding")  # what a solver stops for by itself
TIGHTER = 0.5  # of tol, which the solver aims at after f was corrected
REFINED = 0.5  # of the violation at most, after f was corrected; otherwise correcting does not help
BAR_CHARACTERS = 20  # of the progress bar
SHRINKING = {True: "checked", False: "never", "heuristic": "heuristic"}


@dataclass(frozen=True)
class Options:
    """How to solve a problem."""

    tol: float = 1e-3
    max_iter: int = -1  # steps of two variables; −1 means any number
    working_set: int = 0  # variables; 0 lets the core choose
    shrinking: bool | str = True
    patience: int = 5  # iterations for which an example satisfies its conditions, to be set aside
    threshold: float | None = None  # and by how much; None: by a fraction of the violation
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
    error: FloatArray  # how far rounding may have taken f from the exact one
    biases: FloatArray
    violation: float  # at most, of all examples; infinite if not measured, as are gap and primal
    gap: float
    dual: float
    reason: str = "tol"
    steps: int = 0
    kernel_evaluations: int = 0
    rows_wanted: int = 0
    rows_cached: int = 0
    kernel_size: float = np.inf  # no |k| is larger

    @property
    def primal(self) -> float:
        return self.dual + self.gap if np.isfinite(self.gap) else np.inf

    def certified(self, problem: Problem, **changes: Any) -> "Solution":
        """The solution with these changes, and with what can be certified of it."""
        some = replace(self, **changes)
        violation, biases, gap, dual = certify(problem, some.beta, some.f, some.error)
        return replace(some, biases=biases, violation=violation, gap=gap, dual=dual)


@dataclass(eq=False)
class SolverState(PathState):
    """The solver of a problem, kept for the next C of a path: the same examples, other bounds."""

    kernel: Any = None  # for which the solver was made
    solver: _core.Decomposition | None = None
    verifier: Verifier | None = None
    factor: float = 1.0  # the next problem starts from the last solution times this factor


class Validation(Protocol):
    """Validation examples that may end training (`svm/early_stopping.py`)."""

    error: float  # the last one
    next_steps: int  # after which it is measured again

    def take(self, problem: Problem, solution: Solution) -> bool:
        """Measure an iterate; returns whether to stop."""

    def verdict(self, problem: Problem, last: Solution, reason: str) -> tuple[Solution, str]:
        """The best machine, and why training ended."""


Watch = Callable[[Callable[[], Solution]], bool]  # called after each slice; True to stop


def solve(
    kernel: Any,
    problem: Problem,
    options: Options,
    control: Control,
    verifier: Verifier | None,
    *,
    diagonal: FloatArray | None = None,
    initial: FloatArray | None = None,
    number: int = 0,
    watch: Watch | None = None,
    state: SolverState | None = None,
    memory: list[_core.SolverMemory] | None = None,
    validation: Validation | None = None,
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
    verifier : Verifier or None
        What verifies the solution; None if `state` holds a solver.
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
    memory : list of _core.SolverMemory, optional
        What solvers of other problems have left; the solver takes one and gives it back.
    validation : Validation, optional
        What may stop training, and keeps the best machine.

    Returns
    -------
    Solution
        Its reason is "tol" only if the violation is verified. Otherwise it is "max_iter",
        "time_limit", "interrupted", "callback", "validation", "rounding" if rounding keeps it from
        tol, or "shrunk" if examples that were set aside violate the conditions.
    """
    if state is not None and state.solver is not None and state.verifier is not None:
        solver, verifier = state.solver, state.verifier
        shape = (-1, problem.examples)
        solver.change_bounds(state.factor, problem.low.reshape(shape), problem.high.reshape(shape))
        beta, f = np.empty(len(problem.z)), np.empty(problem.examples)
        solver.state(beta.reshape(shape), f)
        verifier.rescale(state.factor, problem.coefficients(beta))
    else:
        assert verifier is not None
        left = memory.pop() if memory else None
        solver = _solver(kernel, problem, options, diagonal, initial, left)
    run = _Run(solver, problem, options, control, verifier, number, watch, validation)
    reason, before = run.until_done(), np.inf
    while reason in CLAIMS and control.reason() is None:
        result = run.solution(verified=True)
        if result.violation <= options.tol or reason == "max_iter":
            break
        run.correct(result, TIGHTER * options.tol)
        if run.misses_violations(result):
            reason = "shrunk"
            break
        if not result.violation < REFINED * before:
            reason = "rounding"
            break
        before = result.violation
        reason = run.until_done()
    else:
        result = run.solution()
    _check_finite(result)
    if reason in CLAIMS and result.violation <= options.tol:
        reason = "tol"
    elif reason == "tol":
        reason = control.reason() or "rounding"
    if state is not None:
        state.solver = state.verifier = None
        if run.progress["complete"]:
            run.correct(result, options.tol)
            state.solver, state.verifier = solver, verifier
    if memory is not None:
        memory.append(solver.release())
    if validation is not None:
        result, reason = validation.verdict(problem, result, reason)
    result.reason = reason
    return result


def _solver(
    kernel: Any,
    problem: Problem,
    options: Options,
    diagonal: FloatArray | None,
    initial: FloatArray | None,
    memory: _core.SolverMemory | None,
) -> _core.Decomposition:
    shape = (-1, problem.examples)
    beta = np.ascontiguousarray(problem.initial if initial is None else initial)
    group = problem.group.astype(np.uint8) if len(problem.sums) > 1 else None
    return _core.Decomposition(
        kernel,
        diagonal=diagonal,
        beta=beta.reshape(shape),
        lo=problem.low.reshape(shape),
        hi=problem.high.reshape(shape),
        s=problem.s.reshape(shape),
        group=None if group is None else group.reshape(shape),
        working_set=options.working_set,
        shrinking=SHRINKING[options.shrinking],
        patience=options.patience,
        threshold=-1.0 if options.threshold is None else options.threshold,
        tol=options.tol,
        cache_bytes=options.cache_bytes,
        max_steps=options.max_iter,
        threads=options.threads,
        memory=memory,
    )


@dataclass(eq=False)
class _Run:
    """A solver at work on one problem."""

    solver: _core.Decomposition
    problem: Problem
    options: Options
    control: Control
    verifier: Verifier
    number: int
    watch: Watch | None
    validation: Validation | None = None

    def __post_init__(self) -> None:
        self.progress = self.solver.run(0.0)
        if self.progress["complete"] and not self.progress["done"]:
            self.progress = self.solver.measure(0.0)  # the violation at the start, for the history
        self.first = self.options.tol

    def until_done(self) -> str:
        """Why the solver stopped."""
        reason = None
        while reason is None:
            stop = self._judged()
            self._note()
            if stop:
                reason = "validation"
            elif self.progress["done"]:
                spent = 0 <= self.options.max_iter <= self.progress["steps"]
                reason = "max_iter" if spent else "rounding" if self.progress["stalled"] else "tol"
            else:
                if self.watch is not None and self.watch(self.solution):
                    self.control.stop("callback")
                reason = self.control.reason()
                if reason is None:
                    self.progress = self._slice()
        if not self.progress["complete"]:
            self.progress = self.solver.measure(self.control.closing())
            while reason in CLAIMS and not self.progress["complete"]:
                if self.control.reason() is not None:
                    break
                self.progress = self.solver.measure(self.control.slice())
            self._note()
        return reason

    def _judged(self) -> bool:
        """Whether the error on the validation examples, if it is due, ends training."""
        validation, steps = self.validation, self.progress["steps"]
        if validation is None or steps < validation.next_steps:
            return False
        return validation.take(self.problem, self.solution())

    def _slice(self) -> dict[str, Any]:
        """Work for some milliseconds, or until the error on validation examples is due.

        The latter in the smallest pieces, so that it does not depend on the clock.
        """
        if self.validation is None:
            return self.solver.run(self.control.slice())
        while True:
            progress = self.solver.run(0.0)
            due = progress["done"] or progress["steps"] >= self.validation.next_steps
            if due or self.control.reason() is not None:
                return progress

    def solution(self, verified: bool = False) -> Solution:
        """Where the solver is; f may be recomputed where the certificate depends on it."""
        problem, progress, verifier = self.problem, self.progress, self.verifier
        beta, f = np.empty(len(problem.z)), np.empty(problem.examples)
        self.solver.state(beta.reshape(-1, problem.examples), f)
        error = verifier.bounds(problem, beta, f, progress)
        if verified and progress["complete"] and np.all(np.isfinite(f)):
            tol, control = self.options.tol, self.control
            f, error = verifier.verify(problem, beta, f, error, tol, control)
        violation, biases, gap, dual = certify(problem, beta, f, error)
        if not progress["complete"]:
            violation, gap, dual = np.inf, np.inf, 0.0 - float(progress["cost"])
        return Solution(
            beta,
            f,
            error,
            biases,
            violation,
            gap,
            dual,
            steps=progress["steps"],
            kernel_evaluations=progress["kernel_evaluations"] + verifier.kernel_values,
            rows_wanted=progress["rows_wanted"],
            rows_cached=progress["rows_cached"],
            kernel_size=verifier.rounding.largest,
        )

    def correct(self, result: Solution, tol: float) -> None:
        """Gives the solver the f of this solution, and another tol."""
        self.solver.correct(result.f, tol)
        self.verifier.coef = self.problem.coefficients(result.beta)
        self.verifier.known = result.error
        self.progress = self.solver.measure(0.0)

    def misses_violations(self, result: Solution) -> bool:
        """Whether examples violate conditions that the solver does not look at."""
        if self.options.shrinking == "heuristic":
            return True
        found = certify(self.problem, result.beta, result.f).violation
        return bool(found > max(self.options.tol, 1.01 * self.progress["violation"]))

    def _note(self) -> None:
        record = _record(self.progress, self.number, self.control)
        if self.validation is not None and np.isfinite(self.validation.error):
            record["validation_error"] = self.validation.error
        if self.progress["active"]:
            self.first = max(self.first, record["violation"])
        first, tol = self.first, self.options.tol
        self.control.note(record, partial(_line, first, tol), _done(first, tol, record))


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


def _done(first: float, tol: float, record: dict[str, float]) -> float:
    """How far the violation is from the first one to tol, on a logarithmic scale."""
    whole = np.log(max(first, 1.1 * tol) / tol)
    left = np.log(max(record["violation"], tol) / tol)
    return float(1.0 - min(1.0, left / whole))


def _line(first: float, tol: float, record: dict[str, float]) -> str:
    """The record, with a bar of what is done."""
    done = round(BAR_CHARACTERS * _done(first, tol, record))
    return (
        f"problem {record['problem']}  iteration {record['iteration']:5d}  "
        f"steps {record['steps']:8d}  violation {record['violation']:8.2e} "
        f"|{'#' * done}{'.' * (BAR_CHARACTERS - done)}|  dual {record['dual_objective']:.6g}  "
        f"active {record['active']}  {record['seconds']:.2f} s"
    )
