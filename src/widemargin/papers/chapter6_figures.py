"""Figures 6.2 and 6.3, and the comparison of global and local gaters in 6.6.1."""

import time
from typing import Any

import numpy as np

from widemargin.datasets import fetch_forest
from widemargin.papers.drawing import drawn
from widemargin.papers.forest_mixtures import (
    GLOBAL_MLPS,
    forest,
    parallel_minutes,
    predictions,
    svm_mixture,
    trial,
)
from widemargin.papers.item import Claim, Item, Measured, in_thesis
from widemargin.papers.scope import Scope
from widemargin.papers.trials import compared, error, exponent
from widemargin.plots.style import BLUE, LEGEND, VERMILION

__all__ = ["ITEMS"]

SIZES = (100_000, 200_000, 400_000)
ITERATIONS = 2
LOCAL = "20 MLPs, local gaters"
AS_GOOD = f"minutes in parallel until as good, {GLOBAL_MLPS}"


# ----------------------------------------------------------------------------------- Figure 6.2


def growth(scope: Scope) -> dict[str, float]:
    """Minutes of 50 experts and a gater of 150 units, for growing numbers of rows."""
    data, whole = forest(scope)[0], fetch_forest()
    held_out = np.concatenate([data.rows_valid, data.rows_test])
    rows = np.random.RandomState(0).permutation(np.setdiff1d(np.arange(581_012), held_out))
    here = {}
    for count in map(scope.rows, SIZES):
        model = svm_mixture(scope, 150, max_iter=ITERATIONS, random_state=scope.seeds[0])
        begun = time.perf_counter()
        model.fit(whole.data[rows[:count]], whole.target[rows[:count]])
        here[f"minutes, {count:,} rows"] = (time.perf_counter() - begun) / 60
        here[f"minutes in parallel, {count:,} rows"] = parallel_minutes(model)
        here[f"test error, {count:,} rows, %"] = error(model, data, "test")
    return here


def figure_6_2(scope: Scope) -> Measured:
    here, sizes = growth(scope), [scope.rows(size) for size in SIZES]
    minutes = {
        how: [here[f"{how}, {count:,} rows"] for count in sizes]
        for how in ("minutes", "minutes in parallel")
    }
    for how, values in minutes.items():
        here[f"exponent of the {how}"] = exponent(sizes, values)
    history = trial("50 SVMs, gater of 150 units", scope).fits[0].history_
    curves = {
        "training": [100 * record["error"] for record in history],
        "validation": [100 * record["validation_error"] for record in history],
    }
    for name, curve in curves.items():
        for number in sorted({1, min(2, len(curve)), len(curve)}):
            here[f"{name} error, iteration {number}, %"] = curve[number - 1]
        here[f"{name} error, first, %"] = curve[0]
        here[f"{name} error, last, %"] = curve[-1]

    def draw(figure: Any) -> None:
        left, right = figure.subplots(1, 2)
        for (how, values), colour in zip(minutes.items(), (BLUE, VERMILION), strict=True):
            left.plot(sizes, values, "o-", color=colour, label=how)
        left.set(xlabel="training rows", ylabel="minutes", ylim=(0, None))
        for (name, curve), colour in zip(curves.items(), (BLUE, VERMILION), strict=True):
            right.plot(np.arange(1, len(curve) + 1), curve, "o-", color=colour, label=name)
        right.set(xlabel="iteration", ylabel="error, %")
        for ax in (left, right):
            ax.legend(**LEGEND)

    return Measured(here, figures={"Time and errors of 50 SVMs": drawn(draw, width=9)})


# ----------------------------------------------------------------------------------- Figure 6.3


def figure_6_3(scope: Scope) -> Measured:
    history = trial(LOCAL, scope).fits[0].history_
    per_row = np.array([record["negative_log_likelihood"] / record["rows"] for record in history])
    valid = np.array([record["validation_criterion"] for record in history])

    def draw(figure: Any) -> None:
        titles = ("training: −log P(x, y) per row", "validation: −log P(y|x) per row")
        for ax, title, curve in zip(figure.subplots(1, 2), titles, (per_row, valid), strict=True):
            ax.plot(np.arange(1, len(curve) + 1), curve, "o-", color=BLUE)
            ax.set(xlabel="iteration", title=title)

    here = {
        "iterations": float(len(per_row)),
        "negative log-likelihood per row, first": float(per_row[0]),
        "negative log-likelihood per row, last": float(per_row[-1]),
        "validation, first": float(valid[0]),
        "validation, last": float(valid[-1]),
    }
    return Measured(here, figures={"20 MLP experts, local gaters": drawn(draw, width=9)})


