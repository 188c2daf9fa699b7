"""The tables and figures of the five documents, published beside measured.

Each experiment is an `Item` of the registry. `run_items` measures some of them and writes one JSON
file per item into a folder, and `write_report` one HTML page over all files there. The command is
``widemargin papers list | show | run``.
"""

from widemargin.papers.item import (
    NOT_COMPARABLE,
    NOT_REACHED,
    REACHED,
    Claim,
    Item,
    Line,
    Measured,
)
from widemargin.papers.registry import ITEMS, find_items
from widemargin.papers.report import write_report
from widemargin.papers.running import Record, read_records, run_items
from widemargin.papers.scope import Scope

__all__ = [
    "ITEMS",
    "NOT_COMPARABLE",
    "NOT_REACHED",
    "REACHED",
    "Claim",
    "Item",
    "Line",
    "Measured",
    "Record",
    "Scope",
    "find_items",
    "read_records",
    "run_items",
    "write_report",
]
