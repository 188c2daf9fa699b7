"""Solves the problems of one fit of a kernel machine: in parallel or in turn, within its time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.utils import _safe_indexing

from widemargin import _core
from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.svm.decomposition import Options, Solution, SolverState, Validation, solve
from widemargin.svm.examples import Examples, SharedExamples
from widemargin.svm.kernel_source import KernelInputs, KernelSource
from widemargin.svm.parts import nested_parts, part_of, whole
from widemargin.svm.problem import Problem, certify, feasible_start, machine, one_of_each
from widemargin.svm.verification import Verifier
from widemargin.training.control import Control, Watcher, in_rounds, in_threads, one_round
from widemargin.training.time_limit import now

__all__ = ["Task", "resume", "solve_all", "unsolved"]

MAX_EXAMPLES_IN_PARALLEL = 20_000  # of a problem; larger ones are solved in turn, by all threads
ENDED = ("tol", "shrunk", "rounding")  # why a solver ends where more time would not help
MIN_EXAMPLES_FOR_THREADS = 10_000  # of all problems together
MIN_EXAMPLES_FOR_FLOAT32 = 400  # with fewer it saves less than verifying its solution costs
WATCHED_SET = 32  # variables, if validation examples may end training: more have few iterates
PART_TOL = 10.0  # the tolerance of a part of a problem, relative to that of the problem
SHORT_SECONDS, SHORT_WORKING_SET = 5.0, 1024  # a larger set takes too long between two looks
ENOUGH_TIME = 0.5  # of the time left, which whole problems may take to be solved at once
COMPARED_EXAMPLES = 500  # whose costs tell which of two solutions is better
AT_BOUND = 1e-9  # relative distance that rounding of a scaled coefficient may leave


class Task(NamedTuple):
    """One problem of a fit, and which rows of X are its examples."""

    ids: IntArray
    problem: Problem
    validation: Validation | None = None  # what may end its training early


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
    at_once, memory = min(options.threads, len(tasks)) if small else 1, options.cache_bytes
    if at_once > 1:
        options = options.shared(at_once)
    inputs, shared = kernel.inputs(X), None
    if kernel.named and len(tasks) > 1:
        shared = SharedExamples(inputs, [task.ids for task in tasks], memory)
    left: list[_core.SolverMemory] | None = [] if len(tasks) > 1 else None
    run = _Run(X, inputs, kernel, tasks, options, watcher, state, shared, left, at_once)
    if control.limited and all(task.validation is None for task in tasks):
        return _TimedRun(run, control, initial, at_once).solutions()

    def one(number: int) -> Solution:
        task, reason = tasks[number], control.reason()
        if reason is not None:
            return unsolved(task.problem, reason)
        return run.solve(number, task, control, None if initial is None else initial[number])

    return in_threads(one, len(tasks), at_once, control)


@dataclass(eq=False)
class _Run:
    """What the problems of one call of `solve_all` share."""

    X: ArrayLike
    inputs: KernelInputs  # X as the kernel sees it
    kernel: KernelSource
    tasks: Sequence[Task]
    options: Options
    watcher: Watcher | None
    state: SolverState | None
    shared: SharedExamples | None  # those of all problems
    memory: list[_core.SolverMemory] | None  # of solvers that are done, for the next ones
    at_once: int  # problems that are solved at a time

    def solve(
        self,
        number: int,
        task: Task,
        control: Control,
        begin: FloatArray | None,
        as_seen: Callable[[Solution], Solution] = lambda solution: solution,
    ) -> Solution:
        """Solves a problem, or a part of it that callbacks see as `as_seen` turns it.

        Where rounding of float32 keeps it from tol, it is continued in double precision.
        """
        kernel = self.kernel
        either = kernel.named and kernel.double_precision is None
        precise = replace(kernel, double_precision=True) if either else kernel
        if len(task.ids) < MIN_EXAMPLES_FOR_FLOAT32:
            return self._attempt(precise, number, task, control, begin, as_seen)
        solution = self._attempt(kernel, number, task, control, begin, as_seen)
        if solution.reason != "rounding" or not either:
            return solution
        rest = self._attempt(precise, number, task, control, solution.beta, as_seen)
        rest.steps += solution.steps
        rest.kernel_evaluations += solution.kernel_evaluations
        return rest

    def _attempt(
        self,
        kernel: KernelSource,
        number: int,
        task: Task,
        control: Control,
        begin: FloatArray | None,
        as_seen: Callable[[Solution], Solution],
    ) -> Solution:
        state, watcher, options, shared = self.state, self.watcher, self.options, self.shared
        source, diagonal, verifier = None, None, None
        if state is not None and state.kernel != kernel:
            state.kernel, state.solver = kernel, None
        if state is None or state.solver is None:
            examples = Examples(self.inputs, task.ids) if shared is None else shared.of(task.ids)
            source, diagonal = examples.source(kernel, control)
            verifier = Verifier(kernel, examples, source, diagonal)
            if shared is not None and isinstance(source, _core.MatrixExamples):
                matrix = shared.matrix_bytes(kernel) // self.at_once  # its share of this memory
                options = replace(options, cache_bytes=options.cache_bytes - matrix)
        threads = (
            kernel.threads_for(self.X, len(task.ids) ** 2) if kernel.named else options.threads
        )
        if task.validation is not None and not options.working_set:
            options = replace(options, working_set=WATCHED_SET)
        if control.left < SHORT_SECONDS and not options.working_set:
            options = replace(options, working_set=SHORT_WORKING_SET)

        def watch(solution: Callable[[], Solution]) -> bool:
            assert watcher is not None
            return watcher(number, lambda: as_seen(solution()))

        return solve(
            source,
            task.problem,
            replace(options, threads=threads),
            control,
            verifier,
            diagonal=diagonal,
            initial=begin,
            number=number,
            watch=None if watcher is None else watch,
            state=state,
            memory=self.memory,
            validation=task.validation,
        )


class _TimedRun:
    """Solves problems within a time limit so that each has a machine whenever the time is over.

    First every problem is solved on a small part of its examples, then on larger ones (`parts`),
    then on all. Each time the problems come in ascending order of their size, and each gets a share
    of the time that is left. Problems that are not solved by then come again, from where they
    were left, those with the largest gap first. When a part shows that there is enough time for
    the whole problems, these are solved as without a limit.
    """

    def __init__(
        self,
        run: _Run,
        control: Control,
        initial: Sequence[FloatArray | None] | None,
        at_once: int,
    ) -> None:
        self.run, self.control, self.at_once, count = run, control, at_once, len(run.tasks)
        self.starts: list[FloatArray | None] = [None] * count if initial is None else list(initial)
        divisible = run.state is None and run.options.max_iter < 0
        self.found = [unsolved(task.problem, "time_limit") for task in run.tasks]
        self.parts = [
            nested_parts(task.problem) if start is None and divisible else []
            for task, start in zip(run.tasks, self.starts, strict=True)
        ]

    def solutions(self) -> list[Solution]:
        tasks, found, control, at_once = self.run.tasks, self.found, self.control, self.at_once
        waiting = sorted(range(len(found)), key=lambda k: len(tasks[k].ids))
        weights = [float(len(task.ids)) ** 2 for task in tasks]
        last = max(map(len, self.parts))
        for stage in range(last):
            turns = [k for k in waiting if stage <= len(self.parts[k])]
            sizes = [len((*self.parts[k], tasks[k].ids)[stage]) for k in turns]
            attempt = partial(self._improve, stage)
            begun = now()
            one_round(attempt, turns, [float(n) ** 2 for n in sizes], control, at_once)
            waiting = [k for k in waiting if found[k].reason == "time_limit"]
            growth = sum(weights[k] for k in waiting) / sum(float(n) ** 2 for n in sizes)
            if growth * (now() - begun) < ENOUGH_TIME * control.left:
                self.starts = [None] * len(found)  # as without a limit
                break
        in_rounds(partial(self._improve, last), found, waiting, weights, control, at_once)
        return found

    def _improve(self, stage: int, k: int, control: Control) -> None:
        """Works on a part of a problem, or on the whole problem after its parts."""
        if stage < len(self.parts[k]):
            self._solve_part(k, self.parts[k][stage], control)
            return
        task, begin = self.run.tasks[k], self.starts[k]
        if begin is not None and self.parts[k]:
            begin = _resumed(task.problem, task.problem.coefficients(begin))
        found = self.run.solve(k, task, control, begin)
        self._keep(k, found, found.reason, solved=found.reason in ENDED)

    def _solve_part(self, k: int, examples: IntArray, control: Control) -> None:
        (ids, problem, _), begin = self.run.tasks[k], self.starts[k]
        task = Task(ids[examples], part_of(problem, examples))
        if begin is not None:
            begin = _resumed(task.problem, problem.coefficients(begin)[examples])

        def as_whole(solution: Solution) -> Solution:
            return whole(problem, examples, solution)

        loose = replace(self.run.options, tol=PART_TOL * self.run.options.tol)
        run = replace(self.run, options=loose, shared=None)  # a part is packed alone, soon
        found = as_whole(run.solve(k, task, control, begin, as_whole))
        # the whole problem is not solved
        self._keep(k, found, "time_limit", solved=found.reason == "tol")

    def _keep(self, k: int, new: Solution, reason: str, *, solved: bool) -> None:
        """The new solution, unless it was cut off where it is worse than the one before.

        The next attempt starts from the new one in any case: its J is lower.
        """
        before = self.found[k]
        if not new.steps and not np.isfinite(new.violation):
            before.reason = reason  # the time was over before its first step
            return
        self.starts[k] = new.beta
        new.kernel_evaluations += before.kernel_evaluations
        new.steps += before.steps
        if solved or self._loss(k, new) <= self._loss(k, before):
            self.found[k] = new
        else:
            before.steps, before.kernel_evaluations = new.steps, new.kernel_evaluations
        self.found[k].reason = reason

    def _loss(self, k: int, solution: Solution) -> float:
        """What some examples of a problem cost; 0 if its sums are given and scale its f.

        In ``nu_svr`` f is in units of the targets, and the tube counts as 0.
        """
        (ids, problem, _), X, kernel = self.run.tasks[k], self.run.X, self.run.kernel
        if np.any(problem.sums) and problem.kind != "nu_svr":
            return 0.0
        some = np.random.RandomState(0).permutation(len(ids))[:COMPARED_EXAMPLES]
        coef, bias = machine(problem, solution.beta, solution.biases)
        support = ids[coef != 0]
        (f,) = kernel.expand(
            _safe_indexing(X, ids[some]),
            support,
            _safe_indexing(X, support),
            coef[None, coef != 0],
            [slice(0, len(support))],
        )
        at = np.concatenate([some + side for side in range(0, len(problem.z), len(ids))])
        short = problem.z * -problem.s  # of z (f + b), if positive
        reached = problem.z[at] * np.tile(f[:, 0] + bias, len(at) // len(some))
        return float(problem.upper[at] @ np.maximum(0.0, short[at] - reached))


def unsolved(problem: Problem, reason: str = "") -> Solution:
    """A solution with f = 0 of a problem whose turn has not come.

    Its bias is the majority of classes, or the median of targets. In ``nu_svr`` the sums are shared
    by α and α* of the same examples. Where the sums of ``nu_svc`` and ``one_class`` are given, β is
    the first one, whose f is not known.
    """
    beta, f = problem.initial, np.zeros(problem.examples)
    if problem.kind == "nu_svr":
        beta = feasible_start(problem, np.zeros_like(beta))
    if problem.kind == "c_svc":
        weight = problem.upper if np.all(np.isfinite(problem.upper)) else np.ones(len(problem.z))
        biases = np.array([np.sign(weight @ problem.z)])
    elif problem.kind in ("epsilon_svr", "nu_svr"):
        targets = -problem.s.reshape(2, -1).mean(axis=0)
        biases = np.full(len(problem.sums), np.median(targets))
    else:
        biases = certify(problem, beta, f).biases
    error = np.full(problem.examples, np.inf)
    dual = 0.0 if not np.any(problem.coefficients(beta)) else -np.inf  # J = 0 where f = 0
    return Solution(beta, f, error, biases, np.inf, np.inf, dual, reason)


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
    coef = np.where(np.abs(coef) > (1 - AT_BOUND) * upper, np.copysign(upper, coef), coef)
    return feasible_start(problem, _variables(coef, both)), float(ratio)


def _resumed(problem: Problem, coef: FloatArray) -> FloatArray | None:
    """A β to continue from, unless its sums need both α and α* of an example of ``nu_svr``."""
    begin, _ = resume(problem, coef, 1.0, -np.inf)
    return begin if problem.kind != "nu_svr" or one_of_each(begin) else None


def _variables(coef: FloatArray, both: bool) -> FloatArray:
    """One variable per example, or two of which at least one is 0."""
    return np.concatenate([np.maximum(coef, 0), np.minimum(coef, 0)]) if both else coef
