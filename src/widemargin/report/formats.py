"""How names and numbers of a report are written: the same in every rendering."""

import math

from widemargin._runtime.text import visible
from widemargin.report.document import Cell, Value

__all__ = [
    "cut",
    "interval",
    "name_of",
    "number",
    "percent",
    "pieces",
    "plural",
    "quoted",
    "seconds",
    "shown",
]

LONGEST_NAME = 60
OPEN, CLOSE = "\x02", "\x03"  # around names within texts: `visible` leaves no others


def name_of(name: object, longest: int = LONGEST_NAME) -> str:
    """A name from a file on one line, without control characters, and not too long.

    Examples
    --------
    >>> name_of("a\\nb"), name_of("x" * 100, 5)
    ('a\\\\nb', 'xxxx…')
    """
    text = visible(str(name))
    return text if len(text) <= longest else text[: longest - 1] + "…"


def quoted(name: object) -> str:
    """A name within a text, marked so that each rendering can set it apart."""
    return f"{OPEN}{name_of(name)}{CLOSE}"


def pieces(text: str) -> list[tuple[bool, str]]:
    """A text as parts: whether each is a name, and what it says."""
    found = []
    for k, piece in enumerate(text.split(OPEN)):
        name, closed, rest = piece.partition(CLOSE)
        if k and closed:
            found.append((True, name))
            found.append((False, rest))
        else:
            found.append((False, piece))
    return [(is_name, part) for is_name, part in found if part]


def number(value: float | None, spread: float | None = None, digits: int = 3) -> str:
    """A number for a reader, with its spread.

    Examples
    --------
    >>> number(283301.0), number(7.3), number(0.0001234), number(7.31, 0.05), number(None)
    ('283,301', '7.3', '0.000123', '7.31 ± 0.05', '')
    """
    if value is None:
        return ""
    whole = value == round(value) and abs(value) < 1e12
    text = f"{value:,.0f}" if whole and abs(value) >= 1000 else f"{value:.{digits}g}"
    if not whole and 100 <= abs(value) < 1e12:
        text = f"{value:,.1f}"
    return text if spread is None else f"{text} ± {spread:.2g}"


def percent(share: float) -> str:
    """A share of one, with digits enough to tell it from 0 and 1.

    Examples
    --------
    >>> percent(0.131), percent(0.0234), percent(0.9998), percent(1.0), percent(0.0)
    ('13.1 %', '2.3 %', '99.980 %', '100 %', '0 %')
    """
    return f"{100 * share:.{_decimals(share)}f} %"


def _decimals(share: float) -> int:
    """How many decimals the percentage of a share is shown with."""
    rest = 100 * min(abs(share), abs(1.0 - share))
    if rest < 1e-9:
        return 0
    return next((d for d in (1, 2, 3) if rest >= 10.0 ** (1 - d)), 4)


def interval(low: float, high: float, form: str = "number") -> str:
    """An interval, with as many digits as its width deserves.

    Examples
    --------
    >>> interval(0.0994, 0.1952, "percent"), interval(0.882, 0.99944, "percent")
    ('9.9 to 19.5 %', '88.2 to 99.9 %')
    >>> interval(7.8e-5, 0.1257), interval(52.061, 61.818), interval(1e9, 1.2e9)
    ('0.000 to 0.126', '52.1 to 61.8', '1,000,000,000 to 1,200,000,000')
    """
    factor, unit = (100.0, " %") if form == "percent" else (1.0, "")
    low, high = factor * low, factor * high
    width = high - low
    if not 1e-6 < width < 1e12:
        return f"{low:.4g} to {high:.4g}{unit}"
    decimals = max(0, 2 - round(math.log10(width)))
    if unit:
        decimals = max(1, decimals - 1)
    return f"{low:,.{decimals}f} to {high:,.{decimals}f}{unit}"


def plural(count: int, what: str) -> str:
    """How many there are.

    Examples
    --------
    >>> plural(1, "warning"), plural(2, "warning")
    ('1 warning', '2 warnings')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def seconds(value: float) -> str:
    """A duration.

    Examples
    --------
    >>> seconds(0.0123), seconds(75.2), seconds(7300)
    ('0.0123 s', '75.2 s', '2 h 2 min')
    """
    if value < 600:
        return f"{value:.3g} s"
    minutes = round(value / 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"


def shown(value: Value, form: str) -> str:
    """How a value is written: the same in HTML and Markdown."""
    if isinstance(value, Cell):
        return shown(value.value, value.form)
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, tuple | list):
        return interval(float(value[0]), float(value[1]), form)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if form == "percent":
        return percent(float(value))
    if form == "seconds":
        return seconds(float(value))
    if form == "count" and float(value).is_integer():
        return f"{value:,.0f}"
    return number(float(value), digits=4)


def cut(total: int, limit: int, what: str, order: str = "first") -> str:
    """What a table says that shows `limit` of `total` things; "" if it shows all.

    Examples
    --------
    >>> cut(500, 100, "columns", "most important")
    'The 100 most important of 500 columns are shown.'
    """
    return "" if total <= limit else f"The {limit:,} {order} of {total:,} {what} are shown."
