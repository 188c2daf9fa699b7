"""Novikoff's proof as a race of two numbers."""

from typing import Any, Self

import numpy as np
from sklearn.base import clone

from widemargin._typing import ArrayLike, FloatArray
from widemargin.plots.display import Display
from widemargin.plots.style import BLUE, LEGEND, VERMILION

__all__ = ["NovikoffDisplay"]


class NovikoffDisplay(Display):
    r"""Why a Perceptron makes finitely many mistakes, drawn over their number t.

    A unit vector *u* separates the examples with :math:`y_l\, u \cdot x_l \ge \gamma`, and
    :math:`\|x_l\| \le R`. With each mistake, :math:`u \cdot w` grows by γ or more, so it is at
    least :math:`t\gamma`, and :math:`\|w\|^2` by :math:`R^2` or less, so :math:`\|w\|` is at most
    :math:`\sqrt t R`. Since :math:`u \cdot w \le \|w\|`, the race is over where the two bounds
    meet, at :math:`t = R^2/\gamma^2` (`theory.novikoff_bound`). Both axes are logarithmic.

    Made by `from_estimator`, or from the weights after each mistake.

    Parameters
    ----------
    weights : ndarray of shape (n_mistakes, n_features)
        w after each mistake, divided by the step; with a bias, (w, b).
    separating : ndarray of shape (n_features,)
        A vector that separates the examples; its length does not matter.
    X : ndarray of shape (n_samples, n_features)
        The examples; with a bias, (x, 1).
    y : ndarray of shape (n_samples,)
        Labels ±1.

    Attributes
    ----------
    alignment, norm : ndarray of shape (n_mistakes,)
        :math:`u \cdot w` and :math:`\|w\|` after each mistake.
    gamma, radius, bound : float
        γ, R and :math:`R^2/\gamma^2`.
    ax_, figure_ : matplotlib axes and figure
        What was drawn on.

    Examples
    --------
    >>> from widemargin import SVC, Perceptron
    >>> from widemargin.plots import NovikoffDisplay
    >>> X, y = [[0.0, 1.0], [0.5, 2.0], [1.0, 0.0], [2.0, 1.0]], [1, 1, -1, -1]
    >>> best = SVC(kernel="linear", C=1e6).fit(X, y)
    >>> display = NovikoffDisplay.from_estimator(
    ...     Perceptron(fit_intercept=False), X, y, separating=best.coef_[0]
    ... )
    >>> len(display.alignment) <= display.bound
    True
    """

    def __init__(
        self, weights: FloatArray, separating: FloatArray, *, X: FloatArray, y: FloatArray
    ) -> None:
        unit = np.asarray(separating, dtype=float) / np.linalg.norm(separating)
        self.gamma = float(np.min(y * (X @ unit)))
        if self.gamma <= 0:
            raise ValueError(
                f"separating={separating!r} does not separate the examples; the theorem needs a "
                "vector that does, such as (coef_, intercept_) of a hard-margin SVM"
            )
        self.radius = float(np.linalg.norm(X, axis=1).max())
        self.bound = self.radius**2 / self.gamma**2
        self.alignment: FloatArray = weights @ unit
        self.norm: FloatArray = np.linalg.norm(weights, axis=1)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        separating: ArrayLike,
        max_epochs: int = 1000,
        ax: Any = None,
    ) -> Self:
        """Train a copy of a Perceptron example by example, and draw its weights.

        Parameters
        ----------
        estimator : Perceptron
            Without scaling, feature map, penalty and averaging. It need not be fitted.
        X : array-like of shape (n_samples, n_features)
            Inputs. They are visited in this order.
        y : array-like of shape (n_samples,)
            Their two classes.
        separating : array-like of shape (n_features,) or (n_features + 1,)
            A vector that separates the examples; the last entry is the bias, if the Perceptron
            trains one.
        max_epochs : int, default=1000
            The most epochs. The run ends with an epoch without a mistake.
        ax : matplotlib axes, optional
            Where to draw; None makes new axes.

        Returns
        -------
        NovikoffDisplay
        """
        for name in ("scaling", "feature_map", "penalty"):
            if getattr(estimator, name, None) is not None:
                value = getattr(estimator, name)
                raise ValueError(f"{name}={value!r}: the theorem is about {name}=None")
        if getattr(estimator, "average", False):
            raise ValueError("average=True: the theorem is about weights that are not averaged")
        inputs, targets = np.asarray(X, dtype=float), np.asarray(y)
        weights = _weights_after_mistakes(clone(estimator), inputs, targets, max_epochs)
        signs = np.where(targets == np.unique(targets)[-1], 1.0, -1.0)
        if estimator.fit_intercept:
            inputs = np.column_stack([inputs, np.ones(len(inputs))])
        vector = np.ravel(np.asarray(separating, dtype=float))
        if len(vector) != inputs.shape[1]:
            raise ValueError(
                f"separating has {len(vector)} entries, but the Perceptron has "
                f"{inputs.shape[1]} weights, the bias included; give as many"
            )
        return cls(weights, vector, X=inputs, y=signs).plot(ax)

    def _draw(self, ax: Any) -> None:
        last = max(self.bound, len(self.norm))
        t, run = np.geomspace(1.0, 2.0 * last, 100), np.arange(1, len(self.norm) + 1)
        thin = {"linewidth": 1.0, "linestyle": "dashed"}
        bold = {"linewidth": 1.6, "marker": "o", "markersize": 2.5}
        upper = self.radius * np.sqrt(t)
        ax.plot(t, upper, color=VERMILION, label=r"$\sqrt{t}\,R$, the most", **thin)
        ax.plot(run, self.norm, color=VERMILION, label=r"$\|w\|$", **bold)
        bold["marker"] = "s"
        ax.plot(run, self.alignment, color=BLUE, label=r"$u \cdot w$", **bold)
        ax.plot(t, self.gamma * t, color=BLUE, label=r"$t\,\gamma$, the least", **thin)
        label = rf"$R^2/\gamma^2$ = {self.bound:,.4g}"
        ax.axvline(self.bound, color="black", linewidth=0.9, linestyle="dotted", label=label)
        ax.set(xscale="log", yscale="log", xlabel="mistakes t")
        ax.set_title(f"{len(self.norm):,} mistakes of at most {int(self.bound):,}")
        ax.legend(loc="upper left", **LEGEND)


def _weights_after_mistakes(model: Any, X: FloatArray, y: Any, max_epochs: int) -> FloatArray:
    """The weights (and the bias) after each mistake, divided by the step."""
    classes, found, updates = np.unique(y), [], 0
    if len(classes) != 2:
        raise ValueError(f"y has {len(classes)} classes; the theorem is about two")
    for _ in range(max_epochs):
        before = updates
        for row in range(len(X)):
            model.partial_fit(X[row : row + 1], y[row : row + 1], classes=classes)
            if model.n_updates_ > updates:
                updates = model.n_updates_
                bias = model.intercept_ if model.fit_intercept else []
                found.append(np.concatenate([model.coef_[0], bias]))
        if updates == before:
            break
    return np.asarray(found, dtype=float) / float(model.eta0)
