"""The one training loop: every iterative model hands it a learner and gets its epochs run.

A *learner* holds the arrays being trained and does native work on them, a few tens of
milliseconds per call. The loop does what every model needs, once: the order of the examples,
learning rates, stopping rules, Ctrl-C and time limits, history, callbacks.
"""

import threading
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from widemargin import _core
from widemargin._typing import IntArray
from widemargin.schedules import Schedule
from widemargin.training.control import interrupt_flag
from widemargin.training.learner import (
    CountedLearner,
    Ending,
    Halted,
    Learner,
    RestartingLearner,
    SolverLearner,
    StochasticLearner,
    Tally,
)
from widemargin.training.report import check_finite, epoch_record, show_epoch
from widemargin.training.time_limit import TimeLimit, now

__all__ = [
    "CONVERGENCE",
    "Ending",
    "Epochs",
    "Halted",
    "Learner",
    "Outcome",
    "Plan",
    "RestartingLearner",
    "SolverLearner",
    "StochasticLearner",
    "Tally",
    "epoch_order",
    "run_epoch",
    "run_updates",
    "train",
]

#: Reasons to stop that mean convergence, unless a model has a stricter rule.
CONVERGENCE = frozenset({"no_update", "tol", "early_stopping"})

#: What the rule `tol` watches: the first of these that a record of the history has. The epoch with
#: the lowest error is the best one.
WATCHED = (
    ("validation_error",),
    ("training_error", "criterion"),
    ("objective",),
    ("criterion",),
)


@dataclass(frozen=True)
class Plan:
    """When to stop, in which order to visit examples, and with which steps."""

    max_iter: int
    rate: Schedule
    max_updates: int | None = None  # of this call; needs a `CountedLearner`
    decay: bool = False  # weight decay changes the weights even in an epoch without updates
    needed: float = 0.0  # epochs before which `tol` does not stop (Theorem 8.1)
    seed: int | None = None  # None: examples are visited in the order given
    replacement: bool = False  # whether examples are drawn, so that some come twice and others not
    first_epoch: int = 0  # epochs done by earlier calls
    first_row: int = 0  # examples done of an epoch that an earlier call left unfinished
    tol: float | None = None
    n_iter_no_change: int = 5
    limit: TimeLimit = field(default_factory=TimeLimit)
    verbose: int = 0
    convergence: frozenset[str] = CONVERGENCE

    def rate_after(self, epoch: int, visited: int, count: int) -> float:
        """λ once `visited` of the `count` examples of an epoch were visited.

        A schedule that ends spans the epochs of this call.
        """
        if self.rate.epochs is None:
            return self.rate(epoch)
        return self.rate(epoch - self.first_epoch + visited / count)


@dataclass
class Outcome:
    """How training ended."""

    history: list[dict[str, float]] = field(default_factory=list)
    n_iter: int = 0
    best_iter: int = 0
    rows_done: int = 0  # examples done of the last epoch, if it was left unfinished
    reason: str = "max_iter"
    advice: str = ""  # of a solver that ended before its stopping rule was met
    converged: bool = False
    seconds: float = 0.0


