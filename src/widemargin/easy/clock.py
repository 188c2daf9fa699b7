"""The wall clock of a whole run, and what each stage may take of it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

__all__ = ["Clock"]

RESERVED, LEAST_RESERVE, MOST_RESERVE = 0.07, 0.8, 8.0  # of a limit, for what follows the fit
BASELINE_SHARE, MOST_BASELINE = 0.08, 10.0
FEWEST_SECONDS = 0.5  # for which a search is begun
SEARCH_SHARE = 0.93  # of its time, that a search is told: it may end somewhat later
ROWS_PER_SECOND, NUMBERS_PER_SECOND = 1_000, 500_000  # of a limit, that a search makes use of
FEWEST_ROWS = 5_000


class Clock:
    """Measures the stages of a run.

    Parameters
    ----------
    limit : float or None
        Seconds of the whole run; None: as long as it takes.
    started : float or None
        When it began, by `time.perf_counter`; None: now.
    """

    def __init__(self, limit: float | None, started: float | None = None) -> None:
        self.limit = np.inf if limit is None else float(limit)
        self.started = time.perf_counter() if started is None else started
        self.seconds: dict[str, float] = {}  # of each stage that has ended
        if started is not None:
            self.seconds["start"] = time.perf_counter() - started

    @property
    def elapsed(self) -> float:
        """Seconds since the run began."""
        return time.perf_counter() - self.started

    @property
    def left(self) -> float:
        """Seconds until the limit, at least 0."""
        return max(0.0, self.limit - self.elapsed)

    @property
    def reserve(self) -> float:
        """Seconds kept for evaluation, files and the report."""
        return float(min(MOST_RESERVE, max(LEAST_RESERVE, RESERVED * self.limit)))

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measures one stage."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begun

    def for_baseline(self) -> float:
        """Seconds that the baseline may take."""
        share = MOST_BASELINE if self.limit == np.inf else BASELINE_SHARE * self.limit
        return float(max(0.1, min(share, MOST_BASELINE, 0.5 * self.left)))

    def for_search(self) -> float | None:
        """Seconds that the search may take; None: no limit; 0: there is no time for one."""
        if self.limit == np.inf:
            return None
        seconds = SEARCH_SHARE * (self.left - self.reserve)
        return float(seconds) if seconds >= FEWEST_SECONDS else 0.0

    def rows(self, width: int) -> float:
        """The most rows of so many columns that a search can make use of."""
        if self.limit == np.inf:
            return np.inf
        most = min(ROWS_PER_SECOND, NUMBERS_PER_SECOND / max(1, width))
        return float(max(FEWEST_ROWS, int(most * self.limit)))
