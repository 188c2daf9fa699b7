"""How much memory a run needs, and how much there is."""

import os
from contextlib import suppress
from pathlib import Path

import numpy as np

from widemargin.tables.formats import COMPRESSED, open_data

__all__ = ["available_bytes", "check_readable", "largest_rows", "readable_rows"]

COPIES = 8  # of the encoded table that a search holds at most: parts, forms, the forms' parts
SHARE = 0.5  # of the available memory
TEXT_GROWTH = 3.0  # bytes of a table relative to those of its text
GROWTH = {"parquet": 8.0, "arrow": 2.0, "npz": 6.0, "svmlight": 3.0}  # of other formats
DECOMPRESSED = 8.0  # bytes of a text relative to those of its .gz, .bz2 or .xz file
SAMPLE_BYTES = 2**20


def available_bytes() -> float:
    """Bytes that this process can still have; infinite if the system does not say."""
    found = [np.inf]
    with suppress(OSError, ValueError, IndexError, StopIteration):
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        line = next(line for line in lines if line.startswith("MemAvailable:"))
        found.append(1024.0 * int(line.split()[1]))
    if len(found) == 1:
        with suppress(AttributeError, OSError, ValueError):
            found.append(float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")))
    with suppress(OSError, ValueError):  # a container's own limit
        most = float(Path("/sys/fs/cgroup/memory.max").read_text("ascii"))
        used = float(Path("/sys/fs/cgroup/memory.current").read_text("ascii"))
        found.append(most - used)
    return float(max(0.0, min(found)))


def largest_rows(width: int) -> float:
    """The most rows of so many encoded columns that a search has memory for."""
    return SHARE * available_bytes() / (COPIES * 8.0 * max(1, width))


def check_readable(path: Path, kind: str) -> None:
    """Refuse a file of a format that is read as a whole, if memory does not suffice."""
    need, room = GROWTH[kind] * _size(path), available_bytes()
    if need > room:
        streams = kind in ("parquet", "svmlight")
        remedy = "train with --stream and --model" if streams else "write a part of its rows"
        raise MemoryError(
            f"{path}: needs about {need / 2**30:.1f} GiB of memory, and {room / 2**30:.1f} GiB are "
            f"free; {remedy}, or use a machine with more memory"
        )


def readable_rows(path: Path) -> int | None:
    """How many rows of a text file to read; None: it fits into memory as a whole."""
    room = SHARE * available_bytes()
    if TEXT_GROWTH * _size(path) <= room:
        return None
    with open_data(path) as stream:
        sample = stream.read(SAMPLE_BYTES)
    per_row = len(sample) / max(1, sample.count(b"\n"))
    return max(1000, int(room / TEXT_GROWTH / per_row))


def _size(path: Path) -> float:
    """The bytes of a file, about, after decompression."""
    return path.stat().st_size * (DECOMPRESSED if path.suffix.lower() in COMPRESSED else 1.0)
