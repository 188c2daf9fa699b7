"""Random networks and targets, for the tests of multi-layer perceptrons."""

from copy import deepcopy
from itertools import pairwise

import numpy as np

from widemargin import criteria
from widemargin.inputs.scaling import Scaling
from widemargin.mlp.network import Architecture, Mixed, NetworkLearner, NetworkState
from widemargin.reference.mlp import Network, gradients, kept_units, outputs, update
from widemargin.training.model import Examples

CRITERIA = {
    "cross_entropy": criteria.CrossEntropy(),
    "mse": criteria.MSE(),
    "tanh_mse": criteria.TanhMSE(),
    "margin": criteria.Margin(0.7),
    "epsilon_insensitive": criteria.EpsilonInsensitive(0.1),
}


def random_network(rng, inputs, hidden, outputs, transfer):
    units = [inputs, *hidden, outputs]
    weights = [rng.normal(size=(a, b)) / np.sqrt(a) for a, b in pairwise(units)]
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
            z = outputs(
                Network(network.weights[:depth], network.biases[:depth], network.transfer), X
            )
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


def flat(network, dtype=np.float64):
    """The parameters as the core has them: W, b of each layer, one after the other."""
    return np.concatenate([p.ravel() for p in network.parameters()]).astype(dtype)


def learner(network, X, y, q, steps, **options):
    """A learner of the core that starts with this network."""
    dtype = options.pop("dtype", np.float64)
    units = [network.weights[0].shape[0], *(len(b) for b in network.biases)]
    parameters = flat(network, dtype)
    state = NetworkState(
        parameters,
        np.zeros_like(parameters),
        np.zeros_like(parameters),
        0,
        0,
        Scaling.empty(options.pop("scaling", None), X.shape[1]),
    )
    weights = options.pop("weights", None)
    examples = Examples(X, y, weights, np.arange(X.shape[0]))
    if y.ndim == 2 and y.shape[1] > 1 and not isinstance(q, Mixed):
        options["error_scale"] = np.full(y.shape[1], 1.0)
    options = {"threads": 1} | options
    architecture = Architecture(np.array(units), network.transfer)
    return NetworkLearner(examples, architecture, state, q, steps, **options)


def plain_training(network, X, y, q, steps, order, rate, weights=None):
    """The same passes with `widemargin.reference.mlp`: the parameters, and the sum of all Q."""
    network = deepcopy(network)
    states = [{} for _ in network.parameters()]
    total, apart = 0.0, steps.solver == "adamw"
    for t, first in enumerate(range(0, len(order), steps.batch), start=1):
        rows = order[first : first + steps.batch]
        w = None if weights is None else weights[rows]
        relative = None if w is None else w / weights.mean()
        kept = None
        if steps.dropout:
            units = [W.shape[1] for W in network.weights[:-1]]
            kept = [
                kept_units(steps.dropout, steps.seed, t, k, len(rows), n)
                for k, n in enumerate(units)
            ]
        Q = gradients(network, X[rows], y[rows], q, sample_weight=w, kept=kept)[0]
        total += Q * len(rows)
        decays = {} if apart else {"mu": steps.mu, "nu": steps.nu}
        _, found = gradients(
            network, X[rows], y[rows], q, sample_weight=relative, kept=kept, **decays
        )
        for k, (theta, slope) in enumerate(zip(network.parameters(), found, strict=True)):
            last = k >= len(states) - 2
            decay = 0.0 if k % 2 else steps.mu if last else steps.nu
            update(
                steps.solver,
                theta,
                slope,
                states[k],
                t,
                rate,
                momentum=steps.momentum,
                nesterov=steps.nesterov,
                beta_1=steps.beta_1,
                beta_2=steps.beta_2,
                epsilon=steps.epsilon,
                decay=decay,
            )
    return flat(network), total
