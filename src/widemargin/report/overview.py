"""The first page of a report: what the model is worth, and what was decided for the user."""

from collections.abc import Mapping
from typing import Any

from widemargin.report.document import Fact, Facts, Heading, Part, Section, Table, Text
from widemargin.report.formats import cut, name_of, percent, plural, quoted, shown
from widemargin.report.record import Record

__all__ = ["decisions", "headline"]

MOST_DECISIONS = 60
MAIN = {  # the metric of the headline, its form, and what it says
    "classification": ("error", "percent", "{} of its answers are wrong"),
    "regression": ("mae", "number", "its answers are off by {} in the mean"),
}
STOPPED = {
    "time_limit": "The search stopped at its time limit; with more time the model may be better.",
    "interrupted": "The search was interrupted; the model is the best that was found until then.",
}


def headline(record: Record) -> Section:
    """What the model predicts, how often it is wrong, and how that compares."""
    inputs = sum(column.role == "input" for column in record.columns)
    what = f"The model predicts {quoted(record.target)}"
    if record.classes:
        what += f" ({len(record.classes):,} classes)"
    what += f" from {inputs:,} columns" if inputs else ""
    what += f" of {quoted(record.file)}. "
    parts: list[Part] = [Text(what + _measured(record), "lead")]
    if record.evaluation:
        parts.append(Facts(_facts(record)))
        parts.append(_verdict(record))
    if record.stop_reason in STOPPED:
        parts.append(Text(STOPPED[record.stop_reason], "warning"))
    errors = sum(finding.level == "error" for finding in record.findings)
    warnings = sum(finding.level == "warning" for finding in record.findings)
    if errors or warnings:
        counts = [plural(errors, "error")] * bool(errors)
        counts += [plural(warnings, "warning")] * bool(warnings)
        text = f"The data gave {' and '.join(counts)}: see “The data” below before you rely on it."
        parts.append(Text(text, "error" if errors else "warning"))
    return Section("summary", "Summary", tuple(parts))


def _measured(record: Record) -> str:
    """How often the answers are wrong, or how far off they are, and the baseline's."""
    if not record.evaluation:
        return "It was not measured on held-out rows."
    name, form, wrong = MAIN[record.task]
    error, baseline = _metric(record.evaluation, name), _metric(record.baseline, name)
    if error is None:
        return ""
    text = f"On {plural(record.evaluation['rows'], 'row')} that it had not seen, "
    text += f"{wrong.format(shown(error['value'], form))}{_between(error, form)}."
    if baseline is not None:
        other = f" ({name_of(record.baseline_name)})" if record.baseline_name else ""
        text += f" The error of the baseline{other} is {shown(baseline['value'], form)}."
    r2 = _metric(record.evaluation, "r2")
    if r2 is not None and r2["value"] > 0:
        text += f" The model explains {percent(r2['value'])} of the variance of the target."
    return text


def _between(metric: Mapping[str, Any], form: str) -> str:
    if metric["low"] is None:
        return ""
    return f" (95 % interval: {shown((metric['low'], metric['high']), form)})"


def _metric(evaluation: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    found: Mapping[str, Any] | None = evaluation.get("metrics", {}).get(name)
    return found


def _facts(record: Record) -> tuple[Fact, ...]:
    names = (
        (
            ("error", "error", "percent"),
            ("auc", "AUC", "number"),
            ("log_loss", "log loss", "number"),
        )
        if record.task == "classification"
        else (("mae", "mean error", "number"), ("r2", "R²", "number"), ("rmse", "RMSE", "number"))
    )
    found = []
    for name, label, form in names:
        metric = _metric(record.evaluation, name)
        if metric is None:
            continue
        interval = None if metric["low"] is None else (metric["low"], metric["high"])
        other = _metric(record.baseline, name)
        note = f"baseline {shown(other['value'], form)}" if other else ""
        found.append(Fact(label, metric["value"], form, interval, note))
    split = f"{record.train_rows:,} to train, {record.test_rows:,} to test"
    found.append(Fact("rows", record.rows, "count", note=split))
    if record.seconds:
        found.append(Fact("time", float(sum(record.seconds.values())), "seconds"))
    return tuple(found)


def _verdict(record: Record) -> Text:
    """Whether the model beats the baseline beyond chance."""
    name = MAIN[record.task][0]
    ours, other = _metric(record.evaluation, name), _metric(record.baseline, name)
    if ours is not None and not record.baseline and record.baseline_name:
        name = name_of(record.baseline_name)
        return Text(
            f"The model is the baseline itself, a {name}: nothing better was found.", "note"
        )
    if ours is None or other is None:
        return Text("No baseline was measured, so there is nothing to compare the error with.")
    if ours["low"] is None or other["low"] is None:
        return Text("There are too few held-out rows to say whether it beats the baseline.", "note")
    if ours["high"] < other["low"]:
        saved = 1.0 - ours["value"] / other["value"]
        return Text(
            f"The model is better than the baseline beyond chance: {percent(saved)} of the "
            "baseline's error is gone."
        )
    if ours["low"] > other["high"]:
        return Text("The model is worse than the baseline: do not use it.", "error")
    return Text(
        "The intervals of the model and of the baseline overlap: these rows do not show that the "
        "model is better. More rows or better inputs are needed.",
        "warning",
    )


def decisions(record: Record) -> Section:
    """What was chosen for the user, why, and the option that chooses otherwise."""
    rows = tuple(
        (name_of(one.what), name_of(one.value, 200), name_of(one.why, 300), name_of(one.override))
        for one in record.decisions[:MOST_DECISIONS]
    )
    text = "Each line was decided from the data. The last column has the option that overrides it."
    parts: tuple[Part, ...] = (
        Text(text),
        Table(
            "Decisions",
            (
                Heading("what", "name"),
                Heading("decided"),
                Heading("because", "long"),
                Heading("to choose otherwise", "code"),
            ),
            rows,
            cut(len(record.decisions), MOST_DECISIONS, "decisions"),
        ),
    )
    if not rows:
        parts = (Text("Nothing had to be decided."),)
    return Section("decisions", "What was decided, and why", parts)
