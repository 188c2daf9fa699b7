"""Figures 8.1 to 8.4, which the report has too: criteria, control of the margin, Tanh."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from widemargin.criteria import CrossEntropy, Margin
from widemargin.papers.drawing import drawn
from widemargin.papers.item import Claim, Item, Measured, in_thesis
from widemargin.papers.scope import Scope
from widemargin.perceptrons import MarginPerceptron, Perceptron
from widemargin.plots import LossDisplay, MarginDisplay
from widemargin.plots.style import BLUE, LEGEND, VERMILION
from widemargin.theory import margin_bound, radius

__all__ = ["ITEMS"]

RATES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
UPDATES = (20, 50, 100, 200, 500, 1000, 2000)
FIXED_UPDATES, FIXED_RATE = 300, 0.003
TRIALS, TRIAL_ROWS = 10, 200
PERCEPTRON_UPDATES = (10, 40, 60)
MARGIN_UPDATES = (10, 40, 60, 120, 500, 2000)
MARGIN_EPOCHS = (1, 10, 100)  # of the report
UPDATE, EPOCH = "update", "epoch"


def criteria(scope: Scope) -> Measured:
    z = np.linspace(-20, 20, 4001)
    entropy, margin = CrossEntropy().value(1.0, z), Margin().value(1.0, z)

    def draw(figure: Any) -> None:
        LossDisplay.from_criteria([CrossEntropy(), Margin()], ax=figure.subplots())

    here = {
        "largest |difference|": float(np.abs(entropy - margin).max()),
        "cross-entropy at z = 20": float(entropy[-1]),
        "margin criterion at z = 20": float(margin[-1]),
        "largest second difference of a criterion below 0": float(
            max(0.0, -min(np.diff(entropy, 2).min(), np.diff(margin, 2).min()))
        ),
    }
    return Measured(here, figures={"Criteria of z = y f(x)": drawn(draw)})


def control_of_the_margin(scope: Scope) -> Measured:
    """200 examples of Connect-4, means over ten trials."""
    data = scope.thesis_split("Connect-4")
    trials = max(2, scope.epochs(TRIALS))
    by_rate = _trials(data, trials, [(rate, FIXED_UPDATES) for rate in RATES])
    by_updates = _trials(data, trials, [(FIXED_RATE, updates) for updates in UPDATES])

    def draw(figure: Any) -> None:
        axes = figure.subplots(2, 2)
        for column, (name, x, found) in enumerate(
            (("λ", RATES, by_rate), ("number of updates t", UPDATES, by_updates))
        ):
            for row, what in enumerate(("margin ρ", "validation error, %")):
                ax = axes[row, column]
                ax.semilogx(x, found[:, row], "o-", color=(BLUE, VERMILION)[row])
                ax.set(xlabel=name, ylabel=what)

    here = {
        "largest rise of ρ with λ": float(np.diff(by_rate[:, 0]).max()),
        "largest rise of ρ with t": float(np.diff(by_updates[:, 0]).max()),
        "smallest ρ / bound of Theorem 8.3": float(np.r_[by_rate, by_updates][:, 2].min()),
        "validation error, best λ, %": float(by_rate[:, 1].min()),
        "validation error, largest λ, %": float(by_rate[-1, 1]),
    }
    title = f"{TRIAL_ROWS} examples of Connect-4, means over {trials} trials"
    return Measured(here, figures={title: drawn(draw, width=8, height=6)})


def _trials(data: Any, trials: int, settings: list[tuple[float, int]]) -> Any:
    """Of each setting: the mean margin, the mean validation error, the lowest margin / bound."""
    found = []
    for rate, updates in settings:
        of_trials = []
        for seed in range(trials):
            rows = np.random.RandomState(seed).permutation(len(data.y_train))[:TRIAL_ROWS]
            X, y = data.X_train[rows], data.y_train[rows]
            model = MarginPerceptron(
                learning_rate=rate,
                schedule="constant",
                max_updates=updates,
                max_iter=10_000,
                tol=None,
                random_state=seed,
            ).fit(X, y)
            R = radius((X - model.feature_offset_) / model.feature_scale_)
            rho = float(model.geometric_margin_)
            error = 100 * (1 - model.score(data.X_valid, data.y_valid))
            of_trials.append((rho, error, rho / margin_bound(model.n_updates_, R, rate)))
        ratios = np.array(of_trials)
        found.append((*ratios[:, :2].mean(axis=0), ratios[:, 2].min()))
    return np.array(found)


def noisy_clouds(seed: int = 0) -> tuple[Any, Any, Any]:
    """Crosses above circles, with some crosses just above the circles; and which these are."""
    random = np.random.RandomState(seed)
    y = np.repeat([1, -1, 1], [60, 60, 6])
    X = random.uniform(-1, 1, size=(len(y), 2)) * [2.0, 0.7]
    X[:, 1] += np.where(y > 0, 1.6, -1.2)
    noisy = np.arange(len(y)) >= 120
    X[noisy] = np.column_stack([random.uniform(-1.5, -0.5, 6), random.uniform(-0.42, -0.3, 6)])
    return X, y, noisy


def of(count: int, unit: str) -> str:
    return f"{count:,} {unit}{'s' * (count > 1)}"


def stopped(margin: bool, *, updates: int | None = None, epochs: int = 10_000) -> Any:
    """A perceptron, with or without a margin, that stops early."""
    shared: dict[str, Any] = {"max_updates": updates, "max_iter": epochs, "tol": None}
    if not margin:
        return Perceptron(**shared, random_state=0)
    model = MarginPerceptron(**shared, learning_rate=0.01, random_state=0)
    return model.set_params(schedule="constant", scaling=None)


def by_updates(scope: Scope) -> Measured:
    models = {f"Perceptron, {of(t, UPDATE)}": stopped(False, updates=t) for t in PERCEPTRON_UPDATES}
    margin = {
        f"Margin Perceptron, {of(t, UPDATE)}": stopped(True, updates=t) for t in MARGIN_UPDATES
    }
    return early_stopping(models | margin)


def by_epochs(scope: Scope) -> Measured:
    models = {f"Perceptron, {of(1, EPOCH)}": stopped(False, epochs=1)}
    margin = {f"Margin Perceptron, {of(n, EPOCH)}": stopped(True, epochs=n) for n in MARGIN_EPOCHS}
    return early_stopping(models | margin)


def early_stopping(models: dict[str, Any]) -> Measured:
    X, y, noisy = noisy_clouds()
    here = {}
    for name, model in models.items():
        model.fit(X, y)
        wrong = model.predict(X) != y
        here[f"noisy crosses wrong, {name}"] = float(wrong[noisy].sum())
        here[f"other examples wrong, {name}"] = float(wrong[~noisy].sum())
        if isinstance(model, MarginPerceptron):
            here[f"ρ, {name}"] = float(model.geometric_margin_)

    def draw(figure: Any) -> None:
        axes = figure.subplots(rows, -(-len(models) // rows)).ravel()
        for ax, (name, model) in zip(axes, models.items(), strict=True):
            MarginDisplay.from_estimator(model, X, y, ax=ax)
            ax.set_title(name, fontsize="small")
            if ax.get_legend():
                ax.get_legend().remove()

    rows = 3 if len(models) > 4 else 2
    return Measured(here, figures={"f = 0 and f = ±1": drawn(draw, width=10, height=3 * rows)})


def early_stopping_claims(stops: tuple[int, ...], unit: str, chosen: int) -> tuple[Claim, ...]:
    """The claims of the figure; the document chooses one of its hyperplanes."""
    names = [f"Margin Perceptron, {of(stop, unit)}" for stop in stops]
    best = f"Margin Perceptron, {of(chosen, unit)}"
    return (
        Claim(
            f"The margin falls with the number of {unit}s",
            lambda _, here: all(here[f"ρ, {a}"] > here[f"ρ, {b}"] for a, b in pairwise(names)),
        ),
        Claim(
            f"After {of(chosen, unit)} the line ignores the noise and separates the rest",
            lambda _, here: (
                here[f"other examples wrong, {best}"] == 0
                and here[f"noisy crosses wrong, {best}"] > 0
            ),
        ),
    )


def transfer_functions(scope: Scope) -> Measured:
    z = np.linspace(-4, 4, 801)
    soft, hard = np.tanh(z), np.clip(z, -1.0, 1.0)

    def draw(figure: Any) -> None:
        ax = figure.subplots()
        ax.plot(z, soft, color=BLUE, label="Tanh")
        ax.plot(z, hard, "--", color=VERMILION, label="HardTanh")
        ax.set(xlabel="z", ylabel="h(z)")
        ax.legend(**LEGEND)

    here = {
        "largest |Tanh − HardTanh|": float(np.abs(soft - hard).max()),
        "at z": float(np.abs(z[np.abs(soft - hard).argmax()])),
    }
    return Measured(here, figures={"Transfer functions": drawn(draw)})


FIGURES = (
    Item(
        "figure-8.1",
        "Cross-entropy and margin criterion",
        in_thesis("Figure 8.1", "8.1.2", 105),
        kind="shape",
        protocol="values on −20 ≤ z ≤ 20",
        minutes=0.1,
        run=criteria,
        claims=(
            Claim(
                "Cross-entropy is a smooth version of the margin criterion: never more than 1 away",
                lambda _, here: here["largest |difference|"] <= 1.0,
            ),
            Claim(
                "Both vanish for large z",
                lambda _, here: (
                    max(here["cross-entropy at z = 20"], here["margin criterion at z = 20"]) < 1e-6
                ),
            ),
            Claim(
                "Both are convex",
                lambda _, here: here["largest second difference of a criterion below 0"] < 1e-12,
            ),
        ),
    ),
    Item(
        "figure-8.2",
        "Control of the margin",
        in_thesis("Figure 8.2", "8.3.2", 114),
        kind="shape",
        protocol=f"{TRIAL_ROWS} rows of Connect-4, {TRIALS} trials; {FIXED_UPDATES} updates, or "
        f"λ = {FIXED_RATE}",
        minutes=0.5,
        run=control_of_the_margin,
        claims=(
            Claim(
                "The margin falls with λ, at a fixed number of updates",
                lambda _, here: here["largest rise of ρ with λ"] < 0,
            ),
            Claim(
                "The margin falls with the number of updates, at a fixed λ",
                lambda _, here: here["largest rise of ρ with t"] < 0,
            ),
            Claim(
                "The margin is at least the bound of Theorem 8.3",
                lambda _, here: here["smallest ρ / bound of Theorem 8.3"] >= 1,
            ),
        ),
        deviations=(
            "The thesis does not print its fixed λ and number of updates; these are ours.",
        ),
        data=("connect-4",),
    ),
    Item(
        "figure-8.3",
        "Early stopping",
        in_thesis("Figure 8.3", "8.3.2", 114),
        kind="shape",
        protocol="126 points of the plane, six of them noisy crosses; λ = 0.01",
        minutes=0.1,
        run=by_updates,
        claims=early_stopping_claims(MARGIN_UPDATES, UPDATE, 120),
        deviations=("The thesis shows only a picture of its data; these are ours.",),
    ),
    Item(
        "figure-8.4",
        "Tanh and HardTanh",
        in_thesis("Figure 8.4", "8.5.2", 119),
        kind="shape",
        protocol="values on −4 ≤ z ≤ 4",
        minutes=0.1,
        run=transfer_functions,
        claims=(
            Claim(
                "HardTanh is near Tanh, and farthest at z = ±1",
                lambda _, here: (
                    here["largest |Tanh − HardTanh|"] < 0.25 and abs(here["at z"] - 1.0) < 0.02
                ),
            ),
        ),
    ),
)


def of_the_report(number: int, item: Item, **changes: Any) -> Item:
    """A figure of the report, which are the four of the thesis; only the third differs."""
    return replace(item, id=f"report-figure-{number}", source=f"report, Figure {number}", **changes)


BY_EPOCHS = {"run": by_epochs, "claims": early_stopping_claims(MARGIN_EPOCHS, EPOCH, 1)}
REPORT = tuple(
    of_the_report(number, item, **(BY_EPOCHS if number == 3 else {}))
    for number, item in enumerate(FIGURES, start=1)
)
ITEMS = (*FIGURES, *REPORT)
