"""Peak memory of this process."""

import resource
import sys
from pathlib import Path


def peak_so_far() -> float:
    """Peak resident memory of this program in MB.

    On Linux, ru_maxrss includes the parent at the time of the fork; VmHWM does not.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(l for l in status.read_text().splitlines() if l.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    unit = 1024**2 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
