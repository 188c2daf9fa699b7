"""The files of a stream: found by name, folder or pattern, all of one format."""

import glob
import os
from collections.abc import Iterable
from pathlib import Path

from widemargin._runtime.files import PathLike, is_stream
from widemargin.tables.errors import Argument, DataFileError
from widemargin.tables.formats import format_of

STREAMED_FORMATS = ("svmlight", "csv", "tsv", "parquet")


def find_files(paths: PathLike | Iterable[PathLike], format: str | None) -> tuple[Path, ...]:
    """The files that `paths` names, in order; each is a file, a folder or a pattern with ``*``."""
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    files = [file for path in given for file in _expand(Path(path), format)]
    if not files:
        raise ValueError("paths is empty; name at least one data file")
    return tuple(files)


def _expand(path: Path, format: str | None) -> list[Path]:
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if _is_data(file, format))
        if not files:
            raise DataFileError(f"{path}: the folder holds no data files; name another, or files")
        return files
    if is_stream(path):
        raise DataFileError(
            f"{path}: is a pipe or device, which can be read only once; save it to a file first"
        )
    if path.exists():
        return [path]
    found = sorted(Path(name) for name in glob.glob(str(path), recursive=True))
    files = [file for file in found if file.is_file()]
    if not files:
        raise FileNotFoundError(f"{path}: there is no such file; check the name or the pattern")
    return files


def _is_data(file: Path, format: str | None) -> bool:
    """Whether a file of a folder holds data; other files start with a dot or an underscore."""
    if file.name.startswith((".", "_")) or not file.is_file():
        return False
    try:
        return format is not None or format_of(file, None) in STREAMED_FORMATS
    except DataFileError:
        return False


def common_format(files: tuple[Path, ...], format: str | None) -> str:
    """The format of all files."""
    formats = {file: format_of(file, format) for file in files}
    kind = formats[files[0]]
    for file, other in formats.items():
        if other not in STREAMED_FORMATS:
            raise DataFileError(
                f"{file}: {other} files cannot be streamed; use read_table, or write svmlight, CSV "
                "or Parquet files"
            )
        if other != kind:
            raise DataFileError(
                f"{file}: is {other}, but {files[0]} is {kind}; a stream has one format: make two "
                "streams, or name the format with ",
                Argument("format"),
            )
    return kind
