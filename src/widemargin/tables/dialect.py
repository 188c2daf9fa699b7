"""How a CSV file is written: its separator, header, encoding and decimal sign, found by itself."""

import codecs
import csv
import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from widemargin.tables.errors import Argument, ArgumentError, DataFileError
from widemargin.tables.formats import MISSING_VALUES, open_data

__all__ = ["Dialect", "find_dialect"]

SAMPLE_BYTES = 2**18  # of the file that are examined, or more if lines are longer
MOST_SAMPLE_BYTES = 2**25
SAMPLE_ROWS = 500
SEPARATORS = ",;\t|"
SEPARATOR_NAMES = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " "}
UTF8, FALLBACK = "utf-8", "cp1252"  # the second is what files of older programs are in
CONSISTENT = 0.9  # fraction of the lines with the same number of values
COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?", re.ASCII)
POINT_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written.

    Attributes
    ----------
    separator : str
        The character between values.
    header : bool
        Whether the first line names the columns.
    encoding : str
        How characters are written as bytes.
    decimal : {".", ","}
        The decimal sign.
    first : tuple of str
        The values of the first line that is not blank.
    """

    separator: str
    header: bool
    encoding: str
    decimal: str
    first: tuple[str, ...]


def find_dialect(
    path: Path,
    *,
    separator: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    known: Sequence[str] = (),
) -> Dialect:
    """Look at the beginning of a file; what is given is not guessed.

    Parameters
    ----------
    path : Path
        A text file, which may be compressed.
    separator, header, encoding, decimal :
        As in `Dialect`; None is found from the file.
    known : sequence of str
        Names of columns: a first line that holds one of them is a header.
    """
    _check(separator, decimal)
    with open_data(path) as stream:
        data, whole = _sample(stream)
    encoding = encoding or find_encoding(data)
    lines = _lines(data, encoding, path, whole=whole)
    separator = SEPARATOR_NAMES.get(separator or "", separator) or find_separator(lines)
    rows = _rows(lines, separator)
    first = rows[0]
    below = [row for row in rows[1:] if len(row) == len(first)]
    if decimal is None:
        decimal = find_decimal(rows) if separator != "," else "."
    if header is None:
        named = bool({cell.strip() for cell in first} & set(known))
        header = named or is_header(first, below, decimal)
    return Dialect(separator, header, encoding, decimal, tuple(first))


def _sample(stream: IO[bytes]) -> tuple[bytes, bool]:
    """The first bytes, with two whole lines if they are not too long; whether they are all."""
    data, more = b"", stream.read(SAMPLE_BYTES)
    while more:
        data += more
        if max(data.count(b"\n"), data.count(b"\r")) >= 2 or len(data) >= MOST_SAMPLE_BYTES:
            break
        more = stream.read(SAMPLE_BYTES)
    return data, len(more) < SAMPLE_BYTES


def _check(separator: str | None, decimal: str | None) -> None:
    if separator is not None and len(SEPARATOR_NAMES.get(separator, separator)) != 1:
        raise ArgumentError(
            Argument("separator", separator), "; use one character, such as ; or tab"
        )
    if decimal not in (None, ".", ","):
        raise ArgumentError(Argument("decimal", decimal), "; use . or ,")


def find_encoding(data: bytes) -> str:
    """The encoding that the first bytes of a text suggest."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and b"\0" in data:
        return "utf-16"
    try:
        # The sample may end inside a character.
        codecs.getincrementaldecoder(UTF8)().decode(data)
    except UnicodeDecodeError:
        return FALLBACK
    return UTF8


def _lines(data: bytes, encoding: str, path: Path, *, whole: bool) -> list[str]:
    """The lines of a sample that are not blank, without the last one if it is cut off."""
    name = "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding
    try:
        text = data.decode(name, errors="replace")
    except LookupError:
        raise ArgumentError(
            Argument("encoding", encoding),
            " is not known; use utf-8, cp1252 or another of Python's",
        ) from None
    lines = text.splitlines()
    if not whole and len(lines) > 1:
        lines.pop()
    lines = [line for line in lines if line.strip()]
    if not lines:
        raise DataFileError(f"{path}: the file is empty; give one with rows")
    if "\0" in lines[0]:
        raise DataFileError(
            f"{path}: not a text file; if it is not CSV, name its format with ", Argument("format")
        )
    return lines


def find_separator(lines: Sequence[str]) -> str:
    """The separator with which the most lines have the same number of values."""

    def quality(separator: str) -> tuple[float, int]:
        rows = _rows(lines, separator)
        if len(rows[0]) < 2:
            return 0.0, 0
        width, count = Counter(map(len, rows)).most_common(1)[0]
        share = count / len(rows) if width > 1 else 0.0
        # Values like 1,5 would make the comma look like a separator.
        cells = [cell.strip() for row in rows for cell in row]
        split = separator != "," and any(map(COMMA_NUMBER.fullmatch, cells))
        return float(share >= CONSISTENT), len(rows[0]) + 1000 * (split and share >= CONSISTENT)

    return max(SEPARATORS, key=quality)


def _rows(lines: Sequence[str], separator: str) -> list[list[str]]:
    try:
        rows = list(itertools.islice(csv.reader(lines, delimiter=separator), SAMPLE_ROWS))
    except csv.Error:
        rows = [line.split(separator) for line in lines[:SAMPLE_ROWS]]
    return rows or [[""]]


def find_decimal(rows: Sequence[Sequence[str]]) -> str:
    """The decimal sign that more values have."""
    cells = [cell.strip() for row in rows for cell in row]
    commas = sum(bool(COMMA_NUMBER.fullmatch(cell)) for cell in cells)
    points = sum("." in cell and bool(POINT_NUMBER.fullmatch(cell)) for cell in cells)
    return "," if commas > points else "."


def is_header(first: Sequence[str], below: Sequence[Sequence[str]], decimal: str) -> bool:
    """Whether the first line names the columns.

    It does not if its values are of the same kind as those below: numbers where there are numbers,
    or, in a table without numbers, texts that come again below.
    """
    cells = [cell.strip() for cell in first]
    if len(below) == 0:
        return not all(is_number(cell, decimal) for cell in cells)
    if _counts_up(cells):
        return True
    columns = [[cell.strip() for cell in column] for column in zip(*below, strict=True)]
    present = [[cell for cell in column if cell not in MISSING_VALUES] for column in columns]
    numeric = [bool(c) and all(is_number(cell, decimal) for cell in c) for c in present]
    if any(numeric):
        above = [cell for cell, number in zip(cells, numeric, strict=True) if number]
        filled = [cell for cell in above if cell not in MISSING_VALUES]
        return not filled or not all(is_number(cell, decimal) for cell in filled)
    repeated = sum(cell in column for cell, column in zip(cells, columns, strict=True))
    return 2 * repeated < len(cells)


def is_number(cell: str, decimal: str) -> bool:
    """Whether a value is a number with this decimal sign."""
    if decimal == ",":
        return bool(COMMA_NUMBER.fullmatch(cell) or POINT_NUMBER.fullmatch(cell))
    return bool(POINT_NUMBER.fullmatch(cell))


def _counts_up(cells: Sequence[str]) -> bool:
    """Whether the values are 0, 1, 2, ..., which programs write as names of columns."""
    try:
        numbers = [int(cell) for cell in cells]
    except ValueError:
        return False
    return len(cells) > 2 and numbers == list(range(numbers[0], numbers[0] + len(cells)))
