"""The one training loop: every iterative model hands it a learner and gets its epochs run.

A *learner* holds the arrays being trained and does native work on them, a few tens of
milliseconds a call. The loop does what every model needs once: the order of the examples,
learning rates, the stopping rules, Ctrl-C and time limits, history, callbacks.
"""

import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from widemargin import _core
from widemargin._typing import IntArray
from widemargin.schedules import Schedule
from widemargin.training.control import interrupt_flag

__all__ = [
    "Ending",
    "Epochs",
    "Halted",
    "Learner",
    "Outcome",
    "Plan",
    "SolverLearner",
    "StochasticLearner",
    "Tally",
    "train",
]


class Halted(Exception):
    """A learner cannot go on: what it had learnt before this epoch is kept, if there was one."""

    reason = "halted"


class Tally(NamedTuple):
    """Sums over visited examples, each measured just before its own update."""

    updates: int
    criterion: float
    errors: float  # weights of misclassified examples; or squared errors, in variances of y
    weight: float

    def __add__(self, other: tuple[Any, ...]) -> "Tally":
        return Tally(*(a + b for a, b in zip(self, other, strict=True)))


class Learner(Protocol):
    """What a model gives to the loop; either a `StochasticLearner` or a `SolverLearner`."""

    order: IntArray  # the examples of an epoch, unshuffled

    def validate(self) -> tuple[float, float] | None:
        """Criterion and error on the validation examples, if there are any.

        The error of a regression is 1 − R², the part of the variance that it leaves unexplained.
        """

    def margin(self) -> float | None:
        """The margin ρ = 2/‖w‖, of a classifier."""

    def measures(self, criterion: float) -> dict[str, float]:
        """What its history has beside the common values, for an epoch's mean criterion."""

    def snapshot(self) -> Any:
        """A copy of the state, for `restore`."""

    def restore(self, state: Any) -> None:
        """Goes back to a snapshot."""

    def attributes(self) -> dict[str, Any]:
        """The fitted attributes, as if training had stopped here."""


class StochasticLearner(Learner, Protocol):
    """Trains on examples in the order of the loop."""

    rows_per_call: int  # how many examples a call of `visit` may take

    def visit(self, order: IntArray, rate: float) -> Tally:
        """Trains on these examples, one after the other, in place."""


@runtime_checkable
class SolverLearner(Protocol):
    """A learner with a solver that runs its own iterations, each an epoch of the loop."""

    def run(self, epochs: "Epochs") -> "Ending | None":
        """Iterates between `epochs.begin()` and `epochs.end()`, until the latter returns True.

        Returns how the solver ended, if it ended by itself.
        """


@dataclass(frozen=True)
class Ending:
    """Why a solver ended, and what to do if that is not its stopping rule."""

    reason: str
    advice: str = ""


@dataclass(frozen=True)
class Plan:
    """When to stop, and in which order and steps to go."""

    max_iter: int
    rate: Schedule
    decay: bool = False  # weight decay: also an epoch without updates changes the weights
    needed: float = 0.0  # epochs before which `tol` does not stop (Theorem 8.1)
    seed: int | None = None  # None: the order given
    first_epoch: int = 0  # epochs done by earlier calls
    first_row: int = 0  # and examples of the next one, if it was left unfinished
    tol: float | None = None
    n_iter_no_change: int = 5
    time_limit: float | None = None
    verbose: int = 0

    def rate_at(self, epoch: int, part: float) -> float:
        """λ after a part of an epoch. A schedule that ends spans the epochs of this call."""
        if self.rate.epochs is None:
            return self.rate(epoch)
        return self.rate(epoch - self.first_epoch + part)


@dataclass
class Outcome:
    """How training ended."""

    history: list[dict[str, float]] = field(default_factory=list)
    n_iter: int = 0
    best_iter: int = 0
    rows_done: int = 0  # examples of the last epoch, if it was left unfinished
    reason: str = "max_iter"
    advice: str = ""  # of a solver that ended before its stopping rule was met
    seconds: float = 0.0

    @property
    def converged(self) -> bool:
        return self.reason in ("no_update", "tol", "early_stopping")


