r"""Criteria :math:`Q(y, f)`: what a model minimises over its examples.

For targets *y* and outputs *f*, a criterion gives its value, its derivative in *f* and, if it is
convex in *f*, its conjugate :math:`Q^*(a) = \sup_f\, a f - Q(y, f)`, which duals and duality gaps
are built from. Classification criteria depend only on :math:`z = y f`, with :math:`y = \pm 1`.

Every kink is **inclusive**: at a kink the derivative is that of the side that updates. A
perceptron that starts at 0, where :math:`y f = 0`, therefore moves.

``criteria.hpp`` in the core has the same formulas; tests compare the two.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, xlog1py, xlogy

from widemargin._typing import FloatArray

__all__ = [
    "MSE",
    "Criterion",
    "CrossEntropy",
    "EpsilonInsensitive",
    "Margin",
    "Perceptron",
    "SquaredMargin",
    "TanhMSE",
]


class Criterion(ABC):
    """What a model minimises: a value, a derivative and, if it is convex, a conjugate."""

    name: ClassVar[str]
    convex: ClassVar[bool] = True

    @property
    def parameter(self) -> float:
        """The number that the core needs besides the name: a margin, a tube, or 0."""
        return 0.0

    @abstractmethod
    def value(self, y: ArrayLike, f: ArrayLike) -> FloatArray:
        """Q(y, f), elementwise."""

    @abstractmethod
    def derivative(self, y: ArrayLike, f: ArrayLike) -> FloatArray:
        """dQ/df, elementwise; at a kink, the derivative of the side that updates."""

    @abstractmethod
    def second_derivative(self, y: ArrayLike, f: ArrayLike) -> FloatArray:
        """d²Q/df², elementwise; at a kink, that of the side that updates."""

    def conjugate(self, y: ArrayLike, a: ArrayLike) -> FloatArray:
        """sup over f of a·f − Q(y, f); infinite outside the domain of the conjugate."""
        raise ValueError(f"{type(self).__name__} is not convex; it has no conjugate")


def _straight(y: ArrayLike, f: ArrayLike) -> FloatArray:
    """The second derivative of pieces that are straight lines."""
    return np.zeros(np.broadcast(y, f).shape)


def _inside(domain: NDArray[np.bool_], value: FloatArray) -> FloatArray:
    return np.where(domain, value, np.inf)


@dataclass(frozen=True)
class Margin(Criterion):
    r"""Margin criterion :math:`Q = |\beta - z|_+` (8.18, 8.34); β = 1 is the hinge of SVMs.

    Derivative −y for z ≤ β (inclusive), else 0.
    Conjugate :math:`\beta u` on :math:`-1 \le u \le 0`, with :math:`u = y a`.

    Examples
    --------
    >>> Margin(beta=1.0).value([1, 1, -1], [2.0, 0.5, 0.5])
    array([0. , 0.5, 1.5])
    """

    beta: float = 1.0
    name: ClassVar[str] = "margin"

    @property
    def parameter(self) -> float:
        return self.beta

    def value(self, y: ArrayLike, f: ArrayLike) -> FloatArray:
        return np.maximum(0.0, self.beta - np.multiply(y, f))

    def derivative(self, y: ArrayLike, f: ArrayLike) -> FloatArray:
        return np.where(np.multiply(y, f) <= self.beta, -np.asarray(y, dtype=float), 0.0)

    def second_derivative(self, y: ArrayLike, f: ArrayLike) -> FloatArray:
        return _straight(y, f)

    def conjugate(self, y: ArrayLike, a: ArrayLike) -> FloatArray:
        u = np.multiply(y, a)
        return _inside((u >= -1) & (u <= 0), self.beta * u)


@dataclass(frozen=True)
class Perceptron(Criterion):
    r"""Perceptron criterion :math:`Q = |-z|_+` (8.14), the margin criterion with β = 0.

    Derivative −y for z ≤ 0 (inclusive), else 0. Conjugate 0 on :math:`-1 \le y a \le 0`.
    """

    name: ClassVar[str] = "perceptron"

    def value(self, y: ArrayLike, f: ArrayLike) -> FloatArray:
        return Margin(0.0).value(y, f)

    def derivative(self, y: ArrayLike, f: ArrayLike) -> FloatArray:
        return Margin(0.0).derivative(y, f)

    def second_derivative(self, y: ArrayLike, f: ArrayLike) -> FloatArray:
        return _straight(y, f)

    def conjugate(self, y: ArrayLike, a: ArrayLike) -> FloatArray:
        return Margin(0.0).conjugate(y, a)


@dataclass(frozen=True)
class SquaredMargin(Criterion):
    r"""Squared margin :math:`Q = |\beta - z|_+^2`, which has no kink.

    Derivative :math:`-2 y |\beta - z|_+`.
    Conjugate :math:`\beta u + u^2/4` on :math:`u \le 0`, with :math:`u = y a`.
    """

    beta: float = 1.0
    name: ClassVar[str] = "squared_margin"

    @property
    def parameter(self) -> float:
        return self.beta

    def value(self, y: ArrayLike, f: ArrayLike) -> FloatArray:
        return np.square(Margin(self.beta).value(y, f))

    def derivative(self, y: ArrayLike, f: ArrayLike) -> FloatArray:
        return -2.0 * np.asarray(y) * Margin(self.beta).value(y, f)

    def second_derivative(self, y: ArrayLike, f: ArrayLike) -> FloatArray:
        return np.where(np.multiply(y, f) <= self.beta, 2.0, 0.0)

    def conjugate(self, y: ArrayLike, a: ArrayLike) -> FloatArray:
        u = np.multiply(y, a)
        return _inside(u <= 0, self.beta * u + u**2 / 4)


@dataclass(frozen=True)
class CrossEntropy(Criterion):
    r"""Cross-entropy :math:`Q = \log(1 + e^{-z})` (3.13), smooth.

    Derivative :math:`-y / (1 + e^{z})`. Conjugate :math:`p \log p + (1-p) \log(1-p)` with
    :math:`p = -y a` in [0, 1].
    """

    name: ClassVar[str] = "cross_entropy"

    def value(self, y: ArrayLike, f: ArrayLike) -> FloatArray:
        return np.logaddexp(0.0, -np.multiply(y, f, dtype=float))

    def derivative(self, y: ArrayLike, f: ArrayLike) -> FloatArray:
        sigmoid: FloatArray = expit(-np.multiply(y, f, dtype=float))
        return -np.asarray(y, dtype=float) * sigmoid

    def second_derivative(self, y: ArrayLike, f: ArrayLike) -> FloatArray:
        p: FloatArray = expit(np.multiply(y, f, dtype=float))
        return p * (1.0 - p)

    def conjugate(self, y: ArrayLike, a: ArrayLike) -> FloatArray:
        p = -np.multiply(y, a, dtype=float)
        inside = (p >= 0) & (p <= 1)
        p = np.clip(p, 0.0, 1.0)
        return _inside(inside, xlogy(p, p) + xlog1py(1 - p, -p))


@dataclass(frozen=True)
class MSE(Criterion):
    r"""Mean squared error :math:`Q = \frac12 (y - f)^2` (3.8), smooth.

    Derivative :math:`f - y`. Conjugate :math:`a y + a^2/2`.
    """

    name: ClassVar[str] = "mse"

    def value(self, y: ArrayLike, f: ArrayLike) -> FloatArray:
        return 0.5 * np.square(np.subtract(y, f, dtype=float))

    def derivative(self, y: ArrayLike, f: ArrayLike) -> FloatArray:
        return np.subtract(f, y, dtype=float)

    def second_derivative(self, y: ArrayLike, f: ArrayLike) -> FloatArray:
        return 1.0 + _straight(y, f)

    def conjugate(self, y: ArrayLike, a: ArrayLike) -> FloatArray:
        return np.multiply(a, y, dtype=float) + np.square(a, dtype=float) / 2


@dataclass(frozen=True)
class TanhMSE(Criterion):
    r"""Squared error after a tanh, :math:`Q = \frac12 (y - \tanh f)^2` (7.5); not convex.

    Derivative :math:`(\tanh f - y)(1 - \tanh^2 f)`.
    """

    name: ClassVar[str] = "tanh_mse"
    convex: ClassVar[bool] = False

    def value(self, y: ArrayLike, f: ArrayLike) -> FloatArray:
        return MSE().value(y, np.tanh(f))

    def derivative(self, y: ArrayLike, f: ArrayLike) -> FloatArray:
        h = np.tanh(f)
        return np.multiply(np.subtract(h, y), 1.0 - np.square(h))

    def second_derivative(self, y: ArrayLike, f: ArrayLike) -> FloatArray:
        h = np.tanh(f)
        return np.asarray((1.0 - h**2) * (1.0 + 2.0 * np.multiply(h, y) - 3.0 * h**2))  # (7.15)


@dataclass(frozen=True)
class EpsilonInsensitive(Criterion):
    r"""Tube criterion :math:`Q = \big||y - f| - \varepsilon\big|_+` (3.34).

    Derivative −1 for y − f ≥ ε, +1 for f − y ≥ ε (inclusive; −1 where both hold), else 0.
    Conjugate :math:`a y + \varepsilon |a|` on :math:`|a| \le 1`.
    """

    epsilon: float = 0.1
    name: ClassVar[str] = "epsilon_insensitive"

    @property
    def parameter(self) -> float:
        return self.epsilon

    def value(self, y: ArrayLike, f: ArrayLike) -> FloatArray:
        return np.maximum(0.0, np.abs(np.subtract(y, f, dtype=float)) - self.epsilon)

    def derivative(self, y: ArrayLike, f: ArrayLike) -> FloatArray:
        below = np.subtract(y, f, dtype=float)
        return np.where(below >= self.epsilon, -1.0, np.where(-below >= self.epsilon, 1.0, 0.0))

    def second_derivative(self, y: ArrayLike, f: ArrayLike) -> FloatArray:
        return _straight(y, f)

    def conjugate(self, y: ArrayLike, a: ArrayLike) -> FloatArray:
        a = np.asarray(a, dtype=float)
        return _inside(np.abs(a) <= 1, a * np.asarray(y) + self.epsilon * np.abs(a))
