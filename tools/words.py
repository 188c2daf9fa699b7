"""Refuses phrases that read badly, and says what to write instead; the list is words.txt.

``python tools/words.py`` looks through the whole tree, ``--count`` only counts for each phrase,
and file names limit it to these files.
"""

import argparse
import re
import subprocess
import sys
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
LIST = Path(__file__).with_name("words.txt")
SUFFIXES = {".md", ".py", ".pyi", ".hpp", ".cpp", ".toml", ".cmake", ".txt"}
FOLDERS = ["*.md", "*.toml", "Makefile", "CMakeLists.txt", "cmake"]
FOLDERS += ["docs", "src", "tests", "cpp", "benchmarks", "tools"]

# A line break inside a sentence, with the quote or comment sign of either line.
BREAK = re.compile(r"""[ \t]*["']?[ \t]*\n[ \t]*(?:(?://|#:?|\*|>|[fr]?["'])[ \t]*)?""")


class Entry(NamedTuple):
    """A phrase of the list."""

    phrase: str
    better: str
    pattern: re.Pattern[str]


class Hit(NamedTuple):
    """A place where a phrase stands."""

    path: Path
    line: int
    found: str
    entry: Entry


def entries(text: str) -> list[Entry]:
    """The phrases of a list: one per line, a tab, then what to write; # begins a comment."""
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        phrase, tab, better = line.partition("\t")
        if not tab or not better.strip():
            raise ValueError(f"words.txt:{number}: write the phrase, a tab and the better phrase")
        found.append(Entry(phrase, better.strip(), re.compile(phrase, re.IGNORECASE)))
    return found


def hits(path: Path, text: str, phrases: list[Entry]) -> Iterator[Hit]:
    """Where the phrases stand in a text, by line."""
    starts, whole = [0], ""  # of the lines, in the text as one line
    for line in BREAK.split(text):
        whole += line + " "
        starts.append(len(whole))
    places = [
        (m.start(), m.group(), entry) for entry in phrases for m in entry.pattern.finditer(whole)
    ]
    for start, found, entry in sorted(places, key=lambda place: place[:2]):
        yield Hit(path, bisect_right(starts, start), found, entry)


def files() -> list[Path]:
    """The files under version control that hold prose of ours, without the list itself."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *FOLDERS]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    paths = [ROOT / name for name in sorted(filter(None, names.split("\0")))]
    wanted = [p for p in paths if p.suffix in SUFFIXES or p.name == "Makefile"]
    return [p for p in wanted if p.is_file() and p not in (LIST, ROOT / "tests/tools/test_words.py")]


def main(arguments: list[str] | None = None) -> int:
    """Prints the hits; 1 if there are any."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("paths", nargs="*", type=Path, help="default: all files of the tree")
    parser.add_argument("--count", action="store_true", help="how often each phrase occurs")
    options = parser.parse_args(arguments)
    phrases = entries(LIST.read_text("utf-8"))
    found = [
        hit
        for path in options.paths or files()
        for hit in hits(path, path.read_text("utf-8"), phrases)
    ]
    if options.count:
        for entry in phrases:
            print(f"{sum(hit.entry is entry for hit in found):5}  {entry.phrase}")
    else:
        for hit in found:
            path = hit.path.relative_to(ROOT) if hit.path.is_relative_to(ROOT) else hit.path
            print(f"{path}:{hit.line}: {hit.found!r}; better: {hit.entry.better}")
    if found:
        print(f"{len(found)} phrases that the word list refuses", file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
