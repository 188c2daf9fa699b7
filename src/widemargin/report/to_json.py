"""A document as JSON: everything as numbers, not as text."""

import json
from dataclasses import fields, is_dataclass
from typing import Any

from widemargin.report.build import build
from widemargin.report.formats import pieces
from widemargin.report.record import Record

__all__ = ["render_json"]

FORMAT = 1  # raised when the meaning of a key changes


def render_json(record: Record) -> str:
    """The report of a record as JSON.

    Parameters
    ----------
    record : Record
        What a run found.

    Returns
    -------
    str
        One document with "format", "title" and "sections". Each section has an "id", a "title" and
        "parts", and each part a "type": "text", "facts", "table", "plot" or "code". Intervals are
        pairs. A "form" says how a value is meant: a "percent" is a share of one.
    """
    document = build(record)
    found = {"format": FORMAT, **_plain(document)}
    return json.dumps(found, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        found = {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
        return found
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    if isinstance(value, str):
        return "".join(f"“{part}”" if name else part for name, part in pieces(value))
    return value
