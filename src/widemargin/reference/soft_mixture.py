r"""The soft mixture of experts in NumPy: criteria, posteriors, gradients; for reading and checks.

Experts :math:`f_k` and the gater are networks of `widemargin.reference.mlp`. The gates are the
softmax of the gater's outputs,

.. math:: g_k(x) = \frac{e^{\tilde g_k(x)}}{\sum_j e^{\tilde g_j(x)}}, \qquad
          f(x) = \sum_k g_k(x) f_k(x) \quad (3.18), \qquad
          P(y|x) = \sum_k g_k(x) P(y|x, k) \quad (6.2).

``"logistic"`` experts have one output and :math:`y = \pm1`. ``"softmax"`` experts have one output
per class. ``"gaussian"`` experts have one output per target, and share the logarithms of the
variances :math:`\sigma^2`.

The criterion is ``"likelihood"``, :math:`-\log P(y|x)`, or ``"mse"``,
:math:`\sum_c (y_c - f_c)^2/2`, or ``"tanh_mse"``, the same of :math:`\tanh f_c` (7.5). The last two
have y_c = ±1 for classes.
"""

from dataclasses import dataclass, field

import numpy as np

from widemargin._typing import FloatArray
from widemargin.reference.mlp import Network, back_propagate, outputs

__all__ = ["Mixture", "criterion", "expected", "gates", "gradients", "log_densities", "posteriors"]


@dataclass
class Mixture:
    """Experts, gater and, for Gaussian experts, the logarithms of their common variances."""

    experts: list[Network]
    gater: Network
    log_variance: FloatArray = field(default_factory=lambda: np.zeros(0))


def gates(mixture: Mixture, X: FloatArray) -> FloatArray:
    """g_k(x), one row per example: positive, and their sum is 1 (3.19).

    Examples
    --------
    >>> gater = Network([np.array([[1.0, -1.0]])], [np.zeros(2)], "tanh")
    >>> gates(Mixture([], gater), np.array([[0.0], [1.0]])).round(2)
    array([[0.5 , 0.5 ],
           [0.88, 0.12]])
    """
    e = outputs(mixture.gater, X)
    e = np.exp(e - e.max(1, keepdims=True))
    return np.asarray(e / e.sum(1, keepdims=True))


def log_densities(mixture: Mixture, X: FloatArray, y: FloatArray, kind: str) -> FloatArray:
    """log P(y_l | x_l, k), one row per example."""
    found = []
    for expert in mixture.experts:
        f = outputs(expert, X)
        if kind == "logistic":
            found.append(-np.logaddexp(0, -y * f[:, 0]))
        elif kind == "softmax":
            found.append(f[np.arange(len(f)), y.astype(int)] - np.logaddexp.reduce(f, axis=1))
        else:
            s = mixture.log_variance
            found.append(-0.5 * np.sum((y - f) ** 2 / np.exp(s) + s + np.log(2 * np.pi), axis=1))
    return np.column_stack(found)


def posteriors(mixture: Mixture, X: FloatArray, y: FloatArray, kind: str) -> FloatArray:
    r"""h_lk = P(k | x_l, y_l): the E step.

    .. math:: h_{lk} = \frac{g_k(x_l) P(y_l|x_l, k)}{\sum_j g_j(x_l) P(y_l|x_l, j)}
    """
    joint = gates(mixture, X) * np.exp(log_densities(mixture, X, y, kind))
    return np.asarray(joint / joint.sum(1, keepdims=True))


def _target_signs(mixture: Mixture, y: FloatArray, kind: str) -> FloatArray:
    """±1 for each class, one row per example; values are unchanged."""
    if kind == "softmax":
        return np.asarray(2 * np.eye(len(mixture.experts[0].biases[-1]))[y.astype(int)] - 1)
    return y.reshape(len(y), -1)


