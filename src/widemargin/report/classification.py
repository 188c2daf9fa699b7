"""The scores of a classifier on held-out rows: measures with intervals, tables and curves."""

from typing import Any

import numpy as np

from widemargin._typing import FloatArray
from widemargin.report.answers import Answers
from widemargin.report.bins import calibration_bins, histogram
from widemargin.report.intervals import (
    Measure,
    Resamples,
    effective,
    f1_interval,
    mean_of_independent,
    precision_interval,
    proportion,
    share_interval,
)
from widemargin.report.ranking import Ranking, rank

__all__ = ["MOST_CLASSES", "MOST_CURVES", "scores_of_classifier"]

MOST_CLASSES = 20  # of the confusion matrix
MOST_SCORED = 200  # classes with scores of their own
MOST_CURVES = 6
ONE_SIDE = "the rows hold one class only"
NO_SCORE = "the model gives neither probabilities nor one score per class"


def scores_of_classifier(answers: Answers, seed: int) -> dict[str, Any]:
    """Everything of `evaluate` that is about classes."""
    absent = dict(answers.absent)
    counts = _Counts(answers)
    resamples = Resamples(len(answers.truth), seed)
    rankings = _rankings(answers, absent)
    found: dict[str, Any] = {"classes": answers.classes[:MOST_SCORED]}
    found["n_classes"] = len(answers.classes)
    found["metrics"] = {
        **_label_measures(answers, counts, resamples),
        **_ranking_measures(answers, rankings, counts),
        **_probability_measures(answers, resamples),
    }
    found["confusion"] = _confusion(answers, counts)
    found["per_class"] = counts.table()
    if rankings:
        found |= _curves(answers, rankings, counts)
    if answers.probabilities is not None:
        found["calibration"] = _calibration(answers)
    margins = _margins(answers)
    if margins is None:
        absent["margins"] = NO_SCORE
    else:
        found["margins"] = margins
    found["absent"] = absent
    strange = int(np.sum(answers.truth >= answers.known))
    if strange:
        names = ", ".join(answers.classes[answers.known :][:5])
        found["notes"] = [f"{strange:,} rows are of classes that the model does not know: {names}"]
    return found


class _Counts:
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


def _label_measures(answers: Answers, counts: _Counts, resamples: Resamples) -> dict[str, Measure]:
    """Measures of the predicted labels."""
    found = {
        "error": proportion(~counts.right_rows, answers.weights),
        "accuracy": proportion(counts.right_rows, answers.weights),
    }
    here = np.flatnonzero(counts.present)
    count = len(counts.classes)
    right = resamples.sums_by_class(answers.truth, answers.weights * counts.right_rows, count)
    support = resamples.sums_by_class(answers.truth, answers.weights, count)
    predicted = resamples.sums_by_class(answers.predicted, answers.weights, count)
    with np.errstate(invalid="ignore", divide="ignore"):
        f1 = 2 * right / (support + predicted)
    recall_bounds = np.array(counts.recall_bounds())[here]
    found["balanced_accuracy"] = Measure.of(
        np.mean(counts.recall[here]),
        mean_of_independent(counts.recall[here], recall_bounds[:, 0], recall_bounds[:, 1]),
        "from the intervals of the classes",
    )
    f1_bounds = counts.f1_bounds()
    if count == 2:
        if counts.support[1] + counts.predicted[1] > 0:
            found["f1"] = Measure.of(counts.f1[1], f1_bounds[1], "exact")
        return found
    some = np.flatnonzero(counts.support + counts.predicted > 0)
    pairs = np.array(f1_bounds)[some]
    # Wrong rows count in two classes, which a bootstrap sees; it sees nothing if no row is wrong.
    drawn = resamples.bounds(_mean_where_known(f1[:, some]))
    apart = mean_of_independent(counts.f1[some], pairs[:, 0], pairs[:, 1])
    found["f1"] = Measure.of(np.mean(counts.f1[some]), _wider(drawn, apart), "bootstrap")
    return found


def _mean_where_known(values: FloatArray) -> FloatArray:
    known = np.isfinite(values)
    return np.asarray(np.where(known, values, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1))


def _wider(one: tuple[float | None, float | None], other: tuple[float, float]) -> Any:
    if one[0] is None or one[1] is None:
        return other
    return max(0.0, min(one[0], other[0])), min(1.0, max(one[1], other[1]))


def _rankings(answers: Answers, absent: dict[str, str]) -> dict[int, Ranking]:
    """One ranking per class that has rows, and rows of other classes; of two classes, one."""
    scores = answers.probabilities if answers.probabilities is not None else answers.scores
    reason = ""
    if scores is None:
        reason = NO_SCORE
    elif len(np.unique(answers.truth)) < 2:
        reason = ONE_SIDE
    if reason or scores is None:
        absent["roc"] = absent["pr"] = reason
        return {}
    if len(answers.classes) == 2:
        column = scores if scores.ndim == 1 else scores[:, 1]
        return {1: rank(column, answers.truth == 1, answers.weights)}
    if scores.ndim == 1:  # rows of a third class, and one score for two
        absent["roc"] = absent["pr"] = "one score cannot rank three classes"
        return {}
    found = {}
    for k in range(min(answers.known, scores.shape[1])):
        positive = answers.truth == k
        if positive.any():
            found[k] = rank(scores[:, k], positive, answers.weights)
    return found


