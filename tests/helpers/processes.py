"""Other Python processes."""

import os
from pathlib import Path

import widemargin


def package_first(environment):
    """The environment of a process that shall import this very package."""
    package = str(Path(widemargin.__file__).resolve().parents[1])
    paths = [package, *filter(None, [environment.get("PYTHONPATH")])]
    return {**environment, "PYTHONPATH": os.pathsep.join(paths)}
