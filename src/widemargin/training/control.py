"""What stops and watches a fit: Ctrl-C, the time limit, callbacks, history and progress."""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed

from widemargin.progress import reporter
from widemargin.training.time_limit import Shares, TimeLimit, now

__all__ = [
    "REASONS",
    "Control",
    "Watcher",
    "in_rounds",
    "in_threads",
    "interrupt_flag",
    "one_round",
]

#: Why exact machines stop. Of several problems, the reason that comes first is that of the fit.
REASONS = (
    "interrupted",
    "time_limit",
    "callback",
    "max_iter",
    "rounding",
    "shrunk",
    "validation",
    "tol",
)

SLICE_SECONDS = 0.05  # of native work between two looks at the flags
CLOSING_SECONDS = 0.25  # for the work after an early stop


@contextmanager
def interrupt_flag(*, shared: bool = True) -> Iterator[threading.Event]:
    """Ctrl-C sets the flag instead of raising; a second Ctrl-C raises as usual.

    This holds only in the main thread, and only if Python's own handler is in place: a program
    that handles SIGINT itself keeps its handler. An inner context has the flag of the outer one,
    so that Ctrl-C stops both a fit and what the fit is part of. With `shared=False` inner contexts
    do not see the flag, and what they do is completed first.
    """
    ours = threading.current_thread() is threading.main_thread()
    previous = signal.getsignal(signal.SIGINT)
    outer = getattr(previous, "flag", None) if ours else None
    if outer is not None and shared:
        yield outer
        return
    flag = threading.Event()
    if not ours or (outer is None and previous is not signal.default_int_handler):
        yield flag
        return

    def handle(signum: int, frame: Any) -> None:
        # It stays in place, so that contexts opened after the first Ctrl-C see the flag as well.
        if flag.is_set() and callable(previous):
            previous(signum, frame)
        flag.set()

    if shared:
        handle.flag = flag  # type: ignore[attr-defined]
    signal.signal(signal.SIGINT, handle)
    try:
        yield flag
    finally:
        signal.signal(signal.SIGINT, previous)
        if outer is not None and flag.is_set():
            outer.set()


class Control:
    """What stops and watches the problems of one fit.

    Parameters
    ----------
    name : str
        The estimator's name, for the lines that `verbose` prints.
    interrupted : threading.Event
        Set by Ctrl-C.
    limit : TimeLimit
        When the fit has to end.
    verbose : int
        Whether to print one line per record.
    """

    def __init__(
        self,
        name: str,
        interrupted: threading.Event,
        limit: TimeLimit | None = None,
        verbose: int = 0,
    ) -> None:
        limit = limit or TimeLimit()
        self.name, self.verbose = name, verbose
        self.start = now()
        self.deadline, self.closing_deadline = limit.last_work, limit.deadline
        self.history: list[dict[str, float]] = []
        self._reporter = reporter(name)
        self._interrupted = interrupted
        self._lock = threading.Lock()
        self._reason: str | None = None
        self._whole: Control | None = None

    def seconds(self) -> float:
        return now() - self.start

    @property
    def limited(self) -> bool:
        """Whether there is a time limit."""
        return self.deadline < np.inf

    @property
    def left(self) -> float:
        """Seconds until work has to end; infinite without a limit."""
        return max(0.0, self.deadline - now())

    @property
    def over(self) -> bool:
        """Whether the time limit has passed, closing work included."""
        return bool(now() > self.closing_deadline)

    def reason(self) -> str | None:
        """Why to stop now, or None."""
        if self._reason is None:
            if self._whole is not None and (reason := self._whole.reason()) is not None:
                self._reason = reason
            elif self._interrupted.is_set():
                self._reason = "interrupted"
            elif now() > self.deadline:
                self._reason = "time_limit"
        return self._reason

    def stop(self, reason: str) -> None:
        """Make every problem stop after its slice."""
        if self._whole is not None:
            self._whole.stop(reason)
        self._reason = self._reason or reason

    def slice(self) -> float:
        """How many seconds the next piece of work may take."""
        return float(min(SLICE_SECONDS, self.left))

    def closing(self) -> float:
        """How many seconds the work after a stop may take, such as a last measure."""
        return float(min(CLOSING_SECONDS, max(0.0, self.closing_deadline - now())))

    def within(self, seconds: float) -> "Control":
        """The same, for a part of the fit that may take this long; its history is shared."""
        if not self.limited:
            return self
        part = copy(self)
        part.deadline = part.closing_deadline = min(self.deadline, now() + seconds)
        part._reason, part._whole = None, self
        return part

    def quiet(self) -> "Control":
        """The same flags and deadline, without history and output."""
        other = copy(self)
        other.history, other.verbose, other._reporter = [], 0, None
        return other

    def fit_ended(self) -> None:
        """Show that one of the fits inside this one has ended."""
        if self._reporter is not None:
            with self._lock:
                self._reporter.fit_ended()

    def note(
        self,
        record: dict[str, float],
        line: Callable[[dict[str, float]], str],
        fraction: float | None = None,
    ) -> None:
        """Keep a record, show it, and print the line that describes it if `verbose`."""
        with self._lock:
            self.history.append(record)
            if self._reporter is not None:
                self._reporter.step(record, fraction=fraction)
            if self.verbose:
                print(f"[{self.name}] {line(record)}", flush=True)


