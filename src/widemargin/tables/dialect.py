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
# Characters that texts do not hold, besides tabs and the ends of lines and files.
CONTROLS = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1a"))
MOST_CONTROLS = 0.02  # fraction of the bytes of a text that is not UTF-8
CONSISTENT = 0.9  # fraction of the lines with the same number of values
COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?", re.ASCII)
POINT_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+", re.ASCII)  # such as 1,234
LIST = re.compile(r"[+-]?\d+(,\d+){2,}", re.ASCII)  # such as 1,234,567 or 3,5,8
LINE_END = re.compile(r"\r\n|\r|\n")
NAMED_SEPARATOR = re.compile(r"sep=(.)", re.IGNORECASE)  # a first line for Excel


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
        The values of the first line that is neither blank nor skipped.
    skipped : int
        The number of lines before the table: comments, and a line ``sep=;`` for Excel.
    """

    separator: str
    header: bool
    encoding: str
    decimal: str
    first: tuple[str, ...]
    skipped: int = 0


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
    if encoding is None:
        encoding = find_encoding(data)
        if encoding == FALLBACK and is_binary(data):
            raise _no_text(path)
    numbered = _lines(data, encoding, path, whole=whole)
    lines = list(numbered.values())
    separator = SEPARATOR_NAMES.get(separator or "", separator)
    before = 0  # lines that are no part of the table
    if len(lines) > 1 and (found := NAMED_SEPARATOR.fullmatch(lines[0])):
        before, separator = 1, separator or found[1]
    before += count_comments(lines[before:], separator)
    lines = lines[before:]
    separator = separator or find_separator(lines)
    rows = _rows(lines, separator)
    first = rows[0]
    if decimal is None:
        decimal = find_decimal(rows) if separator != "," else find_quoted_decimal(rows)
    if header is None:
        named = bool({cell.strip() for cell in first} & set(known))
        header = named or is_header(first, _like(first, rows[1:]), decimal)
    skipped = list(numbered)[before] if before else 0
    return Dialect(separator, header, encoding, decimal, tuple(first), skipped)


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


def is_binary(data: bytes) -> bool:
    """Whether bytes that are not UTF-8 are no text of an older encoding either."""
    controls = len(data) - len(data.translate(None, CONTROLS))
    return b"\0" in data or controls > MOST_CONTROLS * len(data)


def _lines(data: bytes, encoding: str, path: Path, *, whole: bool) -> dict[int, str]:
    """The lines of a sample that are not blank, by the number of lines before each.

    The last one is left out if it is cut off.
    """
    name = "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding
    try:
        text = data.decode(name, errors="replace")
    except LookupError:
        raise ArgumentError(
            Argument("encoding", encoding),
            " is not known; use utf-8, cp1252 or another of Python's",
        ) from None
    parts = LINE_END.split(text)
    if not whole and len(parts) > 1:
        parts.pop()
    lines = {number: line for number, line in enumerate(parts) if line.strip()}
    if not lines:
        raise DataFileError(f"{path}: the file is empty; give one with rows")
    if "\0" in next(iter(lines.values())):
        raise _no_text(path)
    return lines


def _no_text(path: Path) -> DataFileError:
    return DataFileError(
        f"{path}: not a text file; if it is not CSV, name its format with ",
        Argument("format"),
        ", or else its encoding with ",
        Argument("encoding"),
    )


def count_comments(lines: Sequence[str], separator: str | None) -> int:
    """How many lines at the beginning are comments: they start with ``#``, and a table follows.

    A line with as many values as the table is its header or a row, such as ``#id,name``.  So may be
    a line with another number of values, unless there is none, or the table has its own header.
    """
    marked = sum(1 for _ in itertools.takewhile(lambda line: line.startswith("#"), lines))
    table = lines[marked:]
    if not marked or not table:
        return 0
    separator = separator or find_separator(table)
    rows = _rows(table, separator)
    below = _like(rows[0], rows[1:])
    if len(rows[0]) < 2 or len(below) < CONSISTENT * (len(rows) - 1):
        return 0
    own = is_header(rows[0], below, ",") and is_header(rows[0], below, ".")
    widths = [len(_rows([line], separator)[0]) for line in lines[:marked]]
    comments = [width != len(rows[0]) and (own or width == 1) for width in widths]
    return (*comments, False).index(False)


def _like(first: Sequence[str], rows: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """The rows with as many values as the first."""
    return [row for row in rows if len(row) == len(first)]


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


def find_quoted_decimal(rows: Sequence[Sequence[str]]) -> str:
    """The decimal sign of values between commas, where ``"1,5"`` is in quotes.

    ``"1,234"`` may be a thousand, and ``"3,5,8"`` is a list: the comma is the decimal sign only if
    some value can be nothing else, and no value speaks against it.
    """
    cells = [cell.strip() for row in rows for cell in row]
    commas = [cell for cell in cells if COMMA_NUMBER.fullmatch(cell)]
    if all(map(THOUSANDS.fullmatch, commas)) or any(map(LIST.fullmatch, cells)):
        return "."
    points = any("." in cell and POINT_NUMBER.fullmatch(cell) for cell in cells)
    return "." if points else ","


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
