"""The problems of one fit: solved side by side or in turn, watched, and what became of them."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.svm.decomposition import Bench, Options, Solution, solve
from widemargin.svm.kernel_source import KernelSource
from widemargin.svm.problem import Problem, certify, start
from widemargin.training.control import Control, Watcher

__all__ = ["Task", "resume", "solve_all", "summary", "unsolved", "warn"]

SIDE_BY_SIDE = 20_000  # problems with fewer examples are solved side by side, a thread each,
WORTH_THREADS = 10_000  # unless they have fewer than this together
AT_BOUND = 1e-9  # what rounding of a scaled coefficient may miss
REASONS = ("interrupted", "time_limit", "callback", "max_iter", "rounding", "shrunk", "tol")


class Task(NamedTuple):
    """One problem of a fit, and which rows of X are its examples."""

    ids: IntArray
    problem: Problem


def solve_all(
    X: ArrayLike,
    kernel: KernelSource,
    tasks: Sequence[Task],
    options: Options,
    control: Control,
    initial: Sequence[FloatArray | None] | None = None,
    watcher: Watcher | None = None,
    bench: Bench | None = None,
) -> list[Solution]:
    """Small problems side by side, a thread each; large ones in turn, with all threads.

    Of several problems none has a bench: all their solvers would not fit into `cache_bytes`.
    """
    bench = bench if len(tasks) == 1 else None
    sizes = [len(task.ids) for task in tasks]
    small = max(sizes) < SIDE_BY_SIDE and sum(sizes) > WORTH_THREADS
    at_once = min(options.threads, len(tasks)) if small else 1
    if at_once > 1:
        options = options.shared(at_once)

    def one(number: int) -> Solution:
        task, reason = tasks[number], control.reason()
        if reason is not None:
            return unsolved(task.problem, reason)
        begin = None if initial is None else initial[number]
        solution = attempt(kernel, number, begin)
        if solution.reason == "rounding" and kernel.named and kernel.wide is None:
            rest = attempt(replace(kernel, wide=True), number, solution.beta)
            rest.steps += solution.steps
            rest.kernel_evaluations += solution.kernel_evaluations
            return rest
        return solution

    def attempt(kernel: KernelSource, number: int, begin: FloatArray | None) -> Solution:
        task, (source, diagonal) = tasks[number], (None, None)
        if bench is not None and bench.kernel != kernel:
            bench.kernel, bench.solver = kernel, None
        if bench is None or bench.solver is None:
            source, diagonal = kernel.over(X, task.ids)
        threads = kernel.threads_for(X, len(task.ids) ** 2) if kernel.named else options.threads
        return solve(
            source,
            task.problem,
            replace(options, threads=min(options.threads, threads)),
            control,
            diagonal=diagonal,
            initial=begin,
            number=number,
            watch=None if watcher is None else lambda solution: watcher(number, solution),
            bench=bench,
        )

    if at_once == 1:
        return [one(number) for number in range(len(tasks))]
    try:
        solutions = Parallel(n_jobs=at_once, backend="threading")(
            delayed(one)(number) for number in range(len(tasks))
        )
    except BaseException:
        control.stop("interrupted")  # threads that are still at work
        raise
    return list(solutions)


def unsolved(problem: Problem, reason: str = "") -> Solution:
    """The first β of a problem whose turn has not come."""
    beta, f = problem.initial, np.zeros(problem.examples)
    biases = certify(problem, beta, f).biases
    return Solution(beta, f, biases, np.inf, np.inf, -np.inf, reason)


def resume(
    problem: Problem, coef: FloatArray, ratio: float, dual: float
) -> tuple[FloatArray, float]:
    r"""A feasible β from the coefficients of a problem like this one, and by what they grew.

    Times t = `ratio`, by which the bounds grew, they are feasible, and an example that was at its
    bound is there again. That is a good start as long as

    .. math:: J(t\beta) = \tfrac12 t^2 \|w\|^2 + t\, s \cdot \beta

    falls up to that t: where most coefficients are at bounds. Otherwise β itself is the start;
    `dual` is its −J. Where sums are given, the factor is theirs.
    """
    both = len(problem.z) == 2 * problem.examples
    wanted, total = np.abs(problem.sums).sum(), np.abs(coef).sum()
    if wanted > 0 and total > 0:
        ratio = wanted / total
    elif ratio > 1:
        linear = float(problem.s @ _variables(coef, both))
        if ratio * 2 * (-dual - linear) > -linear:
            ratio = 1.0
    coef = coef * ratio
    upper = problem.upper[: problem.examples]
    coef = np.where(np.abs(coef) > (1 - AT_BOUND) * upper, np.sign(coef) * upper, coef)
    return start(problem, _variables(coef, both)), float(ratio)


def _variables(coef: FloatArray, both: bool) -> FloatArray:
    """One variable an example, or two, of which one is 0."""
    return np.concatenate([np.maximum(coef, 0), np.minimum(coef, 0)]) if both else coef


def summary(solutions: Sequence[Solution], control: Control, *, several: bool) -> dict[str, Any]:
    """Attributes that say how the fit went; objectives are arrays if there may be several."""

    def each(values: list[float]) -> Any:
        return np.array(values) if len(values) > 1 else values[0]

    steps = np.array([solution.steps for solution in solutions], dtype=np.int64)
    wanted = sum(solution.rows_wanted for solution in solutions)
    cached = sum(solution.rows_cached for solution in solutions)
    reason = min((solution.reason for solution in solutions), key=REASONS.index)
    return {
        "primal_objective_": each([solution.primal for solution in solutions]),
        "dual_objective_": each([solution.dual for solution in solutions]),
        "duality_gap_": each([solution.gap for solution in solutions]),
        "kkt_violation_": each([solution.violation for solution in solutions]),
        "converged_": reason == "tol",
        "fit_status_": int(reason != "tol"),
        "stop_reason_": reason,
        "n_iter_": steps if several else int(steps[0]),
        "n_kernel_evaluations_": sum(solution.kernel_evaluations for solution in solutions),
        "cache_hit_rate_": cached / wanted if wanted else 0.0,
        "history_": control.history,
        "fit_time_": control.seconds(),
    }


def warn(estimator: Any, solutions: Sequence[Solution], stacklevel: int) -> None:
    """Says what is left to gain and what to do, when a fit did not end by itself."""
    reason = estimator.stop_reason_
    if vars(estimator).pop("_from_libsvm", False) and estimator.warm_start:
        warnings.warn(
            f"warm_start=True, but this {type(estimator).__name__} was loaded from a LIBSVM file, "
            "which does not hold the training set: fit began anew, and the next one goes on",
            UserWarning,
            stacklevel=stacklevel,
        )
    if reason in ("tol", "callback"):
        return
    early = [solution for solution in solutions if solution.reason != "tol"]
    violation, gap = max(s.violation for s in early), sum(s.gap for s in early)
    left = (
        f"a KKT violation of {violation:.3g} (tol={estimator.tol}) and a duality gap of {gap:.3g} "
        "remain"
        if np.isfinite(violation)
        else "there was no time to measure the KKT violation and the duality gap that remain"
    )
    if len(solutions) > 1:
        left += f", in {len(early)} of {len(solutions)} problems"
    go_on = "the model is usable, and fit with warm_start=True goes on from here"
    name = type(estimator).__name__
    if reason == "max_iter":
        message = (
            f"{name} reached max_iter={estimator.max_iter}: {left}; raise max_iter or tol, or "
            f"scale the inputs; {go_on}"
        )
    elif reason == "time_limit":
        message = f"{name} reached time_limit={estimator.time_limit} s: {left}; {go_on}"
    elif reason == "interrupted":
        message = f"{name} was interrupted after {estimator.fit_time_:.1f} s: {left}; {go_on}"
    elif reason == "rounding":
        message = (
            f"{name} does not get to tol={estimator.tol}: rounding hides what is left to gain; "
            f"{left}; raise tol, scale the inputs, or use dtype='float64'"
        )
    else:
        message = (
            f"{name}: shrinking='heuristic' put examples aside that do not satisfy the conditions: "
            f"{left}; use shrinking=True"
        )
    warnings.warn(message, ConvergenceWarning, stacklevel=stacklevel)
