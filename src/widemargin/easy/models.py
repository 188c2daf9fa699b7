"""The models of a run: a baseline within seconds, and the tabular model."""

import time
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from widemargin._typing import IntArray
from widemargin.easy.quiet import quiet
from widemargin.linear_svm import LinearSVC, LinearSVR
from widemargin.tables import TableEncoder
from widemargin.tabular import TabularClassifier, TabularRegressor

__all__ = ["BASELINE", "answered", "fit_baseline", "fit_search", "new_search"]

BASELINE = "linear SVM"
BASELINE_ROWS = 20_000
BASELINE_TOLERANCE = 1e-2
FIRST_PART, GROWTH = 500, 2  # of held-out rows that are predicted at a time


def fit_baseline(X: Any, y: np.ndarray, task: str, seconds: float) -> Pipeline:
    """A linear machine, trained for at most so many seconds."""
    options: dict[str, Any] = {"scaling": "standard", "tol": BASELINE_TOLERANCE, "random_state": 0}
    cls = LinearSVC if task == "classification" else LinearSVR
    if task == "regression":  # as ε = 0.1 and C = 1 for a target of deviation 1
        scale = float(np.std(y)) or 1.0
        options |= {"epsilon": 0.1 * scale, "C": scale}
    machine = cls(time_limit=max(seconds, 0.05), **options)
    with quiet():
        return Pipeline([("encoder", TableEncoder()), ("model", machine)]).fit(X, y)


def new_search(task: str, settings: Mapping[str, Any]) -> Any:
    """The tabular model with these parameters, which are checked."""
    model = (TabularClassifier if task == "classification" else TabularRegressor)()
    known = model.get_params()
    for name in settings:
        if name not in known:
            raise ValueError(
                f"--set {name}: {type(model).__name__} has no such parameter; it has "
                f"{', '.join(sorted(known))}"
            )
    model.set_params(**settings)
    model._validate_params()
    return model


def fit_search(model: Any, X: Any, y: np.ndarray, folds: Any) -> Any:
    """Fits the tabular model; `folds` are rows of X to train on and to judge by, or None."""
    if folds is not None:
        model.set_params(cv=folds)
    with quiet():
        model.fit(X, y)
    return model.set_params(cv=None) if folds is not None else model


def answered(
    model: Any, take: Callable[[IntArray], Any], rows: IntArray, seconds: float
) -> tuple[Any, IntArray]:
    """A model that knows its predictions for some rows, and these rows.

    Classes, probabilities, scores and intervals of a tabular model all come from one computation,
    of ever larger parts of the rows until the time is over.

    Parameters
    ----------
    model : estimator
        A tabular model; others are returned as they are.
    take : callable
        Returns the inputs of rows.
    rows : ndarray of int
        The rows in the order in which they are asked for.
    seconds : float
        After so many seconds no further part is begun.
    """
    if not isinstance(model, (TabularClassifier, TabularRegressor)):
        return model, rows
    deadline = time.perf_counter() + seconds
    found, done, size = [], 0, FIRST_PART
    while done < len(rows):
        begun = time.perf_counter()
        found.append(model._predictions(take(rows[done : done + size])))
        done, size = done + size, GROWTH * size
        if time.perf_counter() + GROWTH * (time.perf_counter() - begun) > deadline:
            break
    known, predictions = copy(model), np.concatenate(found)
    known._predictions = lambda _: predictions  # type: ignore[method-assign,assignment]
    return known, rows[: len(predictions)]
