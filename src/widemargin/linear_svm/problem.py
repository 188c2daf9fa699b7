r"""The problem of a linear support vector machine, its dual, and what their gap certifies.

.. math::
    P(w, b) = \tfrac12 \|w\|^2 + \tfrac{1}{2r} b^2 + \sum_l c_l \, \ell(\xi_l), \qquad
    D(\beta) = \sum_l \bigl( t_l \beta_l - \varepsilon |\beta_l| - \tfrac{q_l}{2} \beta_l^2 \bigr)
    - \tfrac12 \|w\|^2 - \tfrac r2 \Bigl(\sum_l \beta_l\Bigr)^2, \qquad
    w = \sum_l \beta_l \hat x_l

with :math:`\ell(\xi) = \xi`, :math:`|\beta| \le c` and q = 0, or with :math:`\ell(\xi) = \xi^2`, no
bound and :math:`q = 1/2c`. Labels are targets t = ±1 with ε = 0, and their β may only have the sign
of t. ξ is how far f(x) falls short of t − ε where β may be positive, or exceeds t + ε where β may
be negative. A free intercept (r infinite) turns the last term into the condition
:math:`\sum_l \beta_l = 0`.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from widemargin import _core
from widemargin._typing import FloatArray
from widemargin.linear_svm.inputs import LinearInputs

__all__ = ["Certificate", "LinearProblem", "Point", "Problem"]

FLAT_SLOPE = 0.02  # relative to the first slope, at which a line search ends
MAX_TRIALS = 6  # of a line search


def dot(a: FloatArray, b: FloatArray) -> float:
    """a·b without the threads of BLAS: waking them takes longer than the sum."""
    return float(np.einsum("i,i->", a, b))


class Point(NamedTuple):
    """(w, b), f(x) of all examples, and the cost; with many outputs, one row of each per output."""

    w: FloatArray
    b: Any
    f: FloatArray
    cost: float


class Certificate(NamedTuple):
    """The cost of a point, a lower bound of every cost, and the β that proves it."""

    primal: float
    dual: float
    w: FloatArray
    b: Any
    beta: FloatArray

    @property
    def gap(self) -> float:
        return max(0.0, self.primal - self.dual)


class Problem(ABC):
    """What solvers and certificates need: inputs, costs c > 0, r, and the formulas of P and D."""

    inputs: LinearInputs
    c: FloatArray
    intercept: float

    @property
    @abstractmethod
    def outputs(self) -> tuple[int, ...]:
        """The shape of b, and of one example's β."""

    @abstractmethod
    def primal(self, w: FloatArray, b: Any, f: FloatArray) -> float:
        """P, with f = w·x̂ + b."""

    @abstractmethod
    def dual(self, beta: FloatArray, w: FloatArray) -> float:
        """D, with w = Σ β x̂."""

    @abstractmethod
    def within(self, beta: FloatArray) -> FloatArray:
        """β moved into the bounds of each example."""

    @abstractmethod
    def feasible(self, beta: FloatArray) -> FloatArray:
        """β moved to where D is a lower bound: `within`, and with sum 0 if the intercept is free.

        The same array if nothing has to change.
        """

    # Formulas in any precision, from which `verified` computes a certificate and its error

    @abstractmethod
    def cost(self, w: FloatArray, b: Any, f: FloatArray, error: FloatArray) -> float:
        """The largest P if each f is known up to an error."""

    @abstractmethod
    def slack_terms(self, f: FloatArray) -> Any:
        """The size of what is subtracted from |f − t|, or from f, to find ξ."""

    @abstractmethod
    def settled(self, beta: FloatArray) -> tuple[FloatArray, float]:
        """A feasible β made feasible in its own precision, and how far it still is from it."""

    @abstractmethod
    def dual_terms(self, beta: FloatArray) -> tuple[float, float]:
        """What D adds up without w and b: the sum of the sizes, and the steepest slope in one β."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of β."""
        return (self.inputs.count, *self.outputs)

    @property
    def w_shape(self) -> tuple[int, ...]:
        """The shape of w."""
        return (*self.outputs, self.inputs.width)

    def relative(self, gap: float, primal: float) -> float:
        """A gap relative to the cost."""
        if gap <= 0.0:
            return 0.0
        return gap / primal if primal > 0.0 else np.inf

    def points(self, *given: tuple[FloatArray, Any]) -> list[Point]:
        """The outputs and the cost of each (w, b)."""
        outputs = self.inputs.outputs(given)
        return [
            Point(w, b, f, self.primal(w, b, f)) for (w, b), f in zip(given, outputs, strict=True)
        ]

    def point(self, w: FloatArray, b: Any) -> Point:
        """The outputs and the cost of (w, b)."""
        return self.points((w, b))[0]

    def certify(self, beta: FloatArray, w: FloatArray, point: Point) -> Certificate:
        """The cost of a point, and the bound of the feasible β next to a given one.

        `w` is Σ β x̂ of the given β; it is summed again if β has to change.
        """
        fixed = self.feasible(beta)
        w = w if fixed is beta else self.inputs.combine(fixed)
        return Certificate(point.cost, self.dual(fixed, w), point.w, point.b, fixed)

    def untouched(self) -> Certificate:
        """The certificate of w = 0 and β = 0."""
        w, f = (np.zeros((*self.outputs, n)) for n in (self.inputs.width, self.inputs.count))
        b = np.zeros(self.outputs)[()]
        return Certificate(self.primal(w, b, f), 0.0, w, b, np.zeros(self.shape))

    def resume(self, beta: FloatArray, w: FloatArray, b: Any, ratio: float) -> Certificate:
        """A start from the solution of an earlier problem, whose c were those of this one / ratio.

        Both β and β times the ratio, which keeps examples at their bounds, are tried. The start is
        the one with the higher D; its cost is that of the earlier (w, b).
        """
        point = self.point(w, b if self.intercept > 0 else 0.0 * b)
        starts = [self.within(factor * beta) for factor in {1.0, float(ratio)}]
        known = [self.certify(start, self.inputs.combine(start), point) for start in starts]
        return max(known, key=lambda start: start.dual)


