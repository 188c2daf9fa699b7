r"""Criteria of soft mixtures, their derivatives, and the scores of the mixture.

Arrays have L rows, K experts and C outputs per expert: the softmax inputs :math:`\tilde g` (L, K),
the experts' outputs f (L, K, C), in either precision. `widemargin.reference.soft_mixture` has the
same equations.
"""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from widemargin._typing import FloatArray

Array = NDArray[Any]

MIN_LOG_VARIANCE = float(np.log(1e-8))  # relative to the target's; an exact fit has variance 0


def log_sum(z: Array, axis: int = 1) -> Array:
    """log Σ exp z along an axis, which is kept with length 1."""
    largest = z.max(axis, keepdims=True)
    return np.asarray(largest + np.log(np.exp(z - largest).sum(axis, keepdims=True)))


def log_gates(logits: Array) -> Array:
    """log g: the logarithm of the softmax."""
    return np.asarray(logits - log_sum(logits))


class Terms(NamedTuple):
    """Q of each example, and its derivatives by the outputs of gater and experts."""

    value: Array  # (L,)
    logits: Array  # (L, K)
    outputs: Array  # (L, K, C)
    log_variance: Array  # (L, C), or (L, 0)


class Criterion(ABC):
    """A criterion of the whole mixture."""

    @abstractmethod
    def terms(self, logits: Array, f: Array, y: Array, log_variance: Array) -> Terms:
        """Q and its derivatives."""

    @abstractmethod
    def scores(self, logits: Array, f: Array) -> Array:
        """Scores of the mixture, (L, 1) or (L, C)."""


class Squares(Criterion):
    r""":math:`\sum_c (y_c - f_c)^2/2` of :math:`f = \sum_k g_k f_k`; with tanh, of tanh f."""

    def __init__(self, *, tanh: bool) -> None:
        self.tanh = tanh

    def terms(self, logits: Array, f: Array, y: Array, log_variance: Array) -> Terms:
        g = np.exp(log_gates(logits))
        mixed = np.sum(g[:, :, None] * f, axis=1)
        if y.ndim == 1:  # ±1, or codes of classes
            y = signs(y, f.shape[2]).astype(f.dtype)
        predicted = np.tanh(mixed) if self.tanh else mixed
        delta = predicted - y
        value = 0.5 * np.sum(delta * delta, axis=1)
        if self.tanh:
            delta *= 1 - predicted * predicted
        # dQ/df_k = g_k δ,  dQ/dg̃_k = g_k δ·(f_k − f)
        apart = np.sum(delta[:, None, :] * (f - mixed[:, None, :]), axis=2)
        return Terms(value, g * apart, g[:, :, None] * delta[:, None, :], f[:, 0, :0])

    def scores(self, logits: Array, f: Array) -> Array:
        return np.asarray(np.sum(np.exp(log_gates(logits))[:, :, None] * f, axis=1))


def signs(y: Array, classes: int) -> Array:
    """Targets ±1, one column per class; y itself for one output."""
    if classes == 1:
        return y[:, None]
    return np.asarray(2.0 * (y[:, None] == np.arange(classes)) - 1.0)


