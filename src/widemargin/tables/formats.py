"""How the format of a file is found, and how the file is opened."""

import bz2
import gzip
import io
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from widemargin.tables.errors import Argument, ArgumentError, DataFileError

FORMATS = {
    "csv": (".csv", ".txt"),
    "tsv": (".tsv",),
    "parquet": (".parquet",),
    "svmlight": (".svm", ".svmlight", ".libsvm", ".dat"),
    "npz": (".npz",),
}
COMPRESSED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


def format_of(path: Path, format: str | None) -> str:
    """Name of the format: `format` if given, otherwise that of the suffix."""
    if format is not None:
        if format not in FORMATS:
            raise ArgumentError(
                Argument("format", format), f" is unknown; use one of {', '.join(FORMATS)}"
            )
        return format
    plain = path.with_suffix("") if path.suffix.lower() in COMPRESSED else path
    for name, suffixes in FORMATS.items():
        # Binary formats have their own compression.
        if plain.suffix.lower() in suffixes and (plain is path or name not in ("parquet", "npz")):
            return name
    known = " ".join(suffix for suffixes in FORMATS.values() for suffix in suffixes)
    raise DataFileError(
        f"{path}: unknown suffix {path.suffix!r}; use one of {known}, or name the format with ",
        Argument("format"),
    )


def open_data(path: Path) -> IO[bytes]:
    """The bytes of a file, decompressed according to its suffix."""
    stream: IO[bytes] = COMPRESSED.get(path.suffix.lower(), open)(path, "rb")
    return stream


def open_text(path: Path) -> io.TextIOWrapper:
    """The text of a file; bytes that are not UTF-8 become replacement characters."""
    return io.TextIOWrapper(open_data(path), "utf-8-sig", errors="replace", newline="")


def require_pyarrow() -> Any:
    """The pyarrow package with the modules used here, or an ImportError with the remedy."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.csv
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(
            "CSV and Parquet files need pyarrow: pip install 'widemargin[cli]'"
        ) from error
    return pyarrow
