"""The tables that `tools.numbers` writes into the pages: each is a function that gives Markdown.

A marker names the function, then its arguments: `<!-- numbers: paper table-8.2 -->` stands for
`TABLES["paper"]("table-8.2")`. To add a table, write a function that reads a file of
`benchmarks/results` with `results`, and name it in `TABLES`.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from widemargin.papers import ITEMS, NOT_COMPARABLE, Record
from widemargin.papers.item import as_printed
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


def record(key: str) -> Record:
    known = records()
    if key not in known:
        raise MissingResults(f"benchmarks/results/papers.json has no {key}")
    return known[key]


def paper(*ids: str) -> str:
    """The numbers of some items that can be compared, beside ours, and ours at its best."""
    lines = [
        (key, line)
        for key in ids
        for line in ITEMS[key].lines(record(key).measured)
        if line.published is not None and line.verdict != NOT_COMPARABLE
    ]
    best = any(line.best is not None for _, line in lines)
    rows = [
        [f"`{key}`"] * (len(ids) > 1)
        + [line.name, as_printed(line.published), number(line.here, line.spread)]
        + [number(line.best)] * best
        + [line.verdict]
        for key, line in lines
    ]
    head = ["item"] * (len(ids) > 1) + ["", "published", "here"] + ["best here"] * best
    return markdown([*head, "verdict"], rows, text=1 + (len(ids) > 1))


def fleuret() -> str:
    """The lecture's table, epoch by epoch."""
    published, here = ITEMS["fleuret"].published, record("fleuret").measured.here
    columns = ("changes, epoch {}", "training error, epoch {}, %", "test error, epoch {}, %")
    rows = []
    for epoch in range(sum(name.startswith("changes, epoch") for name in published)):
        names = [column.format(epoch) for column in columns]
        pairs = [(as_printed(published[name]), number(here.get(name))) for name in names]
        rows.append([str(epoch), *chain.from_iterable(pairs)])
    head = [f"{name}, {side}" for name in ("changes", "training error, %", "test error, %")
            for side in ("published", "here")]  # fmt: skip
    return markdown(["epoch", *head], rows)


#: By the names that markers use.
TABLES: dict[str, Callable[..., str]] = {
    "fleuret": fleuret,
    "paper": paper,
    "paper-verdicts": paper_verdicts,
}
