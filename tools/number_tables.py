"""The tables that `tools.numbers` writes into the pages: each is a function that gives Markdown.

A marker names the function, then its arguments: `<!-- numbers: paper table-8.2 -->` stands for
`TABLES["paper"]("table-8.2")`. To add a table, write a function that reads a file of
`benchmarks/results` with `results`, and name it in `TABLES`.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from widemargin.papers import ITEMS, Record
from widemargin.papers.report import number

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks/results"


class MissingResults(Exception):
    """A file of results that has not been committed yet."""


def results(name: str) -> Any:
    """What a committed file of results holds."""
    path = FOLDER / name
    if not path.exists():
        raise MissingResults(f"benchmarks/results/{name} is missing")
    return json.loads(path.read_text("utf-8"))


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]], *, text: int = 1) -> str:
    """A table; the first `text` columns are aligned to the left, the others to the right.

    Examples
    --------
    >>> print(markdown(["data", "error"], [["Forest", "7.3"]]))
    | data | error |
    |---|--:|
    | Forest | 7.3 |
    """
    rule = ["---"] * text + ["--:"] * (len(head) - text)
    body = [[cell.replace("|", r"\|") for cell in row] for row in rows]
    lines = [f"| {' | '.join(row)} |" for row in [head, *body]]
    return "\n".join([lines[0], f"|{'|'.join(rule)}|", *lines[1:]])


# ------------------------------------------------------------------------------- the documents


def records() -> dict[str, Record]:
    """The committed full run of `widemargin papers run all`."""
    return {found["id"]: Record.of(found) for found in results("papers.json")["results"]}


def paper_verdicts() -> str:
    """Every item that was run, with its verdict."""
    rows = [
        (f"`{key}`", ITEMS[key].title, ITEMS[key].kind, ITEMS[key].verdict(record.measured))
        for key, record in records().items()
        if key in ITEMS
    ]
    return markdown(("item", "what it is", "kind", "verdict"), rows, text=4)


def paper(*ids: str) -> str:
    """The published numbers of some items beside ours; the best of ours if there are such."""
    known, lines = records(), []
    for key in ids:
        if key not in known:
            raise MissingResults(f"benchmarks/results/papers.json has no {key}")
        found = ITEMS[key].lines(known[key].measured)
        lines += [line for line in found if line.published is not None]
    best = any(line.best is not None for line in lines)
    rows = [
        [line.name, number(line.published), number(line.here, line.spread)]
        + ([number(line.best)] if best else [])
        for line in lines
    ]
    return markdown(["", "published", "here"] + (["best here"] if best else []), rows)


#: By the names that markers use.
TABLES: dict[str, Callable[..., str]] = {"paper": paper, "paper-verdicts": paper_verdicts}
