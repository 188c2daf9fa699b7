"""The part of a report about the data: rows, warnings, columns and their importance."""

from widemargin.report.document import (
    Fact,
    Facts,
    Heading,
    Part,
    Plot,
    Section,
    Series,
    Table,
    Text,
)
from widemargin.report.formats import cut, name_of, percent, quoted
from widemargin.report.record import Column, Finding, Record

__all__ = ["data", "importances"]

MOST_COLUMNS = 100
MOST_FINDINGS = 40
MOST_NAMES = 12  # of the columns of one finding
MOST_BARS = 20
LEVELS = ("error", "warning", "note")


def data(record: Record) -> Section:
    """What the table holds, and what to look at."""
    inputs = [column for column in record.columns if column.role == "input"]
    out = [column for column in record.columns if column.role == "left out"]
    facts = [
        Fact("rows", record.rows, "count"),
        Fact("columns", len(record.columns), "count"),
        Fact("inputs", len(inputs), "count"),
        Fact("left out", len(out), "count"),
    ]
    cells = record.rows * len(record.columns)
    if cells:
        missing = sum(column.missing for column in record.columns) / cells
        facts.append(Fact("missing cells", missing, "percent"))
    parts: list[Part] = [Facts(tuple(facts)), *_findings(record)]
    if record.columns:
        parts.append(_columns(record))
    return Section("data", "The data", tuple(parts))


def _findings(record: Record) -> list[Part]:
    if not record.findings:
        return [Text("The checks of the data found nothing to warn about.")]
    ordered = sorted(record.findings, key=lambda one: _severity(one))
    parts: list[Part] = []
    for one in ordered[:MOST_FINDINGS]:
        text = f"{name_of(one.kind).capitalize()}: {_ended(name_of(one.text, 400))}"
        if one.columns:
            names = ", ".join(quoted(name) for name in one.columns[:MOST_NAMES])
            more = len(one.columns) - MOST_NAMES
            text += f" Columns: {names}{f' and {more:,} more' if more > 0 else ''}."
        advice = name_of(one.advice, 400)
        text += f" {_ended(advice[0].upper() + advice[1:])}" if advice else ""
        parts.append(Text(text, one.level if one.level in LEVELS else "note"))
    said = cut(len(ordered), MOST_FINDINGS, "findings", "most severe")
    return [*parts, Text(said, "note")] if said else parts


def _severity(finding: Finding) -> int:
    return LEVELS.index(finding.level) if finding.level in LEVELS else len(LEVELS)


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def _columns(record: Record) -> Table:
    def weight(column: Column) -> tuple[bool, float]:
        return column.role != "target", -(column.importance or 0.0)

    kept = sorted(record.columns, key=weight)[:MOST_COLUMNS]
    notes = any(column.note for column in kept)
    rows = []
    for column in kept:
        row = (
            name_of(column.name),
            name_of(column.kind),
            name_of(column.role),
            column.missing,
            column.levels,
        )
        rows.append((*row, name_of(column.note, 200)) if notes else row)
    head = [Heading("column", "name"), Heading("kind"), Heading("role")]
    head += [Heading("missing", "count"), Heading("different", "count")]
    head += [Heading("note")] if notes else []
    said = cut(len(record.columns), MOST_COLUMNS, "columns", "most important")
    return Table("What each column was understood as", tuple(head), tuple(rows), said)


def importances(record: Record) -> Section:
    """How much the predictions depend on each column."""
    known = [column for column in record.columns if column.importance is not None]
    known.sort(key=lambda column: -(column.importance or 0.0))
    if not known:
        text = "The importance of the columns was not measured."
        return Section("importances", "Which columns matter", (Text(text),))
    kept = known[:MOST_BARS]
    names = tuple(name_of(column.name) for column in kept)
    values = tuple(float(column.importance or 0.0) for column in kept)
    said = cut(len(known), MOST_BARS, "columns", "most important")
    rest = sum(column.importance or 0.0 for column in known[MOST_BARS:])
    said += f" The others have {percent(rest)} together." if said else ""
    most = f"{quoted(kept[0].name)} is the most important column with {percent(values[0])}."
    plot = Plot(
        "bars",
        "Importance of the columns",
        f"{most} {said}".strip(),
        "share of all columns",
        "",
        (Series("importance", names, values),),
    )
    text = (
        "How strongly the predictions change with a column, as a share of all columns. Columns "
        "that say the same share their importance. It does not say what causes the target."
    )
    return Section("importances", "Which columns matter", (Text(text), plot))
