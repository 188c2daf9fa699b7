"""Plots of fitted models (needs matplotlib)."""

from typing import Any, Self

import numpy as np
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.utils.validation import check_is_fitted

from widemargin._typing import ArrayLike, FloatArray

__all__ = ["MarginDisplay", "draw_gates", "draw_importances", "draw_validation_curve"]

CLASS_COLOURS = ("#c0392b", "#1f5fa8")
LIGHT_COLOURS = ("#f6dcd8", "#d8e4f3")
EXPERT_COLOURS = ("#f2c14e", "#5aaa95", "#b388c9", "#e08e79", "#8fb1d9", "#a3a847", "#c9a27e")


class MarginDisplay:
    """The decision boundary f = 0 of a two-class model on a plane, with the margin f = ±β.

    Made by `from_estimator`.

    Parameters
    ----------
    boundary : DecisionBoundaryDisplay
        f on a grid.
    margin : float
        β; lines are drawn at f = ±β.

    Examples
    --------
    >>> from widemargin import MarginPerceptron
    >>> from widemargin.datasets import make_toy_mixture
    >>> from widemargin.plots import MarginDisplay
    >>> X, y = make_toy_mixture(200, random_state=0)
    >>> clf = MarginPerceptron(random_state=0).fit(X, y)
    >>> MarginDisplay.from_estimator(clf, X, y).ax_.get_title()
    'MarginPerceptron'
    """

    def __init__(self, boundary: Any, *, margin: float = 1.0) -> None:
        self.boundary = boundary
        self.margin = margin

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike = None,
        *,
        margin: float = 1.0,
        ax: Any = None,
        grid_resolution: int = 200,
    ) -> Self:
        """Draw a fitted two-class model over two inputs, and the examples if `y` is given.

        Parameters
        ----------
        estimator : estimator
            A fitted two-class classifier with `decision_function`.
        X : array-like of shape (n_samples, 2)
            The examples; they set the limits of the plot.
        y : array-like of shape (n_samples,), optional
            Their classes.
        margin : float, default=1.0
            β.
        ax : matplotlib axes, optional
            Where to draw.
        grid_resolution : int, default=200
            Points of the grid in each direction.

        Returns
        -------
        MarginDisplay
            With the attributes `ax_` and `figure_`.
        """
        check_is_fitted(estimator)
        X = _plane(X)
        if len(estimator.classes_) != 2:
            raise ValueError(
                f"{type(estimator).__name__} has {len(estimator.classes_)} classes, but the "
                "boundary f = 0 separates two; fit it to two classes"
            )
        boundary = DecisionBoundaryDisplay.from_estimator(
            estimator,
            X,
            response_method="decision_function",
            grid_resolution=grid_resolution,
            eps=0.2,
            plot_method="contourf",
            ax=ax,
            levels=[-np.inf, 0, np.inf],
            colors=LIGHT_COLOURS,
        )
        display = cls(boundary, margin=margin)
        display._draw_lines()
        if y is not None:
            display._draw_examples(X, np.asarray(y) == estimator.classes_[1])
        display.ax_.set_title(type(estimator).__name__)
        return display

    def _draw_lines(self) -> None:
        self.ax_, self.figure_ = self.boundary.ax_, self.boundary.figure_
        grid = (self.boundary.xx0, self.boundary.xx1, self.boundary.response)
        self.ax_.contour(*grid, levels=[0.0], colors="black", linewidths=1.6)
        self.ax_.contour(
            *grid,
            levels=[-self.margin, self.margin],
            colors="black",
            linewidths=0.9,
            linestyles="dashed",
        )

    def _draw_examples(self, X: Any, positive: Any) -> None:
        for kind, colour, marker in ((False, CLASS_COLOURS[0], "o"), (True, CLASS_COLOURS[1], "x")):
            shown = X[positive == kind]
            edge = {"facecolors": "none"} if marker == "o" else {}
            self.ax_.scatter(*shown.T, s=14, linewidths=0.9, marker=marker, color=colour, **edge)