def _ranking_measures(
    answers: Answers, rankings: dict[int, Ranking], counts: _Counts
) -> dict[str, Measure]:
    if not rankings:
        return {}
    if len(answers.classes) == 2:
        only = rankings[1]
        average, positive = only.average_precision, counts.support[1] * counts.scale
        return {
            "auc": Measure.of(only.area, only.bounds, "score interval"),
            "average_precision": Measure.of(
                average, precision_interval(average, float(positive)), "logit interval"
            ),
        }
    areas = np.array([one.area for one in rankings.values()])
    influence = np.mean([one.influence for one in rankings.values()], axis=0)
    rows = effective(answers.weights)
    spread = np.sqrt(np.average(influence**2, weights=answers.weights) / rows)
    pairs = np.array([one.bounds for one in rankings.values()])
    apart = mean_of_independent(areas, pairs[:, 0], pairs[:, 1])
    mean = float(areas.mean())
    drawn = (mean - 1.96 * float(spread), mean + 1.96 * float(spread))
    return {"auc": Measure.of(mean, _wider(drawn, apart), "influence of rows")}


def _probability_measures(answers: Answers, resamples: Resamples) -> dict[str, Measure]:
    p = answers.probabilities
    if p is None:
        return {}
    rows = np.arange(len(p))
    total = np.maximum(p.sum(axis=1), np.finfo(float).tiny)
    least = np.finfo(p.dtype).eps
    of_truth = np.clip(p[rows, answers.truth] / total, least, 1.0 - least)
    log_loss = -np.log(of_truth)
    squares = np.sum(p**2, axis=1) - 2 * p[rows, answers.truth] + 1.0
    if p.shape[1] == 2:
        squares = squares / 2.0  # as of the probability of one class
    return {
        "log_loss": resamples.mean(log_loss, answers.weights),
        "brier": resamples.mean(squares, answers.weights),
    }


def _confusion(answers: Answers, counts: _Counts) -> dict[str, Any]:
    """Counts of the largest classes; others are one more row and column if classes are cut."""
    total = len(answers.classes)
    kept = np.sort(counts.order[:MOST_CLASSES])
    cut = total > MOST_CLASSES
    place = np.full(total, len(kept))
    place[kept] = np.arange(len(kept))
    size = len(kept) + cut
    cell = place[answers.truth] * size + place[answers.predicted]
    table = np.bincount(cell, answers.weights, size * size).reshape(size, size)
    names = [answers.classes[k] for k in kept]
    return {
        "classes": names,
        "others": int(total - len(kept)),
        "counts": [[_count(value) for value in row] for row in table],
    }


def _count(value: float) -> float | int:
    return int(value) if value == int(value) else round(float(value), 4)


def _curves(answers: Answers, rankings: dict[int, Ranking], counts: _Counts) -> dict[str, Any]:
    kept = [k for k in counts.order if k in rankings][:MOST_CURVES]
    roc, pr = [], []
    for k in kept:
        one, name = rankings[int(k)], answers.classes[int(k)]
        bounds = {"low": one.bounds[0], "high": one.bounds[1]}
        roc.append({"class": name, "area": one.area, **bounds, **one.roc()})
        share = float(counts.support[k] / counts.support.sum())
        pr.append(
            {"class": name, "average": one.average_precision, "share": share}
            | one.precision_recall()
        )
    return {"roc": roc, "pr": pr, "curves_left_out": len(rankings) - len(kept)}


def _calibration(answers: Answers) -> dict[str, Any]:
    p = answers.probabilities
    assert p is not None
    if len(answers.classes) == 2:
        name = answers.classes[1]
        found = calibration_bins(p[:, 1], answers.truth == 1, answers.weights)
        return {"of": "class", "class": name, **found}
    top = p.argmax(axis=1)
    found = calibration_bins(p.max(axis=1), top == answers.truth, answers.weights)
    return {"of": "prediction", "class": None, **found}


def _margins(answers: Answers) -> dict[str, Any] | None:
    """The score of the true class minus the best of the others: positive where it is right."""
    scores, truth = answers.scores, answers.truth
    used = truth < answers.known
    rows = np.arange(len(truth))[used]
    kind = "decision_function"
    if scores is not None and scores.ndim == 1:
        margins = scores[used] * np.where(truth[used] == 1, 1.0, -1.0)
    else:
        if scores is None:
            scores, kind = answers.probabilities, "probabilities"
        if scores is None or scores.shape[1] < 2:
            return None
        others = scores[used].copy()
        others[np.arange(len(rows)), truth[used]] = -np.inf
        margins = scores[rows, truth[used]] - others.max(axis=1)
    if not len(margins):
        return None
    wrong = answers.truth[used] != answers.predicted[used]
    return {"of": kind, **histogram(margins, answers.weights[used], wrong)}
