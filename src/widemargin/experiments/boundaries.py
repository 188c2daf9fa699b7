"""The picture of `widemargin demo`: boundaries, support vectors, gates and a tube."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from widemargin.datasets import make_toy_mixture
from widemargin.mixtures import HardMixtureClassifier
from widemargin.mlp import SimpleMLPClassifier
from widemargin.perceptrons import MarginPerceptron
from widemargin.svm import SVC, SVR

__all__ = ["draw_boundaries"]

ROWS = 300


def draw_boundaries(path: Path) -> None:
    """Draw models on data that no straight line separates, and a regression with its tube."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from widemargin.plots import GatesDisplay, TubeDisplay

    X, y = make_toy_mixture(ROWS, random_state=0)
    figure, axes = plt.subplots(2, 3, figsize=(13.5, 9), layout="constrained")
    linear, polynomial, kernel, committee, gates, tube = axes.flat
    _draw_margin(linear, "MarginPerceptron: a line", MarginPerceptron(random_state=0), X, y)
    machine = MarginPerceptron(feature_map="polynomial", random_state=0)
    _draw_margin(polynomial, "MarginPerceptron: Φ of degree 2", machine, X, y)
    _draw_margin(kernel, "SVC: Gaussian kernel", SVC(C=10), X, y, support_vectors=True)
    machine = SimpleMLPClassifier(n_units=50, margin=20.0, encoding=None, random_state=0)
    _draw_margin(committee, "SimpleMLPClassifier: β = 20", machine, X, y, margin=20.0)

    lines = HardMixtureClassifier(
        SVC(kernel="linear", C=10), n_experts=2, max_iter=20, random_state=0
    )
    mixture = _fitted(lines, X, y)
    GatesDisplay.from_estimator(mixture, X, y, ax=gates)
    gates.set_title(f"HardMixtureClassifier: two lines   ({_error(mixture, X, y)})")

    x = np.linspace(0, 6, 80)[:, None]
    targets = np.sin(x[:, 0]) + np.random.default_rng(0).normal(scale=0.2, size=len(x))
    TubeDisplay.from_estimator(SVR(C=10, epsilon=0.25).fit(x, targets), x, targets, ax=tube)
    tube.set_title("SVR: a tube of width 2ε")
    for axis in axes.flat[:5]:
        axis.set_box_aspect(1)
    for axis in axes.flat:
        axis.title.set_fontsize(11)
    figure.suptitle(
        "Solid: the boundary f = 0.   Dashed: the margin f = ±β.   Rings: support vectors.   "
        "Background below: the gates.\n",
        fontsize=11,
    )
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _draw_margin(axis: Any, title: str, model: Any, X: Any, y: Any, **options: Any) -> None:
    from widemargin.plots import MarginDisplay

    MarginDisplay.from_estimator(_fitted(model, X, y), X, y, ax=axis, **options)
    axis.set_title(f"{title}   ({_error(model, X, y)})")


def _fitted(model: Any, X: Any, y: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


def _error(model: Any, X: Any, y: Any) -> str:
    return f"{100 * (1 - model.score(X, y)):.1f} % wrong"
