"""One HTML page over all results: published, here, best here. It needs no network."""

from collections.abc import Mapping
from html import escape
from pathlib import Path

from widemargin.papers.item import NOT_COMPARABLE, NOT_REACHED, REACHED, Item, Line
from widemargin.papers.running import Record

__all__ = ["number", "write_report"]

MARKS = {REACHED: "✓", NOT_REACHED: "✗", NOT_COMPARABLE: "–", "": ""}
CLASSES = {REACHED: "yes", NOT_REACHED: "no", NOT_COMPARABLE: "other", "": ""}
STYLE = """
:root { color-scheme: light dark; --line: #8884; --yes: #1a7f37; --no: #cf222e; --other: #6e7781 }
@media (prefers-color-scheme: dark) { :root { --yes: #3fb950; --no: #ff7b72; --other: #9198a1 } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem }
h2 { border-top: 1px solid var(--line); padding-top: 1.5rem; margin-top: 2.5rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
.scroll { overflow-x: auto }
.yes { color: var(--yes) } .no { color: var(--no) } .other { color: var(--other) }
.small { font-size: .875rem; color: var(--other) }
figure { margin: 1rem 0 } figure div { background: #fff; border-radius: 4px; padding: .5rem }
@media (max-width: 30rem) { table { font-size: .8125rem } th, td { padding-right: .35rem }
  th.n { white-space: normal } td .small { font-size: .75rem } }
svg { display: block; width: 100%; height: auto; max-width: 45rem; margin: 0 auto }
"""


def number(value: float | None, spread: float | None = None) -> str:
    """A number for a reader, with its spread.

    Examples
    --------
    >>> number(283301.0), number(7.3), number(0.0001234), number(7.31, 0.05), number(None)
    ('283,301', '7.3', '0.000123', '7.31 ± 0.05', '')
    """
    if value is None:
        return ""
    whole = value == round(value) and abs(value) < 1e12
    text = f"{value:,.0f}" if whole and abs(value) >= 1000 else f"{value:.3g}"
    if not whole and abs(value) >= 100:
        text = f"{value:,.1f}"
    return text if spread is None else f"{text} ± {spread:.2g}"


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
        "<!doctype html><html lang=en><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width, initial-scale=1'>",
        f"<title>Published and measured</title><style>{STYLE}</style>",
        "<h1>Published and measured</h1>",
        "<p>The tables and figures of five documents on large-margin learning, run again. "
        "An <em>error</em> is reached if ours is at most the published one, a <em>value</em> "
        "within 1 % or equal as printed, and a <em>shape</em> if its claims hold.</p>",
        _summary(known),
        *(_section(item, record) for item, record in known),
    ]
    if missing:
        parts.append(f"<h2>Not run</h2><p>{escape(', '.join(missing))}</p>")
    path.write_text("\n".join(parts) + "\n", encoding="utf-8")


def _summary(known: list[tuple[Item, Record]]) -> str:
    rows = []
    for item, record in known:
        verdict = item.verdict(record.measured)
        rows.append(
            f"<tr><td><a href='#{escape(item.id)}'>{escape(item.id)}</a><td>{escape(item.title)}"
            f"<td>{item.kind}<td class={CLASSES[verdict]}>{MARKS[verdict]} {verdict}"
            f"<td class=n>{record.seconds:,.1f}"
        )
    head = "<tr><th>id<th>title<th>kind<th>verdict<th class=n>seconds"
    return f"<div class=scroll><table>{head}{''.join(rows)}</table></div>"


def _section(item: Item, record: Record) -> str:
    measured = record.measured
    parts = [
        f"<h2 id='{escape(item.id)}'>{escape(item.id)}: {escape(item.title)}</h2>",
        f"<p class=small>{escape(item.source)} · {item.kind} · {escape(item.protocol)}</p>",
        _table(item, item.lines(measured)),
    ]
    parts += [f"<p class=small>{escape(text)}</p>" for text in (*item.deviations, *measured.notes)]
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


def _table(item: Item, lines: list[Line]) -> str:
    numbers = any(line.published is not None for line in lines)
    best = any(line.best is not None for line in lines)
    published = "<th class=n>published" if numbers else ""
    head = f"<tr><th>{escape(item.unit)}{published}<th class=n>here"
    head += f"{'<th class=n>best here' if best else ''}<th>verdict"
    rows = []
    for line in lines:
        setting = f" <span class=small>{escape(line.setting)}</span>" if line.setting else ""
        cells = f"<td>{escape(line.name)}{setting}"
        cells += f"<td class=n>{number(line.published)}" if numbers else ""
        cells += f"<td class=n>{number(line.here, line.spread)}"
        cells += f"<td class=n>{number(line.best)}" if best else ""
        reason = f" <span class=small>{escape(line.reason)}</span>" if line.reason else ""
        verdict = f"{MARKS[line.verdict]} {line.verdict}".strip()
        rows.append(f"<tr>{cells}<td class='{CLASSES[line.verdict]}'>{verdict}{reason}")
    return f"<div class=scroll><table>{head}{''.join(rows)}</table></div>"