def criterion(
    mixture: Mixture, X: FloatArray, y: FloatArray, kind: str, name: str = "likelihood"
) -> FloatArray:
    """Q of each example."""
    g = gates(mixture, X)
    if name == "likelihood":
        return np.asarray(-np.log(np.sum(g * np.exp(log_densities(mixture, X, y, kind)), axis=1)))
    f = sum(g[:, [k]] * outputs(expert, X) for k, expert in enumerate(mixture.experts))
    predicted = np.tanh(f) if name == "tanh_mse" else f
    return np.asarray(np.sum((_target_signs(mixture, y, kind) - predicted) ** 2, axis=1) / 2)


def expected(
    mixture: Mixture, X: FloatArray, y: FloatArray, kind: str, h: FloatArray
) -> FloatArray:
    r"""What an M step minimises: :math:`-\sum_k h_{lk} \log g_k(x_l) P(y_l|x_l, k)`."""
    joint = np.log(gates(mixture, X)) + log_densities(mixture, X, y, kind)
    return np.asarray(-np.sum(h * joint, axis=1))


def gradients(
    mixture: Mixture,
    X: FloatArray,
    y: FloatArray,
    kind: str,
    name: str = "likelihood",
    *,
    h: FloatArray | None = None,
    sample_weight: FloatArray | None = None,
) -> tuple[list[list[FloatArray]], list[FloatArray], FloatArray]:
    r"""The gradient of the mean criterion: of each expert, of the gater, of the log variances.

    Likelihood, with the posteriors h of this mixture (or those given, for an M step):
    :math:`\partial Q/\partial\tilde g_k = g_k - h_k` and
    :math:`\partial Q/\partial f_k = -h_k\, \partial \log P(y|x,k)/\partial f_k`.

    Squares, with :math:`\delta = \partial Q/\partial f`:
    :math:`\partial Q/\partial\tilde g_k = g_k\, \delta \cdot (f_k - f)` and
    :math:`\partial Q/\partial f_k = g_k \delta`.
    """
    w = np.ones(len(X)) if sample_weight is None else sample_weight
    w = (w / len(X))[:, None]
    g = gates(mixture, X)
    fs = [outputs(expert, X) for expert in mixture.experts]
    variance_slope = np.zeros_like(mixture.log_variance)
    if name == "likelihood":
        h = posteriors(mixture, X, y, kind) if h is None else h
        gater_slope = g - h
        slopes = [-h[:, [k]] * _log_density_slope(mixture, f, y, kind) for k, f in enumerate(fs)]
        for k, f in enumerate(fs if kind == "gaussian" else []):
            excess = (y - f) ** 2 / np.exp(mixture.log_variance) - 1
            variance_slope -= np.sum(w * h[:, [k]] * excess, axis=0) / 2
    else:
        mixed = sum(g[:, [k]] * f for k, f in enumerate(fs))
        t = np.tanh(mixed) if name == "tanh_mse" else mixed
        delta = (t - _target_signs(mixture, y, kind)) * (1 - t**2 if name == "tanh_mse" else 1)
        gater_slope = g * np.column_stack([np.sum(delta * (f - mixed), axis=1) for f in fs])
        slopes = [g[:, [k]] * delta for k in range(len(fs))]
    experts = [
        back_propagate(expert, X, w * slope)
        for expert, slope in zip(mixture.experts, slopes, strict=True)
    ]
    return experts, back_propagate(mixture.gater, X, w * gater_slope), variance_slope


def _log_density_slope(mixture: Mixture, f: FloatArray, y: FloatArray, kind: str) -> FloatArray:
    """∂ log P(y|x,k)/∂f_k."""
    if kind == "logistic":
        return np.asarray(y[:, None] / (1 + np.exp(y[:, None] * f)))
    if kind == "softmax":
        p = np.exp(f - f.max(1, keepdims=True))
        return np.asarray(np.eye(f.shape[1])[y.astype(int)] - p / p.sum(1, keepdims=True))
    return np.asarray((y - f) / np.exp(mixture.log_variance))
