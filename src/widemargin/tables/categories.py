"""Columns of categories: one indicator per level, one for all rare levels."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from widemargin.tables.columns import Column, DroppedColumn, Output, Settings
from widemargin.tables.strips import Indicators, Strip
from widemargin.tables.values import Coded, Values, code_array, word

IDENTIFIER_MIN_VALUES = 20  # with fewer distinct values, text is not taken for an identifier
NOWHERE = -1  # the position of a level that is encoded by zeros


@dataclass(frozen=True)
class CategoryColumn(Column):
    """One indicator per level; rare levels share one, and two levels need only one."""

    kind: ClassVar[str] = "category"

    words: list[str] = field(default_factory=list)  # the levels that are not merged
    positions: list[int] = field(default_factory=list)  # and their places among the indicators
    missing_at: int = NOWHERE
    unseen_at: int = NOWHERE  # where rare levels are, if there are any
    width: int = 0

    @classmethod
    def fit(cls, name: str, values: Values, settings: Settings) -> Column:
        """Learn the levels, and which of them share an indicator."""
        coded = code_array(values) if isinstance(values, np.ndarray) else values
        counts = _count_words(coded)
        missing, rows = counts[None], len(coded.codes)
        levels = len(counts) - (None in counts)
        if len(counts) == 1:
            note = "constant" if levels else "all missing"
            return DroppedColumn(name, missing, levels, note)
        if levels > max(IDENTIFIER_MIN_VALUES, rows // 2):
            example = next(level for level in counts if level is not None)
            return DroppedColumn(name, missing, levels, _identifier_note(example, levels, rows))
        kept = _kept_levels(counts, settings)
        if not kept:
            return DroppedColumn(name, missing, levels, "all levels are rare")
        merged = len(counts) - len(kept)
        note = f"{merged} rare level{'s' * (merged > 1)} in one indicator" if merged else ""
        return cls(name, missing, levels, note, **_layout(kept, counts))

    def outputs(self) -> list[Output]:
        """One indicator per level with a position, named after the level."""
        labels = dict(zip(self.positions, (f"={level}" for level in self.words), strict=True))
        labels = {self.missing_at: " is missing", self.unseen_at: " is rare"} | labels
        return [(labels[position], "indicator") for position in range(self.width)]

    def encode(self, values: Values) -> list[Strip]:
        """The position of each row's level."""
        coded = code_array(values) if isinstance(values, np.ndarray) else values
        known: dict[str | None, int] = dict(zip(self.words, self.positions, strict=True))
        known[None] = self.missing_at
        positions = [known.get(word(value), self.unseen_at) for value in coded.distinct]
        # Missing values have code -1, which picks the last.
        return [Indicators(np.array([*positions, self.missing_at])[coded.codes], self.width)]


def _count_words(coded: Coded) -> Counter[str | None]:
    """Rows per level; None is the level of missing values."""
    rows = np.bincount(coded.codes + 1, minlength=len(coded.distinct) + 1).tolist()
    counts: Counter[str | None] = Counter({None: rows[0]} if rows[0] else {})
    for value, count in zip(coded.distinct, rows[1:], strict=True):
        counts[word(value)] += count
    return counts


def _kept_levels(counts: Counter[str | None], settings: Settings) -> list[str | None]:
    """The levels with an indicator of their own, the most frequent first."""
    ranked = sorted(counts, key=lambda level: (-counts[level], level is None, level or ""))
    kept = [level for level in ranked if counts[level] >= settings.min_frequency]
    most = settings.max_categories or len(ranked)
    fits = len(kept) == len(ranked) <= most
    return kept if fits else kept[: most - 1]


def _layout(kept: list[str | None], counts: Counter[str | None]) -> dict[str, Any]:
    """The place of each level among the indicators: words in order, missing values, rare levels."""
    words = sorted(level for level in kept if level is not None)
    sizes = [counts[level] for level in words] + [counts[None]] * (None in kept)
    if rare := counts.total() - sum(sizes):
        sizes.append(rare)
    places = list(range(len(sizes)))
    if len(sizes) == 2:  # one indicator is enough: the more frequent level is encoded by 0
        places = [NOWHERE, 0] if sizes[0] >= sizes[1] else [0, NOWHERE]
    unseen_at = places[-1] if rare else NOWHERE
    merged_or_new = unseen_at if counts[None] else NOWHERE
    return {
        "words": words,
        "positions": places[: len(words)],
        "missing_at": places[len(words)] if None in kept else merged_or_new,
        "unseen_at": unseen_at,
        "width": max(places) + 1,
    }


def _identifier_note(example: str, levels: int, rows: int) -> str:
    """Names and free text hardly repeat: their indicators would only memorise rows."""
    return (
        f"{levels} distinct texts in {rows} rows, such as {example[:80]!r}; if they are no "
        "identifiers, group them, or write numbers with a decimal point and dates as 2026-01-31"
    )
