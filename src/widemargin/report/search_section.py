"""The part of a report about the search: what was tried, what was kept, what more rows bring."""

from collections.abc import Mapping
from typing import Any

from widemargin.report.document import Heading, Part, Plot, Section, Series, Table, Text, Value
from widemargin.report.formats import cut, name_of, number, plural
from widemargin.report.record import Record

__all__ = ["leaderboard", "learning_curve"]

MOST_TRIALS = 20
MOST_MEMBERS = 25
COLUMNS = {  # key: heading and form
    "model": ("model", "text"),
    "rows": ("rows", "count"),
    "folds": ("folds", "count"),
    "loss": ("loss", "number"),
    "spread": ("±", "number"),
    "seconds": ("time", "seconds"),
    "predict_ms": ("ms to predict a row", "number"),
    "vectors": ("support vectors", "count"),
    "kkt_violation": ("KKT violation", "number"),
}


def leaderboard(record: Record) -> Section:
    """Every model that was tried, with its loss on unseen rows and its time."""
    ranked = sorted(record.leaderboard, key=lambda one: (-_at(one, "rows"), _at(one, "loss")))
    trials = _different(ranked)
    if not trials:
        text = "One model was fitted; nothing was compared."
        return Section("leaderboard", "What was tried", (Text(text),))
    keys = [key for key in COLUMNS if any(one.get(key) is not None for one in trials)]
    rows = [tuple(_cell(one.get(key)) for key in keys) for one in trials[:MOST_TRIALS]]
    name = name_of(record.loss.get("name", "loss"))
    constant = record.loss.get("constant")
    if constant is not None:
        rows.append(tuple(_constant(key, float(constant)) for key in keys))
    head = tuple(Heading(*COLUMNS[key]) for key in keys)
    what = "trials" if len(trials) == len(ranked) else "different trials"
    said = cut(len(trials), MOST_TRIALS, what, "best, on most rows,")
    parts: list[Part] = [Text(_words(record, name, len(ranked)))]
    parts.append(Table("Trials", head, tuple(rows), said))
    if record.members:
        parts.append(_members(record))
    return Section("leaderboard", "What was tried", tuple(parts))


def _different(trials: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The first of trials that were repeated, by a later stage of the search, to the same end."""
    keys = ("model", "rows", "folds", "loss")
    first = {tuple(one.get(key) for key in keys): one for one in reversed(trials)}
    return [one for one in trials if one is first[tuple(one.get(key) for key in keys)]]


def _words(record: Record, name: str, trials: int) -> str:
    text = f"{plural(trials, 'trial')}, judged by the {name} of rows that the machine had not seen"
    text += " (lower is better). First those trained on most rows; trials on few rows only choose "
    text += "what is worth more time."
    value = record.loss.get("value")
    if value is not None:
        text += f" The final model has {number(float(value), digits=4)}."
    return text


def _at(trial: Mapping[str, Any], key: str) -> float:
    value = trial.get(key)
    if isinstance(value, int | float):
        return float(value)
    return float("inf") if key == "loss" else 0.0


def _cell(value: Any) -> Value:
    """A number or a name."""
    return value if isinstance(value, bool | int | float | None) else name_of(value, 120)


def _constant(key: str, loss: float) -> Value:
    if key == "model":
        return "for comparison: the best constant answer"
    return loss if key == "loss" else None


def _members(record: Record) -> Table:
    members = sorted(record.members, key=lambda one: -float(one.get("weight") or 0.0))
    rows = tuple(
        (name_of(one.get("description", ""), 120), float(one.get("weight") or 0.0))
        for one in members[:MOST_MEMBERS]
    )
    return Table(
        "The final model: a weighted mean of these" if len(members) > 1 else "The final model",
        (Heading("model"), Heading("weight", "percent")),
        rows,
        cut(len(members), MOST_MEMBERS, "members", "heaviest"),
    )


def learning_curve(record: Record) -> Section:
    """What the loss was with fewer rows."""
    known = [one for one in record.learning_curve if one["loss"] is not None]
    points = sorted(known, key=lambda one: one["rows"])
    if len(points) < 2:
        text = "No learning curve: the model was trained on one number of rows only."
        return Section("learning-curve", "Would more rows help?", (Text(text, "note"),))
    rows = tuple(float(one["rows"]) for one in points)
    losses = tuple(float(one["loss"]) for one in points)
    name = name_of(record.loss.get("name", "loss"))
    change = losses[-2] - losses[-1]
    factor = rows[-1] / rows[-2]
    text = (
        f"From {rows[-2]:,.0f} to {rows[-1]:,.0f} rows ({factor:.3g} times as many) the {name} "
        f"went from {number(losses[-2], digits=4)} to {number(losses[-1], digits=4)}. "
    )
    text += (
        "It is still falling: more rows are likely to help."
        if change > 0.02 * abs(losses[-2])
        else "It hardly falls any more: more rows of this kind are unlikely to help much."
    )
    plot = Plot(
        "lines",
        "Loss against training rows",
        f"The {name} of unseen rows after training on more and more rows.",
        "training rows",
        name,
        (Series(name, rows, losses),),
        log_x=True,
    )
    return Section("learning-curve", "Would more rows help?", (Text(text), plot))
