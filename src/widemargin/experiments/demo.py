"""`widemargin demo`: several models on data that need no download, a table and a picture."""

import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from widemargin.datasets import fetch_forest, make_toy_mixture
from widemargin.mlp.simple import SimpleMLPClassifier
from widemargin.perceptrons.kernel_perceptron import KernelPerceptron
from widemargin.perceptrons.margin_perceptron import MarginPerceptron
from widemargin.perceptrons.perceptron import Perceptron

__all__ = ["DemoRow", "demo_data", "draw_boundaries", "run_models"]


@dataclass(frozen=True)
class Contestant:
    """A model of the demo, and the largest number of training rows it gets."""

    label: str
    make: Callable[[], Any]
    max_rows: int = 10**9


CONTESTANTS = (
    Contestant("Perceptron", lambda: Perceptron(scaling="standard")),
    Contestant("Perceptron, averaged", lambda: Perceptron(scaling="standard", average=True)),
    Contestant("Margin Perceptron", lambda: MarginPerceptron(random_state=0)),
    Contestant(
        "Margin Perceptron, early stopping",
        lambda: MarginPerceptron(early_stopping=True, random_state=0),
    ),
    Contestant(
        "Φ-machine: Margin Perceptron, Nyström",
        lambda: MarginPerceptron(feature_map="nystroem", random_state=0),
        max_rows=20_000,
    ),
    Contestant(
        "Simple MLP",
        lambda: SimpleMLPClassifier(n_units=200, max_iter=10, random_state=0),
    ),
    Contestant(
        "Kernel Perceptron, RBF",
        lambda: KernelPerceptron(max_iter=5, random_state=0),
        max_rows=10_000,
    ),
)


@dataclass(frozen=True)
class DemoRow:
    """One row of the table."""

    model: str
    train_rows: int
    error: float  # percentage of test rows
    seconds: float
    updates: int
    support_vectors: int | None
    geometric_margin: float | None


def demo_data() -> tuple[str, tuple[Any, Any, Any, Any]]:
    """Forest if WIDEMARGIN_DATA is set, otherwise the digits of scikit-learn."""
    if os.environ.get("WIDEMARGIN_DATA"):
        data = fetch_forest(split="thesis")
        return "Forest (100,000 rows)", (data.X_train, data.X_test, data.y_train, data.y_test)
    X, y = load_digits(return_X_y=True)
    parts = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
    return "digits (1,257 rows)", tuple(parts)


def run_models(data: tuple[Any, Any, Any, Any]) -> Iterator[DemoRow]:
    """Train and test the models, one after the other."""
    X, X_test, y, y_test = data
    for contestant in CONTESTANTS:
        rows = min(len(X), contestant.max_rows)
        model = contestant.make()
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # epochs are limited on purpose
            model.fit(X[:rows], y[:rows])
        seconds = time.perf_counter() - start
        support = getattr(model, "support_", None)
        yield DemoRow(
            model=contestant.label,
            train_rows=rows,
            error=100 * (1 - model.score(X_test, y_test)),
            seconds=seconds,
            updates=model.n_updates_,
            support_vectors=None if support is None else len(support),
            geometric_margin=getattr(model, "geometric_margin_", None),
        )


def draw_boundaries(path: Path) -> None:
    """Draw boundaries f = 0 and margins f = ±1 on data that no straight line separates."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from widemargin.plots import MarginDisplay

    X, y = make_toy_mixture(300, random_state=0)
    models = (
        ("Perceptron", Perceptron(scaling="standard")),
        ("Margin Perceptron", MarginPerceptron(random_state=0)),
        (
            "Φ-machine: Margin Perceptron,\npolynomials of degree 2",
            MarginPerceptron(feature_map="polynomial", random_state=0),
        ),
        ("Simple MLP, 50 units", SimpleMLPClassifier(n_units=50, encoding=None, random_state=0)),
    )
    figure, axes = plt.subplots(2, 2, figsize=(10, 9), layout="constrained")
    for axis, (title, model) in zip(axes.flat, models, strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        MarginDisplay.from_estimator(model, X, y, ax=axis)
        axis.set_title(f"{title}   (error {100 * (1 - model.score(X, y)):.1f} %)", fontsize=11)
        axis.set_aspect("equal")
    figure.suptitle("f = 0 (line) and f = ±1 (dashed)", fontsize=12)
    figure.savefig(path, dpi=130)
    plt.close(figure)
