"""Settings chosen on validation rows, in the same way for every library that needs them."""

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline

from benchmarks._splits import Split

Grid = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Choice:
    """The setting with the least validation error, and the seconds of the search."""

    setting: dict[str, Any]
    valid_error: float | None = None
    seconds: float = 0.0

    def __str__(self) -> str:
        return " ".join(f"{key.split('__')[-1]}={value:g}" for key, value in self.setting.items())


def choose(model: Any, stages: Sequence[Grid], split: Split) -> Choice:
    """Tries each grid in turn, with the settings of the grids before; the first of equals wins.

    `split` has validation rows in place of test rows. The steps of a pipeline before the last one
    have no parameters in the grids, and are fitted once.
    """
    if not stages:
        return Choice({})
    start = time.perf_counter()
    X, X_valid, last = split.X, split.X_test, model
    if isinstance(model, Pipeline):
        head, last = clone(model[:-1]), model[-1]
        X = head.fit_transform(X, split.y)
        X_valid = head.transform(X_valid)
    setting: dict[str, Any] = {}
    least = float("inf")
    for grid in stages:
        best = setting
        for values in product(*grid.values()):
            tried = {**setting, **dict(zip(grid, values, strict=True))}
            one = clone(last).set_params(**tried)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                one.fit(X, split.y)
            error = split.error(one.predict(X_valid))
            if error < least:
                least, best = error, tried
        setting = best
    return Choice(setting, least, time.perf_counter() - start)
