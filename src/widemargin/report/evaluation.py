"""`evaluate`: what a model is worth on rows that it was not trained on."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from widemargin._typing import ArrayLike
from widemargin.report.answers import answers_of
from widemargin.report.classification import scores_of_classifier
from widemargin.report.formats import name_of
from widemargin.report.intervals import CONFIDENCE
from widemargin.report.regression import scores_of_regressor

__all__ = ["METRICS", "Metric", "evaluate"]

LONGEST_CLASS = 30  # of a name within the name of a metric


@dataclass(frozen=True)
class Metric:
    """What a metric is called, how it is shown, and which direction is better."""

    label: str
    form: str  # "percent" or "number"
    better: str  # "lower", "higher" or "" (a value of its own is right)
    mean: str = ""  # the label if there are more than two classes, if it is another
    of_second: bool = False  # whether it is about the second of two classes

    def named(self, classes: Sequence[str] = ()) -> str:
        """What it is called if these are the classes.

        Examples
        --------
        >>> METRICS["f1"].named(["no", "yes"]), METRICS["f1"].named(["a", "b", "c"])
        ('F1 of yes', 'F1 (mean over classes)')
        """
        if len(classes) > 2:
            return self.mean or self.label
        if self.of_second and len(classes) == 2:
            return f"{self.label} of {name_of(classes[1], LONGEST_CLASS)}"
        return self.label


METRICS: Mapping[str, Metric] = {
    "error": Metric("error rate", "percent", "lower"),
    "accuracy": Metric("accuracy", "percent", "higher"),
    "balanced_accuracy": Metric("balanced accuracy", "percent", "higher"),
    "f1": Metric("F1", "number", "higher", "F1 (mean over classes)", of_second=True),
    "auc": Metric("AUC", "number", "higher", "AUC (mean over classes)"),
    "average_precision": Metric("average precision", "number", "higher", of_second=True),
    "log_loss": Metric("log loss", "number", "lower"),
    "brier": Metric("Brier score", "number", "lower"),
    "r2": Metric("R²", "number", "higher"),
    "rmse": Metric("root mean squared error", "number", "lower"),
    "mae": Metric("mean absolute error", "number", "lower"),
    "median_ae": Metric("median absolute error", "number", "lower"),
    "bias": Metric("bias (mean of prediction − target)", "number", ""),
    "coverage": Metric("coverage of 90 % intervals", "percent", ""),
}


def evaluate(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    task: str,
    classes: Sequence[Any] | None = None,
    sample_weight: ArrayLike = None,
    seed: int = 0,
) -> dict[str, Any]:
    """Measures a fitted model on held-out rows; each value has a 95 % interval.

    Shares of rows have exact intervals, areas under curves have closed forms, and means of losses
    are resampled. What the model cannot give, such as probabilities, is left out with a reason.

    Parameters
    ----------
    model : estimator
        A fitted classifier or regressor.
    X : array, sparse matrix or table of shape (n_samples, n_features)
        Rows that had no part in training.
    y : array-like of shape (n_samples,)
        Their labels or values.
    task : {"classification", "regression"}
        What the target holds.
    classes : sequence, optional
        The labels in the order of the columns of `predict_proba`; `model.classes_` by default.
    sample_weight : array-like of shape (n_samples,), optional
        Weights ≥ 0 of the rows.
    seed : int, default=0
        Decides what is resampled.

    Returns
    -------
    dict
        Strings, numbers, None, lists and dictionaries of these. "metrics" has a dictionary with
        "value", "low", "high" and "method" per name; the bounds are None if rows are too few.
        Classification adds "confusion", "per_class", "roc", "pr", "calibration" and "margins",
        regression "residuals" and "residual_bins". "absent" says why something is missing, "notes"
        what to be careful about, "cuts" what was computed for a part only.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import Perceptron
    >>> from widemargin.report import evaluate
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = np.where(X[:, 0] > 0, "right", "left")
    >>> model = Perceptron().fit(X[:200], y[:200])
    >>> found = evaluate(model, X[200:], y[200:], task="classification")
    >>> error = found["metrics"]["error"]
    >>> error["low"] <= error["value"] <= error["high"] < 0.1
    True
    >>> found["absent"]["probabilities"]
    'the model has no predict_proba'
    """
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if task == "classification":
        answers = answers_of(model, X, y, classes, weights)
        found, rows = scores_of_classifier(answers, seed), len(answers.truth)
    elif task == "regression":
        found = scores_of_regressor(model, X, y, weights, seed)
        rows = len(np.asarray(y)) if weights is None else int(np.sum(weights > 0))
    else:
        raise ValueError(f"task={task!r} must be 'classification' or 'regression'")
    metrics = {name: asdict(one) for name, one in found.pop("metrics").items()}
    head = {"task": task, "rows": rows, "weighted": weights is not None, "confidence": CONFIDENCE}
    return {**head, "metrics": metrics, "notes": [], "cuts": [], **found}
