"""What the lectures construct: w from support vectors, Boolean functions, C, losses."""

from itertools import product
from typing import Any

import numpy as np

from widemargin.criteria import Margin, Perceptron
from widemargin.linear_svm import LinearSVC
from widemargin.papers.chapter3 import clouds
from widemargin.papers.drawing import drawn
from widemargin.papers.item import Claim, Item, Measured
from widemargin.papers.scope import Scope
from widemargin.perceptrons import ThresholdNetwork, ThresholdUnit
from widemargin.plots import LossDisplay, MarginDisplay
from widemargin.plots.style import BLUE, GREY, VERMILION
from widemargin.svm import SVC

__all__ = ["ITEMS"]

RAKOTOMAMONJY = "Rakotomamonjy, The online Perceptron algorithm and linear SVMs"
OURS = "The lecture shows only a picture of its data; these are ours."
SMALL_C, LARGE_C = 0.01, 1000.0


def three_support_vectors(scope: Scope) -> Measured:
    X = np.array([[0.0, 3], [3, 3], [1, 4.5], [3, 5], [2, 1], [0, 0], [4, -1]])
    y = np.array([1, 1, 1, 1, -1, -1, -1])
    model = SVC(kernel="linear", C=np.inf, tol=1e-10).fit(X, y)
    by_hand = model.dual_coef_[0] @ X[model.support_]
    biases = y[model.support_] - X[model.support_] @ by_hand

    def draw(figure: Any) -> None:
        MarginDisplay.from_estimator(model, X, y, support_vectors=True, ax=figure.subplots())

    here = {
        "support vectors": float(len(model.support_)),
        "largest difference of w": float(np.abs(by_hand - model.coef_[0]).max()),
        "largest difference of b": float(np.abs(biases - model.intercept_[0]).max()),
        "|Σ α y|": float(abs(model.dual_coef_[0].sum())),
    }
    return Measured(here, figures={"w = Σ α y x": drawn(draw)})


def boolean_functions(scope: Scope) -> Measured:
    square = np.array(list(product((0, 1), repeat=2)))
    truth = {
        "or": (ThresholdUnit.or_(), square.any(axis=1)),
        "and": (ThresholdUnit.and_(), square.all(axis=1)),
    }
    u, v = ThresholdNetwork.inputs(2)
    xor = (u | v) & ~(u & v)
    here = {
        f"wrong, {name}": float(np.sum(unit.predict(square) != values))
        for name, (unit, values) in truth.items()
    }
    here["wrong, not"] = float(sum(ThresholdUnit.not_()(a) == bool(a) for a in (0, 1)))
    here["wrong, xor of units"] = float(sum(xor(a, b) != (a != b) for a, b in square))
    labels = np.where(square[:, 0] != square[:, 1], 1, -1)
    line = LinearSVC(C=1e3, random_state=0).fit(square, labels)
    here["wrong, xor by the best line"] = float(np.sum(line.predict(square) != labels))

    def draw(figure: Any) -> None:
        for ax, (name, (unit, values)) in zip(figure.subplots(1, 2), truth.items(), strict=True):
            ends = np.array([-0.3, 1.3])
            ax.plot(ends, -unit.bias - ends, color=GREY)
            for value, marker, colour in ((True, "x", BLUE), (False, "o", VERMILION)):
                ax.plot(*square[values == value].T, marker, color=colour, markersize=10)
            ax.set(title=name, aspect="equal", xlim=(-0.3, 1.3), ylim=(-0.3, 1.3))

    return Measured(here, figures={"Units as lines": drawn(draw, width=7)})


def small_and_large_C(scope: Scope) -> Measured:
    X, y = clouds(apart=1.6)
    models = {C: SVC(kernel="linear", C=C, tol=1e-6).fit(X, y) for C in (SMALL_C, LARGE_C)}

    def draw(figure: Any) -> None:
        for ax, (C, model) in zip(figure.subplots(1, 2), models.items(), strict=True):
            MarginDisplay.from_estimator(model, X, y, support_vectors=True, ax=ax)
            ax.set_title(f"C = {C:g}")

    here = {}
    for C, model in models.items():
        here[f"width of the margin, C = {C:g}"] = float(2 / np.linalg.norm(model.coef_))
        here[f"support vectors, C = {C:g}"] = float(len(model.support_))
    return Measured(here, figures={"f = 0 and f = ±1": drawn(draw, width=9)})


