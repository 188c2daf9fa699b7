"""All tables together: the errors of all models, and one model against each of the others.

Errors of tables differ by orders of magnitude, so models are compared by ratios,
(e + 0.002) / (e' + 0.002), where e is the fraction of errors, 1 − R² or the log loss: below 1, the
first model is better. The constant keeps tables that are almost free of errors from deciding.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from rich.table import Table

from benchmarks._lines import Line
from benchmarks._table import seconds

OFFSET = 0.002
ERROR_DIGITS, LOSS_DIGITS = 2, 4  # as printed: errors in per cent, and log losses


@dataclass(frozen=True)
class Ratios:
    """Losses on several tables as ratios to those of another model.

    Losses that are equal as printed are ties.
    """

    wins: int
    ties: int
    losses: int
    mean: float
    geometric_mean: float
    worst: float
    worst_table: str

    @classmethod
    def of(
        cls, ours: Mapping[str, float], theirs: Mapping[str, float], scale: float, digits: int
    ) -> Self | None:
        """Over the tables of both, or None; a loss times `scale` is printed with `digits`."""
        tables = [table for table in ours if table in theirs]
        if not tables:
            return None
        pairs = [(ours[table], theirs[table]) for table in tables]
        ratios = [(e + OFFSET) / (other + OFFSET) for e, other in pairs]
        shown = [(round(scale * e, digits), round(scale * other, digits)) for e, other in pairs]
        worst = int(np.argmax(ratios))
        return cls(
            wins=sum(e < other for e, other in shown),
            ties=sum(e == other for e, other in shown),
            losses=sum(e > other for e, other in shown),
            mean=float(np.mean(ratios)),
            geometric_mean=math.exp(np.mean(np.log(ratios))),
            worst=ratios[worst],
            worst_table=tables[worst],
        )


@dataclass(frozen=True)
class Comparison:
    """The reference model against another one, and the seconds of the other's searches and fits."""

    reference: str
    model: str
    error: Ratios | None  # None for the reference itself, or if they have no table in common
    log_loss: Ratios | None
    median_seconds: float
    most_seconds: float


def compare(lines: Sequence[Line], reference: str) -> list[Comparison]:
    """One comparison per model, the reference first, with its own seconds; none without it."""
    names = dict.fromkeys(line.model for line in lines)
    if reference not in names:
        return []
    found = []
    for name in [reference, *(other for other in names if other != reference)]:
        own = [line for line in lines if line.model == name]
        times = [line.choice_seconds + line.seconds for line in own]
        error = log_loss = None
        if name != reference:
            first = [line for line in lines if line.model == reference]
            error = Ratios.of(_errors(first), _errors(own), 100.0, ERROR_DIGITS)
            log_loss = Ratios.of(_log_losses(first), _log_losses(own), 1.0, LOSS_DIGITS)
        seconds = float(np.median(times)), max(times)
        found.append(Comparison(reference, name, error, log_loss, *seconds))
    return found


def _errors(lines: Sequence[Line]) -> dict[str, float]:
    return {line.table: line.error / 100.0 for line in lines}


def _log_losses(lines: Sequence[Line]) -> dict[str, float]:
    return {line.table: line.log_loss for line in lines if line.log_loss is not None}


# ------------------------------------------------------------------------------- as tables


def comparison_table(comparisons: Sequence[Comparison]) -> Table:
    name = comparisons[0].reference
    table = Table(title=f"{name} against others: ratios below 1 are in favour of {name}")
    table.add_column("model", no_wrap=True)
    for column in (
        *("wins, ties, losses", "mean", "geometric mean", "worst", "worst table"),
        *("log loss: wins, ties, losses", "geometric mean", "median time", "most time"),
    ):
        table.add_column(column, justify="left" if column == "worst table" else "right")
    for one in comparisons:
        error, loss = one.error, one.log_loss
        table.add_row(
            one.model,
            _counts(error),
            *(f"{error.mean:.3f}", f"{error.geometric_mean:.3f}") if error else ("", ""),
            *(f"{error.worst:.2f}", error.worst_table) if error else ("", ""),
            _counts(loss),
            f"{loss.geometric_mean:.3f}" if loss else "",
            *(seconds(one.median_seconds), seconds(one.most_seconds)),
        )
    return table


def _counts(ratios: Ratios | None) -> str:
    return f"{ratios.wins}, {ratios.ties}, {ratios.losses}" if ratios else ""


def errors_table(lines: Sequence[Line]) -> Table:
    """Errors of all models on all tables."""
    names = list(dict.fromkeys(line.model for line in lines))
    cells = {(line.table, line.model): line.error for line in lines}
    table = Table(title="Test errors in per cent")
    table.add_column("table", no_wrap=True)
    for name in names:
        table.add_column(name.replace("-", " "), justify="right")
    for row in dict.fromkeys(line.table for line in lines):
        errors = [cells.get((row, name), math.inf) for name in names]
        shown = [
            ""
            if error == math.inf
            else f"[bold]{error:.2f}[/]"
            if error == min(errors)
            else f"{error:.2f}"
            for error in errors
        ]
        table.add_row(row, *shown)
    return table
