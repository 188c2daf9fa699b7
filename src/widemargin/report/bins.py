"""Rows in bins: what a report shows of them, without any single row."""

from typing import Any

import numpy as np

from widemargin._typing import FloatArray
from widemargin.report.intervals import effective, share_interval

__all__ = ["calibration_bins", "histogram", "quantile_bins"]

BINS = 10
BARS = 30
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
OUTER = 0.01  # the fraction of rows beyond either end of a histogram's inner bars


def equal_bins(values: FloatArray, bins: int) -> Any:
    """The bin of each row: bins of equal counts, equal values in one bin."""
    order = np.sort(values)
    inner = order[[len(order) * k // bins for k in range(1, bins)]]
    return np.searchsorted(np.unique(inner), values, side="right")


def calibration_bins(probabilities: FloatArray, hits: Any, weights: FloatArray) -> dict[str, Any]:
    """Predicted and observed shares in bins of equal counts, and the mean distance (ECE).

    Returns
    -------
    dict
        "bins": "predicted", "observed", "low", "high" and "rows" of each; and "ece".
    """
    place = equal_bins(probabilities, min(BINS, max(1, len(hits) // 5)))
    found, distance = [], 0.0
    for one in np.unique(place):
        rows = place == one
        weight = weights[rows]
        predicted = float(np.average(probabilities[rows], weights=weight))
        observed = float(np.average(hits[rows], weights=weight))
        low, high = share_interval(observed, effective(weight))
        distance += abs(predicted - observed) * float(weight.sum() / weights.sum())
        found.append(
            {
                "predicted": predicted,
                "observed": observed,
                "low": min(low, observed),
                "high": max(high, observed),
                "rows": int(rows.sum()),
            }
        )
    return {"bins": found, "ece": distance}


def histogram(values: FloatArray, weights: FloatArray, marked: Any = None) -> dict[str, Any]:
    """Counts in at most 30 bars of equal width; zero is an edge, and the ends hold what is beyond.

    Returns
    -------
    dict
        "edges", "counts", "marked" (of the rows that are marked), and "below" and "above": how
        many rows the first and last bars hold that lie outside of their edges.
    """
    low, high = np.quantile(values, [OUTER, 1 - OUTER])
    low, high = min(float(low), 0.0), max(float(high), 0.0)
    if high - low <= 1e-12 * max(abs(low), abs(high), 1e-300):
        low, high = low - 0.5, high + 0.5
    bars = int(min(BARS, max(5, np.sqrt(len(values)) * 1.5)))
    width = (high - low) / bars
    left = int(np.ceil(-low / width - 1e-9))
    edges = (np.arange(bars + 1 + (left > -low / width + 1e-9)) - left) * width
    inside = np.clip(values, edges[0], edges[-1])
    counts = np.histogram(inside, edges, weights=weights)[0]
    found = {
        "edges": [float(f"{edge:.6g}") for edge in edges],
        "counts": [float(f"{count:.6g}") for count in counts],
        "below": int(np.sum(values < edges[0])),
        "above": int(np.sum(values > edges[-1])),
    }
    if marked is not None:
        some = np.histogram(inside[marked], edges, weights=weights[marked])[0]
        found["marked"] = [float(f"{count:.6g}") for count in some]
    return found


def quantile_bins(positions: FloatArray, values: FloatArray) -> list[dict[str, float]]:
    """Quantiles of values in bins of equal counts over positions."""
    place = equal_bins(positions, min(BINS, max(1, len(values) // 10)))
    found = []
    for one in np.unique(place):
        rows = place == one
        quantiles = np.quantile(values[rows], LEVELS)
        found.append(
            {
                "low": float(positions[rows].min()),
                "high": float(positions[rows].max()),
                "centre": float(np.median(positions[rows])),
                "rows": int(rows.sum()),
                **{
                    f"q{round(100 * q):02d}": float(v)
                    for q, v in zip(LEVELS, quantiles, strict=True)
                },
            }
        )
    return found
