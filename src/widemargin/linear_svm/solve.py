"""Solves one problem of a linear SVM: which solver, when to change it, when to stop.

Coordinate descent is fast where C is small or there are many columns. The interior-point method
takes about twenty passes for any C, each at a cost that grows with the square of the columns.
"auto" begins with the first, and changes to the second when the gap falls so slowly that the second
is cheaper.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from widemargin.linear_svm.coordinate_descent import dual_descent
from widemargin.linear_svm.crammer_singer import sequential_descent
from widemargin.linear_svm.expansion import with_bounds
from widemargin.linear_svm.forecast import falls_to_come
from widemargin.linear_svm.interior_point import PathPoint, interior_point
from widemargin.linear_svm.multiclass_problem import MulticlassProblem
from widemargin.linear_svm.problem import Certificate, LinearProblem, Problem
from widemargin.linear_svm.verification import verified
from widemargin.training.control import Control, Watcher
from widemargin.training.time_limit import now

__all__ = ["LinearOptions", "LinearSolution", "solve_linear"]

MAX_INTERIOR_COLUMNS = 1000  # with more columns "auto" never takes the interior-point method
INTERIOR_ITERATIONS = 20.0  # that it usually takes
NANOSECONDS_PER_EXAMPLE, NANOSECONDS_PER_PRODUCT = 250.0, 0.07  # of an iteration, as measured
MAX_SPOILED = 3  # certificates in a row that rounding spoils, before a fit stops
DESCENT_BUDGET = 0.5  # of the interior-point method's time: what coordinate descent may take


@dataclass(frozen=True)
class LinearOptions:
    """How to solve a problem."""

    tol: float = 1e-4  # relative duality gap
    max_iter: int = 1000
    solver: str = "auto"  # or "dual", "interior"
    seed: int = 0


@dataclass(eq=False)
class LinearSolution:
    """The best point found, the bound of its cost, and how it was found."""

    certificate: Certificate
    solver: str
    iterations: int
    reason: str

    @property
    def primal(self) -> float:
        return self.certificate.primal

    @property
    def dual(self) -> float:
        return self.certificate.dual

    @property
    def gap(self) -> float:
        return self.certificate.gap


def interior_cost(problem: LinearProblem) -> float:
    """Nanoseconds that the interior-point method will take, roughly."""
    columns = problem.inputs.width + 1.0
    sides = 1.0 if problem.labels else 2.0
    each = sides * NANOSECONDS_PER_EXAMPLE + NANOSECONDS_PER_PRODUCT * columns**2
    return INTERIOR_ITERATIONS * problem.inputs.count * each


def _interior_seconds(problem: Problem) -> float:
    """Seconds that one iteration of the interior-point method will take, roughly."""
    if not isinstance(problem, LinearProblem):
        return 0.0
    return 1e-9 * interior_cost(problem) / INTERIOR_ITERATIONS


class _Budget:
    """Predicts whether the gap will fall to tol within a number of operations and of epochs."""

    def __init__(self, tol: float, operations: float, epochs: int) -> None:
        self.tol, self.operations, self.epochs = tol, operations, epochs
        self.gap, self.at, self.epoch = np.inf, 0.0, 0

    def too_slow(self, gap: float, spent: float, epoch: int) -> bool:
        """Whether it will not, after a certificate with this gap."""
        before, at, since = self.gap, self.at, self.epoch
        self.gap, self.at, self.epoch = gap, spent, epoch
        if not np.isfinite(gap):
            return True
        if not np.isfinite(before) or gap <= self.tol:
            return spent > self.operations
        times = falls_to_come(gap, max(before / gap, 1.0 + 1e-9), self.tol)
        too_long = times * (spent - at) > self.operations
        return bool(too_long or epoch + times * (epoch - since) > self.epochs)


def solve_linear(
    problem: Problem,
    options: LinearOptions,
    control: Control,
    *,
    number: int = 0,
    start: Certificate | None = None,
    path_point: PathPoint | None = None,
    watcher: Watcher | None = None,
) -> LinearSolution:
    """Minimises P until the relative gap is at most tol, or there is a reason to stop.

    Parameters
    ----------
    problem : Problem
        The problem.
    options : LinearOptions
        How to solve it.
    control : Control
        What may stop the fit, and its history.
    number : int
        The problem's number within the fit, for the history.
    start : Certificate, optional
        The certificate of a β within its bounds, to start from.
    path_point : PathPoint, optional
        What the interior-point method leaves to the next problem of a path.
    watcher : Watcher, optional
        Called after each certificate; then each iteration of the interior-point method has one.
    """
    best = first = problem.untouched() if start is None else start
    solver, budget = options.solver, None
    if solver == "auto":
        solver = "dual"
        if isinstance(problem, LinearProblem) and problem.inputs.width < MAX_INTERIOR_COLUMNS:
            if path_point is not None and path_point.iterate is not None:
                solver = "interior"
            else:
                operations = DESCENT_BUDGET * interior_cost(problem)
                budget = _Budget(options.tol, operations, options.max_iter)
    iterations, spent = 0, 0.0
    reason: str | None = None
    stalled = _Stall()
    each = _interior_seconds(problem)  # of an iteration of the interior-point method
    if solver == "interior" and each > control.left:
        solver = "dual"  # its epochs can be stopped at any time

    def so_far() -> LinearSolution:
        return LinearSolution(best, solver, iterations, reason or "")

    def last(more: int = 1) -> bool:
        """Whether the fit ends after this many more iterations."""
        return control.reason() is not None or iterations + more >= options.max_iter

    def at_each(more: int = 1) -> bool:
        """Whether the interior-point method should certify each iterate, for callbacks."""
        return watcher is not None or last(more) or 2 * each > control.left

    due = last if solver == "dual" else at_each
    steps = _steps(problem, options, solver, first, path_point, due)
    if start is not None or first.primal == 0.0:  # it may be good enough
        steps = chain([(first, 1.0, 0)], steps)
    while reason is None:
        if solver == "interior" and each > control.left:
            reason = "time_limit"
            break
        begun = now()
        certificate, operations, done = next(steps, (None, 0.0, 0))
        each = now() - begun if solver == "interior" else each
        if not operations and not done:
            reason = "rounding"
        spent, iterations = spent + operations, iterations + done
        if certificate is not None:
            best, relative, hidden = _judged(problem, best, certificate, options.tol)
            control.note(_record(control, number, iterations, best, relative), _line)
            if watcher is not None and watcher(number, so_far):
                control.stop("callback")
            slow = budget is not None and done and budget.too_slow(relative, spent, iterations)
            if relative <= options.tol:
                reason = "tol"
            elif budget is not None and (hidden or slow) and each < control.left:
                solver, budget = "interior", None
                steps = _steps(problem, options, solver, first, path_point, at_each)
            elif hidden and stalled.after(relative):
                reason = "rounding"
            reason = reason or control.reason()
            if reason is None and iterations >= options.max_iter:
                reason = "max_iter"
    if reason != "tol":
        best, reason = _last_word(problem, best, first, options.tol, reason)
    if reason == "tol" and solver == "interior":
        best = with_bounds(problem, best, options.tol)
    return so_far()


def _judged(
    problem: Problem, best: Certificate, now: Certificate, tol: float
) -> tuple[Certificate, float, bool]:
    """The best certificate so far, its relative gap, and whether rounding hides what remains."""
    if not np.isfinite(now.primal) or not np.isfinite(now.dual):
        return best, problem.relative(best.gap, best.primal), True
    best = _better(best, now)
    relative = problem.relative(best.gap, best.primal)
    if relative > tol:
        return best, relative, False
    best = verified(problem, best, tol).certificate
    relative = problem.relative(best.gap, best.primal)
    return best, relative, relative > tol


def _last_word(
    problem: Problem, best: Certificate, first: Certificate, tol: float, reason: str
) -> tuple[Certificate, str]:
    """The verified certificate of a fit that stops early, and why it does."""
    found, error = verified(problem, best, tol)
    if not found.primal <= first.primal:  # what seemed progress was rounding
        best = best._replace(primal=first.primal, w=first.w, b=first.b)
        found, error = verified(problem, best, tol)
    if reason in ("max_iter", "rounding"):
        if problem.relative(found.gap, found.primal) <= tol:
            reason = "tol"
        elif error >= found.gap:
            reason = "rounding"
    return found, reason


class _Stall:
    """Counts certificates that rounding spoils, since the gap last became much smaller."""

    def __init__(self) -> None:
        self.gap, self.count = np.inf, 0

    def after(self, gap: float) -> bool:
        """Whether one more with this gap is enough to stop."""
        better = gap < 0.5 * self.gap
        self.gap, self.count = (gap, 0) if better else (self.gap, self.count + 1)
        return self.count >= MAX_SPOILED


def _steps(
    problem: Problem,
    options: LinearOptions,
    solver: str,
    start: Certificate,
    path_point: PathPoint | None,
    last: Callable[..., bool],
) -> Iterator[tuple[Certificate | None, float, int]]:
    """After each piece of work: a certificate or None, its operations, the iterations completed.

    After the `last` iteration there is a certificate.
    """
    seed, most, tol = options.seed, options.max_iter, options.tol
    if isinstance(problem, MulticlassProblem):
        yield from sequential_descent(problem, start.beta, start.b, seed, last)
        return
    assert isinstance(problem, LinearProblem)
    if solver == "dual":
        yield from dual_descent(problem, start.beta, start.b, seed, most, tol, last)
        return
    for certificate in interior_point(problem, tol, path_point, last):
        yield certificate, 0.0, 1


def _better(best: Certificate, now: Certificate) -> Certificate:
    """The point of the lower cost, the β of the higher bound."""
    if now.primal < best.primal:
        best = best._replace(primal=now.primal, w=now.w, b=now.b)
    if now.dual > best.dual:
        best = best._replace(dual=now.dual, beta=now.beta)
    return best


def _record(
    control: Control, number: int, iterations: int, best: Certificate, relative: float
) -> dict[str, float]:
    return {
        "problem": number,
        "iteration": iterations,
        "primal_objective": best.primal,
        "dual_objective": best.dual,
        "gap": relative,
        "seconds": control.seconds(),
    }


def _line(record: dict[str, float]) -> str:
    return (
        f"problem {record['problem']}  iteration {record['iteration']:4d}  primal "
        f"{record['primal_objective']:.8g}  relative gap {record['gap']:8.2e}  "
        f"{record['seconds']:.2f} s"
    )
