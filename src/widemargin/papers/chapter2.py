"""Figures 2.1 and 2.2: risks against the number of examples, and against the capacity."""

from typing import Any

import numpy as np

from widemargin.papers.drawing import drawn
from widemargin.papers.item import Claim, Item, Measured, in_thesis
from widemargin.papers.scope import Scope
from widemargin.plots.style import BLUE, GREY, LEGEND, VERMILION
from widemargin.theory import capacity_curve, learning_curve

__all__ = ["ITEMS"]

SIZES = (5, 10, 20, 50, 100, 200, 500)


def risks_by_examples(scope: Scope) -> Measured:
    """Means over samples of thresholds, whose expected risk is known exactly."""
    curve = learning_curve(SIZES, n_samples=scope.rows(4000))

    def draw(figure: Any) -> None:
        ax = figure.subplots()
        ax.semilogx(curve.sizes, curve.expected, color=VERMILION, label="expected risk R")
        ax.semilogx(curve.sizes, curve.empirical, "--", color=BLUE, label="empirical risk $R_L$")
        ax.axhline(curve.optimum, color=GREY, linestyle=":", label="lowest expected risk")
        ax.set(xlabel="number of examples L", ylabel="risk")
        ax.legend(**LEGEND)

    here = {
        "R_L, 5 examples": float(curve.empirical[0]),
        "R, 5 examples": float(curve.expected[0]),
        "R_L, 500 examples": float(curve.empirical[-1]),
        "R, 500 examples": float(curve.expected[-1]),
        "lowest R": curve.optimum,
        "smallest rise of R_L": float(np.diff(curve.empirical).min()),
        "largest rise of R": float(np.diff(curve.expected).max()),
    }
    return Measured(here, figures={"Risks of thresholds, 10 % noise": drawn(draw)})


def risks_by_capacity(scope: Scope) -> Measured:
    """Functions of one number whose sign changes at most h − 1 times, one training set."""
    curve = capacity_curve()

    def draw(figure: Any) -> None:
        ax = figure.subplots()
        ax.plot(curve.capacities, curve.bound, ":", color=GREY, label="bound (2.12)")
        ax.plot(curve.capacities, curve.expected, color=VERMILION, label="expected risk R")
        ax.plot(curve.capacities, curve.empirical, "--", color=BLUE, label="empirical risk $R_L$")
        ax.axvline(curve.chosen, color=GREY, linewidth=0.8)
        ax.set(xlabel="capacity h", ylabel="risk")
        ax.legend(**LEGEND)

    here = {
        "h with the lowest bound": float(curve.chosen),
        "h with the lowest R": float(curve.best),
        "largest rise of R_L": float(np.diff(curve.empirical).max()),
        "R, smallest h": float(curve.expected[0]),
        "R, best h": float(curve.expected.min()),
        "R, largest h": float(curve.expected[-1]),
    }
    return Measured(here, figures={"2,000 examples, four changes of sign": drawn(draw)})


ITEMS = (
    Item(
        "figure-2.1",
        "Risks against the number of examples",
        in_thesis("Figure 2.1", "2.2.2", 9),
        kind="shape",
        protocol="thresholds on [0, 1], 10 % noise, means over 4,000 samples of each size",
        minutes=0.1,
        run=risks_by_examples,
        claims=(
            Claim(
                "The empirical risk rises with the number of examples",
                lambda _, here: here["smallest rise of R_L"] > 0,
            ),
            Claim(
                "The expected risk falls with the number of examples",
                lambda _, here: here["largest rise of R"] < 0,
            ),
            Claim(
                "Both tend to the lowest expected risk",
                lambda _, here: (
                    max(
                        abs(here[name] - here["lowest R"])
                        for name in ("R_L, 500 examples", "R, 500 examples")
                    )
                    < 0.01
                ),
            ),
        ),
        deviations=("The thesis draws the shape without data; here the risks are computed.",),
    ),
    Item(
        "figure-2.2",
        "Risks against the capacity",
        in_thesis("Figure 2.2", "2.3.1", 12),
        kind="shape",
        protocol="2,000 examples on [0, 1], four changes of sign, 10 % noise, capacities 1 to 40",
        minutes=0.1,
        run=risks_by_capacity,
        claims=(
            Claim(
                "The empirical risk falls with the capacity",
                lambda _, here: here["largest rise of R_L"] <= 0,
            ),
            Claim(
                "The expected risk falls and then rises",
                lambda _, here: (
                    here["R, best h"] < min(here["R, smallest h"], here["R, largest h"])
                ),
            ),
            Claim(
                "The lowest bound is at the capacity with the lowest expected risk",
                lambda _, here: here["h with the lowest bound"] == here["h with the lowest R"],
            ),
        ),
        deviations=("The thesis draws the shape without data; here the risks are computed.",),
    ),
)