class _Patience:
    """Says when no monitored value has fallen by `tol` for `n_iter_no_change` epochs."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.references: dict[str, float] = {}
        self.best, self.waited = np.inf, 0

    def improved(self, values: dict[str, float]) -> bool:
        """Notes the values of an epoch; True if the first of them is the best so far."""
        lowest = {name: self.references.get(name, np.inf) for name in values}
        if self.plan.tol is not None:
            fell = any(value < lowest[name] - self.plan.tol for name, value in values.items())
            self.waited = 0 if fell else self.waited + 1
        self.references = {name: min(lowest[name], value) for name, value in values.items()}
        first = next(iter(values.values()))
        better = first < self.best
        self.best = min(self.best, first)
        return better

    @property
    def exhausted(self) -> bool:
        return self.waited >= self.plan.n_iter_no_change

    def restart(self) -> None:
        """Waits anew, for progress over the values to come."""
        self.references, self.waited = {}, 0


def train(
    estimator: Any,
    learner: Learner,
    plan: Plan,
    context: Any = None,
    hook_arguments: dict[str, Any] | None = None,
) -> Outcome:
    """Runs epochs until a stopping rule holds; the learner is left in its best state.

    Parameters
    ----------
    estimator : estimator
        The model being fitted, for callbacks and messages.
    learner : Learner
        Its arrays and native work.
    plan : Plan
        Orders, rates and stopping rules.
    context : sklearn.callback.CallbackContext, optional
        The context of the fit; each epoch becomes one of its subtasks.
    hook_arguments : dict, optional
        ``X``, ``y`` and ``metadata`` for the callbacks.
    """
    with interrupt_flag() as interrupted:
        epochs = Epochs(estimator, learner, plan, interrupted, context, hook_arguments)
        if isinstance(learner, SolverLearner):
            if (ending := learner.run(epochs)) is not None:
                epochs.outcome.reason, epochs.outcome.advice = ending.reason, ending.advice
        else:
            _visit_epochs(learner, plan, epochs)
    return epochs.finish()


class Epochs:
    """What happens before and after each epoch of one call of `train`: rules, history, callbacks.

    Parameters
    ----------
    estimator, learner, plan, context, hook_arguments :
        As in `train`.
    interrupted : threading.Event
        Set by Ctrl-C.
    """

    def __init__(
        self,
        estimator: Any,
        learner: Learner,
        plan: Plan,
        interrupted: threading.Event,
        context: Any = None,
        hook_arguments: dict[str, Any] | None = None,
    ) -> None:
        self.estimator, self.learner, self.plan = estimator, learner, plan
        self.context, self.hook_arguments = context, hook_arguments or {}
        self.outcome, self.open, self._updates = Outcome(), False, 0
        self._interrupted, self._patience = interrupted, _Patience(plan)
        self._start, self._closing = now(), 0.0  # seconds that the end of an epoch takes
        self._best_state: Any = None
        self._task: Any = None

    def stopped(self) -> bool:
        """Whether Ctrl-C or the time limit asks to stop now."""
        return self._interrupted.is_set() or self._out_of_time()

    def _out_of_time(self) -> bool:
        """Whether the time that is left is needed to end the epoch."""
        return now() + self._closing > self.plan.limit.last_work

    @property
    def updates_left(self) -> int | None:
        """Updates until `max_updates`, 0 or less once it is reached; None without this rule."""
        most = self.plan.max_updates
        return None if most is None else most - self._updates

    def begin(self) -> None:
        """Opens the next epoch, unless one is open."""
        if self.open:
            return
        self.open = True
        if self.context is not None:
            self._task = self.context.subcontext(task_name="epoch")
            self._task.call_on_fit_task_begin(estimator=self.estimator, **self.hook_arguments)

    def end(
        self, tally: Tally, visited: int, rate: float | None = None, *, first_row: int = 0
    ) -> bool:
        """Closes the epoch, in which `visited` examples from `first_row` on were visited.

        Returns whether to stop.
        """
        outcome, plan, learner = self.outcome, self.plan, self.learner
        begun, epoch = now(), plan.first_epoch + outcome.n_iter
        complete = first_row + visited == len(learner.order)
        outcome.n_iter += complete
        self._updates += tally.updates
        spent = self.updates_left is not None and self.updates_left <= 0
        outcome.rows_done = 0 if complete else first_row + visited

        record = epoch_record(learner, tally, epoch, visited, rate)
        record["seconds"] = now() - self._start
        outcome.history.append(record)
        check_finite(self.estimator, record)
        show_epoch(type(self.estimator).__name__, record, plan)

        validated = "validation_error" in record
        self._watch(record)
        own_rule = isinstance(learner, SolverLearner) and not validated
        settled = self._patience.exhausted and epoch + 1 >= plan.needed and not own_rule
        stopped, last = self._close(), outcome.n_iter == plan.max_iter
        self._closing = now() - begun
        finished = tally.updates == 0 and not plan.decay
        if finished and not validated:
            self._best_state = None  # the weights with which no example is wrong
        reason = (
            ("interrupted" if self._interrupted.is_set() else None)
            or ("max_updates" if spent else None)
            or ("time_limit" if not complete or self._out_of_time() else None)
            or ("callback" if stopped else None)
            or ("no_update" if finished else None)
            or (("early_stopping" if validated else "tol") if settled else None)
        )
        if reason == "tol" and not last and self._restarted():
            reason = None
        outcome.reason = reason or outcome.reason
        return reason is not None or last

    def _watch(self, record: dict[str, float]) -> None:
        """Notes the progress of the epoch, and its weights if they are the best by an error."""
        watched = next(names for names in WATCHED if names[0] in record)
        if self._patience.improved({name: record[name] for name in watched}):
            self.outcome.best_iter = self.outcome.n_iter
            self._best_state = self.learner.snapshot() if watched[0].endswith("error") else None

    def _restarted(self) -> bool:
        """Whether the learner tries something else, now that there is no more progress."""
        again = isinstance(self.learner, RestartingLearner) and self.learner.restart(
            self._best_state, self._patience.best
        )
        if again:
            self._patience.restart()
        return again

    def _close(self) -> bool:
        """Tells callbacks that the epoch has ended; True if one wants to stop."""
        self.open = False
        return self._task is not None and bool(
            self._task.call_on_fit_task_end(
                estimator=self.estimator,
                reconstruction_attributes=self.learner.attributes,
                **self.hook_arguments,
            )
        )

    def finish(self) -> Outcome:
        """Leaves the learner in its best state."""
        outcome = self.outcome
        if self._best_state is not None:
            self.learner.restore(self._best_state)
            outcome.rows_done = 0
        else:
            outcome.best_iter = outcome.n_iter
        outcome.converged = outcome.reason in self.plan.convergence
        outcome.seconds = now() - self._start
        return outcome


def _visit_epochs(learner: Any, plan: Plan, epochs: Epochs) -> None:
    """Epochs of a `StochasticLearner`."""
    for epoch in range(plan.first_epoch, plan.first_epoch + plan.max_iter):
        epochs.begin()
        order = epoch_order(learner.order, plan.seed, epoch, replacement=plan.replacement)
        resumed = epoch == plan.first_epoch and plan.first_row < len(order)
        done, count = plan.first_row if resumed else 0, len(order)

        def rate(visited: int, epoch: int = epoch, done: int = done, count: int = count) -> float:
            return plan.rate_after(epoch, done + visited, count)

        try:
            rows, left = order[done:], epochs.updates_left
            if left is None:
                tally, visited = run_epoch(learner, rows, rate, epochs.stopped)
            else:
                tally, visited = run_updates(learner, rows, rate, epochs.stopped, left)
        except Halted as halt:
            if not epochs.outcome.history:
                raise
            epochs.outcome.reason = halt.reason
            return
        if epochs.end(tally, visited, rate(0), first_row=done):
            return


def epoch_order(
    examples: IntArray, seed: int | None, epoch: int, *, replacement: bool = False
) -> IntArray:
    """The examples in the order of this epoch, which depends on (seed, epoch) alone.

    With replacement, each place of the order holds an example drawn from all of them.
    """
    if seed is None:
        return examples
    if replacement:
        drawn = np.random.default_rng((seed, epoch)).integers(len(examples), size=len(examples))
        return np.asarray(examples[drawn])
    order = examples.copy()
    _core.shuffle(order, seed, epoch)
    return order


def run_epoch(
    learner: StochasticLearner,
    order: IntArray,
    rate: Callable[[int], float],
    stopped: Callable[[], bool] = lambda: False,
) -> tuple[Tally, int]:
    """One pass over `order`, in native calls short enough for Ctrl-C and the time limit.

    Parameters
    ----------
    learner : StochasticLearner
        Trained in place.
    order : ndarray of int
        The examples.
    rate : callable
        λ once so many of them were visited.
    stopped : callable
        Whether to stop now.

    Returns
    -------
    tally : Tally
        Sums over the examples visited.
    visited : int
        How many there were.
    """
    tally = Tally(0, 0.0, 0.0, 0.0)
    for first in range(0, len(order), learner.rows_per_call):
        if first and stopped():
            return tally, first  # never before the first call: every record has examples
        tally += learner.visit(order[first : first + learner.rows_per_call], rate(first))
    return tally, len(order)


def run_updates(
    learner: CountedLearner,
    order: IntArray,
    rate: Callable[[int], float],
    stopped: Callable[[], bool],
    most: int,
) -> tuple[Tally, int]:
    """As `run_epoch`, until there were `most` updates: exactly, if an example makes at most one.

    A call that makes too many is undone and repeated with half of its examples.
    """
    tally, first, size = Tally(0, 0.0, 0.0, 0.0), 0, learner.rows_per_call
    while first < len(order) and tally.updates < most and not (first and stopped()):
        size, before = min(size, len(order) - first), deepcopy(learner.state)
        found = learner.visit(order[first : first + size], rate(first))
        if size > 1 and tally.updates + found.updates > most:
            learner.state, size = before, size // 2
            continue
        tally, first = tally + found, first + size
    return tally, first
