"""What a report consists of: sections of texts, facts, tables, plots as data, and code.

Every rendering walks the same `Document`. Values stay numbers; their `form` says how they are
shown. Texts may hold names from files, which `formats.quoted` marks.
"""

from dataclasses import dataclass

__all__ = [
    "NUMBERS",
    "Cell",
    "Code",
    "Document",
    "Fact",
    "Facts",
    "Heading",
    "Part",
    "Plain",
    "Plot",
    "Section",
    "Series",
    "Table",
    "Text",
    "Value",
]

NUMBERS = ("number", "count", "percent", "seconds")  # forms of numbers; others are kinds of text

#: A pair is an interval.
Plain = str | int | float | bool | tuple[float, float] | None


@dataclass(frozen=True)
class Cell:
    """A value with a form of its own, in place of that of its column."""

    value: Plain
    form: str


Value = Plain | Cell


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str
    level: str = "text"  # "lead", "text", "note", "warning" or "error"


@dataclass(frozen=True)
class Fact:
    """One number with its name."""

    name: str
    value: Plain
    form: str = "text"
    interval: tuple[float, float] | None = None
    note: str = ""


@dataclass(frozen=True)
class Facts:
    """Several facts beside each other."""

    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class Heading:
    """The head of a column of a table."""

    name: str
    form: str = "text"


@dataclass(frozen=True)
class Table:
    """A table; the first cell of a row names the row."""

    title: str
    columns: tuple[Heading, ...]
    rows: tuple[tuple[Value, ...], ...]
    note: str = ""  # what was cut
    shaded: bool = False  # by the share of the row's sum, as a confusion matrix is


@dataclass(frozen=True)
class Series:
    """Points of a plot; of a histogram, edges and counts."""

    name: str
    x: tuple[float | str, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


@dataclass(frozen=True)
class Plot:
    """A plot as data."""

    kind: str  # "lines", "points", "histogram", "bars" or "quantiles"
    title: str
    text: str  # what it shows, for those who do not see it
    x: str
    y: str
    series: tuple[Series, ...]
    diagonal: bool = False
    log_x: bool = False
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None


@dataclass(frozen=True)
class Code:
    """A command or a program."""

    title: str
    text: str
    language: str = "sh"


Part = Text | Facts | Table | Plot | Code


@dataclass(frozen=True)
class Section:
    """A heading and what follows it; `level` 2 is a chapter."""

    id: str
    title: str
    parts: tuple[Part, ...] = ()
    level: int = 2


@dataclass(frozen=True)
class Document:
    """A report."""

    title: str
    sections: tuple[Section, ...] = ()
