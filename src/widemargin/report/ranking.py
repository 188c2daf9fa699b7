r"""One class against the rest by a score: ROC, precision and recall, and areas.

Rows of equal scores are one step. The area :math:`A` is the probability that a row of the class
has a higher score than one of the rest, ties counted half. Each row's influence on A gives the
variance of areas and of their means over classes (DeLong, DeLong and Clarke-Pearson 1988).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin._typing import FloatArray
from widemargin.report.intervals import area_interval, effective

__all__ = ["MOST_POINTS", "Ranking", "rank"]

MOST_POINTS = 100


@dataclass(frozen=True)
class Ranking:
    """What a score says of one class; curves have at most 100 points."""

    area: float
    bounds: tuple[float, float]  # of the area
    average_precision: float
    roc: dict[str, list[float]]  # "fpr", "tpr"
    precision_recall: dict[str, list[float]]  # "recall", "precision"


def rank(scores: FloatArray, positive: Any, weights: FloatArray) -> tuple[Ranking, FloatArray]:
    """Ranks rows by their scores; both sides need at least one row of positive weight.

    Returns
    -------
    Ranking
        The curves and areas.
    ndarray of shape (n_rows,)
        The influence of each row on the area.
    """
    values, position = np.unique(-scores, return_inverse=True)
    hits = np.bincount(position, weights * positive, len(values))
    misses = np.bincount(position, weights * ~positive, len(values))
    all_hits, all_misses = hits.sum(), misses.sum()
    above_hits, above_misses = np.cumsum(hits), np.cumsum(misses)
    true = np.r_[0.0, above_hits / all_hits]
    false = np.r_[0.0, above_misses / all_misses]
    precision = np.r_[1.0, above_hits / (above_hits + above_misses)]
    # How much of the other side each row is on the right side of.
    of_hit = 1.0 - (above_misses - misses / 2.0) / all_misses
    of_miss = (above_hits - hits / 2.0) / all_hits
    area = float(hits @ of_hit / all_hits)
    share = all_hits / (all_hits + all_misses)
    influence = np.where(
        positive, (of_hit[position] - area) / share, (of_miss[position] - area) / (1.0 - share)
    )
    found = Ranking(
        area,
        area_interval(area, effective(weights[positive]), effective(weights[~positive])),
        min(1.0, float(np.sum(np.diff(true) * precision[1:]))),
        _roc(false, true),
        _precision_recall(true, precision),
    )
    return found, influence


def _roc(false: FloatArray, true: FloatArray) -> dict[str, list[float]]:
    """The points are even along the curve."""
    kept = _evenly(false + true)
    return {"fpr": _rounded(false[kept]), "tpr": _rounded(true[kept])}


def _precision_recall(true: FloatArray, precision: FloatArray) -> dict[str, list[float]]:
    """The points are even in recall, up to the first step that finds the whole class."""
    full = int(np.searchsorted(true, 1.0 - 1e-12)) + 1
    kept = _evenly(true[:full])
    kept = kept[kept > 0]  # without any row there is no precision
    return {"recall": _rounded(true[kept]), "precision": _rounded(precision[kept])}


def _evenly(positions: FloatArray) -> Any:
    """Indices of at most 100 points that are evenly spread over non-decreasing positions."""
    if len(positions) <= MOST_POINTS:
        return np.arange(len(positions))
    wanted = np.linspace(positions[0], positions[-1], MOST_POINTS)
    found = np.searchsorted(positions, wanted)
    found[-1] = len(positions) - 1
    return np.unique(np.r_[0, found])[-MOST_POINTS:]


def _rounded(values: FloatArray) -> list[float]:
    return [float(value) for value in np.round(values, 5)]
