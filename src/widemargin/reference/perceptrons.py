"""Perceptrons and the online SVM once more, in NumPy, as short as in the papers.

They are for reading and checking: tests compare the fast versions with them. They take labels ±1,
visit the examples in the order given and start from zero.
"""

from collections.abc import Iterable

import numpy as np

from widemargin._typing import FloatArray
from widemargin.criteria import Criterion

__all__ = [
    "averaged_perceptron",
    "draws",
    "dual_sgd_svm",
    "enclosing_ball",
    "kernel_perceptron",
    "margin_perceptron",
    "perceptron",
    "sgd_svm",
    "stochastic_gradient",
]


def perceptron(X: FloatArray, y: FloatArray, order: Iterable[int]) -> tuple[FloatArray, float, int]:
    """Original Perceptron (Algorithm 3.1): weights, bias and the number of mistakes.

    Examples
    --------
    >>> X, y = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
    >>> perceptron(X, y, [0, 1, 0, 1])
    (array([2.]), 0.0, 2)
    """
    w, b, mistakes = np.zeros(X.shape[1]), 0.0, 0
    for l in order:
        if y[l] * (w @ X[l] + b) <= 0:
            w = w + y[l] * X[l]
            b = b + y[l]
            mistakes += 1
    return w, float(b), mistakes


def margin_perceptron(
    X: FloatArray, y: FloatArray, order: Iterable[int], rate: float, margin: float = 1.0
) -> tuple[FloatArray, float, int]:
    """Margin Perceptron (Algorithm 8.1): weights, bias and the number of updates."""
    w, b, updates = np.zeros(X.shape[1]), 0.0, 0
    for l in order:
        if y[l] * (w @ X[l] + b) <= margin:
            w = w + rate * y[l] * X[l]
            b = b + rate * y[l]
            updates += 1
    return w, b, updates


def stochastic_gradient(
    X: FloatArray,
    y: FloatArray,
    order: Iterable[int],
    rate: float,
    criterion: Criterion,
    weights: FloatArray | None = None,
) -> tuple[FloatArray, float]:
    """Stochastic gradient on any criterion (8.8): w −= λ c Q'(y, f) x."""
    w, b = np.zeros(X.shape[1]), 0.0
    for l in order:
        c = 1.0 if weights is None else weights[l]
        g = float(criterion.derivative(y[l], w @ X[l] + b))
        w = w - rate * c * g * X[l]
        b = b - rate * c * g
    return w, b


def sgd_svm(
    X: FloatArray, y: FloatArray, order: Iterable[int], rates: Iterable[float], mu: float
) -> tuple[FloatArray, float, FloatArray, float]:
    """Stochastic gradient with weight decay (8.16): w and b, and their means over all steps."""
    w, b = np.zeros(X.shape[1]), 0.0
    sum_w, sum_b, steps = np.zeros(X.shape[1]), 0.0, 0
    for l, rate in zip(order, rates, strict=False):
        inside = y[l] * (w @ X[l] + b) <= 1
        w = (1 - rate * mu) * w
        if inside:
            w, b = w + rate * y[l] * X[l], b + rate * y[l]
        sum_w, sum_b, steps = sum_w + w, sum_b + b, steps + 1
    return w, b, sum_w / steps, sum_b / steps


def draws(count: int, seed: int, epochs: int) -> list[int]:
    """Examples drawn with replacement, `count` per epoch ("selecting at random", Yuille 2.7).

    Examples
    --------
    >>> visits = draws(4, seed=0, epochs=3)
    >>> len(visits), visits[:4] == draws(4, seed=0, epochs=1)
    (12, True)
    """
    found: list[int] = []
    for epoch in range(epochs):
        random = np.random.default_rng((seed, epoch))
        found += [int(random.integers(count)) for _ in range(count)]
    return found


def dual_sgd_svm(
    K: FloatArray, y: FloatArray, order: Iterable[int], rates: Iterable[float], mu: float
) -> tuple[FloatArray, float]:
    """The same in the dual (8.17), for any kernel matrix: α and b, with w = Σ α_l y_l Φ(x_l) / μ.

    Examples
    --------
    >>> X, y = np.array([[1.0, 2.0], [-2.0, 1.0]]), np.array([1.0, -1.0])
    >>> visits, rates = [0, 1, 1, 0], [0.4, 0.3, 0.2, 0.1]
    >>> alpha, b = dual_sgd_svm(X @ X.T, y, visits, rates, mu=0.5)
    >>> w = sgd_svm(X, y, visits, rates, mu=0.5)[0]
    >>> np.allclose((alpha * y) @ X / 0.5, w)
    True
    """
    alpha, b = np.zeros(len(y)), 0.0
    for l, rate in zip(order, rates, strict=False):
        inside = y[l] * ((alpha * y) @ K[:, l] / mu + b) <= 1
        alpha = (1 - rate * mu) * alpha
        if inside:
            alpha[l] += rate * mu
            b += rate * y[l]
    return alpha, b


def averaged_perceptron(
    X: FloatArray, y: FloatArray, order: Iterable[int]
) -> tuple[FloatArray, float]:
    """The mean of the Perceptron's weights after every step (Freund and Schapire, 1999)."""
    w, b = np.zeros(X.shape[1]), 0.0
    sum_w, sum_b, steps = np.zeros(X.shape[1]), 0.0, 0
    for l in order:
        if y[l] * (w @ X[l] + b) <= 0:
            w, b = w + y[l] * X[l], b + y[l]
        sum_w, sum_b, steps = sum_w + w, sum_b + b, steps + 1
    return sum_w / steps, sum_b / steps


def kernel_perceptron(
    K: FloatArray, y: FloatArray, order: Iterable[int], radius: float
) -> tuple[FloatArray, float, int]:
    """Dual perceptron (Yuille 2.5) on a kernel matrix: α, bias and the number of mistakes.

    f(x) = Σ α_l y_l k(x_l, x) + b; at a mistake α_l += 1 and b += y_l R².
    """
    alpha, b, mistakes = np.zeros(len(y)), 0.0, 0
    for l in order:
        if y[l] * ((alpha * y) @ K[:, l] + b) <= 0:
            alpha[l] += 1
            b += y[l] * radius**2
            mistakes += 1
    return alpha, b, mistakes


def enclosing_ball(K: FloatArray, steps: int) -> tuple[FloatArray, float]:
    """Smallest enclosing ball of Φ(x_1..L) by Bădoiu and Clarkson's steps: centre Σ α_l Φ(x_l).

    Each step moves the centre by 1/(t+1) of the way to the farthest point.
    """
    alpha = np.zeros(len(K))
    alpha[0] = 1.0
    for t in range(1, steps + 1):
        distances = np.diag(K) - 2 * K @ alpha + alpha @ K @ alpha
        alpha *= 1 - 1 / (t + 1)
        alpha[np.argmax(distances)] += 1 / (t + 1)
    distances = np.diag(K) - 2 * K @ alpha + alpha @ K @ alpha
    return alpha, float(np.sqrt(distances.max()))
