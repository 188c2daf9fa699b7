"""`python -m benchmarks`: runs every question, prints ratios, writes JSON to benchmarks/results."""

import json
import platform
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import sklearn
from rich.console import Console
from rich.table import Table

import widemargin
from benchmarks import perceptron_epoch
from widemargin import _core


def main() -> None:
    results = perceptron_epoch.run()
    table = Table(
        title="An epoch in ms, one thread, best of 7; (test error %); ratio = rival / ours"
    )
    for column in ("inputs", "ours", "rival", "ratio"):
        table.add_column(column, no_wrap=True, justify="right" if column == "ratio" else "left")
    for r in results:
        table.add_row(
            r.inputs,
            f"{r.model:16} {r.our_milliseconds:5.2f} ({r.our_test_error:.1f})",
            f"{r.rival:20} {r.rival_milliseconds:5.1f} ({r.rival_test_error:.1f})",
            f"{r.ratio:.1f}",
        )
    console = Console(width=100)
    console.print(f"data: {results[0].data}")
    console.print(table)

    folder = Path(__file__).parent / "results"
    folder.mkdir(exist_ok=True)
    path = folder / "perceptron_epoch.json"
    facts = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "widemargin": widemargin.__version__,
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "machine": platform.machine(),
        "instruction_set": _core.isa,
        "results": [{**asdict(r), "ratio": r.ratio} for r in results],
    }
    path.write_text(json.dumps(facts, indent=2) + "\n")
    console.print(f"written: benchmarks/results/{path.name}")


if __name__ == "__main__":
    main()
