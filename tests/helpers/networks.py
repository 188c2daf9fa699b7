"""Random networks and targets, for the tests of multi-layer perceptrons."""

import numpy as np

from widemargin import criteria
from widemargin.reference_mlp import Network, outputs

CRITERIA = {
    "cross_entropy": criteria.CrossEntropy(),
    "mse": criteria.MSE(),
    "tanh_mse": criteria.TanhMSE(),
    "margin": criteria.Margin(0.7),
    "epsilon_insensitive": criteria.EpsilonInsensitive(0.1),
}


def random_network(rng, inputs, hidden, outputs, transfer):
    units = [inputs, *hidden, outputs]
    weights = [rng.normal(size=(a, b)) / np.sqrt(a) for a, b in zip(units, units[1:], strict=False)]
    return Network(weights, [0.3 * rng.normal(size=n) for n in units[1:]], transfer)


def random_targets(rng, count, kind):
    """±1 for one output; class codes; or values of three outputs."""
    if kind == "one output":
        return rng.choice([-1.0, 1.0], (count, 1))
    if kind == "classes":
        return rng.integers(0, 3, count).astype(float)
    return rng.choice([-1.0, 1.0], (count, 3))


def without_kinks(network, X, y, q, distance=1e-3):
    """Examples whose criterion and hidden units are away from every kink."""
    keep = np.ones(len(X), dtype=bool)
    if network.transfer in ("relu", "hard_tanh"):
        kinks = (0.0,) if network.transfer == "relu" else (-1.0, 1.0)
        for depth in range(1, len(network.weights)):
            z = outputs(Network(network.weights[:depth], network.biases[:depth], network.transfer), X)
            for kink in kinks:
                keep &= np.all(np.abs(z - kink) > distance, axis=1)
    f = outputs(network, X)
    if y.ndim == 2:
        gaps = [y * f - q.parameter, np.abs(y - f) - q.parameter]
        return keep & np.all(np.abs(gaps) > distance, axis=(0, 2))
    right = f[np.arange(len(f)), y.astype(int)]
    others = np.where(np.eye(f.shape[1])[y.astype(int)] == 1, -np.inf, f)
    second, best = np.sort(others, axis=1)[:, -2:].T
    signs = 2 * np.eye(f.shape[1])[y.astype(int)] - 1
    tubes = np.abs(np.abs(signs - f) - q.parameter).min(1)
    apart = (np.abs(right - best - q.parameter) > distance) & (best - second > distance)
    return keep & apart & (tubes > distance)
