"""What is best: the short names of metrics, and whether one can be used with a target."""

import difflib
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer_names

from widemargin.report.record import Decision
from widemargin.tables.errors import Argument, ArgumentError
from widemargin.tabular.targets import Classes, Target, Values

__all__ = ["choose_metric"]

SHORT = {
    "error": "accuracy",
    "auc": "roc_auc",
    "log_loss": "neg_log_loss",
    "brier": "neg_brier_score",
    "rmse": "neg_root_mean_squared_error",
    "mse": "neg_mean_squared_error",
    "mae": "neg_mean_absolute_error",
    "mape": "neg_mean_absolute_percentage_error",
    "median_ae": "neg_median_absolute_error",
}
MANY_CLASSES = {"roc_auc": "roc_auc_ovr"}
BY_CLASS = ("f1", "precision", "recall", "jaccard")  # of one class that is called 1
FEW_ROWS = 1_000


def choose_metric(wanted: str | None, task: str, y: np.ndarray) -> tuple[str | None, Decision]:
    """The scorer of this name, tried on the target, and the decision for the report.

    Examples
    --------
    >>> choose_metric("f1", "classification", np.array(["a", "b", "a"]))[0]
    'f1_macro'
    >>> choose_metric(None, "regression", np.array([1.0, 2.5]))[1].value
    'squared error'
    """
    if wanted is None:
        value = "log loss" if task == "classification" else "squared error"
        return None, Decision("metric", value, "the usual choice", "--metric NAME")
    name = SHORT.get(wanted, wanted)
    if name not in get_scorer_names():
        known = sorted({*SHORT, *get_scorer_names()})
        close = difflib.get_close_matches(wanted, known, n=3, cutoff=0.4) or known[:8]
        raise ArgumentError(Argument("metric", wanted), f" is unknown; closest: {', '.join(close)}")
    if task == "classification":
        classes = np.unique(y)
        if len(classes) > 2:
            name = MANY_CLASSES.get(name, name)
        if name in BY_CLASS and (len(classes) > 2 or set(classes.tolist()) != {0, 1}):
            name = f"{name}_macro"
    try:
        _try(name, task, y)
    except (ValueError, TypeError, AttributeError, IndexError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ArgumentError(
            Argument("metric", wanted),
            f" does not suit {task} with this target: {reason}; use ",
            "another, or leave it out",
        ) from None
    shown = name if name == wanted else f"{wanted} ({name})"
    return name, Decision("metric", shown, "given", "--metric NAME")


def _try(name: str, task: str, y: np.ndarray) -> None:
    """Scores a constant prediction, as the search would."""
    target: Target
    numbers: Any
    if task == "classification":
        classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
        target = Classes(classes)
        first = np.unique(codes, return_index=True)[1]
        some = np.concatenate([first, first, np.arange(min(len(y), FEW_ROWS))])
        numbers = codes[some].astype(np.float64)
        predicted = np.tile(counts / counts.sum(), (len(some), 1))
    else:
        numbers = y[:FEW_ROWS].astype(np.float64)
        target = Values(0.0, 1.0)
        predicted = target.constant(numbers, None)
    if not np.isfinite(target.loss(name)(predicted, numbers, None)):
        raise ValueError("its value is not a number")
