"""Figures 7.2 to 7.6: hidden units without effect, and how block-diagonal Hessians become."""

from typing import Any

import numpy as np

from widemargin.analysis import expert_hessian, unit_hessian
from widemargin.mixtures import MixtureOfExpertsClassifier
from widemargin.mlp import MLPClassifier
from widemargin.papers.drawing import drawn
from widemargin.papers.item import Claim, Item, Measured, in_thesis
from widemargin.papers.scope import DATA, Scope
from widemargin.papers.trials import error
from widemargin.plots.style import BLUE, LEGEND, VERMILION

__all__ = ["ITEMS"]

UNITS = (25, 50, 100, 250, 500)
UNIT_EPOCHS, EPOCHS = 15, 15
HESSIAN_ROWS = 10_000
FALL, RATIO = "last / first", "mean norm outside / on the diagonal"


# ------------------------------------------------------------------------------------ Figure 7.2


def by_units(scope: Scope, units: int, best: bool) -> Any:
    """Plain stochastic gradient, whose step must be smaller for more units; or Adam."""
    if best:
        model = network(scope, "squared_error", units)
        model.set_params(learning_rate="one_cycle", learning_rate_init=0.01)
    else:
        model = plain(scope, "squared_error", units, min(0.01, 1.0 / units))
    return model.set_params(max_iter=scope.epochs(UNIT_EPOCHS), tol=None)


def error_by_units(scope: Scope) -> Measured:
    found: tuple[dict[str, float], dict[str, float]] = {}, {}
    for name in DATA:
        data = scope.thesis_split(name)
        for units in UNITS:
            for best, errors in zip((False, True), found, strict=True):
                model = by_units(scope, units, best).fit(data.X_train, data.y_train)
                errors[f"{name}, {units} units"] = error(model, data, "train")

    def draw(figure: Any) -> None:
        labels = ("plain gradient", "Adam, one cycle")
        for ax, name in zip(figure.subplots(1, 2), DATA, strict=True):
            for label, errors, colour in zip(labels, found, (BLUE, VERMILION), strict=True):
                curve = [errors[f"{name}, {units} units"] for units in UNITS]
                ax.plot(UNITS, curve, "o-", color=colour, label=label)
            ax.set(title=name, xlabel="hidden units", ylabel="training error, %", ylim=(0, None))
            ax.legend(**LEGEND)

    return Measured(*found, figures={"Squared error": drawn(draw, width=8)})


# ---------------------------------------------------------------------- products during training


def by_epoch(model: Any, data: Any, epochs: int, measure: Any) -> list[float]:
    """What `measure` gives after each epoch."""
    found = []
    for _ in range(max(2, epochs)):
        model.partial_fit(data.X_train, data.y_train, classes=np.unique(data.y_train))
        found.append(float(measure(model)))
    return found


def network(scope: Scope, loss: str, units: int) -> Any:
    """A hidden layer, trained by Adam."""
    return MLPClassifier(
        (units,),
        activation="tanh",
        loss=loss,
        batch_size=64,
        learning_rate_init=0.003,
        alpha=0.0,
        weight_decay=0.0,
        scaling="standard",
        random_state=scope.seeds[0],
    )


def plain(scope: Scope, loss: str, units: int, rate: float = 0.01) -> Any:
    """The same by stochastic gradient, one example per step, as the thesis trains."""
    model = network(scope, loss, units)
    model.set_params(solver="sgd", momentum=0.0, nesterovs_momentum=False, batch_size=1)
    return model.set_params(learning_rate_init=rate)


def mixture(scope: Scope, experts: int, units: int, gater_units: int) -> Any:
    return MixtureOfExpertsClassifier(
        experts,
        n_units=units,
        n_gater_units=gater_units,
        criterion="mse",
        batch_size=64,
        learning_rate=0.003,
        random_state=scope.seeds[0],
    )


def product_of_gates(model: Any, X: Any) -> float:
    """The mean of g_i g_j over the examples and all pairs of different experts."""
    gates = model.gates(X)
    pairs = gates.shape[1] * (gates.shape[1] - 1)
    return float((1.0 - (gates**2).sum(axis=1)).mean() / pairs)


def product_of_posteriors(model: Any, X: Any) -> float:
    """The mean of P(y|x) P(−y|x)."""
    return float(np.prod(model.predict_proba(X), axis=1).mean())


def coefficient(z: Any, y: Any) -> Any:
    """c(z) of (7.15), for z = tanh(f(x))."""
    return (1 - z**2) * (1 + 2 * z * y - 3 * z**2)


