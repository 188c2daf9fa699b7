"""Errata of stochastic gradient, Theorem 3.2 and (8.13): counterexamples."""

import numpy as np
import pytest

random = np.random.default_rng(0)
X = random.normal(size=(50, 2))
Y = np.where(X[:, 0] > 0, 1.0, -1.0)
V, A = random.normal(size=(2, 3)), random.normal(size=3)


def slanted(z):
    return np.tanh(z) + 0.01 * z, 1.01 - np.tanh(z) ** 2


def gradients(V, a, w, b, slope):
    """Of each example: the derivatives of Q by V, a, w and b, with Q' = slope(y, f)."""
    h, change = slanted(X @ V + a)
    q = slope(Y, h @ w + b)[:, None]
    by_sum = q * change * w
    by_V = (X[:, :, None] * by_sum[:, None, :]).reshape(len(X), -1)
    return np.column_stack([by_V, by_sum, q * h, q])


def squared(y, f):
    return f - y


def hinge(y, f):
    return np.where(y * f <= 1, -y, 0.0)


def mean_square(slope, size):
    """E‖G‖² over ‖θ‖², with output weights of this size."""
    w = size * np.array([1.0, 0.5, -0.3])
    theta = np.concatenate([V.ravel(), A, w, [0.0]])
    G = gradients(V, A, w, 0.0, slope)
    return np.sum(G**2, axis=1).mean() / (theta @ theta)


def test_growth_of_gradients():
    assert mean_square(squared, 1e4) / mean_square(squared, 1e3) == pytest.approx(100, rel=0.01)
    assert mean_square(hinge, 1e4) / mean_square(hinge, 1e3) < 1.1  # the margin criterion obeys


def test_slanted_tanh():
    """For every D there is a larger θ without a push towards 0."""
    for size in (1.0, 1e3, 1e6):
        w = np.zeros(3)
        theta = np.concatenate([size * V.ravel(), size * A, w, [0.0]])
        for slope in (squared, hinge):
            assert theta @ gradients(size * V, size * A, w, 0.0, slope).mean(axis=0) == 0.0


def test_kinks_at_zero_weights():
    """The mean over many examples, and over the distribution, has two slopes in b at b = 1."""

    def risk(b, w=0.0):
        return np.mean(np.maximum(0.0, 1 - Y * (w * X[:, 0] + b)))

    above, below = (risk(1 + 1e-6) - risk(1)) / 1e-6, (risk(1) - risk(1 - 1e-6)) / 1e-6
    assert above - below == pytest.approx(np.mean(Y > 0))
    above, below = (risk(1 + 1e-9, 0.1) - risk(1, 0.1)), (risk(1, 0.1) - risk(1 - 1e-9, 0.1))
    assert above == pytest.approx(below, abs=1e-14)
