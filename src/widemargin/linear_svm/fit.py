"""Solves the problems of a linear SVM: which solver, when to stop, what to say about it.

Coordinate descent is quick where C is small or columns are many; the interior-point method takes
some twenty passes whatever C is, of a cost that grows with the square of the columns. "auto" begins
with the first and goes over to the second when the gap falls too slowly for what that one costs.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from widemargin._typing import FloatArray
from widemargin.linear_svm.coordinate_descent import dual_descent
from widemargin.linear_svm.crammer_singer import sequential_descent
from widemargin.linear_svm.inputs import LinearInputs
from widemargin.linear_svm.interior_point import Trail, interior_point
from widemargin.linear_svm.multiclass_problem import MulticlassProblem
from widemargin.linear_svm.problem import Certificate, LinearProblem, Problem
from widemargin.training.control import Control, Watcher

__all__ = [
    "Course",
    "Former",
    "LinearOptions",
    "LinearSolution",
    "solve_linear",
    "solve_linears",
    "warn",
]

MOST_COLUMNS = 1000  # for "auto" to think of the interior-point method
ITERATIONS = 20.0  # that it takes, about
PER_EXAMPLE, PER_PRODUCT = 250.0, 0.07  # nanoseconds of an iteration, measured
PATIENCE = 0.5  # how much longer coordinate descent may take


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
    def converged(self) -> bool:
        return self.reason == "tol"


# C, and of each problem β, w and b: where the last fit ended
Former = tuple[float, FloatArray, FloatArray, FloatArray]


@dataclass(eq=False)
class Course:
    """What the fits of a path have in common, and what one leaves to the next."""

    Cs: FloatArray  # ascending
    inputs: LinearInputs | None = None
    former: Former | None = None
    trails: list[Trail] = field(default_factory=list)

    def enter(self, C: float, problems: int) -> None:
        """Before the fit of this C."""
        self.trails = self.trails or [Trail() for _ in range(problems)]
        larger = self.Cs[self.Cs > C]
        for trail in self.trails:
            trail.ahead = float(larger[0]) / C if len(larger) else 1.0


def interior_cost(problem: LinearProblem) -> float:
    """Nanoseconds that the interior-point method needs, about."""
    columns = problem.inputs.width + 1.0
    sides = 1.0 if problem.labels else 2.0
    return ITERATIONS * problem.inputs.count * (sides * PER_EXAMPLE + PER_PRODUCT * columns**2)


class _Forecast:
    """Whether the gap will fall below tol within a budget and some epochs, from its fall so far."""

    def __init__(self, tol: float, budget: float, epochs: int) -> None:
        self.tol, self.budget, self.epochs = tol, budget, epochs
        self.gap, self.at, self.epoch = np.inf, 0.0, 0

    def too_slow(self, gap: float, spent: float, epoch: int) -> bool:
        """After a certificate with this gap."""
        before, at, since = self.gap, self.at, self.epoch
        self.gap, self.at, self.epoch = gap, spent, epoch
        if not np.isfinite(gap):
            return True
        if not np.isfinite(before) or gap <= self.tol:
            return spent > self.budget
        times = np.log(gap / self.tol) / np.log(max(before / gap, 1.0 + 1e-9))  # as much again
        too_long = times * (spent - at) > self.budget
        return bool(too_long or epoch + times * (epoch - since) > self.epochs)


def solve_linear(
    problem: Problem,
    options: LinearOptions,
    control: Control,
    *,
    number: int = 0,
    start: Certificate | None = None,
    trail: Trail | None = None,
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
        What may stop it, and its history.
    number : int
        Of the problem among those of the fit, for the history.
    start : Certificate, optional
        Of a β within its bounds to start from.
    trail : Trail, optional
        What the interior-point method leaves to the next problem of a path.
    watcher : Watcher, optional
        Called after each certificate; then each iteration of the interior-point method has one.
    """
    best = first = problem.untouched() if start is None else start
    solver, forecast = options.solver, None
    if solver == "auto":
        solver = "dual"
        if isinstance(problem, LinearProblem) and problem.inputs.width < MOST_COLUMNS:
            if trail is not None and trail.point is not None:
                solver = "interior"
            else:
                budget = PATIENCE * interior_cost(problem)
                forecast = _Forecast(options.tol, budget, options.max_iter)
    iterations, spent = 0, 0.0
    reason: str | None = None

    def so_far() -> LinearSolution:
        return LinearSolution(best, solver, iterations, reason or "")

    def last(more: int = 1) -> bool:
        """Whether nothing will follow after so many more iterations."""
        return control.reason() is not None or iterations + more >= options.max_iter

    def at_each(more: int = 1) -> bool:
        """Whether the interior-point method should prove what it has: callbacks look at it."""
        return watcher is not None or last(more)

    steps = _steps(problem, options, solver, first, trail, last if solver == "dual" else at_each)
    if start is not None:  # it may be good enough
        steps = chain([(start, 1.0, 0)], steps)
    while reason is None:
        certificate, operations, done = next(steps, (None, 0.0, 0))
        if not operations and not done:
            reason = "rounding"
        spent, iterations = spent + operations, iterations + done
        if certificate is not None:
            best = _better(best, certificate)
            relative = problem.relative(best.gap, best.primal)
            _note(control, number, iterations, best, relative)
            if watcher is not None and watcher(number, so_far):
                control.stop("callback")
            if relative <= options.tol:
                reason = "tol"
            elif forecast is not None and done and forecast.too_slow(relative, spent, iterations):
                solver, forecast = "interior", None
                steps = _steps(problem, options, solver, first, trail, at_each)
            reason = reason or control.reason()
            if reason is None and iterations >= options.max_iter:
                reason = "max_iter"
    return so_far()


