"""Timing that survives a noisy machine: contestants take turns, the best of several counts."""

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
    """Seconds an epoch: (fastest fit of `long` epochs − of `short` ones) / the difference.

    Validation, copies and preparations thus drop out, for us as for the rivals.
    """
    best = {(name, n): float("inf") for name in contestants for n in (short, long)}
    for _ in range(rounds):
        for name, (make, X) in contestants.items():
            for n in (short, long):
                best[name, n] = min(best[name, n], fit_seconds(make(n), X, y))
    return {name: (best[name, long] - best[name, short]) / (long - short) for name in contestants}


def fit_seconds(model: Any, X: Any, y: Any) -> float:
    """Seconds of one fit; the model's own `seconds_` where it has a clock."""
    gc.collect()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.perf_counter()
        model.fit(X, y)
        elapsed = time.perf_counter() - start
    return float(getattr(model, "seconds_", elapsed))
