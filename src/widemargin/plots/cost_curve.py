"""Validation scores against C, alone or beside the chosen machine."""

from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from widemargin._typing import ArrayLike, FloatArray
from widemargin.plots.margins import MarginDisplay
from widemargin.plots.style import BLUE, LIGHT_COLOURS, axes
from widemargin.plots.tube import TubeDisplay

__all__ = ["CostCurveDisplay", "draw_validation_curve"]


class CostCurveDisplay:
    """The validation curve of C, and beside it the machine of the chosen C.

    Made by `from_estimator`. A classifier over two inputs is drawn as a `MarginDisplay`, a
    regression over one input as a `TubeDisplay`.

    Parameters
    ----------
    Cs : ndarray of shape (n_Cs,)
        The values of C, ascending.
    scores : ndarray of shape (n_Cs, n_folds)
        The scores of each C.
    chosen : float
        The chosen C.
    machine : MarginDisplay or TubeDisplay
        The machine of the chosen C.
    scoring : str or callable, optional
        Kind of score. Accuracies, the default, are drawn as errors in percent.

    Attributes
    ----------
    ax_ : ndarray of two matplotlib axes
        The curve and the machine.
    figure_ : matplotlib figure
        What was drawn on.

    Examples
    --------
    >>> from widemargin import SVCCV
    >>> from widemargin.datasets import make_toy_mixture
    >>> from widemargin.plots import CostCurveDisplay
    >>> X, y = make_toy_mixture(100, random_state=0)
    >>> search = SVCCV(Cs=[0.1, 1.0, 10.0], cv=3).fit(X, y)
    >>> display = CostCurveDisplay.from_estimator(search, X, y)
    >>> display.chosen == search.C_, display.scores.shape
    (True, (3, 3))
    """

    ax_: Any
    figure_: Any

    def __init__(
        self,
        Cs: FloatArray,
        scores: FloatArray,
        chosen: float,
        machine: MarginDisplay | TubeDisplay,
        *,
        scoring: Any = None,
    ) -> None:
        self.Cs = Cs
        self.scores = scores
        self.chosen = chosen
        self.machine = machine
        self.scoring = scoring

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        support_vectors: bool = True,
        ax: Any = None,
    ) -> Self:
        """Draw a fitted search over C, such as `SVCCV`.

        Parameters
        ----------
        estimator : estimator
            A fitted search, with ``refit=True``.
        X : array-like of shape (n_samples, 2) or (n_samples, 1)
            The examples it was fitted to: two inputs for classes, one for a regression.
        y : array-like of shape (n_samples,)
            Their targets.
        support_vectors : bool, default=True
            Whether support vectors have a ring.
        ax : sequence of two matplotlib axes, optional
            Where to draw; None makes new axes.

        Returns
        -------
        CostCurveDisplay
        """
        check_is_fitted(estimator)
        pair = _two_axes(ax)
        scores = np.asarray(estimator.scores_)
        if scores.ndim == 3:  # several γ: the curve of the chosen one
            scores = scores[list(estimator.gammas_).index(estimator.gamma_)]
        options = {"support_vectors": support_vectors, "ax": pair[1]}
        machine: MarginDisplay | TubeDisplay
        scoring = estimator.scoring
        if is_classifier(estimator):
            machine = MarginDisplay.from_estimator(estimator, X, y, **options)
        else:
            machine = TubeDisplay.from_estimator(estimator, X, y, **options)
            scoring = scoring or "r2"
        display = cls(estimator.Cs_, scores, float(estimator.C_), machine, scoring=scoring)
        display._draw_curve(pair)
        return display

    def plot(self, ax: Any = None) -> Self:
        """Draw on these axes, or on new ones.

        Parameters
        ----------
        ax : sequence of two matplotlib axes, optional
            Where to draw.

        Returns
        -------
        CostCurveDisplay
            Itself.
        """
        pair = _two_axes(ax)
        self.machine.plot(pair[1])
        self._draw_curve(pair)
        return self

    def _draw_curve(self, pair: Any) -> None:
        self.ax_, self.figure_ = pair, pair[0].figure
        draw_validation_curve(self.Cs, self.scores, self.chosen, self.scoring, pair[0])
        pair[1].set_title(f"{self.machine.title}, C = {self.chosen:.3g}")


def _two_axes(ax: Any) -> Any:
    """Two axes to draw on; new ones if `ax` is None."""
    if ax is None:
        return axes(None, nrows=1, ncols=2, figsize=(10.0, 4.2))
    pair = np.ravel(np.asarray(ax, dtype=object))
    if len(pair) != 2:
        raise ValueError(f"ax has {len(pair)} axes; give two, for the curve and for the machine")
    return pair


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
    ax = axes(ax)
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
    ax.plot(Cs, mean, "o-", color=BLUE, markersize=4, linewidth=1.6)
    ax.axvline(chosen, color="black", linewidth=0.9, linestyle="dashed", label=f"C = {chosen:.3g}")
    ax.set(xscale="log", xlabel="C", ylabel=label)
    ax.legend(framealpha=1.0, edgecolor="none")  # covers the dashed line
    return ax
