"""Columns of numbers, booleans and dates: what `TableEncoder` learns of them, and their outputs.

The fields of each class are plain values, so that a model file can hold them as a dictionary.
"""

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self, TypeAlias

import numpy as np

from widemargin._runtime.warning import warn_caller
from widemargin._typing import FloatArray
from widemargin.tables.strips import Strip
from widemargin.tables.values import Parse, Values, day, number, read_numbers, truth

# Cycle -> days in a period, and the span in days that dates must exceed for it to tell anything.
CYCLES = {"year": (365.2425, 60.0), "week": (7.0, 7.0), "day": (1.0, 0.0)}


Output: TypeAlias = tuple[str, str]  # what follows the column's name, and the kind of output


@dataclass(frozen=True)
class Settings:
    """How columns are encoded; see the parameters of `TableEncoder`."""

    max_categories: int | None
    min_frequency: int
    missing_indicator: bool


@dataclass(frozen=True)
class Column:
    """What all kinds of columns share."""

    kind: ClassVar[str] = "dropped"

    name: str
    missing: int = 0  # missing values in training
    levels: int | None = None  # distinct categories
    note: str = ""

    def outputs(self) -> list[Output]:
        """The outputs that this column becomes."""
        return []

    def encode(self, values: Values) -> list[Strip]:
        """The outputs for these rows."""
        return []


@dataclass(frozen=True)
class DroppedColumn(Column):
    """A column without information."""


@dataclass(frozen=True)
class NumberColumn(Column):
    """Values, with the median in place of missing ones, and an indicator of missing values."""

    kind: ClassVar[str] = "number"
    what: ClassVar[str] = "a number"
    parse: ClassVar[Parse] = staticmethod(number)

    median: float = 0.0
    varies: bool = True  # if only the indicator does, there is no output of values
    indicator: bool = False

    @classmethod
    def fit(cls, name: str, values: Values, settings: Settings) -> Column:
        """Learn the median and whether values vary or are missing."""
        numbers = cls.read(name, values)
        gaps = np.isnan(numbers)
        missing = int(np.count_nonzero(gaps))
        present = numbers[~gaps] if missing else numbers
        if not present.size:
            return DroppedColumn(name, missing, note="all missing")
        varies = bool(present.min() < present.max())
        indicator = settings.missing_indicator and missing > 0
        if not varies and not indicator:
            return DroppedColumn(name, missing, note="constant")
        median = cls.middle(present)
        note = "" if varies else "one value or missing"
        column = cls(name, missing, None, note, median, varies, indicator)
        return column.with_cycles(present)

    @classmethod
    def read(cls, name: str, values: Values) -> FloatArray:
        """The column as numbers, NaN where they are missing."""
        numbers, odd = read_numbers(values, cls.parse)
        _check_finite(numbers, name)
        if odd is not None:
            warn_caller(
                f"column {name!r} holds {str(odd)[:80]!r}, which is not {cls.what}; it counts as "
                "missing, as do other such values",
                UserWarning,
            )
        return numbers

    @staticmethod
    def middle(present: FloatArray) -> float:
        """The value in place of missing ones."""
        return float(np.median(present))

    def with_cycles(self, present: FloatArray) -> Self:
        """This column, with outputs that only dates have."""
        return self

    def outputs(self) -> list[Output]:
        """The value if it varies, then the indicator if there is one."""
        missing = [(" is missing", "missing")] if self.indicator else []
        return [("", self.value_kind())] * self.varies + missing

    def value_kind(self) -> str:
        """The kind of the output of values."""
        return "number"

    def encode(self, values: Values) -> list[Strip]:
        """One array per output."""
        numbers = self.read(self.name, values)
        gaps = np.isnan(numbers)
        strips: list[Strip] = []
        if self.varies:
            strips.append(np.where(gaps, self.median, numbers) if gaps.any() else numbers)
        if self.indicator:
            strips.append(gaps.astype(np.float64))
        return strips


@dataclass(frozen=True)
class BooleanColumn(NumberColumn):
    """One output, 0 or 1, with the more frequent of them in place of missing values."""

    kind: ClassVar[str] = "boolean"
    what: ClassVar[str] = "true or false"
    parse: ClassVar[Parse] = staticmethod(truth)

    @classmethod
    def read(cls, name: str, values: Values) -> FloatArray:
        """0, 1 or NaN; numbers other than 0 count as true."""
        numbers = super().read(name, values)
        return np.where(np.isnan(numbers), np.nan, numbers != 0)

    @staticmethod
    def middle(present: FloatArray) -> float:
        """1 if at least half of the values are true."""
        return float(np.mean(present) >= 0.5)

    def value_kind(self) -> str:
        """The kind of the output of values."""
        return "indicator"


@dataclass(frozen=True)
class DateColumn(NumberColumn):
    r"""Days since 1970, and :math:`(\sin 2\pi t, \cos 2\pi t)` for the phase t of some cycles."""

    kind: ClassVar[str] = "date"
    what: ClassVar[str] = "a date"
    parse: ClassVar[Parse] = staticmethod(day)

    cycles: list[str] = field(default_factory=list)

    def with_cycles(self, present: FloatArray) -> Self:
        """This column with the cycles that vary and of which the dates span enough."""
        span = float(np.ptp(present))
        cycles = [
            cycle
            for cycle, (_, least) in CYCLES.items()
            if span > least and np.ptp(_phase(present, cycle)) > 0
        ]
        return replace(self, cycles=cycles)

    def outputs(self) -> list[Output]:
        """The days, the indicator of missing dates, then two outputs per cycle."""
        pairs = [(f" {cycle} {wave}", "cycle") for cycle in self.cycles for wave in ("sin", "cos")]
        return super().outputs() + pairs

    def encode(self, values: Values) -> list[Strip]:
        """One array per output; both waves of a missing date are 0."""
        days = self.read(self.name, values)
        strips = super().encode(days)
        gaps = np.isnan(days)
        for cycle in self.cycles:
            angle = 2 * math.pi * _phase(np.where(gaps, 0.0, days), cycle)
            strips += [np.where(gaps, 0.0, wave(angle)) for wave in (np.sin, np.cos)]
        return strips


def _check_finite(numbers: FloatArray, name: str) -> None:
    if (infinite := np.flatnonzero(np.isinf(numbers))).size:
        raise ValueError(
            f"column {name!r} is infinite in {infinite.size} of {len(numbers)} rows, first in data "
            f"row {infinite[0] + 1}, which holds {numbers[infinite[0]]}; replace these values, or "
            "leave them empty"
        )


def _phase(days: FloatArray, cycle: str) -> FloatArray:
    """The fraction of a cycle, in [0, 1): of the year, of the week (from Thursday), of the day."""
    whole = np.floor(days)
    if cycle == "day":
        return days - whole
    if cycle == "year":
        dates = whole.astype(np.int64).astype("datetime64[D]")
        whole = (dates - dates.astype("datetime64[Y]").astype("datetime64[D]")).astype(np.float64)
    return whole / CYCLES[cycle][0] % 1
