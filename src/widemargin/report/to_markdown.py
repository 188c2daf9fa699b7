"""A document as Markdown: tables, code, and plots as tables of some of their points."""

import re

from widemargin.report.build import build
from widemargin.report.document import (
    NUMBERS,
    Code,
    Document,
    Facts,
    Part,
    Plot,
    Table,
    Text,
    Value,
)
from widemargin.report.formats import cut, pieces, shown
from widemargin.report.record import Record

__all__ = ["render_markdown"]

MOST_POINTS = 12  # of a series
MARKS = {"warning": "**Warning.** ", "error": "**Error.** ", "note": "", "lead": "", "text": ""}
SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~&$])")


def render_markdown(record: Record) -> str:
    """The report of a record as Markdown.

    Parameters
    ----------
    record : Record
        What a run found.

    Returns
    -------
    str
        Text without HTML. Names from files are escaped.
    """
    return to_markdown(build(record))


def to_markdown(document: Document) -> str:
    """A document as Markdown."""
    parts = [f"# {escaped(document.title)}"]
    for section in document.sections:
        parts.append(f"{'#' * section.level} {escaped(section.title)}")
        parts += [_part(part) for part in section.parts]
    return "\n\n".join(part for part in parts if part) + "\n"


def escaped(text: str) -> str:
    """A text whose characters Markdown takes as they are.

    Examples
    --------
    >>> print(escaped("a|b <i>*"))
    a\\|b \\<i\\>\\*
    """
    return SPECIAL.sub(r"\\\1", text)


def _words(text: str) -> str:
    return "".join(f"“{escaped(part)}”" if name else escaped(part) for name, part in pieces(text))


def _part(part: Part) -> str:
    if isinstance(part, Text):
        return MARKS[part.level] + _words(part.text)
    if isinstance(part, Facts):
        return "\n".join(_fact(fact) for fact in part.facts)
    if isinstance(part, Table):
        return _table(part)
    if isinstance(part, Code):
        return _code(part)
    return _plot(part)


def _fact(fact: object) -> str:
    name, value, form = fact.name, fact.value, fact.form  # type: ignore[attr-defined]
    interval, note = fact.interval, fact.note  # type: ignore[attr-defined]
    text = f"- {escaped(name)}: **{escaped(shown(value, form))}**"
    text += f" (95 %: {escaped(shown(interval, form))})" if interval else ""
    return text + (f", {escaped(note)}" if note else "")


def _table(table: Table) -> str:
    head = [escaped(heading.name) for heading in table.columns]
    rules = ["---:" if heading.form in NUMBERS else "---" for heading in table.columns]
    rows = [
        [_cell(value, heading.form) for value, heading in zip(row, table.columns, strict=True)]
        for row in table.rows
    ]
    lines = [f"| {' | '.join(cells)} |" for cells in (head, rules, *rows)]
    note = f"\n\n{escaped(table.note)}" if table.note else ""
    return f"**{escaped(table.title)}**\n\n" + "\n".join(lines) + note


def _cell(value: Value, form: str) -> str:
    text = shown(value, form)
    if form == "code" and text and "`" not in text and "|" not in text:
        return f"`{text}`"
    return escaped(text)


def _code(code: Code) -> str:
    longest = max((len(run) for run in re.findall("`+", code.text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"**{escaped(code.title)}**\n\n{fence}{code.language}\n{code.text}\n{fence}"


def _plot(plot: Plot) -> str:
    text = f"**{escaped(plot.title)}**\n\n{_words(plot.text)}"
    return "\n\n".join([text, *(_points(plot, k) for k in range(len(plot.series)))])


def _points(plot: Plot, place: int) -> str:
    """A series as a table of at most twelve points."""
    series = plot.series[place]
    total = len(series.y)
    kept = sorted({round(k * (total - 1) / (MOST_POINTS - 1)) for k in range(MOST_POINTS)})
    if total <= MOST_POINTS:
        kept = list(range(total))
    bars = plot.kind == "bars"  # shares of names
    if bars:
        kept = list(range(total))
    edges = plot.kind == "histogram"
    rows = []
    for k in kept:
        x: Value = series.x[k]
        if edges:
            x = (float(series.x[k]), float(series.x[k + 1]))
        cells = [shown(x, "number"), shown(series.y[k], "percent" if bars else "number")]
        if series.low:
            cells.append(shown((series.low[k], series.high[k]), "number"))
        rows.append([escaped(cell) for cell in cells])
    head = ["column" if bars else escaped(plot.x or "x")]
    head.append(escaped(plot.x if bars else series.name))
    head += ["95 % interval"] if series.low else []
    rules = ["---:"] * len(head)
    said = cut(total, len(kept), "points", "evenly chosen")
    lines = [f"| {' | '.join(cells)} |" for cells in (head, rules, *rows)]
    return "\n".join(lines) + (f"\n\n{said}" if said else "")
