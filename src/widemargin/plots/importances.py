"""The importances of inputs."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from widemargin._typing import ArrayLike
from widemargin.plots.style import BLUE, axes

__all__ = ["draw_importances"]


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
    ax = axes(ax)
    places = np.arange(len(labels))
    ax.barh(places, values, color=BLUE)
    ax.set_yticks(places, labels)
    ax.invert_yaxis()
    ax.set_xlabel("share of the mean squared derivatives")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax
