"""Solves the problems of one fit of a kernel machine, in parallel or in turn."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from widemargin._runtime.warning import warn_caller
from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.inputs.labels import counted_rows
from widemargin.inputs.unscaled import warn_if_unscaled
from widemargin.svm.decomposition import Options, Solution, SolverState, solve
from widemargin.svm.kernel_source import KernelSource
from widemargin.svm.problem import Problem, certify, feasible_start
from widemargin.svm.verification import Verifier
from widemargin.training.certified import ProblemSet, number_or_array
from widemargin.training.control import Control, Watcher, in_threads

__all__ = ["KernelProblems", "Task", "resume", "solve_all", "unsolved"]

MAX_EXAMPLES_IN_PARALLEL = 20_000  # of a problem; larger ones are solved in turn, by all threads
MIN_EXAMPLES_FOR_THREADS = 10_000  # of all problems together
AT_BOUND = 1e-9  # relative distance that rounding of a scaled coefficient may leave


class Task(NamedTuple):
    """One problem of a fit, and which rows of X are its examples."""

    ids: IntArray
    problem: Problem


class KernelProblems(ProblemSet):
    """The problems of one fit of a kernel machine.

    Parameters
    ----------
    machine : KernelMachine
        The model being fitted.
    X : array-like
        Its checked inputs.
    targets : ndarray of shape (n_samples,)
        Numbers: codes of classes, or the values to predict.
    weights : ndarray of shape (n_samples,) or None
        Examples of weight zero are in no problem.
    options : Options
        How to solve the problems.
    path : SolverState or None
        What the fit of the previous C left.
    """

    def __init__(
        self,
        machine: Any,
        X: ArrayLike,
        targets: FloatArray,
        weights: FloatArray | None,
        options: Options,
        path: SolverState | None,
    ) -> None:
        self.machine, self.X, self.targets, self.weights = machine, X, targets, weights
        self.options, self.path = options, path
        rows = counted_rows(len(targets), weights)
        self.tasks: list[Task] = machine._tasks(targets, weights, rows)
        self.initial: list[FloatArray] | None = None
        if path is None or path.solver is None:  # once for all C of a path
            warn_if_unscaled(machine, X)
        upper = max(float(task.problem.upper.max()) for task in self.tasks)
        machine._resolve_kernel(X, weights, upper)

    def resume(self, before: Mapping[str, Any]) -> bool:
        if "dual_coef_" not in before:
            return False
        if before["shape_fit_"][0] == 0:
            warn_caller(
                f"warm_start=True, but this {type(self.machine).__name__} does not know the "
                "examples that it was trained on: fit starts afresh, and the next fit resumes",
                UserWarning,
            )
            return False
        if not self.machine._same_problems(before):
            return False
        ratio = self.machine._bound / before["_fitted_bound"]
        duals = np.atleast_1d(before["dual_objective_"])
        coefficients = self.machine._earlier_coefficients(self.targets, self.tasks)
        earlier = zip(self.tasks, coefficients, duals, strict=True)
        starts = [resume(task.problem, coef, ratio, dual) for task, coef, dual in earlier]
        self.initial = [beta for beta, _ in starts]
        if self.path is not None:
            self.path.factor = starts[0][1]
        return True

    def unsolved(self) -> list[Solution]:
        return [unsolved(task.problem) for task in self.tasks]

    def solve(self, control: Control, watcher: Watcher | None) -> list[Solution]:
        solutions: list[Solution] = self.machine._solve(
            self.X, self.tasks, self.options, control, self.initial, watcher, self.path
        )
        return solutions

    def attributes(self, solutions: Sequence[Solution]) -> dict[str, Any]:
        found: dict[str, Any] = self.machine._expansion(self.X, self.targets, self.tasks, solutions)
        return found

    def finish(self, control: Control) -> None:
        self.machine._fit_probabilities(self.X, self.targets, self.weights, self.options, control)

    def summary(self, solutions: Sequence[Solution]) -> dict[str, Any]:
        steps = np.array([solution.steps for solution in solutions], dtype=np.int64)
        wanted = sum(solution.rows_wanted for solution in solutions)
        cached = sum(solution.rows_cached for solution in solutions)
        return {
            "kkt_violation_": number_or_array([solution.violation for solution in solutions]),
            "fit_status_": int(any(solution.reason != "tol" for solution in solutions)),
            "n_iter_": steps if self.machine._several else int(steps[0]),
            "n_kernel_evaluations_": sum(solution.kernel_evaluations for solution in solutions),
            "cache_hit_rate_": cached / wanted if wanted else 0.0,
            "_fitted_bound": self.machine._bound,
        }

    def remainder(self, early: Sequence[Solution]) -> str:
        violation, gap = max(s.violation for s in early), sum(s.gap for s in early)
        if not np.isfinite(violation):
            return "there was no time to measure the KKT violation and the duality gap that remain"
        return (
            f"a KKT violation of {violation:.3g} (tol={self.machine.tol}) and a duality gap of "
            f"{gap:.3g} remain"
        )


def solve_all(
    X: ArrayLike,
    kernel: KernelSource,
    tasks: Sequence[Task],
    options: Options,
    control: Control,
    initial: Sequence[FloatArray | None] | None = None,
    watcher: Watcher | None = None,
    state: SolverState | None = None,
) -> list[Solution]:
    """Small problems in parallel, one thread each; large ones in turn, with all threads.

    Solver state is kept only for a single problem; several would exceed `cache_bytes`.
    """
    state = state if len(tasks) == 1 else None
    sizes = [len(task.ids) for task in tasks]
    small = max(sizes) < MAX_EXAMPLES_IN_PARALLEL and sum(sizes) > MIN_EXAMPLES_FOR_THREADS
    at_once = min(options.threads, len(tasks)) if small else 1
    if at_once > 1:
        options = options.shared(at_once)
    inputs = kernel.inputs(X)

    def one(number: int) -> Solution:
        task, reason = tasks[number], control.reason()
        if reason is not None:
            return unsolved(task.problem, reason)
        begin = None if initial is None else initial[number]
        solution = attempt(kernel, number, begin)
        if solution.reason == "rounding" and kernel.named and kernel.double_precision is None:
            rest = attempt(replace(kernel, double_precision=True), number, solution.beta)
            rest.steps += solution.steps
            rest.kernel_evaluations += solution.kernel_evaluations
            return rest
        return solution

    def attempt(kernel: KernelSource, number: int, begin: FloatArray | None) -> Solution:
        task, (source, diagonal), verifier = tasks[number], (None, None), None
        if state is not None and state.kernel != kernel:
            state.kernel, state.solver = kernel, None
        if state is None or state.solver is None:
            source, diagonal = kernel.over(inputs, task.ids)
            verifier = Verifier(kernel, inputs, task.ids, source, diagonal)
        threads = kernel.threads_for(X, len(task.ids) ** 2) if kernel.named else options.threads
        return solve(
            source,
            task.problem,
            replace(options, threads=min(options.threads, threads)),
            control,
            verifier,
            diagonal=diagonal,
            initial=begin,
            number=number,
            watch=None if watcher is None else lambda solution: watcher(number, solution),
            state=state,
        )

    return in_threads(one, len(tasks), at_once, control)


def unsolved(problem: Problem, reason: str = "") -> Solution:
    """The first β of a problem whose turn has not come."""
    beta, f = problem.initial, np.zeros(problem.examples)
    biases, error = certify(problem, beta, f).biases, np.full(problem.examples, np.inf)
    return Solution(beta, f, error, biases, np.inf, np.inf, -np.inf, reason)


def resume(
    problem: Problem, coef: FloatArray, ratio: float, dual: float
) -> tuple[FloatArray, float]:
    r"""A feasible β from the coefficients of a problem like this one, and by what they grew.

    Multiplied by t = `ratio`, the factor by which the bounds grew, the coefficients are feasible,
    and an example that was at its bound is at its bound again. That is a good start as long as

    .. math:: J(t\beta) = \tfrac12 t^2 \|w\|^2 + t\, s \cdot \beta

    falls up to that t, as it does where most coefficients are at bounds. Otherwise β itself is the
    start; `dual` is its −J. Where the sums are given, they determine the factor.
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
    return feasible_start(problem, _variables(coef, both)), float(ratio)


def _variables(coef: FloatArray, both: bool) -> FloatArray:
    """One variable per example, or two of which at least one is 0."""
    return np.concatenate([np.maximum(coef, 0), np.minimum(coef, 0)]) if both else coef