class _Patience:
    """Stops when a monitored value has not fallen by `tol` for some epochs; keeps the best."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.reference = self.best = np.inf
        self.waited = 0

    def improved(self, value: float) -> bool:
        """Notes the value of an epoch; True if it is the best so far."""
        if self.plan.tol is not None:
            self.waited = 0 if value < self.reference - self.plan.tol else self.waited + 1
        self.reference = min(self.reference, value)
        better = value < self.best
        self.best = min(self.best, value)
        return better

    @property
    def exhausted(self) -> bool:
        return self.waited >= self.plan.n_iter_no_change


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
    outcome = epochs.finish()
    _warn(estimator, plan, outcome)
    return outcome


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
        self.outcome, self.open = Outcome(), False
        self._interrupted, self._patience = interrupted, _Patience(plan)
        self._start = time.perf_counter()
        self._deadline = np.inf if plan.time_limit is None else self._start + plan.time_limit
        self._best_state: Any = None
        self._task: Any = None

    def stopped(self) -> bool:
        """Whether Ctrl-C or the time limit asks to stop now."""
        return self._interrupted.is_set() or time.perf_counter() > self._deadline

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
        epoch = plan.first_epoch + outcome.n_iter
        complete = first_row + visited == len(learner.order)
        outcome.n_iter += complete
        outcome.rows_done = 0 if complete else first_row + visited

        record = _record(learner, tally, epoch, visited, rate)
        record["seconds"] = time.perf_counter() - self._start
        outcome.history.append(record)
        _check_finite(self.estimator, record)
        if plan.verbose:
            print(f"[{type(self.estimator).__name__}] {_line(record)}", flush=True)

        validated = "validation_error" in record
        progress = record.get("objective", record["criterion"])
        if self._patience.improved(record["validation_error"] if validated else progress):
            outcome.best_iter = outcome.n_iter
            self._best_state = learner.snapshot() if validated else None

        own_rule = isinstance(learner, SolverLearner) and not validated
        settled = self._patience.exhausted and epoch + 1 >= plan.needed and not own_rule
        stopped = self._close()
        reason = (
            ("interrupted" if self._interrupted.is_set() else None)
            or ("time_limit" if not complete or time.perf_counter() > self._deadline else None)
            or ("callback" if stopped else None)
            or ("no_update" if tally.updates == 0 and not plan.decay else None)
            or (("early_stopping" if validated else "tol") if settled else None)
        )
        outcome.reason = reason or outcome.reason
        return reason is not None or outcome.n_iter == plan.max_iter

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
        outcome.seconds = time.perf_counter() - self._start
        return outcome


def _visit_epochs(learner: Any, plan: Plan, epochs: Epochs) -> None:
    """Epochs of a `StochasticLearner`."""
    for epoch in range(plan.first_epoch, plan.first_epoch + plan.max_iter):
        epochs.begin()
        order = _order(learner.order, plan.seed, epoch)
        resumed = epoch == plan.first_epoch and plan.first_row < len(order)
        done = plan.first_row if resumed else 0
        rate = partial(_rate_after, plan, epoch, done, len(order))
        try:
            tally, visited = _epoch(learner, order[done:], rate, epochs.stopped)
        except Halted as halt:
            if not epochs.outcome.history:
                raise
            epochs.outcome.reason = halt.reason
            return
        if epochs.end(tally, visited, rate(0), first_row=done):
            return


def _order(examples: IntArray, seed: int | None, epoch: int) -> IntArray:
    """The examples in the order of this epoch: a function of (seed, epoch) alone."""
    if seed is None:
        return examples
    order = examples.copy()
    _core.shuffle(order, seed, epoch)
    return order


def _rate_after(plan: Plan, epoch: int, done: int, count: int, visited: int) -> float:
    """λ when `visited` more examples than `done` of the `count` of an epoch were visited."""
    return plan.rate_at(epoch, (done + visited) / count)


def _epoch(
    learner: StochasticLearner,
    order: IntArray,
    rate: Callable[[int], float],
    stopped: Callable[[], bool],
) -> tuple[Tally, int]:
    """One pass over `order`, in native calls short enough for Ctrl-C and the time limit."""
    tally = Tally(0, 0.0, 0.0, 0.0)
    for first in range(0, len(order), learner.rows_per_call):
        if first and stopped():
            return tally, first  # never before the first call: every record has examples
        tally += learner.visit(order[first : first + learner.rows_per_call], rate(first))
    return tally, len(order)


def _record(
    learner: Learner, tally: Tally, epoch: int, visited: int, rate: float | None
) -> dict[str, float]:
    weight = tally.weight or 1.0
    record: dict[str, float] = {
        "epoch": epoch,
        "rows": visited,
        "updates": tally.updates,
        "criterion": tally.criterion / weight,
        "error": tally.errors / weight,
    }
    validation = learner.validate()
    if validation is not None:
        record["validation_criterion"], record["validation_error"] = validation
    if (margin := learner.margin()) is not None:
        record["margin"] = margin
    if rate is not None:
        record["learning_rate"] = rate
    record.update(learner.measures(record["criterion"]))
    return record


def _line(record: dict[str, float]) -> str:
    parts = [f"epoch {record['epoch']:4d}", f"updates {record['updates']:8d}"]
    for name in ("criterion", "error", "validation_criterion", "validation_error", "margin"):
        if name in record:
            value = f"{record[name]:.2%}" if name.endswith("error") else f"{record[name]:.4g}"
            parts.append(f"{name.replace('_', ' ')} {value}")
    return "  ".join([*parts, f"{record['seconds']:.2f} s"])


def _check_finite(estimator: Any, record: dict[str, float]) -> None:
    if not np.isfinite(record["criterion"]):
        raise ValueError(
            f"{type(estimator).__name__} diverged in epoch {record['epoch']}: its criterion is "
            f"{record['criterion']}. Standardise the inputs (scaling='standard') or lower the "
            "learning rate"
        )


def _warn(estimator: Any, plan: Plan, outcome: Outcome) -> None:
    """Says what is left to gain and what to do, when training did not end by itself."""
    last = outcome.history[-1]
    name = type(estimator).__name__
    left = (
        f"{last['updates']} updates over {last['rows']} examples in the last epoch "
        f"(criterion {last['criterion']:.4g}, error {last['error']:.2%})"
    )
    go_on = "the model is usable, and fit with warm_start=True goes on from here"
    made = plan.first_epoch + outcome.n_iter
    if outcome.reason == "max_iter" and made < plan.needed:
        message = (
            f"{name} reached max_iter={plan.max_iter}, {made} epochs in all, but its weight decay "
            f"takes at least 1/(L λ mu) = {plan.needed:.4g} epochs to come to the solution of the "
            f"SVM (Theorem 8.1): {left}; raise max_iter, learning_rate or mu, or do not aim at "
            "that solution and use early_stopping=True"
        )
    elif outcome.reason == "max_iter" and plan.tol is not None:
        limit = getattr(estimator, "_epochs_parameter", "max_iter")
        message = f"{name} reached {limit}={plan.max_iter}: {left}; raise {limit} or tol"
    elif outcome.advice:
        message = f"{name} {outcome.advice}: {left}"
    elif outcome.reason == "time_limit":
        message = f"{name} reached time_limit={plan.time_limit} s: {left}; {go_on}"
    elif outcome.reason == "interrupted":
        message = f"{name} was interrupted after {outcome.n_iter} epochs: {left}; {go_on}"
    else:
        return
    warnings.warn(message, ConvergenceWarning, stacklevel=7)  # where fit was called
