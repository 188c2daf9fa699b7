"""Timing on a noisy machine: contestants take turns, and the best of several fits counts."""

import gc
import time
import warnings
from collections.abc import Callable
from typing import Any

from sklearn.exceptions import ConvergenceWarning

Make = Callable[[int], Any]  # epochs -> unfitted estimator


def epoch_seconds(
    contestants: dict[str, tuple[Make, Any]], y: Any, *, short: int, long: int, rounds: int
) -> dict[str, float]:
    """Seconds per epoch: (fastest fit of `long` epochs − fastest of `short` ones) / (long − short).

    This removes validation, copies and preparation from the time of every library.
    """
    best = {(name, n): float("inf") for name in contestants for n in (short, long)}
    for _ in range(rounds):
        for name, (make, X) in contestants.items():
            for n in (short, long):
                best[name, n] = min(best[name, n], fit_seconds(make(n), X, y))
    return {name: (best[name, long] - best[name, short]) / (long - short) for name in contestants}


def fit_seconds(model: Any, X: Any, y: Any) -> float:
    """Seconds of one fit; `seconds_` of the model if it times itself."""
    gc.collect()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.perf_counter()
        model.fit(X, y)
        elapsed = time.perf_counter() - start
    return float(getattr(model, "seconds_", elapsed))
