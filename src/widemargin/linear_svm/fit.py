"""The problems of one fit of a linear SVM: their starts, their solutions, the model they make."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from widemargin._typing import FloatArray, IntArray
from widemargin.linear_svm.hard_margin import HardProblem, solve_hard_margin
from widemargin.linear_svm.inputs import LinearInputs
from widemargin.linear_svm.interior_point import PathPoint
from widemargin.linear_svm.problem import Certificate, Problem
from widemargin.linear_svm.solve import LinearOptions, LinearSolution, solve_linear
from widemargin.training.certified import Finish, PathState, ProblemSet
from widemargin.training.control import Control, Watcher, in_rounds, in_threads
from widemargin.training.separable import NotSeparableError, not_separable

__all__ = ["EarlierSolution", "LinearPathState", "LinearProblems"]

SMALLEST_COST = 1e-300  # by which a gap is still divided

#: C, and β, w and b of each problem: where an earlier fit ended.
EarlierSolution = tuple[float, FloatArray, FloatArray, FloatArray]


@dataclass(eq=False)
class LinearPathState(PathState):
    """What the fits along C share, and what each leaves to the next."""

    Cs: FloatArray  # ascending
    inputs: LinearInputs | None = None
    solution: EarlierSolution | None = None
    points: list[PathPoint] = field(default_factory=list)  # one per problem

    def enter(self, C: float, problems: int) -> None:
        """Prepare for the fit of this C."""
        self.points = self.points or [PathPoint() for _ in range(problems)]
        larger = self.Cs[(self.Cs > C) & np.isfinite(self.Cs)]
        for point in self.points:
            point.next_ratio = float(larger[0]) / C if len(larger) else 1.0


class LinearProblems(ProblemSet):
    """The problems of one fit of a linear machine.

    Parameters
    ----------
    machine : LinearMachine
        The model being fitted.
    inputs : LinearInputs
        The examples, which all problems share.
    problems : sequence of Problem
        What is to be solved.
    options : LinearOptions
        How to solve it.
    path : LinearPathState or None
        What the fit of the previous C left.
    rows : ndarray of shape (n_samples,) or None
        Which rows of X the examples are; None if they are all of them.
    """

    def __init__(
        self,
        machine: Any,
        inputs: LinearInputs,
        problems: Sequence[Problem],
        options: LinearOptions,
        path: LinearPathState | None,
        rows: IntArray | None = None,
    ) -> None:
        self.machine, self.inputs, self.problems = machine, inputs, problems
        self.options, self.path, self.rows = options, path, rows
        self.starts: list[Certificate | None] = [None] * len(problems)
        if path is not None:
            path.enter(float(machine.C), len(problems))

    def resume(self, before: Mapping[str, Any]) -> bool:
        earlier: EarlierSolution | None
        earlier = before.get("_last_solution") if self.path is None else self.path.solution
        if earlier is None:
            return False
        C, *parts = earlier
        one = self.problems[0]
        shapes = [(len(self.problems), *one.shape), (len(self.problems), *one.w_shape)]
        if [part.shape for part in parts[:2]] != shapes:
            return False
        ratio = float(self.machine.C) / C
        ratio = ratio if np.isfinite(ratio) and ratio > 0 else 1.0  # to or from a hard margin
        each = zip(self.problems, *parts, strict=True)
        self.starts = [problem.resume(beta, w, b, ratio) for problem, beta, w, b in each]
        return True

    def unsolved(self) -> list[LinearSolution]:
        return [LinearSolution(problem.untouched(), "dual", 0, "") for problem in self.problems]

    def solve(self, control: Control, watcher: Watcher | None) -> list[LinearSolution]:
        """In parallel, if there are threads for it: the problems share their inputs."""
        points = [None] * len(self.problems) if self.path is None else self.path.points

        def one(number: int, control: Control, start: Certificate | None = None) -> LinearSolution:
            problem = self.problems[number]
            hard = isinstance(problem, HardProblem)
            solve: Any = solve_hard_margin if hard else solve_linear
            found: LinearSolution = solve(
                problem,
                self.options,
                control,
                number=number,
                start=self.starts[number] if start is None else start,
                path_point=points[number],
                watcher=watcher,
            )
            return found

        try:
            return self._in_parallel(one, control)
        except NotSeparableError as error:
            names = self.machine._classes_of_problem(error.number)
            where = "by a hyperplane"
            raise not_separable(self.machine, names, error.bound, where) from None

    def _in_parallel(self, one: Any, control: Control) -> list[LinearSolution]:
        threads, count = self.machine._threads, len(self.problems)
        at_once = min(threads, count)
        with threadpool_limits(limits=max(1, threads // at_once)) if at_once > 1 else nullcontext():
            if not control.limited or count == 1:
                return in_threads(lambda number: one(number, control), count, at_once, control)
            found = self.unsolved()

            def attempt(number: int, share: Control) -> None:
                """The next round of a problem starts from its last certificate."""
                before = found[number]
                found[number] = now = one(
                    number, share, before.certificate if before.iterations else None
                )
                now.iterations += before.iterations

            for solution in found:
                solution.reason = "time_limit"  # until its turn comes
            in_rounds(attempt, found, range(count), [1.0] * count, control, at_once)
            return found

    def attributes(self, solutions: Sequence[LinearSolution]) -> dict[str, Any]:
        raw = [self.inputs.raw(s.certificate.w, s.certificate.b) for s in solutions]
        coef, intercept = self.machine._shaped(
            np.vstack([w for w, _ in raw]), np.hstack([b for _, b in raw])
        )
        duals: dict[str, Any] = self.machine._dual_attributes(self.expansion(solutions))
        return {"coef_": coef, "intercept_": intercept, **duals}

    def expansion(self, solutions: Sequence[LinearSolution]) -> tuple[IntArray, FloatArray]:
        """The rows of X with a β that is not 0, and these β: one row per output."""
        betas = [s.certificate.beta.reshape(self.inputs.count, -1) for s in solutions]
        support = np.flatnonzero(np.any([np.any(beta != 0.0, axis=1) for beta in betas], axis=0))
        coef = np.hstack([beta[support] for beta in betas]).T
        return support if self.rows is None else self.rows[support], np.ascontiguousarray(coef)

    def finish(self, control: Control) -> Finish:
        return Finish()  # nothing follows

    def summary(self, solutions: Sequence[LinearSolution]) -> dict[str, Any]:
        ends = [solution.certificate for solution in solutions]
        betas, ws = np.array([end.beta for end in ends]), np.array([end.w for end in ends])
        earlier = float(self.machine.C), betas, ws, np.array([end.b for end in ends])
        if self.path is not None:
            self.path.solution = earlier
        solvers = {solution.solver for solution in solutions}
        found = {
            "solver_": ", ".join(sorted(solvers)),
            "n_iter_": max(solution.iterations for solution in solutions),
            **self.machine._margins(ws),
        }
        return {**found, "_last_solution": earlier} if self.machine.warm_start else found

    def remainder(self, early: Sequence[LinearSolution]) -> str:
        if not all(np.isfinite(solution.primal) for solution in early):
            return "the classes are not separated yet"
        gap = max(solution.gap / max(solution.primal, SMALLEST_COST) for solution in early)
        return f"a relative duality gap of {gap:.3g} (tol={self.machine.tol}) remains"
