"""What an experiment of the documents is: published numbers, how to repeat it, and the verdict.

An `Item` has a kind, which says when its numbers are reached:

========  ============================================================================
error     ours is at most the published number, as printed
value     ours is within 1 % of the published number, or equal to it as printed
shape     the claims hold: an ordering, an exponent, the form of a curve
========  ============================================================================

What was measured is stored without verdicts. They are made from the published numbers when they
are shown, so a verdict always belongs to the number beside it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "NOT_COMPARABLE",
    "NOT_REACHED",
    "REACHED",
    "Claim",
    "Item",
    "Line",
    "Measured",
    "Numbers",
    "as_printed",
    "in_thesis",
]

REACHED, NOT_REACHED, NOT_COMPARABLE = "reached", "not reached", "not comparable"
KINDS = ("error", "value", "shape")
WITHIN = 0.01  # of a published value

#: By name, published or ours.
Numbers = Mapping[str, float]


@dataclass(frozen=True)
class Claim:
    """A sentence of a document, and the predicate that decides whether our numbers agree.

    `holds` gets the published numbers and ours. `otherwise` is why it may not hold here.
    """

    text: str
    holds: Callable[[Numbers, Numbers], bool]
    otherwise: str = ""


@dataclass(frozen=True)
class Measured:
    """What a run found, by the names of the published numbers and of others that claims need."""

    here: dict[str, float]  # with the settings of the document
    best: dict[str, float] = field(default_factory=dict)  # ours at its best
    spread: dict[str, float] = field(default_factory=dict)  # standard deviation over the seeds
    settings: dict[str, str] = field(default_factory=dict)  # what was chosen, and by what
    notes: tuple[str, ...] = ()
    figures: dict[str, str] = field(default_factory=dict)  # title: SVG

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> "Measured":
        """The inverse of `dataclasses.asdict`, after a round trip by JSON."""
        return cls(**{**found, "notes": tuple(found.get("notes", ()))})


@dataclass(frozen=True)
class Line:
    """A number or a claim of an item, with its verdict."""

    name: str
    verdict: str
    reason: str = ""
    published: float | None = None
    here: float | None = None
    best: float | None = None
    spread: float | None = None
    setting: str = ""
    claim: bool = False


@dataclass(frozen=True)
class Item:
    """One table, figure or experiment of the documents."""

    id: str  # "table-5.3"
    title: str
    source: str  # the document and the page
    kind: str
    protocol: str
    minutes: float  # that a whole run takes on two cores
    run: Callable[[Any], Measured]  # gets a `Scope`
    published: Mapping[str, float] = field(default_factory=dict)
    unit: str = ""
    decimals: int = 0  # printed after every number, or more where a number has more
    claims: tuple[Claim, ...] = ()
    #: Published numbers that cannot be judged, with the reason: seconds of another machine.
    not_comparable: Mapping[str, str] = field(default_factory=dict)
    #: Why numbers are known not to be reached.
    misses: Mapping[str, str] = field(default_factory=dict)
    deviations: tuple[str, ...] = ()  # of our protocol from the published one
    seeds: bool = False  # whether chance plays a part
    data: tuple[str, ...] = ()  # folders of WIDEMARGIN_DATA

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"{self.id}: kind={self.kind!r} is none of {', '.join(KINDS)}")

    def lines(self, measured: Measured) -> list[Line]:
        """Each published number and each claim, with its verdict."""
        numbers = [self._line(name, value, measured) for name, value in self.published.items()]
        extra = [
            Line(name, "", here=value, best=measured.best.get(name))
            for name, value in measured.here.items()
            if name not in self.published
        ]
        return [*numbers, *extra, *(self._judged(claim, measured) for claim in self.claims)]

    def verdict(self, measured: Measured) -> str:
        """The verdict of the whole item: reached if no line is not reached."""
        verdicts = {line.verdict for line in self.lines(measured)} - {""}
        if NOT_REACHED in verdicts:
            return NOT_REACHED
        return REACHED if REACHED in verdicts else NOT_COMPARABLE

    def _line(self, name: str, published: float, measured: Measured) -> Line:
        here = measured.here.get(name)
        verdict, reason = self._compared(name, published, here)
        return Line(
            name,
            verdict,
            reason,
            published,
            here,
            measured.best.get(name),
            measured.spread.get(name),
            measured.settings.get(name, ""),
        )

    def _compared(self, name: str, published: float, here: float | None) -> tuple[str, str]:
        if name in self.not_comparable:
            return NOT_COMPARABLE, self.not_comparable[name]
        if self.kind == "shape":
            return "", ""  # the claims decide
        if here is None:
            return NOT_REACHED, "not measured"
        if self.kind == "error":
            reached = self._as_printed(here, published) <= published
            found = f"{here - published:+.2g}"
        else:
            reached = abs(here - published) <= WITHIN * abs(published)
            reached = reached or self._as_printed(here, published) == published
            found = f"{here / published - 1:+.1%}" if published else f"{here:+.2g}"
        reason = self.misses.get(name, "")
        return (REACHED, "") if reached else (NOT_REACHED, "; ".join(filter(None, (found, reason))))

    def _as_printed(self, here: float, published: float) -> float:
        return round(here, max(self.decimals, _decimals(published)))

    def _judged(self, claim: Claim, measured: Measured) -> Line:
        try:
            holds = claim.holds(self.published, measured.here)
        except KeyError as missing:
            reason = f"{missing.args[0]} was not measured"
            return Line(claim.text, NOT_REACHED, reason, claim=True)
        if holds:
            return Line(claim.text, REACHED, claim=True)
        return Line(claim.text, NOT_REACHED, claim.otherwise, claim=True)


def as_printed(published: float | None) -> str:
    """A published number with all its digits; "" without one.

    Examples
    --------
    >>> as_printed(-3489571.13), as_printed(10.12), as_printed(936.0)
    ('-3,489,571.13', '10.12', '936')
    """
    return "" if published is None else f"{published:,.{_decimals(published)}f}"


def in_thesis(what: str, section: str = "", page: int = 0) -> str:
    """The source of what is in this section of the thesis, which begins on this page."""
    place = f"{what}, Section {section}" if section else what
    return f"thesis, {place}, from page {page}"


def _decimals(number: float) -> int:
    """The number of decimals that a number needs."""
    return len(f"{number:.6f}".rstrip("0").partition(".")[2])
