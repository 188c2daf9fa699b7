"""Time limits, which hold for a fit and for all fits inside it: the clock, deadlines, shares.

A fit begins with `limited`, so that its `time_limit` counts from its first line. Everything inside
asks `current_limit` when it has to end. A fit that is part of another one, such as an expert of a
mixture or a fold of a search, ends at the earlier of the two deadlines. Its time is divided by
`Shares`, and `share_of_time` makes such a share the limit of what it encloses.

A limit belongs to a thread. Work that is handed to other threads, processes or machines is handed
its seconds too, and enters `share_of_time` there.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from widemargin.progress import reported

__all__ = [
    "Shares",
    "TimeLimit",
    "current_limit",
    "fixed_shares",
    "limited",
    "now",
    "share_of_time",
]

MAX_RESERVE, RESERVED = 0.25, 0.1  # seconds, fraction of a limit: kept for closing work

_clock: Callable[[], float] = time.perf_counter  # the one clock of fits; tests replace it


def now() -> float:
    """Seconds on the clock of all deadlines."""
    return _clock()


@dataclass(frozen=True)
class TimeLimit:
    """When a fit has to end."""

    deadline: float = np.inf
    seconds: float = np.inf  # from the start of the limit to the deadline
    share: bool = False  # whether the deadline is that of a part: the whole reports, not the part

    @property
    def finite(self) -> bool:
        return self.deadline < np.inf

    @property
    def left(self) -> float:
        """Seconds until the deadline, at least 0."""
        return max(0.0, self.deadline - now())

    @property
    def last_work(self) -> float:
        """When work that can be cut off should end, so that there is time to close."""
        return self.deadline - min(MAX_RESERVE, RESERVED * self.seconds) if self.finite else np.inf


NO_LIMIT = TimeLimit()
_current: ContextVar[TimeLimit] = ContextVar("widemargin_time_limit", default=NO_LIMIT)


def current_limit() -> TimeLimit:
    """The limit of the innermost fit of this thread."""
    return _current.get()


@contextmanager
def _within(seconds: float | None, *, share: bool) -> Iterator[TimeLimit]:
    outer = _current.get()
    inner = outer
    if seconds is not None and now() + seconds < outer.deadline:
        inner = TimeLimit(now() + seconds, seconds, share or outer.share)
    token = _current.set(inner)
    try:
        yield inner
    finally:
        _current.reset(token)


@contextmanager
def share_of_time(seconds: float | None) -> Iterator[TimeLimit]:
    """Fits inside have to end after this many seconds, and do not warn of it; None: no share."""
    with _within(seconds, share=True) as limit:
        yield limit


Method = TypeVar("Method", bound=Callable[..., Any])


def limited(fit: Method) -> Method:
    """Makes this method a fit: `time_limit` holds from its first line, and progress is shown."""

    @wraps(fit)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        with (
            _within(self.time_limit, share=False),
            reported(type(self).__name__, self.time_limit),
        ):
            return fit(self, *args, **kwargs)

    return wrapper  # type: ignore[return-value]


class Shares:
    """Divides the time until a deadline among parts; what a part does not use is for later ones.

    Parameters
    ----------
    weights : sequence of float
        The shares of the parts, relative to each other.
    deadline : float, optional
        When the last part has to end; None takes it from `current_limit`.
    at_once : int
        How many parts run in parallel.
    """

    def __init__(
        self, weights: Sequence[float], deadline: float | None = None, at_once: int = 1
    ) -> None:
        self.deadline = current_limit().deadline if deadline is None else deadline
        self.weights, self.at_once = weights, at_once
        self._waiting = float(sum(weights))
        self._lock = threading.Lock()

    def seconds(self, number: int) -> float:
        """The time of a part that begins now; infinite without a deadline."""
        if self.deadline == np.inf:
            return np.inf
        with self._lock:
            weight = float(self.weights[number])
            fraction = self.at_once * weight / self._waiting if self._waiting > weight else 1.0
            self._waiting = max(0.0, self._waiting - weight)
        return max(0.0, self.deadline - now()) * min(1.0, fraction)


def fixed_shares(weights: Sequence[float], seconds: float, at_once: int) -> list[float]:
    """Seconds for each of several parts, known before the first begins, of which some run at once.

    They end in time in whatever order they are taken: the last one begins after at most
    sum(weights)/at_once.

    Examples
    --------
    >>> fixed_shares([1.0, 1.0, 2.0], 12.0, at_once=1)
    [3.0, 3.0, 6.0]
    >>> fixed_shares([1.0, 1.0, 2.0], 12.0, at_once=2)
    [3.0, 3.0, 6.0]
    """
    if seconds == np.inf:
        return [np.inf] * len(weights)
    last = max(weights) if at_once > 1 else 0.0
    whole = max(sum(weights) / at_once + last, 1e-300)
    return [seconds * weight / whole for weight in weights]
