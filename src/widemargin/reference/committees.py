r"""Committees of perceptrons in NumPy, written as in the thesis (8.6, 8.7).

:math:`f(x) = b + \sum_n h(v_n \cdot x + a_n)`, with labels ±1. With classes 0 … K − 1 there is one
committee per class. Training starts from the given weights and visits examples in the given order.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from widemargin._typing import FloatArray, IntArray

__all__ = ["Committee", "nilsson_mlp", "simple_mlp", "simple_mlp_classes"]


class Committee(NamedTuple):
    """Weights v of shape (N, d), biases a of shape (N,), the output bias b."""

    v: FloatArray
    a: FloatArray
    b: float = 0.0

    def units(self, x: FloatArray) -> FloatArray:
        """v·x + a of each unit."""
        return np.asarray(self.v @ x + self.a)

    def output(self, x: FloatArray) -> float:
        """f(x) with HardTanh units."""
        return self.b + float(np.clip(self.units(x), -1, 1).sum())

    def moved(self, chosen: FloatArray, x: FloatArray, step: float) -> "Committee":
        """With the chosen units moved by step · (x, 1), and the output bias by the step."""
        v, a = self.v + step * np.outer(chosen, x), self.a + step * chosen
        return Committee(v, a, float(self.b + step))

    def learnt(self, x: FloatArray, step: float) -> "Committee":
        """Algorithm 8.2: the units move for which HardTanh has a slope."""
        return self.moved((np.abs(self.units(x)) <= 1).astype(float), x, step)


def simple_mlp(
    start: Committee,
    X: FloatArray,
    y: FloatArray,
    order: Iterable[int],
    rate: float,
    margin: float,
    weights: FloatArray | None = None,
) -> tuple[Committee, int]:
    """Simple MLP (Algorithm 8.2): the committee and the number of updates.

    Examples
    --------
    >>> start = Committee(np.array([[0.5], [-0.5]]), np.zeros(2))
    >>> end, updates = simple_mlp(start, np.array([[1.0]]), np.array([1.0]), [0], 0.1, margin=1.0)
    >>> end.v.round(2), end.a.round(2), end.b, updates
    (array([[ 0.6],
           [-0.4]]), array([0.1, 0.1]), 0.1, 1)
    """
    committee, updates = start, 0
    for l in order:
        if y[l] * committee.output(X[l]) <= margin:
            c = 1.0 if weights is None else weights[l]
            committee, updates = committee.learnt(X[l], rate * c * y[l]), updates + 1
    return committee, updates


def simple_mlp_classes(
    start: list[Committee],
    X: FloatArray,
    y: IntArray,
    order: Iterable[int],
    rate: float,
    margin: float,
    *,
    best_other: bool = True,
) -> tuple[list[Committee], int]:
    """The same with one committee per class: the margin to the best other class, or to 0."""
    committees, updates = list(start), 0
    for l in order:
        f = np.array([committee.output(X[l]) for committee in committees])
        steps = np.zeros(len(f))
        if best_other:
            other = int(np.argmax(np.where(np.arange(len(f)) == y[l], -np.inf, f)))
            if f[y[l]] - f[other] <= margin:
                steps[y[l]], steps[other] = rate, -rate
                updates += 1
        else:
            sign = np.where(np.arange(len(f)) == y[l], 1.0, -1.0)
            steps = np.where(sign * f <= margin, rate * sign, 0.0)
            updates += int(np.count_nonzero(steps))
        for k in np.flatnonzero(steps):
            committees[k] = committees[k].learnt(X[l], steps[k])
    return committees, updates


def nilsson_mlp(
    start: Committee,
    X: FloatArray,
    y: FloatArray,
    order: Iterable[int],
    rate: float,
    margin: float = 0.0,
) -> tuple[Committee, int]:
    """Nilsson MLP (Algorithm 8.3): sign units, no output bias; N is odd and sign 0 = −1.

    The margin, in votes, is 0 as published. A unit that changes its vote changes f by 2, so the
    fewest units that bring y f above the margin learn: (|f| + 1)/2 units without a margin.
    """
    committee, updates = start, 0
    for l in order:
        z = committee.units(X[l])
        f = np.where(z > 0, 1, -1).sum()
        if y[l] * f <= margin:
            wrong = np.flatnonzero(y[l] * z <= 0)
            nearest = wrong[np.argsort(np.abs(z[wrong]), kind="stable")]
            chosen = np.zeros(len(z))
            chosen[nearest[: int((margin - y[l] * f) // 2) + 1]] = 1.0
            committee = committee.moved(chosen, X[l], rate * y[l])._replace(b=0.0)
            updates += 1
    return committee, updates