Found = TypeVar("Found")


def in_threads(
    solve: Callable[[int], Found], count: int, threads: int, control: Control
) -> list[Found]:
    """The solution of each problem 0 … count − 1, several at a time if there are threads for it.

    An error in one of them, or a second Ctrl-C, stops the others after their slice.
    """
    if threads == 1:
        return [solve(number) for number in range(count)]
    try:
        found = Parallel(n_jobs=threads, backend="threading")(
            delayed(solve)(number) for number in range(count)
        )
    except BaseException:
        control.stop("interrupted")
        raise
    return list(found)


def one_round(
    attempt: Callable[[int, Control], None],
    numbers: Sequence[int],
    weights: Sequence[float],
    control: Control,
    threads: int,
) -> None:
    """Lets each of these problems work for its share of the time that is left.

    Parameters
    ----------
    attempt : callable
        ``attempt(number, control)`` works on a problem until it is solved or has to stop.
    numbers : sequence of int
        The problems, in the order of their turns.
    weights : sequence of float
        What the share of each of them is proportional to.
    control : Control
        What may stop the fit.
    threads : int
        How many work at a time.
    """
    shares = Shares(weights, control.deadline, threads)

    def one(place: int) -> None:
        if control.reason() is None:
            attempt(numbers[place], control.within(shares.seconds(place)))

    in_threads(one, len(numbers), threads, control)


def in_rounds(
    attempt: Callable[[int, Control], None],
    found: list[Any],
    numbers: Sequence[int],
    weights: Sequence[float],
    control: Control,
    threads: int,
) -> None:
    """Rounds until all problems are solved or the time is over.

    `attempt` replaces the solution of its problem in `found`; the weights are those of all
    problems. After a round, those that were cut off come again, the largest gap first.
    """
    waiting = list(numbers)
    while waiting and control.reason() is None:
        one_round(attempt, waiting, [weights[k] for k in waiting], control, threads)
        waiting = [k for k in waiting if found[k].reason == "time_limit"]
        waiting.sort(key=lambda k: -found[k].gap)
    for k in waiting:  # also those whose turn did not come
        found[k].reason = control.reason() or found[k].reason


class Watcher:
    """Calls the callbacks of an estimator after each slice, with the model so far.

    Parameters
    ----------
    estimator : estimator
        The model being fitted.
    context : sklearn.callback.CallbackContext
        The context of the fit; each slice becomes one of its subtasks.
    arguments : dict
        ``X``, ``y`` and ``metadata`` for the callbacks.
    solutions : list
        The solutions before any work is done; later ones replace them one by one.
    attributes : callable
        Makes the fitted attributes from the solutions of all problems.
    """

    def __init__(
        self,
        estimator: Any,
        context: Any,
        arguments: dict[str, Any],
        solutions: list[Any],
        attributes: Callable[[Sequence[Any]], dict[str, Any]],
    ) -> None:
        self.estimator, self.context, self.arguments = estimator, context, arguments
        self.solutions = solutions
        self.attributes = attributes
        self.lock = threading.Lock()

    def __call__(self, number: int, solution: Callable[[], Any]) -> bool:
        """Called after a slice of this problem; returns whether a callback wants to stop."""

        def so_far() -> dict[str, Any]:
            self.solutions[number] = solution()
            return self.attributes(self.solutions)

        with self.lock:
            task = self.context.subcontext(task_name="iteration")
            task.call_on_fit_task_begin(estimator=self.estimator, **self.arguments)
            return bool(
                task.call_on_fit_task_end(
                    estimator=self.estimator, reconstruction_attributes=so_far, **self.arguments
                )
            )
