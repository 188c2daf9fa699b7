"""The record of a run in its model file, so that the report can be made again without the data."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from widemargin.report.record import Record

__all__ = ["RECORD_ATTRIBUTE", "bounded", "record_of", "remember"]

RECORD_ATTRIBUTE = "run_record_"  # of models that `widemargin train` made; `save` keeps it
MOST_CHARACTERS = 4_000_000
MOST_COLUMNS, MOST_TRIALS, MOST_FINDINGS = 2_000, 500, 200


def bounded(record: Record) -> Record:
    """The record with at most so many columns, trials and findings: the most important ones."""
    columns = record.columns
    if len(columns) > MOST_COLUMNS:
        ranked = sorted(columns, key=lambda column: -(column.importance or 0.0))
        kept = {id(column) for column in ranked[:MOST_COLUMNS]}
        columns = tuple(column for column in columns if id(column) in kept)
    trials = record.leaderboard
    if len(trials) > MOST_TRIALS:
        # A trial without a loss was cut off.
        ranked_trials = sorted(trials, key=lambda t: np.inf if t["loss"] is None else t["loss"])
        trials = tuple(ranked_trials[:MOST_TRIALS])
    return replace(
        record,
        columns=columns,
        leaderboard=trials,
        findings=record.findings[:MOST_FINDINGS],
    )


def remember(model: Any, record: Record) -> None:
    """Keep the record on the model, as text that `save` stores."""
    text = json.dumps(record.to_dict(), allow_nan=False, default=str)
    if len(text) > MOST_CHARACTERS:
        small = replace(record, columns=(), evaluation={}, baseline={}, leaderboard=())
        text = json.dumps(small.to_dict(), allow_nan=False, default=str)
    setattr(model, RECORD_ATTRIBUTE, text)


def record_of(model: Any) -> Record | None:
    """The record that a model file holds; None if there is none."""
    text = getattr(model, RECORD_ATTRIBUTE, None)
    if not isinstance(text, str) or len(text) > MOST_CHARACTERS:
        return None
    try:
        found = json.loads(text)
        return Record.from_dict(found) if isinstance(found, Mapping) else None
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
