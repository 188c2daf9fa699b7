"""Figures 3.1 to 3.6: what the machines of Chapter 3 do, drawn with trained machines."""

from typing import Any

import numpy as np

from widemargin.analysis import quadratic_map
from widemargin.linear_svm import LinearSVC
from widemargin.mlp import MLPClassifier
from widemargin.papers.drawing import drawn
from widemargin.papers.item import Claim, Item, Measured, in_thesis
from widemargin.papers.scope import Scope
from widemargin.perceptrons import Perceptron
from widemargin.plots import MarginDisplay, TubeDisplay
from widemargin.plots.style import CLASS_COLOURS, GREY
from widemargin.svm import SVC, SVR

__all__ = ["ITEMS"]

SKETCH = "The thesis draws a sketch; here a machine is trained on data that are ours."
EPSILON = 0.2
#: Of each figure the section, and the page that it begins on.
SECTIONS = {
    "1": ("3.1", 17),
    "2": ("3.3", 19),
    "3": ("3.4", 20),
    "4": ("3.6.1", 28),
    "5": ("3.6.1", 28),
    "6": ("3.6.2", 34),
}


def wave(count: int = 120, seed: int = 0) -> tuple[Any, Any]:
    """Values of a sine with noise."""
    random = np.random.RandomState(seed)
    x = np.sort(random.uniform(0, 6, count))[:, None]
    return x, np.sin(x[:, 0]) + 0.1 * random.normal(size=count)


def rings(count: int = 200, seed: int = 0) -> tuple[Any, Any]:
    """A disc within a ring."""
    random = np.random.RandomState(seed)
    y = np.where(np.arange(count) % 2 == 0, 1, -1)
    inner, outer = 0.7 * np.sqrt(random.uniform(size=count)), random.uniform(1, 1.5, count)
    radius = np.where(y > 0, inner, outer)
    angle = random.uniform(0, 2 * np.pi, count)
    return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]), y


def clouds(count: int = 60, seed: int = 0, *, apart: float = 2.2) -> tuple[Any, Any]:
    """Two round clouds."""
    random = np.random.RandomState(seed)
    y = np.where(np.arange(count) % 2 == 0, 1, -1)
    return 0.5 * random.normal(size=(count, 2)) + 0.5 * apart * y[:, None] * [0.8, 0.6], y


def accuracy(model: Any, X: Any, y: Any) -> float:
    return float(100 * (1 - model.score(X, y)))


def two_tasks(scope: Scope) -> Measured:
    (X, y), (x, values) = rings(), wave()
    classes, curve = SVC(C=10.0).fit(X, y), SVR(C=10.0, epsilon=0.1).fit(x, values)

    def draw(figure: Any) -> None:
        left, right = figure.subplots(1, 2)
        MarginDisplay.from_estimator(classes, X, y, ax=left)
        TubeDisplay.from_estimator(curve, x, values, ax=right)

    here = {"training error, %": accuracy(classes, X, y), "R²": float(curve.score(x, values))}
    return Measured(here, figures={"Classes and values": drawn(draw, width=9)})


