"""Text files in chunks of whole lines.

The end of a chunk depends only on its start.  A stream that is restarted at a boundary therefore
yields the same chunks as before.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from widemargin._typing import IntArray
from widemargin.streaming.chunk import Position
from widemargin.tables import DataFileError
from widemargin.tables.formats import COMPRESSED, READ_ERRORS, short_reason

TEXT_CHUNK_BYTES = 2**24
MAX_LINE_BYTES = 2**28
BOM = b"\xef\xbb\xbf"  # the byte order mark that some programs write before UTF-8 text
NEWLINE, QUOTE = b"\n"[0], b'"'[0]


@dataclass(frozen=True)
class TextChunk:
    """Whole lines of a text file."""

    data: bytes
    start: Position
    stop: Position
    bytes_read: int  # of the file as stored, before decompression
    longest_line: int


def text_chunks(
    path: Path, start: Position, *, max_lines: int | None = None, quotes: bool = False
) -> Iterator[TextChunk]:
    """The lines from `start`, in chunks of about 16 MB and at most `max_lines` lines.

    With `quotes`, a line end between quotation marks is part of a value and never ends a chunk.
    """
    line = start.line
    try:
        with opened(path) as (file, text):
            _seek(text, start.offset, path)
            for data, longest in _cut(text, path, max_lines, quotes):
                count = data.count(b"\n")
                stop = Position(offset=start.offset + len(data), line=line + count)
                bytes_read = stop.offset if text is file else file.tell()
                yield TextChunk(data, start, stop, bytes_read, longest)
                start, line = stop, stop.line
    except READ_ERRORS as error:
        raise DataFileError(
            f"{path}: line {line + 1} and all after it cannot be read ({short_reason(error)}); get "
            "the file again from its source"
        ) from error


@contextmanager
def opened(path: Path) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """The file and its text, which is decompressed according to the suffix of the file."""
    with ExitStack() as stack:
        file = stack.enter_context(open(path, "rb"))
        decompress = COMPRESSED.get(path.suffix.lower())
        yield file, stack.enter_context(decompress(file, "rb")) if decompress else file


def _seek(text: IO[bytes], offset: int, path: Path) -> None:
    if offset == 0:
        return
    text.seek(offset - 1)
    if text.read(1) != b"\n" and text.read(1):  # the last line need not end with one
        raise DataFileError(
            f"{path}: no line begins at byte {offset}, where the stream should start; the file "
            "has changed, start from the beginning"
        )


def _cut(
    text: IO[bytes], path: Path, max_lines: int | None, quotes: bool
) -> Iterator[tuple[bytes, int]]:
    """The text in chunks, each with the length of its longest line."""
    data, begin, at, complete = b"", 0, 0, False
    ends: IntArray = np.empty(0, np.int64)
    while True:
        wanted = None if max_lines is None else at + max_lines
        if not complete and (wanted is None or wanted > len(ends)):
            room = TEXT_CHUNK_BYTES - (len(data) - begin)
            more = text.read(max(room, 0))
            data, begin, at, complete = data[begin:] + more, 0, 0, len(more) < room
            ends = _line_ends(data, quotes, complete)
            while not complete and not len(ends):
                if len(data) >= MAX_LINE_BYTES:
                    raise DataFileError(
                        f"{path}: a line is longer than {MAX_LINE_BYTES >> 20} MB; is this text?"
                    )
                more = text.read(TEXT_CHUNK_BYTES)
                data, complete = data + more, len(more) < TEXT_CHUNK_BYTES
                ends = _line_ends(data, quotes, complete)
        if at == len(ends):
            return
        last = len(ends) if max_lines is None else min(at + max_lines, len(ends))
        longest = int(np.diff(ends[at:last], prepend=begin).max())
        end = int(ends[last - 1])
        yield data[begin:end], longest
        begin, at = end, last


def _line_ends(data: bytes, quotes: bool, complete: bool) -> IntArray:
    """The positions after line ends and, if the text is complete, after its last byte."""
    text = np.frombuffer(data, np.uint8)
    ends: IntArray = np.flatnonzero(text == NEWLINE) + 1
    if complete and data and (not len(ends) or ends[-1] < len(data)):
        ends = np.append(ends, len(data))
    if not quotes or not len(ends) or b'"' not in data:
        return ends
    # A line end is outside quoted values if an even number of quotation marks precedes it.
    marks = np.searchsorted(np.flatnonzero(text == QUOTE), ends)
    outside: IntArray = ends[marks % 2 == 0]
    if len(outside) and (not complete or outside[-1] == ends[-1]):
        return outside
    return np.append(outside, ends[-1])  # a mark that is never closed is part of a value
