"""The values of one column: numbers, truth values, days and words, whatever type they came in.

A column is an array of numbers, booleans, dates or durations, or it is `Coded`: a list of distinct
values of any type, and for each row its place in the list.  The distinct values are few, so they
are read one by one; the rows never are.
"""

import datetime
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from widemargin._typing import FloatArray, IntArray
from widemargin.tables.arrow import SECONDS_PER_DAY
from widemargin.tables.formats import MISSING_VALUES

MISSING = frozenset(MISSING_VALUES)
TRUTH = {"true": 1.0, "false": 0.0}
DAY = datetime.timedelta(days=1)
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


@dataclass(frozen=True)
class Coded:
    """Row i holds ``distinct[codes[i]]``, or nothing if ``codes[i]`` is -1."""

    codes: IntArray
    distinct: list[Any]
    categorical: bool = False  # the type of the column says that these are categories


Values: TypeAlias = np.ndarray | Coded
Parse: TypeAlias = Callable[[Any], float]


def read_numbers(values: Values, parse: Parse) -> tuple[FloatArray, Any]:
    """Numbers of a column, NaN where they are missing, and a value that cannot be read, or None.

    `parse` reads one of the distinct values and raises an error if it cannot.
    """
    if isinstance(values, np.ndarray):
        return _floats(values), None
    numbers = np.full(len(values.distinct) + 1, np.nan)  # code -1 picks the last
    odd = None
    for i, value in enumerate(values.distinct):
        try:
            numbers[i] = parse(value)
        except (TypeError, ValueError, OverflowError):
            odd = value if odd is None else odd
    return numbers[values.codes], odd


def _floats(array: np.ndarray) -> FloatArray:
    """Numbers as float64; dates and durations as days."""
    if array.dtype.kind not in "mM":
        return array.astype(np.float64, copy=False)
    microseconds = array.astype(f"{array.dtype.kind}8[us]")
    days: FloatArray = microseconds.astype(np.int64) / (SECONDS_PER_DAY * 1e6)
    days[np.isnat(microseconds)] = np.nan
    return days


def code_array(array: np.ndarray) -> Coded:
    """An array of numbers, booleans, dates or durations as codes."""
    distinct, codes = np.unique(array, return_inverse=True)
    missing = np.array([value != value for value in distinct], dtype=bool)
    return Coded(np.where(missing[codes], -1, codes), distinct.tolist())


def number(value: Any) -> float:
    """A number, or days if `value` is a date, a time or a duration; NaN if it is missing.

    Examples
    --------
    >>> number(" 2.5"), number("?"), number(datetime.timedelta(hours=6))
    (2.5, nan, 0.25)
    """
    if isinstance(value, str):
        text = value.strip()
        if "_" in text:  # Python reads 1_000 as a number; data files do not mean it
            raise ValueError(text)
        return math.nan if text in MISSING else float(text)
    if isinstance(value, datetime.date):
        return day(value)
    if isinstance(value, datetime.timedelta):
        return float(value / DAY)
    if isinstance(value, datetime.time):
        midnight = datetime.datetime.combine(EPOCH, datetime.time())
        return (datetime.datetime.combine(EPOCH, value.replace(tzinfo=None)) - midnight) / DAY
    return float(value)


def truth(value: Any) -> float:
    """1 for what is true or a number other than 0, 0 for what is not, NaN if it is missing.

    Examples
    --------
    >>> truth("True"), truth(0), truth("")
    (1.0, 0.0, nan)
    """
    if isinstance(value, str) and (word := value.strip().lower()) in TRUTH:
        return TRUTH[word]
    found = number(value)
    return found if math.isnan(found) else float(found != 0)


def day(value: Any) -> float:
    """Days since 1970, in UTC, of a date, a moment, a text in ISO 8601, or a number of days.

    Examples
    --------
    >>> day(datetime.date(1970, 1, 3)), day("1970-01-02 12:00"), day(7)
    (2.0, 1.5, 7.0)
    """
    if isinstance(value, str) and (text := value.strip()) not in MISSING:
        value = datetime.datetime.fromisoformat(text)
    if isinstance(value, datetime.datetime):
        moment = value.replace(tzinfo=datetime.UTC) if value.tzinfo is None else value
        return float((moment - EPOCH) / DAY)
    if isinstance(value, datetime.date):
        return float(value.toordinal() - EPOCH.toordinal())
    return number(value)


def word(value: Any) -> str | None:
    """The text of a value without outer whitespace; None if it means "missing".

    Examples
    --------
    >>> word(" a "), word(3.0), word("3"), word("NA")
    ('a', '3', '3', None)
    """
    text = text_of(value).strip()
    return None if text in MISSING else text


def text_of(value: Any) -> str:
    """The text of a value, the same whether a column of codes was read as integers or floats."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def kind_of(values: Values) -> str:
    """What a column holds: "number", "boolean", "date" or "category"."""
    if isinstance(values, np.ndarray):
        return {"b": "boolean", "M": "date"}.get(values.dtype.kind, "number")
    if values.categorical:
        return "category"
    present = [value for value in values.distinct if word(value) is not None]
    for kind, holds in (("boolean", _is_truth), ("number", _is_number), ("date", _is_day)):
        if all(map(holds, present)):
            return kind
    return "category"


def _is_truth(value: Any) -> bool:
    return isinstance(value, (bool, np.bool_)) or text_of(value).strip().lower() in TRUTH


def _is_number(value: Any) -> bool:
    return not isinstance(value, datetime.date) and _can_read(number, value)


def _is_day(value: Any) -> bool:
    return isinstance(value, (datetime.date, str)) and _can_read(day, value)


def _can_read(parse: Parse, value: Any) -> bool:
    try:
        parse(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True
