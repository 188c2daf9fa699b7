"""What a certificate says: lines with a theorem, a status and numbers; as text, HTML and JSON."""

import json
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

__all__ = [
    "CHECKS",
    "FAILS",
    "HOLDS",
    "INAPPLICABLE",
    "Certificate",
    "Check",
    "Line",
    "Outcome",
    "check",
    "decided",
    "fails",
    "holds",
    "inapplicable",
    "number",
]

HOLDS, FAILS, INAPPLICABLE = "holds", "does not hold", "does not apply"
MARKS = {HOLDS: "✓", FAILS: "✗", INAPPLICABLE: "–"}
COLOURS = {HOLDS: "#1a7f37", FAILS: "#cf222e", INAPPLICABLE: "#6e7781"}
WIDTH, NAME_WIDTH = 100, 23


@dataclass(frozen=True)
class Outcome:
    """What a check found: a status, why, and the numbers behind it."""

    status: str
    text: str
    values: dict[str, Any] = field(default_factory=dict)


def holds(text: str, **values: Any) -> Outcome:
    return Outcome(HOLDS, text, values)


def fails(text: str, **values: Any) -> Outcome:
    return Outcome(FAILS, text, values)


def inapplicable(text: str, **values: Any) -> Outcome:
    return Outcome(INAPPLICABLE, text, values)


def decided(condition: Any, text: str, **values: Any) -> Outcome:
    """It holds if the condition is true."""
    return Outcome(HOLDS if condition else FAILS, text, values)


def number(value: float) -> str:
    """A number for a reader: four digits, thousands with a comma.

    Examples
    --------
    >>> number(12345), number(0.000123456), number(3.0)
    ('12,345', '0.0001235', '3')
    """
    value = float(value)
    if np.isfinite(value) and value == round(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}"


@dataclass(frozen=True)
class Check:
    """One line of a certificate, and the models that it is about."""

    name: str
    theorem: str
    applies: Callable[[Any], bool]
    function: Callable[[Any], Outcome]


CHECKS: list[Check] = []


def check(
    name: str, theorem: str, applies: Callable[[Any], bool] | tuple[type, ...] | type
) -> Callable[[Callable[[Any], Outcome]], Callable[[Any], Outcome]]:
    """Registers a function of a `Subject` as a line for models of these classes.

    Of several checks with one name, the first whose models include the given one is used.
    """

    def of_class(model: Any) -> bool:
        return isinstance(model, applies)  # type: ignore[arg-type]

    plain = isinstance(applies, type | tuple)

    def register(function: Callable[[Any], Outcome]) -> Callable[[Any], Outcome]:
        CHECKS.append(Check(name, theorem, of_class if plain else applies, function))  # type: ignore[arg-type]
        return function

    return register


@dataclass(frozen=True)
class Line:
    """One line: what was checked, by which theorem, and what came of it."""

    name: str
    theorem: str
    status: str
    text: str
    values: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """As plain Python objects; numbers that are not finite become text."""
        return {
            "name": self.name,
            "theorem": self.theorem,
            "status": self.status,
            "text": self.text,
            "values": {name: _plain(value) for name, value in self.values.items()},
        }


@dataclass(frozen=True)
class Certificate:
    """What the theory says about one fitted model; see `certificate`.

    Attributes
    ----------
    model : str
        The model with its parameters.
    n_rows, n_checked : int
        The rows given, and those that were examined.
    lines : tuple of Line
        The checks, in the order of the text.
    notes : tuple of str
        What a reader should know about all lines.
    """

    model: str
    n_rows: int
    n_checked: int
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Line]:
        return iter(self.lines)

    def __getitem__(self, name: str) -> Line:
        for line in self.lines:
            if line.name == name:
                return line
        known = ", ".join(repr(line.name) for line in self.lines)
        raise KeyError(f"no line is called {name!r}; there are {known}")

    @property
    def holds(self) -> bool:
        """Whether no line says "does not hold"."""
        return not self.broken

    @property
    def broken(self) -> tuple[str, ...]:
        """Names of the lines that do not hold."""
        return tuple(line.name for line in self.lines if line.status == FAILS)

    @property
    def summary(self) -> str:
        """One sentence: how many lines hold."""
        words = {HOLDS: "hold", FAILS: "do not hold", INAPPLICABLE: "do not apply"}
        counts = [f"{sum(line.status == s for line in self.lines)} {words[s]}" for s in MARKS]
        return f"{len(self.lines)} lines: {', '.join(counts)}."

    def to_dict(self) -> dict[str, Any]:
        """All of it as dictionaries, lists, text and numbers."""
        return {
            "model": self.model,
            "n_rows": self.n_rows,
            "n_checked": self.n_checked,
            "holds": self.holds,
            "broken": list(self.broken),
            "notes": list(self.notes),
            "lines": [line.to_dict() for line in self.lines],
        }

    def to_json(self, **options: Any) -> str:
        """`to_dict` as JSON; `options` are those of `json.dumps`."""
        options = {"ensure_ascii": False, "indent": 2} | options
        return json.dumps(self.to_dict(), allow_nan=False, **options)

    def __str__(self) -> str:
        parts = [self._title(), ""]
        for line in self.lines:
            head = f"  {MARKS[line.status]} {line.name:{NAME_WIDTH}}"
            before = "does not apply: " if line.status == INAPPLICABLE else ""
            if line.status == FAILS:
                before = "DOES NOT HOLD: "
            where = f"  [{line.theorem}]" if line.theorem else ""
            body = textwrap.wrap(
                before + line.text + where,
                WIDTH,
                initial_indent=head,
                subsequent_indent=" " * (NAME_WIDTH + 4),
                break_on_hyphens=False,
            )
            parts.extend(body)
        notes = [part for note in self.notes for part in textwrap.wrap(note, WIDTH)]
        return "\n".join([*parts, "", self.summary, *notes])

    __repr__ = __str__

    def _title(self) -> str:
        rows = f"{self.n_rows:,} rows"
        if self.n_checked < self.n_rows:
            rows = f"{self.n_checked:,} of {rows}"
        return f"Certificate of {self.model} on {rows}"

    def _repr_html_(self) -> str:
        cell = 'style="text-align:left;vertical-align:top;padding:2px 10px"'
        rows = []
        for line in self.lines:
            colour = COLOURS[line.status]
            status = f'<span style="color:{colour}">{MARKS[line.status]} {line.status}</span>'
            cells = [status, f"<b>{escape(line.name)}</b>", escape(line.text), escape(line.theorem)]
            rows.append("<tr>" + "".join(f"<td {cell}>{text}</td>" for text in cells) + "</tr>")
        head = "".join(f"<th {cell}>{name}</th>" for name in ("", "line", "found", "theorem"))
        below = "<br>".join(escape(text) for text in (self.summary, *self.notes))
        return (
            f"<div><p><b>{escape(self._title())}</b></p><table><thead><tr>{head}</tr></thead>"
            f"<tbody>{''.join(rows)}</tbody></table><p>{below}</p></div>"
        )


def _plain(value: Any) -> Any:
    """A number as JSON knows it; infinite ones and NaN as text."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    if isinstance(value, np.ndarray | list | tuple):
        return [_plain(item) for item in value]
    return value
