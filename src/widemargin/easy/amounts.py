"""Text that may be numbers: amounts of money, percentages, numbers with a unit."""

import re
from collections import Counter
from collections.abc import Iterable
from itertools import islice

__all__ = ["amount_among"]

LOOKED_AT, FEWEST_DIFFERENT = 500, 5
NEARLY_ALL = 0.9
AMOUNT = re.compile(
    r"(?P<before>(?:[^\w\s.,+-]{1,3}|USD|EUR|GBP|CHF)?)\s?[+-]?"
    r"(?P<number>\d{1,3}(?:[.,'\u2019\u00a0\u202f ]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?)"
    r"\s?(?P<after>(?:%|[^\W\d]{1,4}|[^\w\s.,]{1,3})?)"
)


def amount_among(values: Iterable[object]) -> str | None:
    """One of the values if nearly all of them are numbers with the same unit; otherwise None.

    Parameters
    ----------
    values : iterable
        The values of a column of text that are not missing.

    Examples
    --------
    >>> amount_among([f"${k},050.00" for k in range(1, 9)])
    '$1,050.00'
    >>> amount_among([f"K{k}" for k in range(20)]) is None
    True
    """
    words = [str(value).strip() for value in islice(values, LOOKED_AT)]
    found = [match for match in map(AMOUNT.fullmatch, words) if match]
    if not found or len(found) < NEARLY_ALL * len(words):
        return None
    units = Counter((match["before"], match["after"]) for match in found)
    if units.most_common(1)[0][1] < NEARLY_ALL * len(words):
        return None
    if len({match["number"] for match in found}) < FEWEST_DIFFERENT:
        return None
    return next((m[0] for m in found if not m[0].isdigit()), None)
