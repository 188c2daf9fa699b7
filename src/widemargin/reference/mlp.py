r"""Multi-layer perceptrons in NumPy: back-propagation and the updates of each solver.

With :math:`h^0 = x`, hidden layers and outputs are

.. math:: h^{k+1} = h(h^k W^k + b^k), \qquad f(x) = h^D W^D + b^D

and training minimises (8.10), with weight decays μ of the output layer and ν of the hidden layers:

.. math:: J = \frac1L \sum_l Q(y_l, f(x_l)) + \frac\mu2 \|W^D\|^2
              + \frac\nu2 \sum_{k<D} \|W^k\|^2

Biases are not decayed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from widemargin._typing import FloatArray
from widemargin.criteria import Criterion

__all__ = [
    "SLANT",
    "TRANSFERS",
    "Network",
    "back_propagate",
    "criterion",
    "gradients",
    "kept_units",
    "outputs",
    "update",
]

SLANT = 0.01  # ε of the slanted tanh (Bottou 1991): tanh z + ε z

#: Transfer functions h and their derivatives h'. At its kinks HardTanh has h' = 1 (8.5.2), relu 0.
TRANSFERS: dict[str, tuple[Callable[..., FloatArray], Callable[..., FloatArray]]] = {
    "identity": (lambda z: z, np.ones_like),
    "sigmoid": (
        lambda z: 0.5 + 0.5 * np.tanh(z / 2),
        lambda z: 0.25 * (1 - np.tanh(z / 2) ** 2),
    ),
    "tanh": (np.tanh, lambda z: 1 - np.tanh(z) ** 2),
    "slanted_tanh": (lambda z: np.tanh(z) + SLANT * z, lambda z: 1 + SLANT - np.tanh(z) ** 2),
    "hard_tanh": (lambda z: np.clip(z, -1, 1), lambda z: (np.abs(z) <= 1).astype(float)),
    "relu": (lambda z: np.maximum(z, 0), lambda z: (z > 0).astype(float)),
}


@dataclass
class Network:
    """Weights and biases of each layer, and the transfer function of the hidden ones."""

    weights: list[FloatArray]
    biases: list[FloatArray]
    transfer: str

    def parameters(self) -> list[FloatArray]:
        """All trained arrays: W and b of the first layer, then of the second, …"""
        return [p for pair in zip(self.weights, self.biases, strict=True) for p in pair]


def outputs(network: Network, X: FloatArray) -> FloatArray:
    """f(x), one row per example.

    Examples
    --------
    >>> weights, biases = [np.array([[1.0, -1.0]]), np.ones((2, 1))], [np.zeros(2), np.zeros(1)]
    >>> outputs(Network(weights, biases, "relu"), np.array([[3.0], [-2.0]])).ravel()  # |x|
    array([3., 2.])
    """
    return _forward(network, X)[0][-1]


def _forward(
    network: Network, X: FloatArray, kept: Sequence[FloatArray] | None = None
) -> tuple[list[FloatArray], list[FloatArray]]:
    """The values of all layers, and the slopes h' of the hidden layers.

    `kept` multiplies the outputs of the hidden layers (`kept_units`), and so their slopes.
    """
    h, slope = TRANSFERS[network.transfer]
    values, slopes = [X], []
    for k, (W, b) in enumerate(zip(network.weights, network.biases, strict=True)):
        z = values[-1] @ W + b
        hidden = k + 1 < len(network.weights)
        values.append(h(z) if hidden else z)
        if hidden:
            slopes.append(slope(z))
        if hidden and kept is not None:
            values[-1], slopes[-1] = values[-1] * kept[k], slopes[-1] * kept[k]
    return values, slopes


def kept_units(
    dropout: float, seed: int, step: int, layer: int, rows: int, units: int
) -> FloatArray:
    """Of dropout, of shape (rows, units): 0 for units that are left out, 1/(1 − p) for others.

    A unit is left out if the hash of seed, step 1, 2, …, hidden layer 0, 1, …, place in the batch
    and unit is below p.

    Examples
    --------
    >>> kept = kept_units(0.25, seed=3, step=1, layer=0, rows=1000, units=100)
    >>> sorted({round(float(value), 3) for value in kept.ravel()}), round(float(kept.mean()), 2)
    ([0.0, 1.333], 1.0)
    """
    with np.errstate(over="ignore"):
        keys = np.array([seed], dtype=np.uint64)
        for number in (np.array([step]), np.array([layer]), np.arange(rows)):
            keys = _mix64(keys + number.astype(np.uint64))
        unit = np.arange(units, dtype=np.uint32) * np.uint32(0x9E3779B9)
        drawn = _mix32((keys >> np.uint64(32)).astype(np.uint32)[:, None] + unit)
    return np.where(drawn >= round(dropout * 2**32), 1.0 / (1.0 - dropout), 0.0)


def _mix64(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64."""
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _mix32(z: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The finaliser lowbias32."""
    z = (z ^ (z >> np.uint32(16))) * np.uint32(0x7FEB352D)
    z = (z ^ (z >> np.uint32(15))) * np.uint32(0x846CA68B)
    return z ^ (z >> np.uint32(16))


def criterion(q: Criterion, y: FloatArray, f: FloatArray) -> tuple[FloatArray, FloatArray]:
    r"""Q of each example, and its derivatives with respect to the outputs.

    `y` has the shape of `f` (±1 for two classes, or values), or holds class codes 0..K−1. With
    K > 2 classes, the criterion is summed over the outputs, whose targets are +1 for the example's
    class and −1 for the others. There are two exceptions:

    - cross-entropy: :math:`-\log \mathrm{softmax}_y f`,
    - margin: :math:`|\beta - (f_y - \max_{k \ne y} f_k)|_+`.

    Examples
    --------
    >>> from widemargin.criteria import Margin
    >>> criterion(Margin(1.0), np.array([0]), np.array([[1.0, 0.5, 0.0]]))
    (array([0.5]), array([[-1.,  1.,  0.]]))
    """
    if y.ndim == 2:
        return q.value(y, f).sum(1), q.derivative(y, f)
    rows, classes = np.arange(len(f)), y.astype(int)
    indicators = np.eye(f.shape[1])[classes]
    if q.name == "cross_entropy":
        p = np.exp(f - f.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        return -np.log(p[rows, classes]), p - indicators
    if q.name == "margin":
        others = np.where(indicators == 1, -np.inf, f)
        best = others.argmax(1)
        slack = q.parameter - (f[rows, classes] - f[rows, best])
        slopes = np.eye(f.shape[1])[best] - indicators
        return np.maximum(slack, 0), np.where(slack[:, None] >= 0, slopes, 0.0)
    return q.value(2 * indicators - 1, f).sum(1), q.derivative(2 * indicators - 1, f)


def gradients(
    network: Network,
    X: FloatArray,
    y: FloatArray,
    q: Criterion,
    *,
    sample_weight: FloatArray | None = None,
    mu: float = 0.0,
    nu: float = 0.0,
    kept: Sequence[FloatArray] | None = None,
) -> tuple[float, list[FloatArray]]:
    """J of a batch and its gradient by back-propagation, in the order of `parameters`.

    `kept` has one array of `kept_units` per hidden layer.
    """
    Q, delta = criterion(q, y, _forward(network, X, kept)[0][-1])
    weights = np.ones(len(X)) if sample_weight is None else sample_weight
    found = back_propagate(network, X, delta * weights[:, None] / len(X), kept)
    decays = [nu] * (len(network.weights) - 1) + [mu]
    J = float(Q @ weights) / len(X)
    for k, (W, decay) in enumerate(zip(network.weights, decays, strict=True)):
        J += decay / 2 * float(np.sum(W**2))
        found[2 * k] += decay * W
    return J, found


def back_propagate(
    network: Network, X: FloatArray, delta: FloatArray, kept: Sequence[FloatArray] | None = None
) -> list[FloatArray]:
    """The gradient, in the order of `parameters`, from the derivatives with respect to the outputs.

    Examples
    --------
    >>> network = Network([np.array([[2.0]])], [np.zeros(1)], "tanh")  # f = 2 x
    >>> back_propagate(network, np.array([[3.0], [5.0]]), np.ones((2, 1)))
    [array([[8.]]), array([2.])]
    """
    values, slopes = _forward(network, X, kept)
    found: list[FloatArray] = []
    for k in reversed(range(len(network.weights))):
        found = [values[k].T @ delta, delta.sum(0), *found]
        if k > 0:
            delta = (delta @ network.weights[k].T) * slopes[k - 1]
    return found


def update(
    solver: str,
    theta: FloatArray,
    gradient: FloatArray,
    state: dict[str, FloatArray],
    t: int,
    rate: float,
    *,
    momentum: float = 0.9,
    nesterov: bool = True,
    beta_1: float = 0.9,
    beta_2: float = 0.999,
    epsilon: float = 1e-8,
    decay: float = 0.0,
) -> None:
    r"""Step t = 1, 2, … of a solver on one array, in place.

    - ``sgd``: :math:`v \leftarrow m v - \lambda g,\ \theta \leftarrow \theta + v`; Nesterov's:
      :math:`\theta \leftarrow \theta + m v - \lambda g`.
    - ``adam`` (Kingma and Ba, 2015):
      :math:`\theta \leftarrow \theta - \lambda \hat m / (\sqrt{\hat v} + \epsilon)`.
    - ``adamw`` (Loshchilov and Hutter, 2019): the same after
      :math:`\theta \leftarrow \theta - \lambda\,\text{decay}\,\theta`.

    Examples
    --------
    >>> theta = np.array([1.0])
    >>> update("sgd", theta, np.array([2.0]), {}, 1, 0.1, momentum=0.0)
    >>> theta
    array([0.8])
    """
    first = state.setdefault("first", np.zeros_like(theta))
    second = state.setdefault("second", np.zeros_like(theta))
    if solver == "sgd":
        first[...] = momentum * first - rate * gradient
        theta += momentum * first - rate * gradient if nesterov else first
        return
    if solver == "adamw":
        theta -= rate * decay * theta
    first[...] = beta_1 * first + (1 - beta_1) * gradient
    second[...] = beta_2 * second + (1 - beta_2) * gradient**2
    scale = np.sqrt(second / (1 - beta_2**t)) + epsilon
    theta -= rate * first / (1 - beta_1**t) / scale
