"""What the benchmark of tables measures: a model on a split, and its mean over a table's splits."""

import argparse
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks._choice import Choice, choose
from benchmarks._measure import fit_seconds
from benchmarks._scores import auc, log_loss
from benchmarks._splits import Split
from benchmarks.adapters._tables import TableLibrary


@dataclass
class Entry:
    """A model on one split: its setting, its scores, and the best times of several fits."""

    model: TableLibrary
    choice: Choice = field(default_factory=lambda: Choice({}))
    time_limit: float | None = None  # seconds of the model that `model.time_of` names
    setting: str = ""
    error: float = math.nan
    log_loss: float | None = None
    auc: float | None = None
    seconds: float = math.inf
    predict_seconds: float = math.inf
    failure: str | None = None

    def attempt(self, step: Callable[[Split, argparse.Namespace], None], *arguments: Any) -> None:
        """A model that fails does not end a run of hours; it is left out of this table."""
        if self.failure is None:
            try:
                step(*arguments)
            except Exception as error:
                self.failure = f"failed, {type(error).__name__}: {error}"

    def choose(self, split: Split, options: argparse.Namespace) -> None:
        rows = min(options.choice_rows, self.model.choice_rows or options.choice_rows)
        part = split.for_choice(rows)
        searched = self.model.model_of_choice(part, options.threads)
        self.choice = choose(searched, self.model.stages(part), part)

    def fit(self, split: Split, options: argparse.Namespace) -> None:
        estimator = self.model.model(split, options.threads)
        last = f"{estimator.steps[-1][0]}__" if hasattr(estimator, "steps") else ""
        estimator.set_params(**{last + key: value for key, value in self.choice.setting.items()})
        if self.time_limit is not None:
            estimator.set_params(time_limit=self.time_limit)
        X, X_test = split.inputs(raw=self.model.raw)
        self.seconds = min(self.seconds, fit_seconds(estimator, X, split.y))
        self.setting = str(self.choice) or getattr(estimator, "setting_", self.model.setting)
        predicted, probabilities = self._predict(estimator, X_test, classes=split.classes)
        self.error = split.error(predicted)
        if probabilities is not None:
            self.log_loss = log_loss(split.y_test, probabilities, estimator.classes_)
            self.auc = auc(split.y_test, probabilities)

    def _predict(
        self, estimator: Any, X: Any, *, classes: bool
    ) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Predictions, whose time counts, and probabilities of classes if there are any."""
        probabilities = None
        start = time.perf_counter()
        if classes and self.model.predicts_most_likely:
            probabilities = estimator.predict_proba(X)
            predicted = estimator.classes_[probabilities.argmax(axis=1)]
        else:
            predicted = estimator.predict(X)
        self.predict_seconds = min(self.predict_seconds, time.perf_counter() - start)
        if classes and probabilities is None and hasattr(estimator, "predict_proba"):
            probabilities = estimator.predict_proba(X)
        return predicted, probabilities


@dataclass
class Line:
    """A model on one table, the mean over its splits."""

    table: str
    rows: int
    model: str
    title: str
    error: float  # in per cent
    log_loss: float | None
    auc: float | None
    seconds: float
    predict_seconds: float
    choice_seconds: float
    valid_error: float | None
    settings: list[str]
    errors: list[float]
    ratio: float | None = None  # seconds / those of the baseline

    @classmethod
    def of(cls, table: str, rows: int, model: TableLibrary, entries: Sequence[Entry]) -> "Line":
        return cls(
            *(table, rows, model.name, model.title),
            error=float(np.mean([entry.error for entry in entries])),
            log_loss=_mean([entry.log_loss for entry in entries]),
            auc=_mean([entry.auc for entry in entries]),
            seconds=float(np.mean([entry.seconds for entry in entries])),
            predict_seconds=float(np.mean([entry.predict_seconds for entry in entries])),
            choice_seconds=float(np.mean([entry.choice.seconds for entry in entries])),
            valid_error=_mean([entry.choice.valid_error for entry in entries]),
            settings=[entry.setting for entry in entries],
            errors=[entry.error for entry in entries],
        )


def _mean(values: Sequence[float | None]) -> float | None:
    """The mean of those that are known, or None."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
