r"""Quadratic sub-problems by a conjugate gradient with projection (thesis 5.2.2 and 5.4.1).

Working sets of more than two variables have no closed solution. The thesis used "a conjugate
gradient method with projection" for them. It minimises, over the variables β of a working set,

.. math:: J(\beta) = \tfrac12 \beta^T H \beta + g \cdot \beta, \qquad
          \text{low} \le \beta \le \text{high}, \qquad \sum_i \beta_i \text{ as it was.}
"""

import numpy as np
from numpy.typing import NDArray

from widemargin._typing import FloatArray

__all__ = ["projected_conjugate_gradient"]


def projected_conjugate_gradient(
    H: FloatArray,
    g: FloatArray,
    beta: FloatArray,
    low: FloatArray,
    high: FloatArray,
    tol: float = 1e-8,
    max_steps: int = 100_000,
) -> tuple[FloatArray, int]:
    r"""The minimum of J, and the number of steps.

    With :math:`v = -(H\beta + g)`, a feasible point is optimal if no v that can grow exceeds one
    that can shrink (5.18), (5.19). Otherwise the free variables and the worst pair form a face. On
    it, conjugate directions (Polak and Ribière) start from the projection of v on
    :math:`\sum_i d_i = 0`. A variable that meets its bound leaves the face, and directions start
    from scratch. The method ends when the worst pair differs by at most `tol`.

    Examples
    --------
    The nearest point to (3, 1, 0) with coordinates from 0 to 2 that add up to 3:

    >>> point, _ = projected_conjugate_gradient(
    ...     np.eye(3), -np.array([3.0, 1.0, 0.0]), np.ones(3), np.zeros(3), np.full(3, 2.0)
    ... )
    >>> point.round(6)
    array([2., 1., 0.])
    """
    beta, v = beta.copy(), -(H @ beta + g)
    steps = 0
    while steps < max_steps:
        up, down = beta < high, beta > low
        i = int(np.argmax(np.where(up, v, -np.inf)))
        j = int(np.argmin(np.where(down, v, np.inf)))
        if not (up[i] and down[j]) or v[i] - v[j] <= tol:
            break
        face = up & down
        face[[i, j]] = True
        steps += _minimise_on_face(H, beta, v, low, high, face, tol, max_steps - steps)
        v = -(H @ beta + g)  # without the rounding of the steps
    return beta, steps


def _minimise_on_face(
    H: FloatArray,
    beta: FloatArray,
    v: FloatArray,
    low: FloatArray,
    high: FloatArray,
    face: NDArray[np.bool_],
    tol: float,
    max_steps: int,
) -> int:
    """Moves β and v on a face, until v is constant there; returns the number of steps."""
    direction = last = np.zeros_like(v)
    for step in range(max_steps):
        if np.count_nonzero(face) < 2 or np.ptp(v[face]) <= tol / 2:
            return step
        r = np.where(face, v - v[face].mean(), 0.0)
        momentum = float(r @ (r - last) / (last @ last)) if last.any() else 0.0
        direction = r + max(0.0, momentum) * direction
        direction[face] -= direction[face].mean()  # of rounding, which the next steps would keep
        bend = H @ direction
        curvature = direction @ bend
        minimum = r @ direction / curvature if curvature > 0 else np.inf
        moving = direction != 0
        ends = np.where(direction > 0, high, low)
        room = np.full(len(v), np.inf)
        room[moving] = (ends - beta)[moving] / direction[moving]
        length = min(minimum, room.min())
        hit = room <= length
        beta += length * direction
        beta[hit] = ends[hit]  # exactly on the bound
        v -= length * bend
        last = r
        if hit.any():
            face = face & ~hit
            direction = last = np.zeros_like(v)
    return max_steps
