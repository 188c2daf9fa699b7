"""What stops and watches a fit: Ctrl-C, the time limit, callbacks, history and progress."""

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed

__all__ = ["Control", "Watcher", "in_threads", "interrupt_flag"]

SLICE_SECONDS = 0.05  # of native work between two looks at the flags


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
    time_limit : float or None
        Seconds from now.
    verbose : int
        Whether to print one line per record.
    """

    def __init__(
        self,
        name: str,
        interrupted: threading.Event,
        time_limit: float | None = None,
        verbose: int = 0,
    ) -> None:
        self.name, self.verbose = name, verbose
        self.start = time.perf_counter()
        self.deadline = np.inf if time_limit is None else self.start + time_limit
        self.history: list[dict[str, float]] = []
        self._interrupted = interrupted
        self._lock = threading.Lock()
        self._reason: str | None = None

    def seconds(self) -> float:
        return time.perf_counter() - self.start

    def reason(self) -> str | None:
        """Why to stop now, or None."""
        if self._reason is None:
            if self._interrupted.is_set():
                self._reason = "interrupted"
            elif time.perf_counter() > self.deadline:
                self._reason = "time_limit"
        return self._reason

    def stop(self, reason: str) -> None:
        """Make every problem stop after its slice."""
        self._reason = self._reason or reason

    def slice(self) -> float:
        """How many seconds the next piece of work may take."""
        return float(min(SLICE_SECONDS, max(0.0, self.deadline - time.perf_counter())))

    def quiet(self) -> "Control":
        """The same flags and deadline, without history and output."""
        other = copy(self)
        other.history, other.verbose = [], 0
        return other

    def note(self, record: dict[str, float], line: Callable[[dict[str, float]], str]) -> None:
        """Keep a record, and print the line that describes it if `verbose`."""
        with self._lock:
            self.history.append(record)
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
