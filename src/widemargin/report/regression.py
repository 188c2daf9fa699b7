"""The scores of a regressor on held-out rows: measures with intervals, residuals in bins."""

from typing import Any

import numpy as np

from widemargin._typing import FloatArray
from widemargin.report.answers import check_weights, finite
from widemargin.report.bins import histogram, quantile_bins
from widemargin.report.intervals import Measure, Resamples, median_interval, proportion

__all__ = ["scores_of_regressor"]

COVERAGE = 0.9  # of the intervals that are asked for


def scores_of_regressor(
    model: Any, X: Any, y: Any, weights: FloatArray | None, seed: int
) -> dict[str, Any]:
    """Everything of `evaluate` that is about values."""
    truth, predicted = _values(model, X, y)
    checked = check_weights(weights, len(truth))
    used = checked > 0
    absent: dict[str, str] = {}
    metrics = _measures(truth[used], predicted[used], checked[used], seed, absent)
    intervals = _coverage(model, X, truth, checked, absent)
    residuals = truth[used] - predicted[used]
    found: dict[str, Any] = {"metrics": metrics, "target": _target(truth[used], checked[used])}
    if intervals is not None:
        metrics["coverage"] = intervals[0]
        found["intervals"] = {"nominal": COVERAGE, "mean_width": intervals[1]}
    found["residuals"] = histogram(residuals, checked[used])
    found["residual_bins"] = quantile_bins(predicted[used], residuals)
    found["absent"] = absent
    return found


def _values(model: Any, X: Any, y: Any) -> tuple[FloatArray, FloatArray]:
    try:
        truth = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            "y holds values that are not numbers; use task='classification' for labels"
        ) from None
    if truth.ndim == 2 and truth.shape[1] == 1:
        truth = truth[:, 0]
    if truth.ndim != 1 or not len(truth):
        raise ValueError(
            f"y has the shape {truth.shape}; evaluate needs one value per row, at least one row"
        )
    if not np.all(np.isfinite(truth)):
        raise ValueError("y holds NaN or infinite values; leave out the rows without a target")
    predicted = finite(model.predict(X), "predict")
    if predicted.shape == (len(truth), 1):
        predicted = predicted[:, 0]
    if predicted.shape != truth.shape:
        raise ValueError(
            f"predict returned the shape {predicted.shape} for y of shape {truth.shape}; give the "
            "rows of X that belong to y"
        )
    return truth, predicted


def _measures(
    truth: FloatArray,
    predicted: FloatArray,
    weights: FloatArray,
    seed: int,
    absent: dict[str, str],
) -> dict[str, Measure]:
    errors = truth - predicted
    resamples = Resamples(len(truth), seed)
    squares = resamples.mean(errors**2, weights)
    found = {}
    centred = truth - np.average(truth, weights=weights)
    spread = float(np.sum(weights * centred**2))
    if spread > 0:
        value = 1.0 - float(np.sum(weights * errors**2)) / spread
        total, first, second, wrong = resamples.sums(
            weights, weights * centred, weights * centred**2, weights * errors**2
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            drawn = 1.0 - wrong / (second - first**2 / total)
        found["r2"] = Measure.of(value, resamples.bounds(drawn), "bootstrap")
    else:
        absent["r2"] = "the targets of the held-out rows are all equal"
    found["rmse"] = Measure(
        float(np.sqrt(squares.value)),
        None if squares.low is None else float(np.sqrt(squares.low)),
        None if squares.high is None else float(np.sqrt(squares.high)),
        squares.method,
    )
    found["mae"] = resamples.mean(np.abs(errors), weights)
    found["median_ae"] = median_interval(np.abs(errors), weights)
    found["bias"] = resamples.mean(predicted - truth, weights)
    return found


def _target(truth: FloatArray, weights: FloatArray) -> dict[str, float]:
    """What the held-out targets look like, so that errors have a scale."""
    mean = float(np.average(truth, weights=weights))
    spread = float(np.sqrt(np.average((truth - mean) ** 2, weights=weights)))
    low, middle, high = (float(q) for q in np.quantile(truth, [0.05, 0.5, 0.95]))
    return {"mean": mean, "deviation": spread, "q05": low, "median": middle, "q95": high}


def _coverage(
    model: Any, X: Any, truth: FloatArray, weights: FloatArray, absent: dict[str, str]
) -> tuple[Measure, float] | None:
    """How many targets lie in the intervals of 90 %, and the mean width of these."""
    if not hasattr(model, "predict_interval"):
        absent["coverage"] = "the model has no predict_interval"
        return None
    bounds = finite(model.predict_interval(X, coverage=COVERAGE), "predict_interval")
    if bounds.shape != (len(truth), 2):
        raise ValueError(
            f"predict_interval returned the shape {bounds.shape} for {len(truth)} rows; it must "
            "return a low and a high value per row"
        )
    used = weights > 0
    inside = (bounds[:, 0] <= truth) & (truth <= bounds[:, 1])
    width = np.average(bounds[:, 1] - bounds[:, 0], weights=weights)
    return proportion(inside[used], weights[used]), float(width)
