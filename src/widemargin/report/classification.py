"""The scores of a classifier on held-out rows: measures with intervals, tables and curves."""

from typing import Any

import numpy as np

from widemargin._typing import FloatArray
from widemargin.report.answers import Answers
from widemargin.report.bins import calibration_bins, histogram
from widemargin.report.counts import MOST_SCORED, Counts
from widemargin.report.intervals import (
    Measure,
    Resamples,
    mean_of_independent,
    proportion,
    wider,
)
from widemargin.report.rankings import NO_SCORE, curves_of, ranking_measures, rankings_of

__all__ = ["MOST_CLASSES", "scores_of_classifier"]

MOST_CLASSES = 20  # of the confusion matrix


def scores_of_classifier(answers: Answers, seed: int) -> dict[str, Any]:
    """Everything of `evaluate` that is about classes."""
    absent = dict(answers.absent)
    counts = Counts(answers)
    resamples = Resamples(len(answers.truth), seed)
    rankings = rankings_of(answers, counts, absent)
    found: dict[str, Any] = {"classes": answers.classes[:MOST_SCORED]}
    found["n_classes"] = len(answers.classes)
    found["metrics"] = {
        **_label_measures(answers, counts, resamples),
        **ranking_measures(answers, rankings, counts),
        **_probability_measures(answers, resamples),
    }
    found["confusion"] = _confusion(answers, counts)
    found["per_class"] = counts.table()
    if rankings.each:
        found |= curves_of(answers, rankings, counts)
    if answers.probabilities is not None:
        found["calibration"] = _calibration(answers)
    margins = _margins(answers)
    if margins is None:
        absent["margins"] = NO_SCORE
    else:
        found["margins"] = margins
    found["absent"] = absent
    found["notes"], found["cuts"] = [], []
    if rankings.left_out:
        ranked, total = len(rankings.each), len(rankings.each) + rankings.left_out
        text = f"AUC is the mean of the {ranked:,} largest of {total:,} classes"
        found["cuts"].append(text)
    strange = int(np.sum(answers.truth >= answers.known))
    if strange:
        names = ", ".join(answers.classes[answers.known :][:5])
        text = f"{strange:,} rows are of classes that the model does not know: {names}"
        found["notes"].append(text)
    return found


def _label_measures(answers: Answers, counts: Counts, resamples: Resamples) -> dict[str, Measure]:
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
    found["f1"] = Measure.of(np.mean(counts.f1[some]), wider(drawn, apart), "bootstrap")
    return found


def _mean_where_known(values: FloatArray) -> FloatArray:
    known = np.isfinite(values)
    return np.asarray(np.where(known, values, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1))


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


def _confusion(answers: Answers, counts: Counts) -> dict[str, Any]:
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
