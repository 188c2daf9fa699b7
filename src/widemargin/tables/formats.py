"""How the format of a file is found, how the file is opened, and what damage to it raises."""

import bz2
import codecs
import csv
import gzip
import io
import lzma
import re
import shutil
import struct
import tempfile
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, Any

from widemargin._runtime.files import is_stream, private_folder
from widemargin.tables.errors import Argument, ArgumentError, DataFileError

FORMATS = {
    "csv": (".csv", ".txt", ".data"),
    "tsv": (".tsv", ".tab"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc"),
    "svmlight": (".svm", ".svmlight", ".libsvm", ".dat"),
    "npz": (".npz",),
}
COMPRESSED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}

# Of files .dat, a few lines tell whether they are svmlight.
LOOKED_AT_BYTES, LOOKED_AT_LINES = 2**16, 20
SVMLIGHT = re.compile(rb"[+-]?[\d.]+([eE][+-]?\d+)?(,[\d.]+)*(\s+(\d+|qid):[^\s,;|:]+)+")
SEPARATED = re.compile(rb"[,;\t|]")

OWN_COMPRESSION = ("parquet", "arrow", "npz")

# Values that mean "missing"; "?" is the convention of the UCI repository.
MISSING_VALUES = ["", "?", "NA", "N/A", "n/a", "#N/A", "nan", "NaN", "NAN", "-nan", "null", "NULL"]

PART_BYTES = 2**20  # that are decompressed or decoded at once

# pyarrow's names of the compressions that it reads by itself.
ARROW_COMPRESSION = {".gz": "gzip", ".bz2": "bz2"}

# What the readers of Python and NumPy raise on a file that is missing, truncated or damaged,
# besides a plain ValueError.  pyarrow has error classes of its own.
READ_ERRORS = (
    *(OSError, EOFError, UnicodeError, OverflowError, NotImplementedError, SyntaxError),
    *(zlib.error, lzma.LZMAError, zipfile.BadZipFile, csv.Error, struct.error),
    tokenize.TokenError,
)


@contextmanager
def read_errors(
    place: object,
    remedy: str = "check the file",
    *,
    what: str = "cannot be read",
    also: tuple[type[Exception], ...] = (),
) -> Iterator[None]:
    """Turn every error that a damaged file can cause into a `DataFileError`.

    Parameters
    ----------
    place : object
        The file, and the place in it, with which the message begins.
    remedy, what : str
        What to do, and what is wrong.
    also : tuple of exception classes
        Further classes that mean damage here.
    """
    try:
        yield
    except ArgumentError:
        raise
    except Exception as error:
        if not isinstance(error, (*READ_ERRORS, *also)) and not _from_pyarrow(error):
            raise
        raise DataFileError(f"{place}: {what} ({short_reason(error)}); {remedy}") from error


def _from_pyarrow(error: Exception) -> bool:
    return any(cls.__module__.partition(".")[0] == "pyarrow" for cls in type(error).__mro__)


