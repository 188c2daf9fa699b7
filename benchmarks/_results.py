"""Results on disk: benchmarks/results/<name>.json, with versions and machine."""

import json
import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import sklearn

import widemargin
from widemargin import _core

FOLDER = Path(__file__).parent / "results"


def saved(name: str) -> list[dict[str, Any]]:
    """The results of the file that `save` wrote; none without it."""
    file = FOLDER / f"{name}.json"
    return list(json.loads(file.read_text())["results"]) if file.exists() else []


def save(name: str, results: Sequence[dict[str, Any]], **settings: Any) -> str:
    """Write the file; return its name, for the last line of the output."""
    FOLDER.mkdir(exist_ok=True)
    facts = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "widemargin": widemargin.__version__,
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "machine": platform.machine(),
        "processors": os.cpu_count(),
        "instruction_set": _core.isa,
        **settings,
        "results": list(results),
    }
    (FOLDER / f"{name}.json").write_text(json.dumps(facts, indent=2) + "\n")
    return f"benchmarks/results/{name}.json"
