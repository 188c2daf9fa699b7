"""A regression over one input, with its tube."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from widemargin._typing import ArrayLike, FloatArray
from widemargin.plots.display import Display
from widemargin.plots.style import (
    BLUE,
    LEGEND,
    LIGHT_COLOURS,
    VERMILION,
    as_inputs,
    draw_rings,
    draw_segments,
    support_rows,
)

__all__ = ["TubeDisplay"]

ROUNDING = 1e-3  # of ε: how far within the tube an example on its edge may be


class TubeDisplay(Display):
    r"""A regression f over one input, and its tube :math:`|y - f(x)| \le \epsilon` (3.34).

    Made by `from_estimator`. Support vectors have a ring: they are on the edge of the tube or
    outside. The slack :math:`|y - f(x)| - \epsilon` of those outside is drawn as a line to the
    tube.

    Parameters
    ----------
    x : ndarray of shape (n_points,)
        Inputs, ascending.
    response : ndarray of shape (n_points,)
        f of these inputs.
    epsilon : float
        ε.
    X, y, predicted : ndarray of shape (n_samples,)
        Inputs, targets and f of the examples.
    support : ndarray of bool of shape (n_samples,), optional
        Which examples have a ring.
    title : str, optional
        The title.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        What was drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import SVR
    >>> from widemargin.plots import TubeDisplay
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> model = SVR(C=10, epsilon=0.2).fit(X, np.sin(X[:, 0]))
    >>> display = TubeDisplay.from_estimator(model, X, np.sin(X[:, 0]))
    >>> display.epsilon, bool(display.support.sum() == len(model.support_))
    (0.2, True)
    """

    def __init__(
        self,
        x: FloatArray,
        response: FloatArray,
        epsilon: float,
        *,
        X: FloatArray,
        y: FloatArray,
        predicted: FloatArray,
        support: NDArray[np.bool_] | None = None,
        title: str = "",
    ) -> None:
        self.x = x
        self.response = response
        self.epsilon = epsilon
        self.X = X
        self.y = y
        self.predicted = predicted
        self.support = support
        self.title = title

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        epsilon: float | None = None,
        support_vectors: bool = True,
        ax: Any = None,
        grid_resolution: int = 400,
    ) -> Self:
        """Draw a fitted regression over one input.

        Parameters
        ----------
        estimator : estimator
            A fitted regressor.
        X : array-like of shape (n_samples, 1)
            Inputs.
        y : array-like of shape (n_samples,)
            Targets.
        epsilon : float, optional
            ε; None takes the estimator's parameter `tube` or `epsilon`.
        support_vectors : bool, default=True
            Whether support vectors have a ring: those in `support_`, if the estimator has it and
            was trained on X, else the examples that are not inside the tube.
        ax : matplotlib axes, optional
            Where to draw.
        grid_resolution : int, default=400
            Points at which f is computed.

        Returns
        -------
        TubeDisplay
        """
        check_is_fitted(estimator)
        inputs: FloatArray = np.asarray(X, dtype=float)
        if inputs.ndim != 2 or inputs.shape[1] != 1:
            raise ValueError(f"X has shape {inputs.shape}; a tube is drawn over one input")
        epsilon = _tube(estimator) if epsilon is None else float(epsilon)
        x = np.linspace(inputs.min(), inputs.max(), grid_resolution)
        response = np.ravel(estimator.predict(as_inputs(x[:, None], X)))
        predicted, targets = np.ravel(estimator.predict(X)), np.ravel(y).astype(float)
        support = None
        if support_vectors:
            support = support_rows(estimator, inputs)
            if support is None:
                support = np.abs(targets - predicted) >= epsilon * (1.0 - ROUNDING)
        return cls(
            x,
            response,
            epsilon,
            X=inputs[:, 0],
            y=targets,
            predicted=predicted,
            support=support,
            title=type(estimator).__name__,
        ).plot(ax)

    def _draw(self, ax: Any) -> None:
        low, high = self.response - self.epsilon, self.response + self.epsilon
        label = f"tube, ε = {self.epsilon:.3g}"
        ax.fill_between(self.x, low, high, color=LIGHT_COLOURS[1], lw=0, label=label)
        ax.plot(self.x, self.response, color=BLUE, linewidth=1.8, label="f")
        ax.scatter(self.X, self.y, s=12, color=VERMILION, zorder=2.1)
        above = self.y - self.predicted
        out = np.abs(above) > self.epsilon * (1.0 + ROUNDING)
        edge = self.predicted + np.sign(above) * self.epsilon
        begins, ends = (np.column_stack([self.X, side])[out] for side in (self.y, edge))
        draw_segments(ax, begins, ends, "slack")
        if self.support is not None:
            points = np.column_stack([self.X, self.y])[self.support]
            draw_rings(ax, points, f"{len(points)} support vectors")
        ax.set(xlabel="x", ylabel="y", title=self.title)
        ax.legend(loc="best", **LEGEND)


def _tube(estimator: Any) -> float:
    """ε of an estimator: `tube`, because `epsilon` of a network is Adam's, or `epsilon`."""
    for name in ("tube", "epsilon"):
        value = getattr(estimator, name, None)
        if value is not None:
            return float(value)
    raise ValueError(
        f"{type(estimator).__name__} has no parameter 'tube' or 'epsilon'; give epsilon"
    )
