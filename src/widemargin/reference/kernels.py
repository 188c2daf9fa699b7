r"""Kernels of distances in NumPy, and the gradients of machines made of them.

.. math::

    k(x, x') = \exp(-\gamma\, d^q), \qquad d = \|x - x'\|_p,

positive definite for :math:`0 < q \le p \le 2`: ``rbf`` has p = q = 2, ``exponential`` p = 2 and
``laplacian`` p = 1. Distances are summed from differences.
"""

import numpy as np

from widemargin._typing import FloatArray

__all__ = ["distance_kernel", "expansion_gradient"]

NORMS = {"rbf": 2, "exponential": 2, "laplacian": 1}


def distance_kernel(
    name: str, A: FloatArray, B: FloatArray, gamma: float, q: float = 1.0
) -> FloatArray:
    """The matrix of kernel values between the rows of A and those of B.

    Examples
    --------
    >>> x, z = np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]])
    >>> [float(-np.log(distance_kernel(name, x, z, 1.0)[0, 0])) for name in NORMS]
    [25.0, 5.0, 7.0]
    """
    q = 2.0 if name == "rbf" else q
    return np.asarray(np.exp(-gamma * _distances(name, A, B) ** q))


def expansion_gradient(
    name: str,
    rows: FloatArray,
    coef: FloatArray,
    points: FloatArray,
    gamma: float,
    q: float = 1.0,
) -> FloatArray:
    r"""The gradient of :math:`f(x) = \sum_i c_i k(x_i, x)` at each point.

    :math:`\nabla f = -\gamma q \sum_i c_i k_i\, d_i^{q-p}\, \nabla(d_i^p)/p`. A distance has no
    derivative at 0: the term of :math:`x = x_i` is 0.

    Examples
    --------
    >>> x = np.array([[0.0, 0.0]])
    >>> expansion_gradient("rbf", x, np.ones(1), np.array([[0.0, 1.0]]), 1.0)[0, 1] * np.e
    np.float64(-2.0)
    """
    p, q = NORMS[name], 2.0 if name == "rbf" else q
    d = _distances(name, points, rows)
    K = np.exp(-gamma * d**q)
    with np.errstate(divide="ignore"):
        slope = np.where(d > 0, -gamma * q * K * d ** (q - p), 0.0)
    difference = points[:, None] - rows[None]
    direction = difference if p == 2 else np.sign(difference)
    return np.asarray(np.einsum("pi,pij->pj", slope * coef, direction))


def _distances(name: str, A: FloatArray, B: FloatArray) -> FloatArray:
    difference = np.abs(A[:, None] - B[None])
    if NORMS[name] == 1:
        return np.asarray(difference.sum(axis=2))
    return np.asarray(np.sqrt((difference**2).sum(axis=2)))
