"""What the paths of kernel machines and of linear ones share: many C in order, folds, the choice.

A machine that can be on a path has a parameter C, and `_share`, which makes what its fits have in
common. It is in `_shared` while the path is trained: each fit then starts from the last.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, fields
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import PredefinedSplit, check_cv
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _check_sample_weight, _num_samples

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.training.control import interrupt_flag

__all__ = ["Folds", "Path", "adopt", "grid_of", "unfitted"]


@dataclass(frozen=True, eq=False)
class Path:
    """Fitted models, one for each C; arrays have a row each."""

    Cs: FloatArray
    models: list[Any]
    seconds: FloatArray
    primal_objective: FloatArray
    dual_objective: FloatArray
    duality_gap: FloatArray
    n_iter: IntArray

    @classmethod
    def of(
        cls, model: Any, X: ArrayLike, y: ArrayLike, Cs: ArrayLike, sample_weight: ArrayLike
    ) -> Self:
        """Trains copies of the model in ascending order of C; results are in the order given."""
        values = checked_Cs(Cs)
        order = np.argsort(values, kind="stable")
        found: dict[int, tuple[Any, float]] = {}
        begin = time.perf_counter()
        fits = along(model, X, y, values[order], sample_weight)
        for number, fitted in zip(order, fits, strict=False):  # an interrupted path is shorter
            found[int(number)] = fitted, time.perf_counter() - begin
            begin = time.perf_counter()
        kept = sorted(found)
        models = [found[number][0] for number in kept]
        seconds = np.array([found[number][1] for number in kept])
        learnt = [field.name for field in fields(cls)][3:]
        measures = {name: np.array([getattr(m, f"{name}_") for m in models]) for name in learnt}
        return cls(values[kept], models, seconds, **measures)


def unfitted(
    estimator: Any, default: Any, parameters: dict[str, Any], base: type[Any], use: str
) -> Any:
    """A copy of the estimator with these parameters, if it is such a machine and has a C."""
    model = (default if estimator is None else clone(estimator)).set_params(**parameters)
    if not isinstance(model, base) or "C" not in model.get_params(deep=False):
        raise TypeError(f"estimator={estimator!r} has no C to vary; use {use}")
    return model


def checked_Cs(Cs: ArrayLike) -> FloatArray:
    values = np.array(Cs, dtype=np.float64)
    if values.ndim != 1 or not len(values) or not np.all((values > 0) & np.isfinite(values)):
        raise ValueError(f"Cs={Cs!r} must be a list of positive numbers")
    return values


def grid_of(Cs: ArrayLike) -> FloatArray:
    """The values of C, ascending; a number asks for as many from 0.01 to 100, in equal ratios."""
    return np.logspace(-2, 2, Cs) if isinstance(Cs, Integral) else np.sort(checked_Cs(Cs))


def along(
    model: Any, X: ArrayLike, y: ArrayLike, Cs: FloatArray, sample_weight: ArrayLike
) -> Iterator[Any]:
    """A fitted copy of the model for each C, up to the one during which Ctrl-C came."""
    model._shared = model._share(Cs)
    for C in Cs:
        with interrupt_flag() as interrupted:  # also if it came too late to stop the fit
            model.set_params(C=float(C)).fit(X, y, sample_weight)
        fitted = copy(model)
        del fitted._shared
        yield fitted
        if interrupted.is_set():
            return


class Folds:
    """Rows to train on and rows to score, those of weight zero left out.

    Parameters
    ----------
    estimator : estimator
        The one that chooses, with its `scoring`.
    X, y : array-like
        All examples, validated.
    sample_weight : array-like or None
        Their weights, which count in training and in scores.
    cv : int, splitter or iterable of pairs
        How to split. Only what is to be made is made of the rows that have a weight; pairs and
        `PredefinedSplit` number all rows.
    """

    def __init__(
        self, estimator: Any, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike, cv: Any
    ) -> None:
        self.estimator, self.X, self.y, self.weights = estimator, X, y, None
        count = _num_samples(X)
        has_weight = np.ones(count, dtype=bool)
        if sample_weight is not None:
            self.weights = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
            has_weight = self.weights > 0
        rows = np.flatnonzero(has_weight)
        if isinstance(cv, (Iterable, PredefinedSplit)):
            rows = np.arange(count)
        splits = check_cv(cv, y[rows], classifier=True).split(rows, y[rows])
        self.splits = [
            tuple(part[has_weight[part]] for part in (rows[train], rows[test]))
            for train, test in splits
        ]

    def scores(self, models: Sequence[Any], Cs: FloatArray) -> FloatArray:
        """Those of each model, C and fold."""
        scorer = check_scoring(self.estimator, scoring=self.estimator.scoring)
        scores = np.empty((len(models), len(Cs), len(self.splits)))
        for k, (train, test) in enumerate(self.splits):
            some = None if self.weights is None else self.weights[train]
            told = {} if self.weights is None else {"sample_weight": self.weights[test]}
            for m, model in enumerate(models):
                X_train, y_train = _safe_split(model, self.X, self.y, train)
                X_test, y_test = _safe_split(model, self.X, self.y, test, train)
                fits = list(along(clone(model), X_train, y_train, Cs, some))
                if len(fits) < len(Cs) or fits[-1].stop_reason_ == "interrupted":
                    name = type(self.estimator).__name__
                    raise KeyboardInterrupt(f"{name} was interrupted before it chose C")
                scores[m, :, k] = [scorer(fitted, X_test, y_test, **told) for fitted in fits]
        return scores


def adopt(estimator: Any, best: Any, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike) -> None:
    """Trains the chosen model, under the estimator's callbacks, and takes what it learnt."""
    best.set_callbacks(*getattr(estimator, "_skl_callbacks", ()))
    best.fit(X, y, sample_weight)
    known = {*best.get_params(deep=False), "_skl_callbacks"}
    vars(estimator).update({k: v for k, v in vars(best).items() if k not in known})
