"""Criteria drawn over y f(x)."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from widemargin._typing import ArrayLike, FloatArray
from widemargin.plots.display import Display
from widemargin.plots.style import BLUE, GREEN, GREY, LEGEND, ORANGE, PURPLE, SKY, VERMILION

__all__ = ["LossDisplay"]

STYLES = (
    (BLUE, "solid"),
    (VERMILION, "dashed"),
    (GREEN, "dashdot"),
    (ORANGE, (0, (5, 1))),
    (PURPLE, (0, (3, 1, 1, 1, 1, 1))),
    (SKY, "dotted"),
)


class LossDisplay(Display):
    r"""Criteria as functions of :math:`z = y f(x)`, over the counted errors (0 for z > 0, else 1).

    Made by `from_criteria`, or by `from_estimator` with the values of z of a fitted model.

    Parameters
    ----------
    z : ndarray of shape (n_points,)
        Where the criteria were computed, ascending.
    losses : mapping of str to ndarray of shape (n_points,)
        Values of the criteria, by the names of the legend.
    margins : ndarray of shape (n_samples,), optional
        z of examples, which are drawn as a histogram.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        What was drawn on.
    lines_ : list of matplotlib lines
        The counted errors, then one line per criterion.

    Examples
    --------
    >>> from widemargin import criteria
    >>> from widemargin.plots import LossDisplay
    >>> display = LossDisplay.from_criteria([criteria.Margin(), criteria.Perceptron()])
    >>> [line.get_label() for line in display.lines_]
    ['errors', 'margin', 'perceptron']
    """

    lines_: list[Any]

    def __init__(
        self, z: FloatArray, losses: Mapping[str, FloatArray], *, margins: FloatArray | None = None
    ) -> None:
        self.z = z
        self.losses = losses
        self.margins = margins

    @classmethod
    def from_criteria(
        cls,
        criteria: Sequence[Any],
        *,
        limits: tuple[float, float] = (-2.0, 3.0),
        margins: FloatArray | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw classification criteria.

        Parameters
        ----------
        criteria : sequence of criteria
            Such as those of `widemargin.criteria`, which depend on y f(x) alone.
        limits : (float, float), default=(-2.0, 3.0)
            The smallest and largest z.
        margins : ndarray of shape (n_samples,), optional
            z of examples.
        ax : matplotlib axes, optional
            Where to draw; None makes new axes.

        Returns
        -------
        LossDisplay
        """
        z = np.linspace(*limits, 501)
        losses: dict[str, FloatArray] = {}
        for criterion in criteria:
            values = np.asarray(criterion.value(np.ones_like(z), z), dtype=float)
            flipped = np.asarray(criterion.value(-np.ones_like(z), -z), dtype=float)
            if not np.allclose(values, flipped):
                raise ValueError(
                    f"{criterion!r} is not a function of y f(x); give a classification criterion"
                )
            losses[_new_name(criterion, losses)] = values
        return cls(z, losses, margins=margins).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        criteria: Sequence[Any],
        *,
        ax: Any = None,
    ) -> Self:
        """Draw criteria over the values of y f(x) that a two-class model has on examples.

        Parameters
        ----------
        estimator : estimator
            A fitted two-class classifier with `decision_function`.
        X, y : array-like
            Examples and their classes.
        criteria : sequence of criteria
            What to draw.
        ax : matplotlib axes, optional
            Where to draw; None makes new axes.

        Returns
        -------
        LossDisplay
        """
        check_is_fitted(estimator)
        signs = np.where(np.asarray(y) == estimator.classes_[1], 1.0, -1.0)
        margins = signs * np.ravel(estimator.decision_function(X))
        low, high = np.quantile(margins, [0.0, 1.0])
        limits = (min(-2.0, float(low)), max(3.0, float(high)))
        return cls.from_criteria(criteria, limits=limits, margins=margins, ax=ax)

    def _draw(self, ax: Any) -> None:
        top = 1.05 * float(np.interp(-1.0, self.z, np.max([*self.losses.values()], axis=0)))
        if self.margins is not None:
            self._draw_examples(self.margins, top / 3)
        steps = ([self.z[0], 0.0, 0.0, self.z[-1]], [1.0, 1.0, 0.0, 0.0])
        self.lines_ = ax.plot(*steps, color="black", linewidth=1.0, label="errors")
        for number, (name, values) in enumerate(self.losses.items()):
            colour, dashes = STYLES[number % len(STYLES)]
            options = {"color": colour, "linestyle": dashes, "linewidth": 1.8, "label": name}
            self.lines_ += ax.plot(self.z, values, **options)
        ax.set(xlim=(self.z[0], self.z[-1]), ylim=(-0.03 * top, top))
        ax.set(xlabel="z = y f(x)", ylabel="loss")
        ax.legend(loc="upper right", **LEGEND)

    def _draw_examples(self, margins: FloatArray, height: float) -> None:
        """A histogram of the examples, of this height."""
        counts, edges = np.histogram(margins, bins=40)
        label = f"{len(margins):,} examples"
        options = {"fill": True, "color": GREY, "alpha": 0.25, "label": label}
        self.ax_.stairs(counts / counts.max() * height, edges, **options)


def _new_name(criterion: Any, known: Mapping[str, Any]) -> str:
    """The name of a criterion, with its parameter if another one has this name."""
    name = str(criterion.name).replace("_", " ").replace("mse", "MSE")
    return name if name not in known else f"{name}, {criterion.parameter:g}"
