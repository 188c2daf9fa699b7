"""Areas and curves of all classes of a classification."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from widemargin._typing import FloatArray
from widemargin.report.answers import Answers
from widemargin.report.counts import Counts
from widemargin.report.intervals import (
    Measure,
    Z,
    effective,
    mean_of_independent,
    precision_interval,
    wider,
)
from widemargin.report.ranking import Ranking, rank

__all__ = ["NO_SCORE", "Rankings", "curves_of", "ranking_measures", "rankings_of"]

MOST_CURVES = 6
MOST_RANKED, FEWEST_RANKED = 100, 10  # classes whose areas are computed
MOST_VALUES = 20_000_000  # scores that are sorted for them
ONE_SIDE = "the rows hold one class only"
NO_SCORE = "the model gives neither probabilities nor one score per class"


@dataclass(frozen=True)
class Rankings:
    """Rankings by class, the mean influence of each row, and how many classes have none."""

    each: dict[int, Ranking] = field(default_factory=dict)
    influence: FloatArray = field(default_factory=lambda: np.zeros(0))
    left_out: int = 0


def rankings_of(answers: Answers, counts: Counts, absent: dict[str, str]) -> Rankings:
    """One ranking per class that has rows, and rows of other classes; of two classes, one."""
    scores = answers.probabilities if answers.probabilities is not None else answers.scores
    reason = ""
    if scores is None:
        reason = NO_SCORE
    elif counts.present.sum() < 2:
        reason = ONE_SIDE
    elif scores.ndim == 1 and len(answers.classes) > 2:
        reason = "one score cannot rank three classes"
    if reason or scores is None:
        absent["roc"] = absent["pr"] = reason
        return Rankings()
    if len(answers.classes) == 2:
        column = scores if scores.ndim == 1 else scores[:, 1]
        one, influence = rank(column, answers.truth == 1, answers.weights)
        return Rankings({1: one}, influence)
    most = int(min(MOST_RANKED, max(FEWEST_RANKED, MOST_VALUES // len(answers.truth))))
    every = [int(k) for k in counts.order if counts.present[k] and k < answers.known]
    found, total = {}, np.zeros(len(answers.truth))
    for k in every[:most]:
        found[k], influence = rank(scores[:, k], answers.truth == k, answers.weights)
        total += influence
    return Rankings(found, total / max(1, len(found)), len(every) - len(found))


def ranking_measures(answers: Answers, rankings: Rankings, counts: Counts) -> dict[str, Measure]:
    if not rankings.each:
        return {}
    if len(answers.classes) == 2:
        only = rankings.each[1]
        average, positive = only.average_precision, counts.support[1] * counts.scale
        return {
            "auc": Measure.of(only.area, only.bounds, "score interval"),
            "average_precision": Measure.of(
                average, precision_interval(average, float(positive)), "logit interval"
            ),
        }
    areas = np.array([one.area for one in rankings.each.values()])
    pairs = np.array([one.bounds for one in rankings.each.values()])
    variance = np.average(rankings.influence**2, weights=answers.weights)
    spread = Z * float(np.sqrt(variance / effective(answers.weights)))
    mean = float(areas.mean())
    apart = mean_of_independent(areas, pairs[:, 0], pairs[:, 1])
    bounds = wider((mean - spread, mean + spread), apart)
    return {"auc": Measure.of(mean, bounds, "influence of rows")}


def curves_of(answers: Answers, rankings: Rankings, counts: Counts) -> dict[str, Any]:
    kept = sorted(rankings.each, key=lambda k: rankings.each[k].area)[:MOST_CURVES]
    roc, pr = [], []
    for k in kept:
        one, name = rankings.each[k], answers.classes[k]
        bounds = {"low": one.bounds[0], "high": one.bounds[1]}
        roc.append({"class": name, "area": one.area, **bounds, **one.roc})
        share = float(counts.support[k] / counts.support.sum())
        pr.append(
            {"class": name, "average": one.average_precision, "share": share} | one.precision_recall
        )
    return {
        "roc": roc,
        "pr": pr,
        "curves_left_out": len(rankings.each) + rankings.left_out - len(kept),
    }
