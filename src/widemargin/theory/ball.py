"""The smallest ball around examples in a feature space."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from widemargin._typing import FloatArray

__all__ = ["Ball", "enclosing_ball"]


@dataclass(frozen=True)
class Ball:
    """A ball around Σ α_l Φ(x_l) that holds all examples, with a lower bound on the radius."""

    alpha: FloatArray
    radius: float
    lower_bound: float


def enclosing_ball(
    column: Callable[[int], FloatArray],
    diagonal: FloatArray,
    *,
    tol: float = 1e-3,
    max_iter: int = 10_000,
    stopped: Callable[[], bool] = lambda: False,
) -> Ball:
    r"""Smallest ball that holds the examples in a kernel's feature space.

    .. math:: \max_\alpha \sum_l \alpha_l K_{ll} - \alpha^T K \alpha,\quad
              \alpha \ge 0,\ \sum_l \alpha_l = 1

    The maximum is R². Each step moves weight from the nearest example with α > 0 to the farthest
    one. The farthest distance is an upper bound on the radius, the objective gives a lower bound.

    Parameters
    ----------
    column : callable
        ``column(l)`` gives the kernel values k(x_l, x_1), …, k(x_l, x_L).
    diagonal : ndarray
        k(x_l, x_l).
    tol : float, default=1e-3
        Stop when the two bounds differ by less than this fraction.
    max_iter : int, default=10000
        The largest number of steps.
    stopped : callable
        Whether to stop now; the bounds so far are returned.

    Returns
    -------
    Ball
        Its radius is the upper bound, so the ball holds every example.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 0.5]])
    >>> K = X @ X.T
    >>> round(enclosing_ball(lambda l: K[l], np.diag(K)).radius, 3)
    1.0
    """
    alpha = np.zeros(len(diagonal))
    alpha[0] = 1.0
    projection = np.array(column(0), dtype=float)  # K α
    for steps in range(max_iter + 1):  # one more round computes the bounds of the last α
        squared_norm = max(0.0, float(alpha @ projection))
        distances = np.maximum(diagonal - 2.0 * projection + squared_norm, 0.0)
        upper = float(np.sqrt(distances.max()))
        lower = float(np.sqrt(max(0.0, float(alpha @ diagonal) - squared_norm)))
        if upper - lower <= tol * upper or steps == max_iter or stopped():
            break
        far = int(np.argmax(distances))
        near = int(np.argmin(np.where(alpha > 0, distances, np.inf)))
        far_column, near_column = column(far), column(near)
        gap = diagonal[far] + diagonal[near] - 2.0 * far_column[near]
        if gap <= 0.0:
            break
        step = min(alpha[near], (distances[far] - distances[near]) / (2.0 * gap))
        alpha[far] += step
        alpha[near] -= step
        projection += step * (far_column - near_column)
    return Ball(alpha, upper, lower)
