"""The part of a report about held-out rows: the measures, then what the task adds."""

from collections.abc import Mapping
from typing import Any

from widemargin.report.class_scores import class_parts
from widemargin.report.document import Cell, Heading, Part, Section, Table, Text
from widemargin.report.evaluation import METRICS
from widemargin.report.formats import name_of
from widemargin.report.record import Record
from widemargin.report.value_scores import value_parts

__all__ = ["scores"]

FEW_ROWS, FEW_WRONG = 50, 10
LOSSES = ("log_loss", "brier", "rmse", "mae")
DIRECTIONS = {"lower": "lower is better", "higher": "higher is better", "": "see below"}
ABSENT = {
    "probabilities": "log loss, Brier score and calibration",
    "roc": "the ROC curve",
    "pr": "precision against recall",
    "margins": "margins",
    "r2": "R²",
    "coverage": "the coverage of intervals",
}


def scores(record: Record) -> Section:
    """All metrics of the model and of the baseline, tables and curves."""
    title = "How good it is on rows it had not seen"
    evaluation = record.evaluation
    if not evaluation:
        return Section("scores", title, (Text("The model was not measured.", "note"),))
    parts: list[Part] = [_measures(record)]
    parts += [Text(name_of(note, 300), "warning") for note in evaluation.get("notes", ())]
    parts += [Text(f"{name_of(cut, 300)}.", "note") for cut in evaluation.get("cuts", ())]
    task = class_parts if evaluation["task"] == "classification" else value_parts
    parts += task(evaluation)
    absent = evaluation.get("absent", {})
    parts += [
        Text(f"Left out: {ABSENT[name]}, because {name_of(reason, 200)}.", "note")
        for name, reason in absent.items()
        if name in ABSENT
    ]
    return Section("scores", title, tuple(parts))


def _caution(evaluation: Mapping[str, Any]) -> str:
    """Which intervals may be too short, because a bootstrap sees only what is in the rows."""
    metrics, rows = evaluation["metrics"], int(evaluation["rows"])
    losses = [METRICS[name].label for name in LOSSES if name in metrics]
    error = metrics.get("error")
    few = "The rows are few" if rows < FEW_ROWS else ""
    if error is not None and error["value"] * rows < FEW_WRONG:
        few = "Few answers are wrong"
    return (
        f"{few}: the intervals of {' and '.join(losses)} may be too short."
        if few and losses
        else ""
    )


def _measures(record: Record) -> Table:
    evaluation, others = record.evaluation, record.baseline.get("metrics", {})
    rows = []
    for name, found in evaluation["metrics"].items():
        known = METRICS.get(name)
        if known is None:
            continue
        label = known.named(evaluation.get("classes", ()))
        interval = None if found["low"] is None else (found["low"], found["high"])
        cells: list[Any] = [label, Cell(found["value"], known.form), Cell(interval, known.form)]
        if others:
            other = others.get(name)
            cells.append(Cell(other["value"] if other else None, known.form))
        better = "0 is best" if name == "bias" else DIRECTIONS[known.better]
        rows.append((*cells, "90 % is right" if name == "coverage" else better))
    head = [Heading("measure"), Heading("value", "number"), Heading("95 % interval", "number")]
    head += [Heading("baseline", "number")] if others else []
    weighted = "Rows count by their weights. " if evaluation.get("weighted") else ""
    few = any(found["low"] is None for found in evaluation["metrics"].values())
    note = weighted + ("Some intervals are missing: the rows are too few. " if few else "")
    if not few:
        note += _caution(evaluation)
    count = f"{evaluation['rows']:,} held-out rows"
    return Table(f"Measures on {count}", (*head, Heading("", "name")), tuple(rows), note.strip())
