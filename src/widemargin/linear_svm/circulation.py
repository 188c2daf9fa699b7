"""Balanced flows between classes, which free intercepts of many classes require."""

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from widemargin._typing import FloatArray

__all__ = ["circulation"]


def circulation(A: FloatArray) -> FloatArray:
    """Lower a flow from class to class until as much enters each class as leaves it.

    Paths lead from a class that more leaves than enters to one that more enters than leaves. Each
    path is lowered by as much as its ends and its steps allow.

    Examples
    --------
    >>> circulation(np.array([[0.0, 3.0, 0.0], [0.0, 0.0, 2.0], [1.0, 1.0, 0.0]]))
    array([[0., 1., 0.],
           [0., 0., 2.],
           [1., 1., 0.]])
    """
    A = A.copy()
    while True:
        excess = A.sum(axis=1) - A.sum(axis=0)
        start = int(np.argmax(excess))
        reached, before = breadth_first_order(csr_array(A > 0), start)
        end = int(reached[np.argmin(excess[reached])])
        if excess[start] <= 1e-15 * A.sum() or excess[end] >= 0:
            return A
        path = [end]
        while path[-1] != start:
            path.append(int(before[path[-1]]))
        steps = (path[1:], path[:-1])  # from, to
        A[steps] -= min(excess[start], -excess[end], A[steps].min())