def _steps(
    problem: Problem,
    options: LinearOptions,
    solver: str,
    start: Certificate,
    trail: Trail | None,
    last: Callable[..., bool],
) -> Iterator[tuple[Certificate | None, float, int]]:
    """A certificate if there is one, operations, and whether that was an iteration.

    There is one after the `last`.
    """
    seed, most, tol = options.seed, options.max_iter, options.tol
    if isinstance(problem, MulticlassProblem):
        yield from sequential_descent(problem, start.beta, start.b, seed, last)
        return
    assert isinstance(problem, LinearProblem)
    if solver == "dual":
        yield from dual_descent(problem, start.beta, start.b, seed, most, tol, last)
        return
    for certificate in interior_point(problem, tol, trail, last):
        yield certificate, 0.0, 1


def _better(best: Certificate, now: Certificate) -> Certificate:
    """The point of the lower cost, the β of the higher bound."""
    if now.primal < best.primal:
        best = best._replace(primal=now.primal, w=now.w, b=now.b)
    if now.dual > best.dual:
        best = best._replace(dual=now.dual, beta=now.beta)
    return best


def _note(
    control: Control, number: int, iterations: int, best: Certificate, relative: float
) -> None:
    record = {
        "problem": number,
        "iteration": iterations,
        "primal_objective": best.primal,
        "dual_objective": best.dual,
        "gap": relative,
        "seconds": control.seconds(),
    }
    control.history.append(record)
    if control.verbose:
        print(
            f"[{control.name}] problem {number}  iteration {iterations:4d}  primal "
            f"{best.primal:.8g}  relative gap {relative:8.2e}  {record['seconds']:.2f} s",
            flush=True,
        )


def solve_linears(
    problems: Sequence[Problem],
    options: LinearOptions,
    control: Control,
    starts: Sequence[Certificate | None],
    threads: int,
    trails: Sequence[Trail | None],
    watcher: Watcher | None = None,
) -> list[LinearSolution]:
    """Several problems over the same inputs, side by side if there are threads for it."""

    def one(number: int) -> LinearSolution:
        return solve_linear(
            problems[number],
            options,
            control,
            number=number,
            start=starts[number],
            trail=trails[number],
            watcher=watcher,
        )

    at_once = min(threads, len(problems))
    if at_once == 1:
        return [one(number) for number in range(len(problems))]
    try:
        with threadpool_limits(limits=max(1, threads // at_once)):
            solved = Parallel(n_jobs=at_once, backend="threading")(
                delayed(one)(number) for number in range(len(problems))
            )
    except BaseException:
        control.stop("interrupted")  # threads that are still at work
        raise
    return list(solved)


def warn(estimator: Any, solutions: Sequence[LinearSolution], stacklevel: int) -> None:
    """Says what is left to gain and what to do, when a fit did not end by itself."""
    early = [solution for solution in solutions if not solution.converged]
    if not early or early[0].reason == "callback":
        return
    name, reason = type(estimator).__name__, early[0].reason
    gap = max(s.certificate.gap / max(s.certificate.primal, 1e-300) for s in early)
    left = f"a relative duality gap of {gap:.3g} (tol={estimator.tol}) remains"
    if len(solutions) > 1:
        left += f", in {len(early)} of {len(solutions)} problems"
    go_on = "the model is usable, and fit with warm_start=True goes on from here"
    if reason == "max_iter":
        what = f"reached max_iter={estimator.max_iter}"
        go_on = f"raise max_iter or tol, or standardise the inputs; {go_on}"
    elif reason == "time_limit":
        what = f"reached time_limit={estimator.time_limit} s"
    elif reason == "rounding":
        what = "cannot get closer: rounding hides what is left to gain"
        go_on = "raise tol, or standardise the inputs"
    else:
        what = f"was interrupted after {estimator.fit_time_:.1f} s"
    warnings.warn(f"{name} {what}: {left}; {go_on}", ConvergenceWarning, stacklevel=stacklevel)