def validation_curve(scope: Scope) -> Measured:
    random = np.random.RandomState(0)
    X = random.normal(size=(2100, 40))
    y = np.where(X[:, 0] + X[:, 1] + 1.0 * random.normal(size=2100) > 0, 1, -1)
    X[:, 2] *= 10.0  # noise on a larger scale, which a small C follows
    Cs = np.logspace(-5, 3, 17)
    train, valid = slice(0, 100), slice(100, None)
    models = [LinearSVC(C=C, loss="hinge", random_state=0).fit(X[train], y[train]) for C in Cs]
    errors = [100 * (1 - model.score(X[valid], y[valid])) for model in models]
    best = int(np.argmin(errors))

    def draw(figure: Any) -> None:
        ax = figure.subplots()
        ax.semilogx(Cs, errors, "o-", color=BLUE)
        ax.axvline(Cs[best], color=GREY, linestyle=":")
        ax.set(xlabel="C", ylabel="validation error, %")

    here = {
        "validation error, smallest C, %": errors[0],
        "validation error, best C, %": errors[best],
        "validation error, largest C, %": errors[-1],
        "best C": float(Cs[best]),
    }
    return Measured(here, figures={"40 inputs, of which two matter": drawn(draw)})


def losses(scope: Scope) -> Measured:
    z = np.linspace(-3, 3, 601)
    hinge, perceptron = Margin().value(1.0, z), Perceptron().value(1.0, z)

    def draw(figure: Any) -> None:
        LossDisplay.from_criteria([Margin(), Perceptron()], ax=figure.subplots())

    here = {
        "largest |hinge(z) − perceptron(z − 1)|": float(
            np.abs(hinge - Perceptron().value(1.0, z - 1.0)).max()
        ),
        "smallest hinge − errors": float((hinge - (z <= 0)).min()),
        "smallest perceptron − errors": float((perceptron - (z <= 0)).min()),
    }
    return Measured(here, figures={"Losses of z = y f(x)": drawn(draw)})


ITEMS = (
    Item(
        "lecture-support-vectors",
        "w from three support vectors",
        f"{RAKOTOMAMONJY}, Les vecteurs supports",
        kind="shape",
        protocol="seven separable points, C = ∞",
        minutes=0.01,
        run=three_support_vectors,
        claims=(
            Claim("Three examples define w", lambda _, here: here["support vectors"] == 3),
            Claim("w = Σ α y x", lambda _, here: here["largest difference of w"] < 1e-6),
            Claim(
                "Every support vector gives the same b",
                lambda _, here: here["largest difference of b"] < 1e-6,
            ),
            Claim("Σ α y = 0", lambda _, here: here["|Σ α y|"] < 1e-9),
        ),
        deviations=(OURS,),
    ),
    Item(
        "lecture-boolean",
        "Boolean functions as planes",
        "Fleuret, EE-559 3.1, Threshold Logic Unit",
        kind="shape",
        protocol="or, and, not as units with the lecture's weights; xor as units of units",
        minutes=0.01,
        run=boolean_functions,
        claims=(
            Claim(
                "or, and, not are threshold units, and xor is made of them",
                lambda _, here: (
                    sum(here[f"wrong, {name}"] for name in ("or", "and", "not", "xor of units"))
                    == 0
                ),
            ),
            Claim("No line is xor", lambda _, here: here["wrong, xor by the best line"] > 0),
        ),
    ),
    Item(
        "lecture-small-large-C",
        "C = 0.01 and C = 1000",
        f"{RAKOTOMAMONJY}, Illustrations",
        kind="shape",
        protocol="two clouds that overlap, linear kernel",
        minutes=0.01,
        run=small_and_large_C,
        claims=(
            Claim(
                "A small C has a large margin, a large C a small one",
                lambda _, here: (
                    here["width of the margin, C = 0.01"]
                    > 2 * here["width of the margin, C = 1000"]
                ),
            ),
        ),
        deviations=(OURS,),
    ),
    Item(
        "lecture-validation-curve",
        "The validation curve of C",
        f"{RAKOTOMAMONJY}, Réglage du paramètre C",
        kind="shape",
        protocol="100 training rows, 2,000 validation rows; 40 inputs, of which two matter and one "
        "is noise on a larger scale; hinge loss, C on a log scale",
        minutes=0.05,
        run=validation_curve,
        claims=(
            Claim(
                "The error has a minimum between a small and a large C",
                lambda _, here: (
                    here["validation error, best C, %"] + 1
                    < min(
                        here["validation error, smallest C, %"],
                        here["validation error, largest C, %"],
                    )
                ),
            ),
        ),
        deviations=(OURS,),
    ),
    Item(
        "lecture-losses",
        "Hinge loss and perceptron loss",
        f"{RAKOTOMAMONJY}; Yuille, Lecture 8",
        kind="shape",
        protocol="values on −3 ≤ z ≤ 3",
        minutes=0.01,
        run=losses,
        claims=(
            Claim(
                "The hinge loss is the perceptron loss moved by the margin",
                lambda _, here: here["largest |hinge(z) − perceptron(z − 1)|"] < 1e-12,
            ),
            Claim(
                "The hinge loss is never below the errors",
                lambda _, here: here["smallest hinge − errors"] >= 0,
            ),
            Claim(
                "The perceptron loss is",
                lambda _, here: here["smallest perceptron − errors"] < 0,
            ),
        ),
    ),
)
