"""Merges the results of `widemargin papers run all` into benchmarks/results/papers.json.

    widemargin papers run all --output FOLDER
    python -m tools.paper_results FOLDER

The figures are left out. Results of a reduced scale are refused.
"""

import argparse
import json
import sys
from dataclasses import asdict, replace
from pathlib import Path

from tools.number_tables import FOLDER
from widemargin.papers import ITEMS, read_records


def merged(folder: Path) -> str:
    """The file's text: one record per item, in the order of the documents."""
    found = read_records(folder)
    reduced = [key for key, record in found.items() if record.scale != 1]
    if reduced:
        raise ValueError(f"run {', '.join(reduced)} again without --scale")
    own = [
        replace(found[key], measured=replace(found[key].measured, figures={}))
        for key in ITEMS
        if key in found
    ]
    return json.dumps({"results": [asdict(record) for record in own]}, indent=1) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Writes the file; 1 if the folder has results of a reduced scale, or none."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--output", type=Path, default=FOLDER / "papers.json")
    options = parser.parse_args(arguments)
    try:
        text = merged(options.folder)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    ids = {found["id"] for found in json.loads(text)["results"]}
    missing = [key for key in ITEMS if key not in ids]
    if missing:
        print(f"not run: {', '.join(missing)}", file=sys.stderr)
    if not ids:
        return 1
    options.output.write_text(text, encoding="utf-8")
    print(f"written: {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
