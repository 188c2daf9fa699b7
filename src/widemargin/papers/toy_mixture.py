"""Figure 6.1, the toy problem of 6.5.1: one line, a Gaussian SVM, two lines with a gater."""

from typing import Any

import numpy as np
from sklearn.base import clone

from widemargin.datasets import make_toy_mixture
from widemargin.mixtures import HardMixtureClassifier, MLPGater
from widemargin.papers.drawing import drawn
from widemargin.papers.item import Claim, Item, Measured, in_thesis
from widemargin.papers.scope import Scope
from widemargin.plots import GatesDisplay, MarginDisplay
from widemargin.svm import SVC

__all__ = ["ITEMS"]

LINE, GAUSSIAN, MIXTURE = "linear SVM", "Gaussian SVM", "two linear SVMs, linear gater"
ROWS, STARTS, DRAWN = 10_000, 5, 400


def candidates() -> dict[str, list[Any]]:
    """The mixture starts from several partitions, of which validation rows choose one."""
    line = SVC(kernel="linear", cache_size=1000)
    # Restarting the gater in each iteration, for a few epochs, escapes from partitions in which the
    # boundary between two gates stands in for an edge of the wedge.
    gater = MLPGater((), learning_rate=0.1, max_iter=4, warm_start=False)
    mixture = HardMixtureClassifier(line, gater, n_experts=2, max_iter=15, early_stopping=True)
    mixture.set_params(scaling=None)
    return {
        LINE: [line],
        GAUSSIAN: [SVC(gamma=5.0, cache_size=1000)],
        MIXTURE: [clone(mixture).set_params(random_state=start) for start in range(STARTS)],
    }


def run(scope: Scope) -> Measured:
    count = scope.rows(ROWS)
    X, y = make_toy_mixture(2 * count, random_state=0)
    models, here = {}, {}
    for name, starts in candidates().items():
        fits = [model.fit(X[:count], y[:count]) for model in starts]
        models[name] = fits[0] if len(fits) == 1 else min(fits, key=_validation_error)
        here[f"test error, {name}, %"] = 100 * (1 - models[name].score(X[count:], y[count:]))
    shown = slice(count, count + DRAWN)

    def draw(figure: Any) -> None:
        axes = figure.subplots(2, 2)
        for ax, (name, model) in zip(axes.flat, models.items(), strict=False):
            MarginDisplay.from_estimator(model, X[shown], y[shown], ax=ax)
            ax.set_title(f"{name}: {here[f'test error, {name}, %']:.1f} % errors", fontsize=11)
        _draw_gates(axes.flat[-1], models[MIXTURE], X[shown])
        limits = {"xlim": axes.flat[-1].get_xlim(), "ylim": axes.flat[-1].get_ylim()}
        for ax in axes.flat:
            ax.set(aspect="equal", xticks=[], yticks=[], **limits)

    return Measured(here, figures={"Boundaries and gates": drawn(draw, width=9, height=9)})


def _validation_error(model: Any) -> float:
    return float(min(record["validation_error"] for record in model.history_))


def _draw_gates(ax: Any, mixture: Any, X: Any) -> None:
    """The gates, with the line of each expert."""
    GatesDisplay.from_estimator(mixture, X, ax=ax)
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    x1, x2 = np.meshgrid(np.linspace(left, right, 200), np.linspace(bottom, top, 200))
    grid = np.column_stack([x1.ravel(), x2.ravel()])
    for expert in mixture.experts_:
        f = expert.decision_function(grid).reshape(x1.shape)
        ax.contour(x1, x2, f, levels=[0.0], colors="black", linewidths=1.0, linestyles="dashed")
    ax.set_title("the gater's choice; dashed: each expert's own line", fontsize=11)


ITEMS = (
    Item(
        "figure-6.1",
        "Two lines and a linear gater",
        in_thesis("Figure 6.1", "6.5.1", 79),
        kind="shape",
        protocol="10,000 training and 10,000 test points of a wedge; five starts of the mixture",
        minutes=0.5,
        run=run,
        claims=(
            Claim(
                "No line separates the classes",
                lambda _, here: here[f"test error, {LINE}, %"] > 20,
            ),
            Claim(
                "Two lines and a linear gater are nearly as good as a Gaussian SVM",
                lambda _, here: (
                    here[f"test error, {MIXTURE}, %"] < here[f"test error, {GAUSSIAN}, %"] + 2
                ),
            ),
        ),
        deviations=("The thesis shows only a picture of its data; these are ours.",),
    ),
)