@dataclass(eq=False)
class LinearProblem(Problem):
    """Examples, targets and bounds; see the module.

    Parameters
    ----------
    inputs : LinearInputs
        The examples.
    target : ndarray of shape (n_samples,)
        t: ±1, or numbers.
    c : ndarray of shape (n_samples,)
        Costs > 0 of the examples.
    epsilon : float
        The tube ε; 0 for labels.
    labels : bool
        Whether targets are labels.
    squared : bool
        Whether losses are squared.
    intercept : float
        r: 0 without an intercept, infinite for a free one.
    """

    inputs: LinearInputs
    target: FloatArray
    c: FloatArray
    epsilon: float
    labels: bool
    squared: bool
    intercept: float

    @property
    def outputs(self) -> tuple[int, ...]:
        return ()

    @cached_property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """The smallest and the largest β of each example."""
        most = np.full_like(self.c, np.inf) if self.squared else self.c
        if not self.labels:
            return -most, most
        zero = np.zeros_like(most)
        return np.where(self.target > 0, zero, -most), np.where(self.target > 0, most, zero)

    @cached_property
    def ridge(self) -> FloatArray:
        """q of each example."""
        return 0.5 / self.c if self.squared else np.zeros_like(self.c)

    def losses(self, f: FloatArray, direction: FloatArray, t: float) -> tuple[float, float]:
        """Σ c ℓ(ξ) at f + t · direction, and its slope there."""
        return _core.losses(
            f,
            direction,
            t,
            target=self.target,
            c=self.c,
            epsilon=self.epsilon,
            labels=self.labels,
            squared=self.squared,
        )

    def _penalty(self, w: FloatArray, b: float, v: FloatArray, d: float) -> float:
        """w·v + b d/r, which is twice the penalty of (w, b) if (v, d) is the same."""
        return dot(w, v) + (b * d / self.intercept if 0 < self.intercept < np.inf else 0.0)

    def primal(self, w: FloatArray, b: float, f: FloatArray) -> float:
        return 0.5 * self._penalty(w, b, w, b) + self.losses(f, f, 0.0)[0]

    def cost(self, w: FloatArray, b: float, f: FloatArray, error: FloatArray) -> float:
        miss = f - self.target
        beyond = -self.target * miss if self.labels else np.abs(miss) - self.epsilon
        xi = np.maximum(0.0, beyond + error)
        return 0.5 * self._penalty(w, b, w, b) + float(self.c @ (xi * xi if self.squared else xi))

    def slack_terms(self, f: FloatArray) -> float:
        return self.epsilon

    def untouched(self) -> Certificate:
        """The certificate of w = 0, and of the b that costs nothing if there is one."""
        zero = super().untouched()
        if self.labels or self.intercept < np.inf:
            return zero
        middle = 0.5 * (float(self.target.min()) + float(self.target.max()))
        cost = self.primal(zero.w, middle, np.full(self.inputs.count, middle))
        return zero._replace(b=middle, primal=cost) if cost == 0.0 else zero

    def best_near(self, first: tuple[FloatArray, float], second: tuple[FloatArray, float]) -> Point:
        """The best point on the line through two points, then the best of its multiples."""
        better, worse = sorted(self.points(first, second), key=lambda point: point.cost)
        better = self._on_line(better, worse, -0.5, 1.0)
        zero = Point(np.zeros_like(better.w), 0.0, np.zeros_like(better.f), np.inf)
        return self._on_line(better, zero, -1.0, 0.5)

    def _on_line(self, start: Point, other: Point, low: float, high: float) -> Point:
        """The best point found at start + t (other − start) for t between low and high.

        The cost is convex; the method of false position brings its slope near 0.
        """
        w, b, f = other.w - start.w, other.b - start.b, other.f - start.f
        own = self._penalty(start.w, start.b, start.w, start.b)
        square, product = self._penalty(w, b, w, b), self._penalty(start.w, start.b, w, b)
        best = (start.cost, 0.0)

        def slope(t: float) -> float:
            nonlocal best
            value, fall = self.losses(start.f, f, t)
            best = min(best, (0.5 * (own + t * t * square) + t * product + value, t))
            return fall + product + t * square

        here, first = 0.0, slope(0.0)
        there = high if first < 0 else low
        slopes = [first, slope(there)]
        for _ in range(MAX_TRIALS):
            if slopes[0] * slopes[1] >= 0 or min(map(abs, slopes)) <= FLAT_SLOPE * abs(first):
                break
            t = here - slopes[0] * (there - here) / (slopes[1] - slopes[0])
            now = slope(t)
            if now * slopes[1] > 0:
                there, slopes = t, [0.5 * slopes[0], now]  # halved, so that the other end moves too
            else:
                here, there, slopes = there, t, [slopes[1], now]
        cost, t = best
        return Point(start.w + t * w, start.b + t * b, start.f + t * f, cost)

    def dual(self, beta: FloatArray, w: FloatArray) -> float:
        value = dot(self.target, beta) - self.epsilon * float(np.abs(beta).sum()) - 0.5 * dot(w, w)
        if self.squared:
            value -= 0.5 * dot(self.ridge, beta**2)
        if 0 < self.intercept < np.inf:
            value -= 0.5 * self.intercept * float(beta.sum()) ** 2
        return value

    def within(self, beta: FloatArray) -> FloatArray:
        low, high = self.bounds
        return np.clip(beta, low, high) if np.any((beta < low) | (beta > high)) else beta

    def feasible(self, beta: FloatArray) -> FloatArray:
        """β clipped to its bounds, with sum 0 if the intercept is free.

        The excess of the sum is taken from examples between their bounds, in proportion to their
        distance from the nearer one. If these do not suffice, it is taken from all β of its sign,
        in proportion to their size.
        """
        beta, (low, high) = self.within(beta), self.bounds
        excess = float(beta.sum()) if self.intercept == np.inf else 0.0
        if excess == 0.0:
            return beta
        size = np.abs(beta)
        room = size if self.squared else np.minimum(beta - low, high - beta)
        if room.sum() <= abs(excess):
            room = np.where(np.sign(beta) == np.sign(excess), size, 0.0)
        return np.asarray(np.clip(beta - excess * (room / room.sum()), low, high))

    def settled(self, beta: FloatArray) -> tuple[FloatArray, float]:
        """Take what is left of the sum from the largest β of its sign."""
        if self.intercept < np.inf:
            return beta, 0.0
        beta, excess = beta.copy(), beta.sum()
        largest = int(np.argmax(beta * np.sign(excess)))
        least = min(abs(excess), abs(beta[largest]))
        beta[largest] -= np.sign(excess) * least
        return beta, float(abs(excess) - least)

    def dual_terms(self, beta: FloatArray) -> tuple[float, float]:
        size, cost = np.abs(beta), np.abs(self.target) + self.epsilon
        pull = self.ridge * size
        return float((cost + 0.5 * pull) @ size), float((cost + pull).max())
