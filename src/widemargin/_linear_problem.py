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

from widemargin._linear_inputs import LinearInputs
from widemargin._typing import FloatArray

__all__ = ["Certificate", "LinearProblem", "Point", "Problem"]

ROUNDING = 1e-9

Point = tuple[FloatArray, Any]  # w and b; with many outputs a row and a number each


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
    def cost(self, point: Point) -> float:
        """The cost of (w, b)."""

    @abstractmethod
    def dual(self, beta: FloatArray, w: FloatArray) -> float:
        """D, with w = Σ β x̂."""

    @abstractmethod
    def within(self, beta: FloatArray) -> FloatArray:
        """β where no example breaks its own bounds; the same array if none does."""

    @abstractmethod
    def feasible(self, beta: FloatArray) -> FloatArray:
        """β where D is a bound: within, and with sums of 0 where intercepts are free."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of β."""
        return (self.inputs.count, *self.outputs)

    @cached_property
    def scale(self) -> float:
        """A cost so small that it counts as none: that of w = 0 and b = 0, times rounding."""
        return ROUNDING * self.untouched().primal

    def relative(self, gap: float, primal: float) -> float:
        """A gap as a part of the cost."""
        return gap / max(primal, self.scale) if max(primal, self.scale) > 0 else 0.0

    def certify(
        self, beta: FloatArray, w: FloatArray, point: Point, primal: float | None = None
    ) -> Certificate:
        """The cost of a point (w, b), and the bound that β gives after it was made feasible.

        `w` is Σ β x̂ for the β given; after a change it is summed anew. The cost may be known.
        """
        primal = self.cost(point) if primal is None else primal
        fixed = self.feasible(beta)
        w = w if fixed is beta else self.inputs.combine(fixed)
        return Certificate(primal, self.dual(fixed, w), *point, fixed)

    def untouched(self) -> Certificate:
        """What is known before anything was done."""
        w = np.zeros((*self.outputs, self.inputs.width))
        return self.certify(np.zeros(self.shape), w, (w, np.zeros(self.outputs)[()]))

    def resume(self, beta: FloatArray, b: Any, ratio: float) -> Certificate:
        """Where to start from the solution of a problem whose c times `ratio` are those of this.

        β is within the bounds, and so is β times the ratio, in which examples that were at their
        bound are there again. The start is the one of the higher D; the cost is that of the former
        w.
        """
        point = self.inputs.combine(beta), b
        primal = self.cost(point)
        starts = [self.within(factor * beta) for factor in {1.0, float(ratio)}]
        known = [self.certify(start, self.inputs.combine(start), point, primal) for start in starts]
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

    def slack(self, f: FloatArray) -> FloatArray:
        """ξ ≥ 0 of each example."""
        short = self.target - f
        if self.labels:
            return np.maximum(0.0, np.sign(self.target) * short)
        return np.maximum(0.0, np.abs(short) - self.epsilon)

    def primal(self, w: FloatArray, b: float, f: FloatArray) -> float:
        slack = self.slack(f)
        cost = 0.5 * float(w @ w) + float(self.c @ (slack**2 if self.squared else slack))
        return cost + (0.5 * b * b / self.intercept if 0 < self.intercept < np.inf else 0.0)

    def cost(self, point: Point) -> float:
        return self.primal(*point, self.inputs.outputs(*point)[:, 0])

    def dual(self, beta: FloatArray, w: FloatArray) -> float:
        value = float(self.target @ beta - self.epsilon * np.abs(beta).sum() - 0.5 * w @ w)
        if self.squared:
            value -= 0.5 * float(self.ridge @ beta**2)
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
