"""Colours, axes and grids of all plots.

Colours are those of Okabe and Ito, which the colour-blind can tell apart. Nothing is shown by
colour alone: classes have their own markers, lines their own dashes, experts their numbers.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin._typing import ArrayLike, FloatArray

BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY, YELLOW = (
    "#0072b2", "#d55e00", "#009e73", "#e69f00", "#cc79a7", "#56b4e9", "#f0e442",
)  # fmt: skip
GREY = "#6b6b6b"
CLASS_COLOURS = (VERMILION, BLUE)
LIGHT_COLOURS = ("#fae3d6", "#d6e7f3")
EXPERT_COLOURS = ("#f3cf80", "#9fd3f0", "#80cfb9", "#e4b5d0", "#f7f1a0", "#80b8d8", "#eaae80")
LEGEND = {"fontsize": "small", "framealpha": 0.9, "edgecolor": "none"}


def axes(ax: Any, **options: Any) -> Any:
    """The axes to draw on; new ones if `ax` is None."""
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(layout="constrained", **options)
    return ax


def plane(X: ArrayLike) -> FloatArray:
    """Examples with two inputs, as an array."""
    points: FloatArray = np.asarray(X, dtype=float)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(f"X has shape {points.shape}; a plane has two inputs")
    return points


def grid_around(X: FloatArray, resolution: int, border: float) -> tuple[FloatArray, FloatArray]:
    """Coordinates of a grid over the range of the examples and this much more on each side."""
    low, high = X.min(axis=0) - border, X.max(axis=0) + border
    first, second = (np.linspace(a, b, resolution) for a, b in zip(low, high, strict=True))
    xx0, xx1 = np.meshgrid(first, second)
    return xx0, xx1


def as_inputs(points: FloatArray, X: ArrayLike) -> Any:
    """Points of a grid in the form of X: with the names of its columns if it has any."""
    if hasattr(X, "columns"):
        return type(X)(points, columns=X.columns)
    return points


def support_rows(estimator: Any, X: FloatArray) -> NDArray[np.bool_] | None:
    """Which rows are support vectors; None if the model was not trained on them or has none."""
    rows, vectors = (getattr(estimator, name, None) for name in ("support_", "support_vectors_"))
    if rows is None or vectors is None or np.max(rows, initial=-1) >= len(X):
        return None
    if not np.allclose(X[rows], vectors.toarray() if hasattr(vectors, "toarray") else vectors):
        return None
    found = np.zeros(len(X), dtype=bool)
    found[rows] = True
    return found


def draw_classes(
    ax: Any, X: FloatArray, positive: Any, colours: tuple[str, str] = CLASS_COLOURS
) -> None:
    """Draw the examples: circles for the first class, crosses for the second."""
    first, second = X[~positive], X[positive]
    ax.scatter(*first.T, s=14, linewidths=0.9, edgecolors=colours[0], facecolors="none")
    ax.scatter(*second.T, s=14, linewidths=0.9, marker="x", color=colours[1])


def draw_rings(ax: Any, points: FloatArray, label: str) -> None:
    """Draw a ring around each of these points."""
    options = {"s": 62, "facecolors": "none", "edgecolors": "black", "linewidths": 0.8}
    ax.scatter(*points.T, label=label, **options)


def draw_segments(ax: Any, begins: FloatArray, ends: FloatArray, label: str) -> None:
    """Draw a line from each point to another one."""
    from matplotlib.collections import LineCollection

    lines = [*np.stack([begins, ends], axis=1)]
    ax.add_collection(LineCollection(lines, colors=GREY, linewidths=1.0, zorder=1, label=label))
