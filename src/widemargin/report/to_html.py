"""A document as one HTML page that needs no network and runs nothing."""

from itertools import count

from widemargin.report.build import build
from widemargin.report.document import (
    NUMBERS,
    Code,
    Document,
    Facts,
    Heading,
    Part,
    Plot,
    Section,
    Table,
    Text,
    Value,
)
from widemargin.report.formats import shown
from widemargin.report.page import Cell, escape, page, table, words
from widemargin.report.record import Record
from widemargin.report.svg import STYLE as PLOT_STYLE
from widemargin.report.svg import draw

__all__ = ["render_html", "to_html"]

STYLE = (
    """
nav ul { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .25rem 1.25rem }
.lead { font-size: 1.15rem }
bdi.name { font-weight: 600 }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); gap: .75rem;
  margin: 1rem 0 }
.facts div { background: var(--card); border: 1px solid var(--line); border-radius: 8px;
  padding: .6rem .8rem }
.facts dt { color: var(--soft); font-size: .875rem }
.facts dd { margin: 0; font-size: 1.35rem; font-weight: 600 }
.facts dd.small { font-size: .8125rem; font-weight: 400 }
.box { border-left: 4px solid var(--line); background: var(--card); padding: .6rem .8rem;
  border-radius: 0 8px 8px 0 }
.box.warning { border-color: var(--warn) } .box.error { border-color: var(--no) }
.warning strong { color: var(--warn) } .error strong { color: var(--no) }
pre { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .75rem;
  overflow-x: auto; font-size: .875rem }
code { font-family: ui-monospace, monospace; font-size: .9em }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr));
  gap: 0 2rem }
h3 { font-size: 1.0625rem; margin: 1.25rem 0 .5rem }
code span { white-space: nowrap }
summary { cursor: pointer; font-weight: 600; padding: .5rem 0 }
.matrix td { text-align: right; padding: .3rem .5rem; white-space: nowrap }
.matrix .z { color: var(--soft) }
"""
    + "".join(
        f".h{k} {{ background: rgba(var(--heat), {k * 0.06:.2f}) }}\n"
        f".m{k} {{ background: rgba(var(--miss), {k * 0.06:.2f}) }}\n"
        for k in range(1, 10)
    )
    + PLOT_STYLE
)
TEXTS = ("long", "code", "name")
FOLDED = 25  # tables with more rows are opened by a click
PREFIXES = {"warning": "Warning.", "error": "Error."}


def render_html(record: Record) -> str:
    """The report of a record as an HTML page.

    Parameters
    ----------
    record : Record
        What a run found.

    Returns
    -------
    str
        A page of at most 2 MB: one file, no script, nothing from elsewhere.
    """
    return to_html(build(record))


def to_html(document: Document) -> str:
    """A document as a page."""
    links = "".join(
        f"<li><a href='#{section.id}'>{escape(section.title)}</a></li>"
        for section in document.sections
    )
    numbers = count()
    parts = [f"<header><h1>{escape(document.title)}</h1>"]
    parts.append(f"<nav aria-label='Contents'><ul>{links}</ul></nav></header><main>")
    parts += [_section(section, numbers) for section in document.sections]
    return page(document.title, "\n".join(parts) + "</main>", STYLE)


def _section(section: Section, numbers: "count[int]") -> str:
    """Plots that follow each other stand beside each other where there is room."""
    parts = [f"<section id='{section.id}'><h2>{escape(section.title)}</h2>"]
    plots: list[str] = []
    for part in (*section.parts, None):
        if isinstance(part, Plot):
            plots.append(draw(part, next(numbers)))
            continue
        if plots:
            parts.append(f"<div class='plots'>{''.join(plots)}</div>")
            plots = []
        if part is not None:
            parts.append(_part(part))
    return "\n".join(parts) + "</section>"


def _part(part: Part) -> str:
    if isinstance(part, Text):
        return _text(part)
    if isinstance(part, Facts):
        return _facts(part)
    if isinstance(part, Code):
        text = "\n".join(escape(line) for line in part.text.splitlines())
        return f"<h3>{escape(part.title)}</h3><pre tabindex='0'><code>{text}</code></pre>"
    assert isinstance(part, Table)
    return _table(part)


def _text(part: Text) -> str:
    if part.level in PREFIXES:
        prefix = f"<strong>{PREFIXES[part.level]}</strong> "
        return f"<p class='box {part.level}'>{prefix}{words(part.text)}</p>"
    kind = {"lead": " class='lead'", "note": " class='small'"}.get(part.level, "")
    return f"<p{kind}>{words(part.text)}</p>"


def _facts(part: Facts) -> str:
    found = []
    for fact in part.facts:
        value = f"<dt>{escape(fact.name)}</dt><dd>{escape(shown(fact.value, fact.form))}</dd>"
        if fact.interval:
            value += f"<dd class='small'>95 %: {escape(shown(fact.interval, fact.form))}</dd>"
        value += f"<dd class='small'>{escape(fact.note)}</dd>" if fact.note else ""
        found.append(f"<div>{value}</div>")
    return f"<dl class='facts'>{''.join(found)}</dl>"


def _table(part: Table) -> str:
    head = [(escape(one.name), _kind(one)) for one in part.columns]
    if part.shaded:
        rows = [_shaded(row, part, place) for place, row in enumerate(part.rows)]
    else:
        rows = [
            [_cell(value, one) for value, one in zip(row, part.columns, strict=True)]
            for row in part.rows
        ]
    note = f"<p class='small'>{escape(part.note)}</p>" if part.note else ""
    found = table(head, rows, part.title, "matrix" if part.shaded else "") + note
    if len(rows) <= FOLDED:
        return found
    title = f"{escape(part.title)} ({len(rows):,} rows)"
    return f"<details><summary>{title}</summary>{found}</details>"


def _kind(heading: Heading) -> str:
    return "n" if heading.form in NUMBERS else heading.form if heading.form in TEXTS else ""


def _cell(value: Value, heading: Heading) -> Cell:
    text = escape(shown(value, heading.form))
    if heading.form == "code" and text:
        text = " ".join(f"<span>{word}</span>" for word in text.split())  # lines break between
        text = f"<code>{text}</code>"
    return text, _kind(heading)


def _shaded(row: tuple[Value, ...], part: Table, place: int) -> list[Cell]:
    """Counts, darker the larger their share of the row; right answers in another colour."""
    numbers = [value if isinstance(value, int | float) else 0.0 for value in row[1:]]
    total = sum(numbers) or 1.0
    cells = [_cell(row[0], part.columns[0])]
    for k, value in enumerate(row[1:]):
        level = min(9, int(numbers[k] / total * 9.999)) or int(numbers[k] > 0)
        shade = f"{'h' if k == place else 'm'}{level}" if level else ""
        cells.append((escape(shown(value, "count")), shade or "z"))
    return cells