# ---------------------------------------------------------------------------------------- 6.6.1


def global_or_local(scope: Scope) -> Measured:
    """How long a global gater takes to be as good as local gaters are at the end."""
    fits = {name: trial(name, scope).fits[0] for name in (GLOBAL_MLPS, LOCAL)}
    here = {}
    for name, fit in fits.items():
        here[f"test error, {name}, %"] = trial(name, scope).error
        here[f"minutes, {name}"] = float(fit.fit_time_) / 60
        here[f"minutes in parallel, {name}"] = parallel_minutes(fit)
    goal = min(record["validation_error"] for record in fits[LOCAL].history_)
    for iterations, record in enumerate(fits[GLOBAL_MLPS].history_, start=1):
        if record["validation_error"] <= goal:
            here["iterations of the global gater until as good"] = float(iterations)
            here[AS_GOOD] = parallel_minutes(fits[GLOBAL_MLPS], iterations)
            break
    ours, rival = ((name, predictions(name, scope)) for name in (GLOBAL_MLPS, LOCAL))
    note = compared("Forest", forest(scope)[0].y_test, ours, rival)
    return Measured(here, notes=(note,))


PUBLISHED = {AS_GOOD: 30.0, f"minutes in parallel, {LOCAL}": 1.3}
ITEMS = (
    Item(
        "figure-6.2",
        "Time and errors of a hard mixture of SVMs",
        in_thesis("Figure 6.2", "6.5.2", 80),
        kind="shape",
        protocol=f"50 experts, gater of 150 units; (a) 100,000 to 400,000 rows, {ITERATIONS} "
        "iterations; (b) 100,000 rows, five iterations",
        minutes=5.0,
        run=figure_6_2,
        claims=(
            Claim(
                "With one computer per expert, the time grows linearly with the rows",
                lambda _, here: here["exponent of the minutes in parallel"] < 1.25,
            ),
            Claim(
                "The first iteration is far from the last: the partition matters",
                lambda _, here: (
                    here["validation error, last, %"] < 0.8 * here["validation error, first, %"]
                ),
            ),
        ),
        deviations=(
            "The thesis trains with 50 computers; ours are computed from the seconds of experts "
            "and gater. The gater sees at most 100,000 rows per iteration, so its share of the "
            "time does not grow.",
        ),
        data=("covtype",),
    ),
    Item(
        "figure-6.3",
        "Likelihood of a hard mixture with local gaters",
        in_thesis("Figure 6.3", "6.6.1", 83),
        kind="shape",
        protocol="20 MLP experts of 25 units, 20 Gaussians per expert, as in Table 6.2",
        minutes=1.5,
        run=figure_6_3,
        claims=(
            Claim(
                "The negative log-likelihood falls with the iterations",
                lambda _, here: (
                    here["negative log-likelihood per row, last"]
                    < here["negative log-likelihood per row, first"]
                ),
            ),
            Claim(
                "It falls on validation rows, too",
                lambda _, here: here["validation, last"] < here["validation, first"],
            ),
        ),
        data=("covtype",),
    ),
    Item(
        "experiment-6.6.1",
        "Global against local gater, 20 MLP experts",
        in_thesis("Section 6.6.1", page=83),
        kind="shape",
        protocol="Forest, 100,000 rows; 20 experts of 25 units; 20 Gaussians per expert, or a "
        "gater of 150 units; one seed",
        minutes=2.0,
        run=global_or_local,
        published=PUBLISHED,
        claims=(
            Claim(
                "With one computer per expert, a global gater takes more time to be as good",
                lambda _, here: here[AS_GOOD] > here[f"minutes in parallel, {LOCAL}"],
            ),
            Claim(
                "The global gater has fewer errors in the end",
                lambda _, here: (
                    here[f"test error, {GLOBAL_MLPS}, %"] < here[f"test error, {LOCAL}, %"]
                ),
            ),
        ),
        not_comparable=dict.fromkeys(PUBLISHED, "minutes of computers of 2003"),
        deviations=(
            "As good is measured on validation rows. Minutes in parallel are computed from the "
            "seconds of experts and gater here, as if each expert had a computer and all took "
            "equally long.",
        ),
        data=("covtype",),
    ),
)