def draw_gates(estimator: Any, X: ArrayLike, *, ax: Any = None, grid_resolution: int = 200) -> Any:
    """Draw the gates of a mixture of experts: one colour per expert, mixed in their proportion.

    Parameters
    ----------
    estimator : estimator
        A fitted mixture over two inputs, with the method `gates`.
    X : array-like of shape (n_samples, 2)
        The examples; they set the limits of the plot.
    ax : matplotlib axes, optional
        Where to draw.
    grid_resolution : int, default=200
        Points of the grid in each direction.

    Returns
    -------
    matplotlib axes
        The axes.

    Examples
    --------
    >>> from widemargin import SVC, HardMixtureClassifier
    >>> from widemargin.datasets import make_toy_mixture
    >>> from widemargin.plots import draw_gates
    >>> X, y = make_toy_mixture(200, random_state=0)
    >>> clf = HardMixtureClassifier(SVC(kernel="linear"), n_experts=2, random_state=0).fit(X, y)
    >>> draw_gates(clf, X).get_title()
    'gates of 2 experts'
    """
    check_is_fitted(estimator)
    X, ax = _plane(X), _axes(ax)
    from matplotlib.colors import to_rgb

    low, high = X.min(0), X.max(0)
    sides = [np.linspace(*ends, grid_resolution) for ends in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*sides), axis=-1)
    gates = estimator.gates(grid.reshape(-1, 2))
    n_experts = gates.shape[1]
    colours = [to_rgb(EXPERT_COLOURS[k % len(EXPERT_COLOURS)]) for k in range(n_experts)]
    extent = (low[0], high[0], low[1], high[1])
    picture = (gates @ np.array(colours)).reshape(*grid.shape[:2], 3).clip(0, 1)
    ax.imshow(picture, origin="lower", extent=extent, aspect="auto", interpolation="bilinear")
    ax.set(xlim=extent[:2], ylim=extent[2:], title=f"gates of {n_experts} experts")
    return ax


def draw_importances(
    estimator: Any, names: ArrayLike = None, *, most: int = 15, ax: Any = None
) -> Any:
    """Draw the importances of the inputs, the largest first.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator with `feature_importances_`, such as `GradientMetric`.
    names : array-like of str, optional
        Names of the inputs; None takes those that the estimator was fitted with, or numbers.
    most : int, default=15
        How many inputs to show at most. The others are added up in one bar.
    ax : matplotlib axes, optional
        Where to draw; None makes new axes.

    Returns
    -------
    matplotlib axes
        With one bar per input.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import GradientMetric
    >>> from widemargin.plots import draw_importances
    >>> X = np.random.default_rng(0).normal(size=(200, 4))
    >>> metric = GradientMetric().fit(X, X[:, 2] > 0)
    >>> [label.get_text() for label in draw_importances(metric).get_yticklabels()][0]
    'input 2'
    """
    check_is_fitted(estimator)
    importances = np.asarray(estimator.feature_importances_, dtype=np.float64)
    if names is None:
        names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        names = [f"input {j}" for j in range(len(importances))]
    order = np.argsort(-importances, kind="stable")[:most]
    labels, values = [str(names[j]) for j in order], importances[order].tolist()
    if len(order) < len(importances):
        labels.append(f"{len(importances) - len(order)} others")
        values.append(float(importances.sum() - importances[order].sum()))
    ax = _axes(ax)
    places = np.arange(len(labels))
    ax.barh(places, values, color=CLASS_COLOURS[1])
    ax.set_yticks(places, labels)
    ax.invert_yaxis()
    ax.set_xlabel("share of the mean squared derivatives")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def draw_validation_curve(
    Cs: FloatArray, scores: FloatArray, chosen: float, scoring: Any = None, ax: Any = None
) -> Any:
    """Draw validation scores against C on a logarithmic axis, and mark the chosen C.

    Parameters
    ----------
    Cs : ndarray of shape (n_Cs,)
        The values of C, ascending.
    scores : ndarray of shape (n_Cs, n_folds)
        The scores of each C.
    chosen : float
        The chosen C.
    scoring : str or callable, optional
        Kind of score. Accuracies, the default, are drawn as errors in percent.
    ax : matplotlib axes, optional
        Where to draw.

    Returns
    -------
    matplotlib axes
        The axes.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.plots import draw_validation_curve
    >>> scores = np.array([[0.8, 0.7], [0.9, 0.8], [0.7, 0.6]])
    >>> draw_validation_curve(np.array([0.1, 1.0, 10.0]), scores, 1.0).get_ylabel()
    'validation error (%)'
    """
    ax = _axes(ax)
    errors = scoring in (None, "accuracy")
    values = 100 * (1 - scores) if errors else scores
    mean, spread = values.mean(axis=1), values.std(axis=1)
    if scores.shape[1] > 1:
        label = f"± standard deviation of {scores.shape[1]} folds"
        ax.fill_between(
            Cs, mean - spread, mean + spread, color=LIGHT_COLOURS[1], linewidth=0, label=label
        )
    name = scoring if isinstance(scoring, str) else "score"
    label = "validation error (%)" if errors else f"validation score ({name})"
    ax.plot(Cs, mean, "o-", color=CLASS_COLOURS[1], markersize=4, linewidth=1.6)
    ax.axvline(chosen, color="black", linewidth=0.9, linestyle="dashed", label=f"C = {chosen:.3g}")
    ax.set(xscale="log", xlabel="C", ylabel=label)
    ax.legend(framealpha=1.0, edgecolor="none")  # covers the dashed line
    return ax


def _plane(X: ArrayLike) -> FloatArray:
    """Examples with two inputs, as an array."""
    points: FloatArray = np.asarray(X, dtype=float)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(f"X has shape {points.shape}; a plane has two inputs")
    return points


def _axes(ax: Any) -> Any:
    """The axes to draw on; new ones if `ax` is None."""
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots()
    return ax
