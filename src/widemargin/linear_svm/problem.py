r"""The problem of a linear support vector machine, its dual, and what their gap certifies.

.. math::
    P(w, b) = \tfrac12 \|w\|^2 + \tfrac{1}{2r} b^2 + \sum_l c_l \, \ell(\xi_l), \qquad
    D(\beta) = \sum_l \bigl( t_l \beta_l - \varepsilon |\beta_l| - \tfrac{q_l}{2} \beta_l^2 \bigr)
    - \tfrac12 \|w\|^2 - \tfrac r2 \Bigl(\sum_l \beta_l\Bigr)^2, \qquad
    w = \sum_l \beta_l \hat x_l

with :math:`\ell(\xi) = \xi` and bounds on β of size c, or :math:`\ell(\xi) = \xi^2`, none, and
:math:`q = 1/2c`. Labels are targets t = ±1 whose β may have their sign only, and ε = 0; ξ is how
far f(x) falls short of t − ε where β may grow, or exceeds t + ε where it may fall. An intercept
that is free (r infinite) turns the last term into the condition :math:`\sum_l \beta_l = 0`.
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

ROUNDING = 1e-9
FLAT = 0.02  # of the slope at the beginning: where a search on a line ends
TRIALS = 6  # of such a search, at the most


def dot(a: FloatArray, b: FloatArray) -> float:
    """a·b, without the threads of BLAS: to wake them takes longer than to do the sum."""
    return float(np.einsum("i,i->", a, b))


class Point(NamedTuple):
    """(w, b), f(x) of all examples, and the cost; with many outputs w, b and f have a row each."""

    w: FloatArray
    b: Any
    f: FloatArray
    cost: float


class Certificate(NamedTuple):
    """What is known of a point: its cost, a lower bound of any cost, and the β that prove it."""

    primal: float
    dual: float
    w: FloatArray
    b: Any
    beta: FloatArray

    @property
    def gap(self) -> float:
        return max(0.0, self.primal - self.dual)


class Problem(ABC):
    """What solvers and certificates need of a problem: costs c > 0, inputs, r, and its formulas."""

    inputs: LinearInputs
    c: FloatArray
    intercept: float

    @property
    @abstractmethod
    def outputs(self) -> tuple[int, ...]:
        """The shape of b, and of β behind that of the examples."""

    @abstractmethod
    def primal(self, w: FloatArray, b: Any, f: FloatArray) -> float:
        """P, with f = w·x̂ + b."""

    @abstractmethod
    def dual(self, beta: FloatArray, w: FloatArray) -> float:
        """D, with w = Σ β x̂."""

    @abstractmethod
    def within(self, beta: FloatArray) -> FloatArray:
        """β where no example breaks its own bounds."""

    @abstractmethod
    def feasible(self, beta: FloatArray) -> FloatArray:
        """β where D is a bound: within, and with sums of 0 where intercepts are free.

        The same array if nothing has to change.
        """

    @property
    def shape(self) -> tuple[int, ...]:
        """Of β."""
        return (self.inputs.count, *self.outputs)

    @property
    def w_shape(self) -> tuple[int, ...]:
        """Of w."""
        return (*self.outputs, self.inputs.width)

    @cached_property
    def scale(self) -> float:
        """A cost so small that it counts as none: that of w = 0 and b = 0, times rounding."""
        return ROUNDING * self.untouched().primal

    def relative(self, gap: float, primal: float) -> float:
        """A gap as a part of the cost."""
        return gap / max(primal, self.scale) if max(primal, self.scale) > 0 else 0.0

    def points(self, *given: tuple[FloatArray, Any]) -> list[Point]:
        """What is to know of each (w, b)."""
        outputs = self.inputs.outputs(given)
        return [
            Point(w, b, f, self.primal(w, b, f)) for (w, b), f in zip(given, outputs, strict=True)
        ]

    def point(self, w: FloatArray, b: Any) -> Point:
        """What is to know of (w, b)."""
        return self.points((w, b))[0]

    def certify(self, beta: FloatArray, w: FloatArray, point: Point) -> Certificate:
        """The cost of a point, and the bound that β gives after it was made feasible.

        `w` is Σ β x̂ for the β given; after a change it is summed anew.
        """
        fixed = self.feasible(beta)
        w = w if fixed is beta else self.inputs.combine(fixed)
        return Certificate(point.cost, self.dual(fixed, w), point.w, point.b, fixed)

    def untouched(self) -> Certificate:
        """What is known before anything was done."""
        w, f = (np.zeros((*self.outputs, n)) for n in (self.inputs.width, self.inputs.count))
        b = np.zeros(self.outputs)[()]
        return Certificate(self.primal(w, b, f), 0.0, w, b, np.zeros(self.shape))

    def resume(self, beta: FloatArray, w: FloatArray, b: Any, ratio: float) -> Certificate:
        """Where to start from the solution of a problem whose c times `ratio` are those of this.

        β is within the bounds, and so is β times the ratio, in which examples that were at their
        bound are there again. The start is the one of the higher D; the cost is that of the (w, b)
        found.
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
        r: 0 without an intercept, infinite for one that is free.
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
        """The least and the largest β of each example."""
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
        """w·v + b d/r: twice the penalty where both are the same."""
        return dot(w, v) + (b * d / self.intercept if 0 < self.intercept < np.inf else 0.0)

    def primal(self, w: FloatArray, b: float, f: FloatArray) -> float:
        return 0.5 * self._penalty(w, b, w, b) + self.losses(f, f, 0.0)[0]

    def best_near(self, first: tuple[FloatArray, float], second: tuple[FloatArray, float]) -> Point:
        """The best of what lies on the line through two points, then of its multiples."""
        better, worse = sorted(self.points(first, second), key=lambda point: point.cost)
        better = self._on_line(better, worse, -0.5, 1.0)
        zero = Point(np.zeros_like(better.w), 0.0, np.zeros_like(better.f), np.inf)
        return self._on_line(better, zero, -1.0, 0.5)

    def _on_line(self, start: Point, other: Point, low: float, high: float) -> Point:
        """The best point found at start + t (other − start), t in low..high.

        The slope of the cost, which is convex, is brought near 0 by the method of false position.
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
        for _ in range(TRIALS):
            if slopes[0] * slopes[1] >= 0 or min(map(abs, slopes)) <= FLAT * abs(first):
                break
            t = here - slopes[0] * (there - here) / (slopes[1] - slopes[0])
            now = slope(t)
            if now * slopes[1] > 0:
                there, slopes = t, [0.5 * slopes[0], now]  # halved, lest that end never move
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
        """β clipped to its bounds; its sum made 0 where it must be.

        What the sum has too much is taken from examples between their bounds, in proportion to
        their distance from the nearer one; if that is not enough, from all of its sign, in
        proportion to their β.
        """
        beta, (low, high) = self.within(beta), self.bounds
        excess = float(beta.sum()) if self.intercept == np.inf else 0.0
        if excess == 0.0:
            return beta
        size = np.abs(beta)
        room = size if self.squared else np.minimum(beta - low, high - beta)
        if room.sum() <= abs(excess):
            room = np.where(beta * excess > 0, size, 0.0)
        return np.asarray(np.clip(beta - excess * (room / room.sum()), low, high))