def into_three_dimensions(scope: Scope) -> Measured:
    X, y = rings()
    mapped = quadratic_map(X)
    line = LinearSVC(C=100.0, random_state=0).fit(X, y)
    plane = Perceptron(max_iter=1000, tol=None).fit(mapped, y)

    def draw(figure: Any) -> None:
        left, right = figure.subplots(1, 2)
        for label, marker, colour in zip((-1, 1), "ox", CLASS_COLOURS, strict=True):
            of_class = y == label
            style = {"marker": marker, "color": colour, "linestyle": ""}
            left.plot(*X[of_class].T, **style)
            right.plot(mapped[of_class, 0], mapped[of_class, 2], **style)
        left.set(xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
        right.set(xlabel="$x_1^2$", ylabel="$x_2^2$", aspect="equal")

    here = {
        "errors of a line, %": accuracy(line, X, y),
        "errors of a plane after the map, %": accuracy(plane, mapped, y),
        "largest difference of Φ(x)·Φ(x') and (x·x')²": float(
            np.abs(mapped @ mapped.T - (X @ X.T) ** 2).max()
        ),
    }
    return Measured(here, figures={"Before and after the map": drawn(draw, width=8)})


def layers(scope: Scope) -> Measured:
    X, y = rings()
    model = MLPClassifier(
        (8,), activation="tanh", scaling=None, max_iter=scope.epochs(200), random_state=0
    ).fit(X, y)
    hidden = np.tanh(X @ model.coefs_[0] + model.intercepts_[0])
    by_hand = hidden @ model.coefs_[1] + model.intercepts_[1]
    positive = 1.0 / (1.0 + np.exp(-by_hand[:, 0]))
    difference = float(np.abs(positive - model.predict_proba(X)[:, 1]).max())

    def draw(figure: Any) -> None:
        ax = figure.subplots()
        MarginDisplay.from_estimator(model, X, y, ax=ax)
        limits = {"xlim": ax.get_xlim(), "ylim": ax.get_ylim()}
        for (v1, v2), b in zip(model.coefs_[0].T, model.intercepts_[0], strict=True):
            ax.axline(-b * np.array([v1, v2]) / (v1**2 + v2**2), slope=-v1 / v2, color=GREY)
        ax.set(**limits)

    here = {"largest difference from f = w·tanh(Vx + b) + c": difference}
    return Measured(here, figures={"The output, and the line of each hidden unit": drawn(draw)})


def two_hyperplanes(scope: Scope) -> Measured:
    X, y = clouds()
    models = {
        "Perceptron": Perceptron(max_iter=1000, tol=None).fit(X, y),
        "SVM": SVC(kernel="linear", C=np.inf).fit(X, y),
    }

    def draw(figure: Any) -> None:
        for ax, (name, model) in zip(figure.subplots(1, 2), models.items(), strict=True):
            closest = (y * model.decision_function(X)).min()
            MarginDisplay.from_estimator(model, X, y, margin=closest, ax=ax)
            ax.set_title(name)

    here = {
        f"width of the margin, {name}": float(
            2 * (y * model.decision_function(X)).min() / np.linalg.norm(model.coef_)
        )
        for name, model in models.items()
    }
    return Measured(here, figures={"Both separate the classes": drawn(draw, width=9)})


def support_vectors(scope: Scope) -> Measured:
    X, y = clouds(apart=1.2)
    model = SVC(kernel="linear", C=1.0, tol=1e-8).fit(X, y)
    margins = y * model.decision_function(X)
    alpha = np.zeros(len(y))
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    slack = 1e-4
    outside, inside = margins > 1 + slack, margins < 1 - slack

    def draw(figure: Any) -> None:
        ax = figure.subplots()
        MarginDisplay.from_estimator(model, X, y, support_vectors=True, slack=True, ax=ax)

    here = {
        "largest α outside the margin": float(alpha[outside].max(initial=0.0)),
        "smallest α inside the margin": float(alpha[inside].min(initial=1.0)),
        "examples outside": float(outside.sum()),
        "examples inside": float(inside.sum()),
    }
    return Measured(here, figures={"Support vectors are ringed": drawn(draw)})


def tube(scope: Scope) -> Measured:
    x, values = wave()
    model = SVR(C=10.0, epsilon=EPSILON, tol=1e-8).fit(x, values)
    distance = np.abs(values - model.predict(x))
    support = np.isin(np.arange(len(x)), model.support_)

    def draw(figure: Any) -> None:
        TubeDisplay.from_estimator(model, x, values, ax=figure.subplots())

    here = {
        "ε": EPSILON,
        "largest distance without a coefficient": float(distance[~support].max()),
        "smallest distance with a coefficient": float(distance[support].min()),
    }
    return Measured(here, figures={"The tube": drawn(draw)})


def figure(number: str, title: str, run: Any, protocol: str, *claims: Claim) -> Item:
    section, page = SECTIONS[number]
    return Item(
        f"figure-3.{number}",
        title,
        in_thesis(f"Figure 3.{number}", section, page),
        kind="shape",
        protocol=protocol,
        minutes=0.1,
        run=run,
        claims=claims,
        deviations=(SKETCH,),
    )


ITEMS = (
    figure(
        "1",
        "Classification and regression",
        two_tasks,
        "an SVC on a disc within a ring; an SVR on a noisy sine",
        Claim("A surface separates the classes", lambda _, here: here["training error, %"] == 0),
        Claim("A curve fits the values", lambda _, here: here["R²"] > 0.9),
    ),
    figure(
        "2",
        "A map into three dimensions",
        into_three_dimensions,
        "Φ(x) = (x₁², √2 x₁x₂, x₂²), a Perceptron on Φ(x) until an epoch without a mistake",
        Claim("No line separates the classes", lambda _, here: here["errors of a line, %"] > 10),
        Claim(
            "A plane separates them after the map",
            lambda _, here: here["errors of a plane after the map, %"] == 0,
        ),
        Claim(
            "The map belongs to the kernel (x·x')²",
            lambda _, here: here["largest difference of Φ(x)·Φ(x') and (x·x')²"] < 1e-12,
        ),
    ),
    figure(
        "3",
        "A multi-layer perceptron",
        layers,
        "8 hidden units, trained on a disc within a ring; its output computed layer by layer",
        Claim(
            "Units are Perceptrons with a transfer function, layer after layer",
            lambda _, here: here["largest difference from f = w·tanh(Vx + b) + c"] < 1e-5,
        ),
    ),
    figure(
        "4",
        "Two separating hyperplanes",
        two_hyperplanes,
        "two clouds; a Perceptron until an epoch without a mistake, and an SVM with C = ∞",
        Claim(
            "Both separate the classes",
            lambda _, here: (
                min(here[f"width of the margin, {name}"] for name in ("Perceptron", "SVM")) > 0
            ),
        ),
        Claim(
            "The SVM has the larger margin",
            lambda _, here: (
                here["width of the margin, SVM"] > here["width of the margin, Perceptron"]
            ),
        ),
    ),
    figure(
        "5",
        "Support vectors of a classifier",
        support_vectors,
        "two clouds that overlap, linear kernel, C = 1",
        Claim(
            "Examples outside the margin have α = 0",
            lambda _, here: here["largest α outside the margin"] < 1e-6,
        ),
        Claim(
            "Examples inside it are at the bound",
            lambda _, here: here["smallest α inside the margin"] > 1 - 1e-6,
        ),
    ),
    figure(
        "6",
        "The tube of a regression",
        tube,
        f"a noisy sine, Gaussian kernel, C = 10, ε = {EPSILON}",
        Claim(
            "Examples inside the tube have no coefficient",
            lambda _, here: here["smallest distance with a coefficient"] > here["ε"] - 1e-4,
        ),
        Claim(
            "Examples outside it have one",
            lambda _, here: here["largest distance without a coefficient"] < here["ε"] + 1e-4,
        ),
    ),
)
