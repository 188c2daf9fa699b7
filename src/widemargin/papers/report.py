"""One HTML page over all results: published, here, best here. It needs no network."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from widemargin.papers.item import (
    NOT_COMPARABLE,
    NOT_REACHED,
    REACHED,
    Item,
    Line,
    as_printed,
)
from widemargin.papers.running import Record
from widemargin.report.formats import number
from widemargin.report.page import Cell, escape, page, table

__all__ = ["write_report"]

MARKS = {REACHED: "✓", NOT_REACHED: "✗", NOT_COMPARABLE: "–", "": ""}
FEW = 20  # further numbers, which are shown unasked
CLASSES = {REACHED: "yes", NOT_REACHED: "no", NOT_COMPARABLE: "other", "": ""}
STYLE = """
figure div { background: #fff; border-radius: 4px; padding: .5rem }
figcaption { margin-top: .25rem } td:last-child { padding-left: .5rem }
ul { padding-left: 1.25rem } summary { cursor: pointer; color: var(--soft) }
@media (max-width: 30rem) { table { font-size: .8125rem } th, td { padding-right: .35rem }
  tbody th { min-width: 6rem } td.n { min-width: 0 }
  th.n { white-space: normal } td .small { font-size: .75rem } }
"""


def write_report(items: Mapping[str, Item], records: Mapping[str, Record], path: Path) -> None:
    """Writes the page of the items that have a record.

    Parameters
    ----------
    items : mapping
        All items, by id; they give the order.
    records : mapping
        What was measured, by id.
    path : Path
        The file to write.
    """
    known = [(item, records[key]) for key, item in items.items() if key in records]
    missing = [key for key in items if key not in records]
    parts = [
        "<h1>Published and measured</h1>",
        "<p>The tables and figures of five documents on large-margin learning, run again. "
        "An <em>error</em> is reached if ours is at most the published one, a <em>value</em> "
        "within 1 % or equal as printed, and a <em>shape</em> if its claims hold. <em>Here</em> "
        "is with the settings of the document, <em>best here</em> without its restrictions.</p>",
        _counts(known),
        _summary(known),
        *(_section(item, record) for item, record in known),
    ]
    if missing:
        parts.append(f"<h2>Not run</h2><p>{escape(', '.join(missing))}</p>")
    path.write_text(page("Published and measured", "\n".join(parts), STYLE), encoding="utf-8")


def _counts(known: list[tuple[Item, Record]]) -> str:
    found = Counter(item.verdict(record.measured) for item, record in known)
    each = (f"{found[verdict]} {verdict}" for verdict in MARKS if found[verdict])
    return f"<p>Of {len(known)} tables, figures and experiments: {', '.join(each)}.</p>"


def _summary(known: list[tuple[Item, Record]]) -> str:
    rows = []
    for item, record in known:
        verdict = item.verdict(record.measured)
        rows.append(
            [
                (f"<a href='#{escape(item.id)}'>{escape(item.id)}</a>", ""),
                (escape(item.title), ""),
                (item.kind, ""),
                (f"{MARKS[verdict]} {verdict}", CLASSES[verdict]),
                (f"{record.seconds:,.1f}", "n"),
            ]
        )
    head = [("id", ""), ("title", ""), ("kind", ""), ("verdict", ""), ("seconds", "n")]
    return table(head, rows)


def _section(item: Item, record: Record) -> str:
    measured, lines = record.measured, item.lines(record.measured)
    parts = [
        f"<h2 id='{escape(item.id)}'>{escape(item.id)}: {escape(item.title)}</h2>",
        f"<p class=small>{escape(item.source)} · {item.kind}</p>",
        _named("Protocol", [item.protocol]),
        _claims([line for line in lines if line.claim]),
        _numbers([line for line in lines if line.published is not None], item.unit),
        _others([line for line in lines if not line.claim and line.published is None]),
        _named("Notes", measured.notes),
        _named("Deviations", item.deviations),
    ]
    parts += [
        f"<figure><div>{svg}</div><figcaption class=small>{escape(title)}</figcaption></figure>"
        for title, svg in measured.figures.items()
        if svg
    ]
    seeds = f", seeds {', '.join(map(str, record.seeds))}" if item.seeds else ""
    part = "" if record.scale == 1 else f", {record.scale:g} of the rows and epochs"
    versions = ", ".join(f"{name} {version}" for name, version in record.versions.items())
    parts.append(f"<p class=small>{record.seconds:,.1f} s{seeds}{part}; {escape(versions)}</p>")
    return "\n".join(parts)


def _named(name: str, texts: Iterable[str]) -> str:
    """Paragraphs, the first of which begins with what they are."""
    paragraphs = [f"<p class=small>{escape(text)}</p>" for text in texts]
    return "\n".join(paragraphs).replace("<p class=small>", f"<p class=small><b>{name}.</b> ", 1)


def _claims(lines: list[Line]) -> str:
    items = (f"<li>{escape(line.name)} {_verdict(line)}</li>" for line in lines)
    return f"<ul>{''.join(items)}</ul>" if lines else ""


def _numbers(lines: list[Line], unit: str) -> str:
    """Published numbers beside ours; why several cannot be compared is said once."""
    if not lines:
        return ""
    best = any(line.best is not None for line in lines)
    judged = any(line.verdict for line in lines)
    head: list[Cell] = [(escape(unit), ""), ("published", "n"), ("here", "n")]
    head += [("best here", "n")] * best + [("verdict", "")] * judged
    rows, reason = [], ""
    for line in lines:
        setting = f" <span class=small>{escape(line.setting)}</span>" if line.setting else ""
        row: list[Cell] = [(f"{escape(line.name)}{setting}", "")]
        row += [(as_printed(line.published), "n")]
        row += [(number(line.here, line.spread), "n")]
        row += [(number(line.best), "n")] * best
        again = line.verdict == NOT_COMPARABLE and line.reason == reason
        row += [(_verdict(line, with_reason=not again), "")] * judged
        rows.append(row)
        reason = line.reason if line.verdict == NOT_COMPARABLE else reason
    return table(head, rows)


def _others(lines: list[Line]) -> str:
    """What was measured and has no published number."""
    if not lines:
        return ""
    rows: list[list[Cell]] = [[(escape(line.name), ""), (number(line.here), "n")] for line in lines]
    found = table([("also measured", ""), ("here", "n")], rows)
    return found if len(lines) <= FEW else f"<details><summary>More</summary>{found}</details>"


def _verdict(line: Line, *, with_reason: bool = True) -> str:
    verdict = f"{MARKS[line.verdict]} {line.verdict}".strip()
    text = f"<span class='{CLASSES[line.verdict]}'>{verdict}</span>" if verdict else ""
    if line.reason and with_reason:
        text += f" <span class=small>{escape(line.reason)}</span>"
    return text