# ------------------------------------------------------------------------------ Figures 7.3 to 7.6


def norms_of(hessian: Any) -> tuple[Any, float]:
    """Norms of the blocks, and the mean outside the diagonal relative to that on it."""
    norms = hessian.norms()
    on = np.eye(len(norms), dtype=bool)
    return norms, float(norms[~on].mean() / norms[on].mean())


def hessian_data(scope: Scope) -> Any:
    data = scope.thesis_split("Forest")
    rows = slice(0, scope.rows(HESSIAN_ROWS))
    data.X_train, data.y_train = data.X_train[rows], data.y_train[rows]
    return data


def drawn_pair(curve: list[float], label: str, norms: Any) -> str:
    """A curve over the epochs, and the norms of blocks as an image."""

    def draw(figure: Any) -> None:
        left, right = figure.subplots(1, 2)
        left.semilogy(np.arange(1, len(curve) + 1), curve, "o-", color=BLUE)
        left.set(xlabel="epoch", ylabel=label)
        figure.colorbar(right.imshow(norms, cmap="viridis"), ax=right)
        right.set(xlabel="block j", ylabel="block i")

    return drawn(draw, width=9)


def trained(model: Any, data: Any, epochs: int) -> Any:
    by_epoch(model, data, epochs, lambda _: 0.0)
    return model


def gates(scope: Scope) -> Measured:
    data = scope.thesis_split("Forest")
    curve = by_epoch(
        mixture(scope, 10, 25, 100),
        data,
        scope.epochs(EPOCHS),
        lambda model: product_of_gates(model, data.X_train),
    )
    small = hessian_data(scope)
    model = trained(mixture(scope, 5, 10, 25), small, 5)
    norms, ratio = norms_of(expert_hessian(model, small.X_train, small.y_train))
    here = {"g_i g_j, first epoch": curve[0], "g_i g_j, last epoch": curve[-1]}
    here |= {FALL: curve[-1] / curve[0], RATIO: ratio}
    figure = drawn_pair(curve, "mean of $g_i g_j$", norms)
    return Measured(here, figures={"Products of gates; blocks of experts": figure})


def posteriors(scope: Scope) -> Measured:
    data = scope.thesis_split("Forest")
    curve = by_epoch(
        network(scope, "log_loss", 200),
        data,
        scope.epochs(EPOCHS),
        lambda model: product_of_posteriors(model, data.X_train),
    )
    small = hessian_data(scope)
    model = plain(scope, "log_loss", 10)
    model.partial_fit(small.X_train, small.y_train, classes=np.unique(small.y_train))
    norms, ratio = norms_of(unit_hessian(model, small.X_train, small.y_train))
    here = {"P(y|x) P(−y|x), first epoch": curve[0], "P(y|x) P(−y|x), last epoch": curve[-1]}
    here |= {FALL: curve[-1] / curve[0], RATIO: ratio}
    figure = drawn_pair(curve, "mean of P(y|x) P(−y|x)", norms)
    return Measured(here, figures={"Products of posteriors; blocks of units": figure})


def full_hessian(scope: Scope) -> Measured:
    small, ratios, images = hessian_data(scope), {}, {}
    for loss in ("squared_error", "log_loss"):
        model = trained(plain(scope, loss, 10), small, 10)
        images[loss], ratios[loss] = norms_of(unit_hessian(model, small.X_train, small.y_train))

    def draw(figure: Any) -> None:
        titles = ("squared error", "cross-entropy")
        for ax, title, norms in zip(figure.subplots(1, 2), titles, images.values(), strict=True):
            figure.colorbar(ax.imshow(norms, cmap="viridis"), ax=ax)
            ax.set(title=title, xlabel="block j", ylabel="block i")

    here = {
        f"squared error: {RATIO}": ratios["squared_error"],
        f"cross-entropy: {RATIO}": ratios["log_loss"],
        "largest norm outside the diagonal, squared error": float(
            np.triu(images["squared_error"], 1).max()
        ),
        "largest norm outside the diagonal, cross-entropy": float(
            np.triu(images["log_loss"], 1).max()
        ),
    }
    return Measured(here, figures={"Norms of blocks after 10 epochs": drawn(draw, width=9)})


