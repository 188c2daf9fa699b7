"""The command ``widemargin``, also as ``python -m widemargin``."""

import os
import sys
import time
from contextlib import suppress
from pathlib import Path

__all__ = ["main"]


def _age() -> float:
    """Seconds since this process began, where the system tells: they belong to a time limit."""
    with suppress(OSError, ValueError, IndexError, AttributeError):
        ticks = int(Path("/proc/self/stat").read_text("ascii").rpartition(")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
        return age if 0.0 <= age <= 60.0 else 0.0
    return 0.0


def main() -> None:
    """Run the command line, or explain how to install the packages that it needs."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError:
        sys.exit("error: the command line needs typer and rich: pip install 'widemargin[cli]'")
    try:
        from widemargin.cli import app, console

        console.STARTED = time.perf_counter() - _age()
        app(prog_name="widemargin")
    except KeyboardInterrupt:  # while modules are imported; commands handle it themselves
        sys.exit(130)


if __name__ == "__main__":
    main()