class Likelihood(Criterion):
    r""":math:`-\log P(y|x)` with :math:`P(y|x) = \sum_k g_k(x) P(y|x, k)` (6.2)."""

    @abstractmethod
    def log_density(self, f: Array, y: Array, log_variance: Array) -> Array:
        """log P(y | x, k), (L, K)."""

    @abstractmethod
    def slope(self, f: Array, y: Array, log_variance: Array) -> Array:
        """Its derivative by f, (L, K, C)."""

    def variance_slope(self, f: Array, y: Array, log_variance: Array) -> Array:
        """Its derivative by the logarithms of the variances, (L, K, C)."""
        return f[:, :, :0]

    def posteriors(
        self, logits: Array, f: Array, y: Array, log_variance: Array
    ) -> tuple[Array, Array]:
        """The E step: h_k = P(k | x, y), (L, K); and log P(y | x), (L,)."""
        joint = log_gates(logits) + self.log_density(f, y, log_variance)
        total = log_sum(joint)
        return np.exp(joint - total), total[:, 0]

    def terms(self, logits: Array, f: Array, y: Array, log_variance: Array) -> Terms:
        h, total = self.posteriors(logits, f, y, log_variance)
        return self._terms(-total, h, logits, f, y, log_variance)

    def expected(self, logits: Array, f: Array, y: Array, log_variance: Array, h: Array) -> Terms:
        """What an M step minimises: −Σ_k h_k (log g_k + log P(y|x,k)), with h of the E step."""
        joint = log_gates(logits) + self.log_density(f, y, log_variance)
        return self._terms(-np.sum(h * joint, axis=1), h, logits, f, y, log_variance)

    def _terms(
        self, value: Array, h: Array, logits: Array, f: Array, y: Array, log_variance: Array
    ) -> Terms:
        """Derivatives of both: by g̃_k they are g_k − h_k, for any h whose sum is 1."""
        return Terms(
            value,
            np.exp(log_gates(logits)) - h,
            -h[:, :, None] * self.slope(f, y, log_variance),
            -np.sum(h[:, :, None] * self.variance_slope(f, y, log_variance), axis=1),
        )


class Logistic(Likelihood):
    """Two classes: P(y|x,k) = 1/(1 + exp(−y f_k)), y = ±1. The score is log P(+1|x)/P(−1|x)."""

    def log_density(self, f: Array, y: Array, log_variance: Array) -> Array:
        return np.asarray(-np.logaddexp(0, -y[:, None] * f[:, :, 0]))

    def slope(self, f: Array, y: Array, log_variance: Array) -> Array:
        sign = y[:, None, None]
        return np.asarray(sign * expit(-sign * f))

    def scores(self, logits: Array, f: Array) -> Array:
        log_g, f = log_gates(logits), f[:, :, 0]
        return log_sum(log_g - np.logaddexp(0, -f)) - log_sum(log_g - np.logaddexp(0, f))


class Softmax(Likelihood):
    """Classes by codes: P(y|x,k) = softmax_y f_k. Scores are log P(c|x), or log P(1|x)/P(0|x)."""

    def log_density(self, f: Array, y: Array, log_variance: Array) -> Array:
        chosen = np.take_along_axis(f, y.astype(np.intp)[:, None, None], axis=2)
        return np.asarray((chosen - log_sum(f, axis=2))[:, :, 0])

    def slope(self, f: Array, y: Array, log_variance: Array) -> Array:
        p = np.exp(f - log_sum(f, axis=2))
        indicators = y[:, None] == np.arange(f.shape[2])
        return np.asarray(indicators[:, None, :] - p).astype(f.dtype)

    def scores(self, logits: Array, f: Array) -> Array:
        log_p = log_sum(log_gates(logits)[:, :, None] + f - log_sum(f, axis=2))[:, 0]
        return log_p[:, 1:] - log_p[:, :1] if f.shape[2] == 2 else log_p


class Gaussian(Likelihood):
    """Values: y = f_k + noise, with one variance σ² per target that all experts share.

    `units` are the standard deviations by which targets were divided, so that densities are those
    of y in its own units. The score is the mean Σ_k g_k f_k.
    """

    def __init__(self, units: FloatArray) -> None:
        self.constant = float(np.sum(np.log(units)) + 0.5 * len(units) * np.log(2 * np.pi))

    def log_density(self, f: Array, y: Array, log_variance: Array) -> Array:
        squares = (y[:, None, :] - f) ** 2 * np.exp(-log_variance)
        return np.asarray(-0.5 * np.sum(squares + log_variance, axis=2) - self.constant)

    def slope(self, f: Array, y: Array, log_variance: Array) -> Array:
        return np.asarray((y[:, None, :] - f) * np.exp(-log_variance))

    def variance_slope(self, f: Array, y: Array, log_variance: Array) -> Array:
        return np.asarray(0.5 * ((y[:, None, :] - f) ** 2 * np.exp(-log_variance) - 1))

    def scores(self, logits: Array, f: Array) -> Array:
        return Squares(tanh=False).scores(logits, f)
