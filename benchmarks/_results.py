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


def save(name: str, results: Sequence[dict[str, Any]], **settings: Any) -> str:
    """Write the file; return its name, for the last line of the output."""
    folder = Path(__file__).parent / "results"
    folder.mkdir(exist_ok=True)
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
    (folder / f"{name}.json").write_text(json.dumps(facts, indent=2) + "\n")
    return f"benchmarks/results/{name}.json"
