"""The gates of a mixture of experts on a plane."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from widemargin._typing import ArrayLike, FloatArray
from widemargin.plots.display import Display
from widemargin.plots.style import (
    EXPERT_COLOURS,
    as_inputs,
    draw_classes,
    grid_around,
    plane,
)

__all__ = ["GatesDisplay"]


class GatesDisplay(Display):
    """The gates of a mixture of experts: one colour per expert, mixed in their proportion.

    Made by `from_estimator`. The number of each expert stands in the region where its gate is the
    largest. If the mixture is a two-class model, a line shows its boundary f = 0.

    Parameters
    ----------
    xx0, xx1 : ndarray of shape (n_rows, n_columns)
        Coordinates of a grid.
    gates : ndarray of shape (n_rows, n_columns, n_experts)
        The gates on the grid, which add up to 1.
    response : ndarray of shape (n_rows, n_columns), optional
        f of the mixture on the grid.
    X : ndarray of shape (n_samples, 2), optional
        Examples.
    positive : ndarray of bool of shape (n_samples,), optional
        Whether they belong to the second class.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        What was drawn on.

    Examples
    --------
    >>> from widemargin import SVC, HardMixtureClassifier
    >>> from widemargin.datasets import make_toy_mixture
    >>> from widemargin.plots import GatesDisplay
    >>> X, y = make_toy_mixture(200, random_state=0)
    >>> clf = HardMixtureClassifier(SVC(kernel="linear"), n_experts=2, random_state=0).fit(X, y)
    >>> GatesDisplay.from_estimator(clf, X).ax_.get_title()
    'gates of 2 experts'
    """

    def __init__(
        self,
        xx0: FloatArray,
        xx1: FloatArray,
        gates: FloatArray,
        *,
        response: FloatArray | None = None,
        X: FloatArray | None = None,
        positive: NDArray[np.bool_] | None = None,
    ) -> None:
        self.xx0 = xx0
        self.xx1 = xx1
        self.gates = gates
        self.response = response
        self.X = X
        self.positive = positive

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike = None,
        *,
        ax: Any = None,
        grid_resolution: int = 200,
    ) -> Self:
        """Draw a fitted mixture over two inputs, and the examples if `y` is given.

        Parameters
        ----------
        estimator : estimator
            A fitted mixture with the method `gates`.
        X : array-like of shape (n_samples, 2)
            The examples; they set the limits of the plot.
        y : array-like of shape (n_samples,), optional
            Their classes, if there are two.
        ax : matplotlib axes, optional
            Where to draw.
        grid_resolution : int, default=200
            Points of the grid in each direction.

        Returns
        -------
        GatesDisplay
        """
        check_is_fitted(estimator)
        points = plane(X)
        xx0, xx1 = grid_around(points, grid_resolution, border=0.0)
        grid = as_inputs(np.column_stack([xx0.ravel(), xx1.ravel()]), X)
        display = cls(xx0, xx1, np.asarray(estimator.gates(grid)).reshape(*xx0.shape, -1))
        classes: Any = getattr(estimator, "classes_", ())
        if len(classes) == 2 and hasattr(estimator, "decision_function"):
            display.response = np.reshape(estimator.decision_function(grid), xx0.shape)
        if y is not None:
            if len(classes) != 2:
                raise ValueError(f"y is drawn for two classes, but the model has {len(classes)}")
            display.X, display.positive = points, np.asarray(y) == classes[1]
        return display.plot(ax)

    def _draw(self, ax: Any) -> None:
        from matplotlib.colors import to_rgb

        n_experts = self.gates.shape[2]
        colours = [to_rgb(EXPERT_COLOURS[k % len(EXPERT_COLOURS)]) for k in range(n_experts)]
        picture = (self.gates @ np.array(colours)).clip(0, 1)
        ends = (self.xx0[0, 0], self.xx0[0, -1], self.xx1[0, 0], self.xx1[-1, 0])
        options = {"origin": "lower", "aspect": "auto", "interpolation": "bilinear"}
        ax.imshow(picture, extent=ends, **options)
        if self.response is not None:
            grid = (self.xx0, self.xx1, self.response)
            ax.contour(*grid, levels=[0.0], colors="black", linewidths=1.6)
        if self.X is not None and self.positive is not None:
            draw_classes(ax, self.X, self.positive, ("black", "black"))
        self._draw_numbers()
        ax.set(xlim=ends[:2], ylim=ends[2:], xlabel="$x_1$", ylabel="$x_2$")
        ax.set_title(f"gates of {n_experts} experts")

    def _draw_numbers(self) -> None:
        """The number of each expert, inside its region."""
        strongest = np.argmax(self.gates, axis=2)
        for expert in range(self.gates.shape[2]):
            rows, columns = np.nonzero(strongest == expert)
            if not len(rows):
                continue
            squared = (rows - rows.mean()) ** 2 + (columns - columns.mean()) ** 2
            row, column = (side[np.argmin(squared)] for side in (rows, columns))
            box = {"boxstyle": "circle", "facecolor": "white", "edgecolor": "black", "alpha": 0.8}
            place = (self.xx0[row, column], self.xx1[row, column])
            self.ax_.text(*place, str(expert), ha="center", va="center", size="small", bbox=box)