def tanh_output(scope: Scope) -> Measured:
    data = scope.thesis_split("Forest")

    def mean_coefficient(model: Any) -> float:
        outputs = np.tanh(model.decision_function(data.X_train))
        return float(np.abs(coefficient(outputs, data.y_train)).mean())

    model = network(scope, "tanh_squared_error", 500)
    curve = by_epoch(model, data, scope.epochs(EPOCHS), mean_coefficient)
    z = np.linspace(-1, 1, 401)

    def draw(figure: Any) -> None:
        left, right = figure.subplots(1, 2)
        left.plot(z, coefficient(z, 1.0), color=BLUE, label="y = 1")
        left.plot(z, coefficient(z, -1.0), "--", color=VERMILION, label="y = −1")
        left.set(xlabel="z", ylabel="c(z)")
        left.legend(**LEGEND)
        right.plot(np.arange(1, len(curve) + 1), curve, "o-", color=BLUE)
        right.set(xlabel="epoch", ylabel="mean of |c(z)|")

    here = {
        "c(1) and c(−1)": float(np.abs(coefficient(np.array([1.0, -1.0]), 1.0)).max()),
        "mean |c(z)|, first epoch": curve[0],
        "mean |c(z)|, last epoch": curve[-1],
        FALL: curve[-1] / curve[0],
    }
    return Measured(here, figures={"The coefficient of (7.15)": drawn(draw, width=9)})


#: Of each figure the section, and the page that it begins on.
SECTIONS = {
    "2": ("7.2", 91),
    "3": ("7.4.1", 96),
    "4": ("7.4.2", 97),
    "5": ("7.4.2", 97),
    "6": ("7.4.3", 98),
}
STEPS = {
    "2": "The thesis does not print its steps; ours is 1/N for N units, at most 0.01, with one "
    "example per step. Best here: Adam with one cycle of the step, batches of 64, "
    "with which more units do lower the error on Connect-4.",
    "3": "The thesis does not print its steps; ours are Adam's with batches of 64.",
    "4": "The thesis does not print its steps; ours are (a) Adam's with batches of 64, (b) 0.01 "
    "with one example per step.",
    "5": "The thesis does not print its step; ours is 0.01 with one example per step.",
    "6": "The thesis does not print its steps; ours are Adam's with batches of 64.",
}


def figure(number: str, title: str, minutes: float, run: Any, protocol: str, *claims: Claim) -> Any:
    return Item(
        f"figure-7.{number}",
        title,
        in_thesis(f"Figure 7.{number}", *SECTIONS[number]),
        kind="shape",
        protocol=protocol,
        minutes=minutes,
        run=run,
        claims=claims,
        deviations=(STEPS[number],),
        data=("covtype", "connect-4") if number == "2" else ("covtype",),
    )


FALLS = Claim("It falls during training", lambda _, here: here[FALL] < 1.0)
BLOCKS = Claim(
    "Norms outside the diagonal are less than half of those on it, in the mean",
    lambda _, here: here[RATIO] < 0.5,
)
ITEMS = (
    figure(
        "2",
        "Training error by the number of hidden units",
        1.5,
        error_by_units,
        f"squared error, tanh, plain stochastic gradient, {UNIT_EPOCHS} epochs",
        Claim(
            "500 units have at least nine tenths of the errors of 250, on both data sets",
            lambda _, here: all(
                here[f"{name}, 500 units"] > 0.9 * here[f"{name}, 250 units"] for name in DATA
            ),
        ),
    ),
    figure(
        "3",
        "A mixture's Hessian becomes block-diagonal",
        1.0,
        gates,
        "(a) 100,000 rows, 10 experts of 25 units, gater of 100; (b) 10,000 rows, 5 experts of 10 "
        "units, gater of 25, 5 epochs",
        FALLS,
        BLOCKS,
    ),
    figure(
        "4",
        "The Hessian with cross-entropy becomes block-diagonal",
        0.7,
        posteriors,
        "(a) 100,000 rows, 200 units; (b) 10,000 rows, 10 units, one epoch",
        FALLS,
        BLOCKS,
    ),
    figure(
        "5",
        "The Hessian with squared error remains full",
        0.5,
        full_hessian,
        "10,000 rows, 10 units, 10 epochs; cross-entropy beside it",
        Claim(
            "More is outside the diagonal than with cross-entropy",
            lambda _, here: here[f"squared error: {RATIO}"] > here[f"cross-entropy: {RATIO}"],
        ),
    ),
    figure(
        "6",
        "The coefficient c(z) of squared error after a tanh",
        0.7,
        tanh_output,
        "100,000 rows, 500 units",
        Claim("c(z) vanishes at z = ±1", lambda _, here: here["c(1) and c(−1)"] < 1e-12),
        FALLS,
    ),
)
