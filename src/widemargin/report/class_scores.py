"""Held-out rows of a classification: confusion, classes, curves, calibration, margins."""

from collections.abc import Mapping
from typing import Any

from widemargin.report.document import Heading, Part, Plot, Series, Table, Text
from widemargin.report.formats import cut, name_of, percent, quoted, shown

__all__ = ["class_parts"]

MOST_CLASSES = 50  # in the table of classes
MOST_CONFUSIONS = 5


def class_parts(evaluation: Mapping[str, Any]) -> list[Part]:
    """Everything that a report shows of a classifier's answers."""
    parts = [*_confusion(evaluation["confusion"]), _classes(evaluation)]
    for found in (_roc(evaluation), _precision(evaluation)):
        parts += found
    if "calibration" in evaluation:
        parts += _calibration(evaluation["calibration"])
    if "margins" in evaluation:
        parts += _margins(evaluation["margins"])
    return parts


def _confusion(found: Mapping[str, Any]) -> list[Part]:
    names = [name_of(name, 30) for name in found["classes"]]
    others, counts = found["others"], found["counts"]
    if others:
        names.append(f"{others:,} other classes")
    rows = tuple((name, *row) for name, row in zip(names, counts, strict=True))
    head = (Heading("true class", "name"), *(Heading(name, "count") for name in names))
    note = cut(len(names) - bool(others) + others, len(names) - bool(others), "classes", "largest")
    table = Table("Confusion: rows are true classes, columns are answers", head, rows, note, True)
    return [table, Text(_most_confused(names, counts))]


def _most_confused(names: list[str], counts: list[list[float]]) -> str:
    pairs = [
        (count, names[i], names[j])
        for i, row in enumerate(counts)
        for j, count in enumerate(row)
        if i != j and count
    ]
    if not pairs:
        return "No class was taken for another."
    pairs.sort(key=lambda pair: -pair[0])
    said = "; ".join(
        f"{quoted(true)} taken for {quoted(answer)} ({shown(count, 'count')})"
        for count, true, answer in pairs[:MOST_CONFUSIONS]
    )
    return f"Most frequent mistakes: {said}."


def _classes(evaluation: Mapping[str, Any]) -> Table:
    every = evaluation["per_class"]
    largest = sorted(range(len(every)), key=lambda k: -every[k]["support"])[:MOST_CLASSES]
    rows = []
    for k in sorted(largest):
        one = every[k]
        recall = None if one["recall"] is None else (one["recall_low"], one["recall_high"])
        f1 = None if one["f1"] is None else (one["f1_low"], one["f1_high"])
        cells = (one["precision"], one["recall"], recall, one["f1"], f1)
        rows.append((name_of(one["class"]), *cells, one["support"], one["predicted"]))
    head = [Heading("class", "name"), Heading("precision", "percent"), Heading("recall", "percent")]
    head += [Heading("95 % interval", "percent"), Heading("F1", "number")]
    head += [Heading("95 % interval", "number")]
    head += [Heading("rows", "count"), Heading("answers", "count")]
    note = cut(evaluation["n_classes"], MOST_CLASSES, "classes", "largest")
    return Table("Scores of each class", tuple(head), tuple(rows), note)


def _roc(evaluation: Mapping[str, Any]) -> list[Part]:
    curves = evaluation.get("roc")
    if not curves:
        return []
    two = evaluation["n_classes"] == 2
    worst = min(curves, key=lambda one: one["area"])
    text = (
        f"The area under the curve of {quoted(worst['class'])} is {shown(worst['area'], 'number')}"
    )
    text += f" (95 % interval: {shown((worst['low'], worst['high']), 'number')})"
    text += "" if two else ", the smallest of all classes"
    text += ". It is the chance that a row of the class gets a higher score than one of another; "
    text += f"the dashed line is guessing. {_left_out(evaluation)}"
    series = tuple(
        Series(name_of(one["class"], 30), tuple(one["fpr"]), tuple(one["tpr"])) for one in curves
    )
    return [
        Plot(
            "lines",
            "ROC curve" if two else "ROC curves, each class against the rest",
            text.strip(),
            "false positive rate",
            "true positive rate",
            series,
            diagonal=True,
            x_range=(0.0, 1.0),
            y_range=(0.0, 1.0),
        )
    ]


def _left_out(evaluation: Mapping[str, Any]) -> str:
    left = evaluation.get("curves_left_out", 0)
    total = left + len(evaluation["roc"])
    return cut(total, total - left, "classes", "least well separated")


def _precision(evaluation: Mapping[str, Any]) -> list[Part]:
    curves = evaluation.get("pr")
    if not curves:
        return []
    worst = min(curves, key=lambda one: one["average"])
    text = f"The average precision of {quoted(worst['class'])} is "
    text += f"{shown(worst['average'], 'number')}; guessing has {percent(worst['share'])}, the "
    text += f"share of the class. {_left_out(evaluation)}"
    series = tuple(
        Series(name_of(one["class"], 30), tuple(one["recall"]), tuple(one["precision"]))
        for one in curves
    )
    return [
        Plot(
            "lines",
            "Precision against recall",
            text.strip(),
            "recall: share of the class that is found",
            "precision: share of the answers that are right",
            series,
            x_range=(0.0, 1.0),
            y_range=(0.0, 1.0),
        )
    ]


def _calibration(found: Mapping[str, Any]) -> list[Part]:
    bins = found["bins"]
    of = "the answer" if found["of"] == "prediction" else quoted(found["class"])
    inside = sum(one["low"] <= one["predicted"] <= one["high"] for one in bins)
    text = (
        f"Rows in bins of equal counts: the probability that the model gives {of}, and how often "
        f"that is true. The mean distance (ECE) is {percent(found['ece'])}. In {inside} of "
        f"{len(bins)} bins the prediction is inside the 95 % interval of what was observed."
    )
    least = min(one["predicted"] for one in bins)
    span = (0.0 if least < 0.4 else round(least - 0.15, 1), 1.0)
    span = (min(span[0], *(int(10 * one["low"]) / 10 for one in bins)), 1.0)
    series = Series(
        "observed",
        tuple(one["predicted"] for one in bins),
        tuple(one["observed"] for one in bins),
        tuple(one["low"] for one in bins),
        tuple(one["high"] for one in bins),
    )
    return [
        Plot(
            "points",
            "Calibration: can the probabilities be believed?",
            text,
            "predicted probability",
            "observed share",
            (series,),
            diagonal=True,
            x_range=span,
            y_range=span,
        )
    ]


def _margins(found: Mapping[str, Any]) -> list[Part]:
    edges, counts = tuple(found["edges"]), found["counts"]
    total = sum(counts)
    below = sum(count for edge, count in zip(edges[1:], counts, strict=True) if edge <= 0)
    what = "decision value" if found["of"] == "decision_function" else "probability"
    text = (
        f"The {what} of the true class minus the largest of the others: rows right of zero are "
        "answered correctly, and the farther, the surer. "
        f"{percent(below / total)} are left of zero."
    )
    outside = found["below"] + found["above"]
    if outside:
        text += f" The first and last bars also hold {outside:,} rows beyond them."
    right = tuple(a - b for a, b in zip(counts, found["marked"], strict=True))
    series = (Series("wrong", edges, tuple(found["marked"])), Series("right", edges, right))
    return [Plot("histogram", "Margins", text, "margin", "rows", series)]
