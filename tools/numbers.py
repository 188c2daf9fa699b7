"""Writes the numbers of README.md and docs/ from committed results, so that none is typed by hand.

    python -m tools.numbers            # rewrites the pages
    python -m tools.numbers --check    # only says which pages differ

A page marks a place with two comments, and what is between them is made by a function of
`tools.number_tables` or `tools.benchmark_tables`:

    <!-- numbers: paper table-8.2 -->
    <!-- end numbers -->
"""

import argparse
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from tools import benchmark_tables, number_tables
from tools.number_tables import MissingResults

TABLES = number_tables.TABLES | benchmark_tables.TABLES
ROOT = Path(__file__).resolve().parents[1]
BEGIN = re.compile(r"<!-- numbers: *([^\n]*?) *-->\n")
END = "<!-- end numbers -->"


def pages() -> list[Path]:
    """The pages that have marked places."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [path for path in found if BEGIN.search(path.read_text("utf-8"))]


def rewritten(
    text: str,
    tables: Mapping[str, Callable[..., str]] = TABLES,
    missing: list[str] | None = None,
) -> str:
    """A page with every marked place made again.

    Parameters
    ----------
    text : str
        The page.
    tables : mapping, default=TABLES
        The functions that make the tables, by name.
    missing : list, optional
        Gets what is missing of places that cannot be made; they stay as they are. Without it,
        the first such place is an error.
    """
    parts, position = [], 0
    for begin in BEGIN.finditer(text):
        if begin.start() < position:
            raise ValueError(f"{begin.group().strip()} stands inside another marked place")
        end = text.find(END, begin.end())
        if end < 0:
            raise ValueError(f"after {begin.group().strip()} there is no {END}")
        name, *arguments = begin.group(1).split() or [""]
        if name not in tables:
            raise ValueError(f"{name!r} is none of {', '.join(sorted(tables))}")
        parts.append(text[position : begin.end()])
        try:
            parts += [tables[name](*arguments).rstrip(), "\n"]
        except MissingResults as absent:
            if missing is None:
                raise
            missing.append(str(absent))
            parts.append(text[begin.end() : end])
        position = end
    return "".join([*parts, text[position:]])


def main(arguments: list[str] | None = None) -> int:
    """Rewrites the pages; 1 if a page differs (with --check) or cannot be made."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="change nothing")
    options = parser.parse_args(arguments)
    failed = False
    for path in pages():
        name, text = path.relative_to(ROOT), path.read_text("utf-8")
        missing: list[str] = []
        try:
            new = rewritten(text, missing=missing)
        except ValueError as error:
            missing, new = [str(error)], text
        for reason in missing:
            print(f"{name}: {reason}", file=sys.stderr)
            failed = True
        if new == text:
            continue
        failed |= options.check
        print(f"{name}: {'differs from the results' if options.check else 'rewritten'}")
        if not options.check:
            path.write_text(new, encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
