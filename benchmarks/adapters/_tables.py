"""What the models of tables share: which tables they are for, their estimator, its settings."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from benchmarks._splits import Split
from benchmarks.adapters._library import Library

MEDIAN_ROWS = 800  # whose distances to each other give the median


class TableLibrary(Library):
    """A model of tables.

    `least_rows` and `most_rows` are those of tables that it is run on. If it has settings, they are
    chosen on validation rows, with at most `choice_rows` training rows.

    If `time_of` names another model that is run before it, its estimator has a parameter
    `time_limit`: the seconds that the other one took to fit on the same split.
    """

    title: str
    setting: str = ""  # if it is not chosen
    tasks: ClassVar[tuple[str, ...]] = ("classification", "regression")
    least_rows: int = 0
    most_rows: int | None = None
    choice_rows: int | None = None
    raw: bool = False  # whether it reads frames with text and missing values
    time_of: str | None = None
    predicts_most_likely: bool = False  # whether `predict` is `predict_proba` and its largest

    @abstractmethod
    def model(self, split: Split, threads: int) -> Any:
        """Unfitted estimator with `fit` and `predict`."""

    def stages(self, split: Split) -> Sequence[Mapping[str, Sequence[Any]]]:
        """Grids of settings, one after the other (see `benchmarks._choice`)."""
        return ()

    def model_of_choice(self, split: Split, threads: int) -> Any:
        """The estimator for which settings are chosen, with the same parameters."""
        return self.model(split, threads)

    def refusal(self, split: Split, *, slow: bool) -> str | None:
        """Why it is not run on this table, or None; `slow` allows any number of rows."""
        rows = len(split.y)
        if split.task not in self.tasks:
            return f"no {split.task}"
        if rows < self.least_rows:
            return f"fewer than {self.least_rows:,} rows"
        if self.most_rows is not None and rows > self.most_rows and not slow:
            return f"more than {self.most_rows:,} rows (--slow runs it)"
        return None


class Standardised(TransformerMixin, BaseEstimator):
    """Standardises inputs; those with two values become 0 and 1, constant ones 0.

    With `unit_distance` they are divided by the median distance of some examples: then γ = 1 of
    exp(−γ|x − x'|) is 1 / median distance.
    """

    def __init__(self, unit_distance: bool = False) -> None:
        self.unit_distance = unit_distance

    def fit(self, X: NDArray[Any], y: Any = None) -> Self:
        low, high = X.min(axis=0), X.max(axis=0)
        two = np.all(np.equal(X, low) | np.equal(X, high), axis=0)
        self.offset_ = np.where(two, low, X.mean(axis=0, dtype=np.float64))
        scale = np.where(two, high - low, X.std(axis=0, dtype=np.float64))
        self.scale_ = np.where(high > low, scale, 1.0)
        if self.unit_distance:
            order = np.random.RandomState(0).permutation(len(X))
            self.scale_ = self.scale_ * median_distance(self.transform(X[order[:MEDIAN_ROWS]]))
        return self

    def transform(self, X: NDArray[Any]) -> NDArray[np.float32]:
        return ((X - self.offset_) / self.scale_).astype(np.float32)


def median_distance(X: NDArray[Any]) -> float:
    """The median of the distances that are not 0."""
    from sklearn.metrics import pairwise_distances

    distances = pairwise_distances(X.astype(np.float64))[np.triu_indices(len(X), 1)]
    apart = distances[distances > 0]
    return float(np.median(apart)) if len(apart) else 1.0
