"""Boundary and margin of a two-class model on a plane, with support vectors and slack."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from widemargin._typing import ArrayLike, FloatArray
from widemargin.plots.display import Display
from widemargin.plots.style import (
    LEGEND,
    LIGHT_COLOURS,
    as_inputs,
    draw_classes,
    draw_rings,
    draw_segments,
    grid_around,
    plane,
    support_rows,
)

__all__ = ["MarginDisplay"]


class MarginDisplay(Display):
    r"""The decision boundary f = 0 of a two-class model on a plane, with the margin f = ±β.

    Made by `from_estimator`. Support vectors have a ring. The slack
    :math:`\xi = |\beta - y f(x)|_+` of an example is drawn as a line to the nearest point of the
    edge f = yβ that is in the picture. If f is linear, its length is :math:`\xi / \|w\|`.

    Parameters
    ----------
    xx0, xx1 : ndarray of shape (n_rows, n_columns)
        Coordinates of a grid.
    response : ndarray of shape (n_rows, n_columns)
        f on the grid.
    margin : float, default=1.0
        β.
    X : ndarray of shape (n_samples, 2), optional
        Examples.
    positive : ndarray of bool of shape (n_samples,), optional
        Whether they belong to the second class.
    support : ndarray of bool of shape (n_samples,), optional
        Which examples have a ring.
    slack : ndarray of shape (n_samples,), optional
        The slack of the examples, if it is to be drawn.
    title : str, optional
        The title.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        What was drawn on.

    Examples
    --------
    >>> from widemargin import SVC
    >>> from widemargin.datasets import make_toy_mixture
    >>> from widemargin.plots import MarginDisplay
    >>> X, y = make_toy_mixture(200, random_state=0)
    >>> clf = SVC().fit(X, y)
    >>> display = MarginDisplay.from_estimator(clf, X, y, support_vectors=True)
    >>> display.ax_.get_title(), bool(display.support.sum() == len(clf.support_))
    ('SVC', True)
    """

    def __init__(
        self,
        xx0: FloatArray,
        xx1: FloatArray,
        response: FloatArray,
        *,
        margin: float = 1.0,
        X: FloatArray | None = None,
        positive: NDArray[np.bool_] | None = None,
        support: NDArray[np.bool_] | None = None,
        slack: FloatArray | None = None,
        title: str = "",
    ) -> None:
        self.xx0 = xx0
        self.xx1 = xx1
        self.response = response
        self.margin = margin
        self.X = X
        self.positive = positive
        self.support = support
        self.slack = slack
        self.title = title

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike = None,
        *,
        margin: float = 1.0,
        support_vectors: bool = False,
        slack: bool = False,
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
        support_vectors : bool, default=False
            Whether support vectors have a ring: those in `support_`, if the model has it and was
            trained on X, else the examples with y f(x) ≤ β, which a step would learn.
        slack : bool, default=False
            Whether to draw the slack of the examples.
        ax : matplotlib axes, optional
            Where to draw.
        grid_resolution : int, default=200
            Points of the grid in each direction.

        Returns
        -------
        MarginDisplay
        """
        check_is_fitted(estimator)
        points = plane(X)
        _check_options(estimator, y, support_vectors or slack)
        xx0, xx1 = grid_around(points, grid_resolution, border=0.2)
        grid = as_inputs(np.column_stack([xx0.ravel(), xx1.ravel()]), X)
        response = np.asarray(estimator.decision_function(grid), dtype=float).reshape(xx0.shape)
        display = cls(xx0, xx1, response, margin=margin, title=type(estimator).__name__)
        if y is not None:
            positive = np.asarray(y) == estimator.classes_[1]
            display.X, display.positive = points, positive
            below = margin - np.where(positive, 1.0, -1.0) * estimator.decision_function(X)
            if support_vectors:
                rows = support_rows(estimator, points)
                display.support = below >= 0.0 if rows is None else rows
            if slack:
                display.slack = np.maximum(0.0, below)
        return display.plot(ax)

    def _draw(self, ax: Any) -> None:
        grid = (self.xx0, self.xx1, self.response)
        ax.contourf(*grid, levels=[-np.inf, 0.0, np.inf], colors=LIGHT_COLOURS)
        ax.contour(*grid, levels=[0.0], colors="black", linewidths=1.6)
        levels = [-self.margin, self.margin] if self.margin > 0 else [0.0]
        dashed = {"colors": "black", "linewidths": 0.9, "linestyles": "dashed"}
        edges = ax.contour(*grid, levels=levels, **dashed)
        if self.X is not None and self.positive is not None:
            if self.slack is not None:
                self._draw_slack(self.slack, edges.allsegs)
            draw_classes(ax, self.X, self.positive)
            if self.support is not None:
                label = f"{int(self.support.sum())} support vectors"
                draw_rings(ax, self.X[self.support], label)
        ax.set(xlabel="$x_1$", ylabel="$x_2$", title=self.title)
        if ax.get_legend_handles_labels()[0]:
            below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.13), "ncols": 2}
            ax.legend(**below, **LEGEND)  # the examples fill the plane

    def _draw_slack(self, slack: FloatArray, edges: Any) -> None:
        """Lines from the examples with slack to the edges of their classes."""
        X, positive = np.asarray(self.X), np.asarray(self.positive)
        within = slack > 1e-6 * self.margin
        begins, ends = [np.empty((0, 2))], [np.empty((0, 2))]
        for kind, edge in ((False, edges[0]), (True, edges[-1])):
            some = X[within & (positive == kind)]
            if len(some) and sum(map(len, edge)) > 1:
                begins.append(some)
                ends.append(_nearest(some, edge))
        draw_segments(self.ax_, np.concatenate(begins), np.concatenate(ends), "slack")
        width, height = np.ptp(self.xx0), np.ptp(self.xx1)
        if 1 / 3 < width / height < 3:
            self.ax_.set_aspect("equal")  # right angles look like right angles


def _check_options(estimator: Any, y: ArrayLike, needs_classes: bool) -> None:
    if len(estimator.classes_) != 2:
        raise ValueError(
            f"{type(estimator).__name__} has {len(estimator.classes_)} classes, but the "
            "boundary f = 0 separates two; fit it to two classes"
        )
    if y is None and needs_classes:
        raise ValueError("y=None: support vectors and slack need the classes of the examples")


def _nearest(points: FloatArray, lines: list[FloatArray]) -> FloatArray:
    """The points of polylines that are nearest to these points."""
    starts = np.concatenate([line[:-1] for line in lines])
    steps = np.concatenate([np.diff(line, axis=0) for line in lines])
    lengths = np.maximum(np.sum(steps**2, axis=1), np.finfo(float).tiny)
    found = []
    for point in points:
        along = np.clip(np.sum((point - starts) * steps, axis=1) / lengths, 0.0, 1.0)
        feet = starts + along[:, None] * steps
        found.append(feet[np.argmin(np.sum((feet - point) ** 2, axis=1))])
    return np.array(found)
