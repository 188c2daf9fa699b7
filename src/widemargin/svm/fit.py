"""The problems of one fit of a kernel machine: their starts, their solutions, what follows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from widemargin._runtime.warning import warn_caller
from widemargin._typing import ArrayLike, FloatArray
from widemargin.inputs.labels import counted_rows
from widemargin.inputs.unscaled import warn_if_unscaled
from widemargin.svm.decomposition import Options, Solution, SolverState
from widemargin.svm.early_stopping import ValidationWatch
from widemargin.svm.solve import Task, resume, unsolved
from widemargin.training.certified import (
    Finish,
    ProblemSet,
    WeightedExamples,
    number_or_array,
)
from widemargin.training.control import Control, Watcher

__all__ = ["KernelProblems"]

CALIBRATION_SHARE = 0.5  # of a time limit, which is kept for probabilities
FOLD_EFFORT = 0.7  # of a fit on four fifths of the examples, relative to one on all


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
        self.fold_seconds = 0.0  # that one more fit, on most of the examples, will take
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
        now, then = self.machine._bound, before["_fitted_bound"]
        ratio = now / then if np.isfinite(now) and np.isfinite(then) else 1.0
        duals = np.atleast_1d(before["dual_objective_"])
        coefficients = self.machine._earlier_coefficients(self.targets, self.tasks)
        earlier = zip(self.tasks, coefficients, duals, strict=True)
        starts = [resume(task.problem, coef, ratio, dual) for task, coef, dual in earlier]
        self.initial = [beta for beta, _ in starts]
        if self.path is not None:
            self.path.factor = starts[0][1]
        return True

    def watch(self, held_out: WeightedExamples | None) -> None:
        """Give each problem the validation examples that concern it, with early stopping."""
        machine = self.machine
        if not getattr(machine, "early_stopping", False):
            return
        if held_out is None:
            raise ValueError(
                "early_stopping=True needs validation examples; give X_val and y_val to fit, or "
                "use early_stopping=False"
            )
        machine._check_early_stopping()
        X_val, y_val, weights = held_out
        targets = machine._targets(y_val)
        rows = counted_rows(len(targets), weights)
        watched = zip(self.tasks, machine._tasks(targets, None, rows), strict=True)
        self.tasks = [
            task._replace(
                validation=ValidationWatch(
                    machine._kernel,
                    self.X,
                    task.ids,
                    _safe_indexing(X_val, own.ids),
                    own.problem.z if machine._several else targets[own.ids],
                    None if weights is None else weights[own.ids],
                    machine._several,
                    int(machine.n_iter_no_change),
                )
            )
            if len(own.ids)
            else task
            for task, own in watched
        ]

    def unsolved(self) -> list[Solution]:
        return [unsolved(task.problem) for task in self.tasks]

    def solve(self, control: Control, watcher: Watcher | None) -> list[Solution]:
        solutions: list[Solution] = self.machine._solve(
            self.X, self.tasks, self.options, control, self.initial, watcher, self.path
        )
        cut_off = any(solution.reason == "time_limit" for solution in solutions)
        self.fold_seconds = np.inf if cut_off else FOLD_EFFORT * control.seconds()
        return solutions

    def attributes(self, solutions: Sequence[Solution]) -> dict[str, Any]:
        found: dict[str, Any] = self.machine._expansion(self.X, self.targets, self.tasks, solutions)
        return found

    @property
    def finish_share(self) -> float:  # type: ignore[override]
        return CALIBRATION_SHARE if getattr(self.machine, "probability", False) else 0.0

    def finish(self, control: Control) -> Finish:
        found: Finish = self.machine._fit_probabilities(
            self.X, self.targets, self.weights, self.options, control, self.fold_seconds
        )
        return found

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
            **self.machine._margins(solutions),
        }

    def remainder(self, early: Sequence[Solution]) -> str:
        violation, gap = max(s.violation for s in early), sum(s.gap for s in early)
        if not np.isfinite(violation):
            return "there was no time to measure the KKT violation and the duality gap that remain"
        return (
            f"a KKT violation of {violation:.3g} (tol={self.machine.tol}) and a duality gap of "
            f"{gap:.3g} remain"
        )
