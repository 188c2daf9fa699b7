"""Weights of rows by class and by prediction, and the scores of each class."""

from typing import Any

import numpy as np

from widemargin.report.answers import Answers
from widemargin.report.intervals import effective, f1_interval, share_interval

__all__ = ["MOST_SCORED", "Counts"]

MOST_SCORED = 200  # classes with scores of their own


class Counts:
    """Weights of rows by class and by prediction."""

    def __init__(self, answers: Answers) -> None:
        self.classes, count = answers.classes, len(answers.classes)
        self.right_rows = answers.truth == answers.predicted
        weights = answers.weights
        self.support = np.bincount(answers.truth, weights, count)
        self.predicted = np.bincount(answers.predicted, weights, count)
        self.right = np.bincount(answers.truth, weights * self.right_rows, count)
        self.present = self.support > 0
        self.scale = effective(weights) / float(weights.sum())  # rows per unit of weight
        with np.errstate(invalid="ignore", divide="ignore"):
            self.recall = np.where(self.present, self.right / self.support, np.nan)
            self.precision = np.where(self.predicted > 0, self.right / self.predicted, np.nan)
            both = self.support + self.predicted
            self.f1 = np.where(both > 0, 2 * self.right / both, np.nan)
        self.order = np.argsort(-self.support, kind="stable")  # the largest classes first

    def recall_bounds(self) -> list[tuple[float, float]]:
        rows = self.support * self.scale
        return [
            share_interval(self.recall[k], rows[k]) if self.present[k] else (0.0, 1.0)
            for k in range(len(rows))
        ]

    def f1_bounds(self) -> list[tuple[float, float]]:
        wrong = self.support + self.predicted - 2 * self.right
        return [
            f1_interval(float(right), float(miss), self.scale)
            for right, miss in zip(self.right, wrong, strict=True)
        ]

    def table(self) -> list[dict[str, Any]]:
        """Scores of the largest classes, in the order of the classes."""
        recall, f1 = self.recall_bounds(), self.f1_bounds()
        return [
            {
                "class": self.classes[k],
                "precision": _number(self.precision[k]),
                "recall": _number(self.recall[k]),
                "recall_low": recall[k][0],
                "recall_high": recall[k][1],
                "f1": _number(self.f1[k]),
                "f1_low": f1[k][0],
                "f1_high": f1[k][1],
                "support": float(self.support[k]),
                "predicted": float(self.predicted[k]),
            }
            for k in sorted(self.order[:MOST_SCORED])
        ]


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
