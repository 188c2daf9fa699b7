"""What HTML pages of the project have in common: style, head, escaping, tables.

A page is one file. It loads nothing, runs nothing, follows the reader's light or dark mode, and
its tables scroll in a box of their own on a narrow screen.
"""

from collections.abc import Sequence
from html import escape as escape_markup

from widemargin._runtime.text import visible
from widemargin.report.formats import pieces

__all__ = ["Cell", "escape", "page", "table", "words"]

#: HTML and the class of its element.
Cell = tuple[str, str]

STYLE = """
:root { color-scheme: light dark; --back: #fff; --text: #1f2328; --soft: #59636e; --line: #d1d9e0;
  --card: #f6f8fa; --blue: #0969da; --yes: #1a7f37; --no: #cf222e; --warn: #9a6700;
  --other: #59636e;   --heat: 9, 105, 218; --miss: 207, 34, 46;
  --s0: #0969da; --s1: #bc4c00; --s2: #1a7f37; --s3: #8250df; --s4: #bf3989; --s5: #1b7c83 }
@media (prefers-color-scheme: dark) { :root { --back: #0d1117; --text: #e6edf3; --soft: #9198a1;
  --line: #3d444d; --card: #151b23; --blue: #4493f8; --yes: #3fb950; --no: #ff7b72;
  --warn: #d29922; --other: #9198a1; --heat: 56, 139, 253; --miss: 248, 81, 73;
  --s0: #58a6ff; --s1: #ffa657; --s2: #3fb950; --s3: #bc8cff; --s4: #ff7eb6; --s5: #39c5cf } }
* { box-sizing: border-box }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem;
  color: var(--text); background: var(--back); overflow-wrap: break-word }
h1 { font-size: 1.75rem; line-height: 1.25; margin: .5rem 0 1rem }
h2 { border-top: 1px solid var(--line); padding-top: 1.5rem; margin-top: 2.5rem;
  font-size: 1.35rem }
a { color: var(--blue) }
table { border-collapse: separate; border-spacing: 0; width: 100%; font-size: .9375rem }
caption { text-align: left; font-weight: 600; padding: .25rem 0 }
th, td { text-align: left; padding: .3rem .75rem .3rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; unicode-bidi: isolate }
thead th { color: var(--soft); font-weight: 600; vertical-align: bottom }
tbody th { font-weight: 500 }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
thead th.n { white-space: normal }
td.name { white-space: nowrap } .code { min-width: 11rem } .long { min-width: 15rem }
.scroll { overflow-x: auto; margin: 1rem 0 }
@media (max-width: 40rem) { tbody th { position: sticky; left: 0; background: var(--back);
  min-width: 9rem; max-width: 45vw } td { min-width: 4rem }
  caption { position: sticky; left: 0; max-width: calc(100vw - 2rem) } }
.yes { color: var(--yes) } .no { color: var(--no) } .other { color: var(--other) }
.small { font-size: .875rem; color: var(--soft) }
figure { margin: 1rem 0 }
svg { display: block; width: 100%; height: auto; max-width: 45rem; margin: 0 auto }
"""


def escape(text: object) -> str:
    """Text for HTML: no markup, and no characters that command a terminal or turn the direction.

    Examples
    --------
    >>> escape('<b> "x"')
    '&lt;b&gt; &quot;x&quot;'
    """
    return escape_markup(visible(str(text)))


def words(text: str) -> str:
    """A text whose names are set apart, each with a direction of its own."""
    return "".join(
        f"<bdi class='name'>{escape(part)}</bdi>" if name else escape(part)
        for name, part in pieces(text)
    )


def page(title: str, body: str, style: str = "") -> str:
    """A whole page.

    Parameters
    ----------
    title : str
        Plain text.
    body : str
        HTML.
    style : str
        What this page adds to the style of all pages.
    """
    return (
        "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
        f"<title>{escape(title)}</title>\n<style>{STYLE}{style}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def table(
    head: Sequence[Cell], rows: Sequence[Sequence[Cell]], caption: str = "", style: str = ""
) -> str:
    """A table in a box that scrolls; the first cell of each row is its head.

    Parameters
    ----------
    head : sequence of (html, class)
        The heads of the columns.
    rows : sequence of sequences of (html, class)
        The cells.
    caption : str
        Plain text.
    style : str
        The class of the table.
    """
    named = f" role='region' tabindex='0' aria-label='{escape(caption)}'" if caption else ""
    parts = [f"<div class='scroll'{named}><table{_class(style)}>"]
    parts.append(f"<caption>{escape(caption)}</caption>" if caption else "")
    cells = "".join(_head(html, kind) for html, kind in head)
    parts.append(f"<thead><tr>{cells}</tr></thead><tbody>")
    for row in rows:
        first, *rest = row
        cells = f"<th scope='row'{_class(first[1])}>{first[0]}</th>"
        cells += "".join(f"<td{_class(kind)}>{html}</td>" for html, kind in rest)
        parts.append(f"<tr>{cells}</tr>")
    return "\n".join(part for part in parts if part) + "</tbody></table></div>"


def _head(html: str, kind: str) -> str:
    if not html:  # a head without a text is no head
        return f"<td{_class(kind)}></td>"
    return f"<th scope='col'{_class(kind)}>{html}</th>"


def _class(name: str) -> str:
    return f" class='{name}'" if name else ""