def short_reason(error: BaseException) -> str:
    """The first line of an error's message, without the name of the file."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(text).splitlines()[0]


def format_of(path: Path, format: str | None) -> str:
    """Name of the format: `format` if given, otherwise that of the suffix; CSV for pipes.

    A file .dat is svmlight, unless it exists and looks like CSV.
    """
    if format is not None:
        if format not in FORMATS:
            raise ArgumentError(
                Argument("format", format), f" is unknown; use one of {', '.join(FORMATS)}"
            )
        return format
    if (found := format_of_suffix(path)) is not None:
        return "csv" if found == "svmlight" and _is_csv_in_dat(path) else found
    if is_stream(path):
        return "csv"
    if path.is_dir():
        raise DataFileError(f"{path} is a folder; name one of its files")
    known = " ".join(suffix for suffixes in FORMATS.values() for suffix in suffixes)
    raise DataFileError(
        f"{path}: unknown suffix {path.suffix!r}; use one of {known}, or name the format with ",
        Argument("format"),
    )


def format_of_suffix(path: Path) -> str | None:
    """Name of the format that the suffix tells, or None."""
    suffix = plain_suffix(path)
    for name, suffixes in FORMATS.items():
        if suffix in suffixes and (suffix == path.suffix.lower() or name not in OWN_COMPRESSION):
            return name
    return None


def plain_suffix(path: Path) -> str:
    """The suffix in lower case, without that of a compression."""
    plain = path.with_suffix("") if path.suffix.lower() in COMPRESSED else path
    return plain.suffix.lower()


def _is_csv_in_dat(path: Path) -> bool:
    """Whether a file .dat holds CSV: lines with separators, none of them ``label index:value ...``.

    Pipes, which can be read only once, and files that cannot be read count as svmlight.
    """
    if plain_suffix(path) != ".dat" or not path.is_file():
        return False
    data = b""
    with suppress(*READ_ERRORS), open_data(path) as stream:
        data = stream.read(LOOKED_AT_BYTES)
    lines = [line.partition(b"#")[0].strip() for line in data.splitlines()]
    lines = [line for line in lines if line][:LOOKED_AT_LINES]
    separated = sum(bool(SEPARATED.search(line)) for line in lines)
    return not any(map(SVMLIGHT.fullmatch, lines)) and 2 * separated > len(lines)


@contextmanager
def regular_file(path: Path) -> Iterator[Path]:
    """A file that can be read more than once: `path`, or a temporary copy if it is a pipe.

    Errors raised inside name `path` instead of the copy.
    """
    if not is_stream(path):
        yield path
        return
    with private_folder(Path(tempfile.gettempdir()) / "widemargin") as folder:
        copy = folder / path.name
        with open(path, "rb") as source, open(copy, "wb") as target:
            shutil.copyfileobj(source, target)
        try:
            yield copy
        except ArgumentError as error:
            names = [
                p.replace(str(copy), str(path)) if isinstance(p, str) else p for p in error.parts
            ]
            raise type(error)(*names) from error


def open_data(path: Path) -> IO[bytes]:
    """The bytes of a file, decompressed according to its suffix."""
    stream: IO[bytes] = COMPRESSED.get(path.suffix.lower(), open)(path, "rb")
    return stream


def open_text(path: Path, encoding: str = "utf-8-sig") -> io.TextIOWrapper:
    """The text of a file; bytes that mean no character become replacement characters."""
    return io.TextIOWrapper(open_data(path), encoding, errors="replace", newline="")


def open_arrow(path: Path, encoding: str = "utf-8") -> Any:
    """The bytes of a file for pyarrow, decompressed according to its suffix.

    Text of another encoding than UTF-8 becomes UTF-8.

    pyarrow reads ahead in threads of its own, which may outlive the call.  A thread that then
    releases a Python object while the interpreter shuts down aborts the process.  The result
    therefore never holds a Python file, Python bytes or a Python decoder, which pyarrow uses for
    encodings.
    """
    pa = require_pyarrow()
    suffix = path.suffix.lower()
    codec = ARROW_COMPRESSION.get(suffix)
    known = suffix not in COMPRESSED or (codec is not None and pa.Codec.is_available(codec))
    as_it_is = codecs.lookup(encoding).name == "utf-8"
    if known and as_it_is:
        return pa.input_stream(str(path), compression=codec)
    sink = pa.BufferOutputStream()
    with open_data(path) as stream:
        parts = iter(partial(stream.read, PART_BYTES), b"")
        for part in parts if as_it_is else map(str.encode, codecs.iterdecode(parts, encoding)):
            sink.write(part)
    return pa.BufferReader(sink.getvalue())


def arrow_bytes(data: bytes) -> Any:
    """A copy of `data` for pyarrow, in memory of its own; see `open_arrow`."""
    pa = require_pyarrow()
    sink = pa.BufferOutputStream()
    sink.write(data)
    return pa.BufferReader(sink.getvalue())


def require_pyarrow() -> Any:
    """The pyarrow package with the modules used here, or an ImportError with the remedy."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.csv
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(
            "CSV, Parquet and Arrow files need pyarrow: pip install 'widemargin[cli]'"
        ) from error
    return pyarrow


def require_pandas(what: str) -> Any:
    """The pandas package, or an ImportError which says that `what` needs it."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError(f"{what} need pandas: pip install pandas") from error
    return pandas
