"""Held-out rows of a regression: residuals, and residuals against predictions."""

from collections.abc import Mapping
from typing import Any

from widemargin.report.document import Fact, Facts, Part, Plot, Series
from widemargin.report.formats import shown

__all__ = ["value_parts"]

LEVELS = ("q05", "q25", "q50", "q75", "q95")


def value_parts(evaluation: Mapping[str, Any]) -> list[Part]:
    """Everything that a report shows of a regressor's answers."""
    target = evaluation["target"]
    facts = [
        Fact("mean of the target", target["mean"], "number"),
        Fact("standard deviation", target["deviation"], "number"),
        Fact("90 % of the targets", (target["q05"], target["q95"]), "number"),
    ]
    if "intervals" in evaluation:
        width = evaluation["intervals"]["mean_width"]
        facts.append(Fact("mean width of 90 % intervals", width, "number"))
    parts: list[Part] = [Facts(tuple(facts)), _residuals(evaluation["residuals"])]
    parts.append(_against(evaluation["residual_bins"]))
    return parts


def _residuals(found: Mapping[str, Any]) -> Plot:
    text = "Target minus prediction: right of zero the prediction was too low."
    outside = found["below"] + found["above"]
    if outside:
        text += f" The first and last bars also hold {outside:,} rows beyond them."
    series = (Series("rows", tuple(found["edges"]), tuple(found["counts"])),)
    return Plot("histogram", "Residuals", text, "target − prediction", "rows", series)


def _against(bins: list[Mapping[str, float]]) -> Plot:
    centres = tuple(one["centre"] for one in bins)
    widest = max(bins, key=lambda one: one["q95"] - one["q05"])
    text = (
        "Rows in bins of equal counts of their prediction. The line is the median residual, the "
        "boxes hold half of the rows and the thin lines 90 %. A line away from zero is a "
        "systematic error. The spread is largest at predictions from "
        f"{shown((widest['low'], widest['high']), 'number')}."
    )
    series = tuple(Series(level, centres, tuple(one[level] for one in bins)) for level in LEVELS)
    return Plot(
        "quantiles",
        "Residuals against predictions",
        text,
        "prediction",
        "target − prediction",
        series,
    )
