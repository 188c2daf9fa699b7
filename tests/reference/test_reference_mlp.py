"""Back-propagation against numerical derivatives, away from kinks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from helpers.covering import every_pair
from helpers.networks import CRITERIA, random_network, random_targets, without_kinks
from widemargin.reference.mlp import TRANSFERS, Network, criterion, gradients, outputs

KINDS = ["one output", "classes", "values"]


def numerical(network, objective, step=1e-6):
    """Central differences in every parameter."""
    found = []
    for parameter in network.parameters():
        slopes = np.empty_like(parameter)
        for index in np.ndindex(parameter.shape):
            value = parameter[index]
            parameter[index] = value + step
            above = objective()
            parameter[index] = value - step
            slopes[index] = (above - objective()) / (2 * step)
            parameter[index] = value
        found.append(slopes)
    return found


@every_pair(transfer=TRANSFERS, hidden=[(4,), (4, 3), (3, 4, 2)], name=CRITERIA, kind=KINDS)
def test_gradient(transfer, hidden, name, kind):
    q = CRITERIA[name]
    rng = np.random.default_rng([len(hidden), len(name)])
    network = random_network(rng, 3, hidden, 1 if kind == "one output" else 3, transfer)
    X = rng.normal(size=(30, 3))
    y = random_targets(rng, len(X), kind)
    keep = without_kinks(network, X, y, q)
    assert keep.sum() >= 3
    X, y, weights = X[keep], y[keep], rng.uniform(0.5, 2, keep.sum())
    options = {"sample_weight": weights, "mu": 0.3, "nu": 0.2}
    _, found = gradients(network, X, y, q, **options)
    expected = numerical(network, lambda: gradients(network, X, y, q, **options)[0])
    for one, other in zip(found, expected, strict=True):
        assert_allclose(one, other, rtol=1e-5, atol=1e-7)


def test_objective_is_the_mean_criterion_and_the_decays():
    rng = np.random.default_rng(0)
    network = random_network(rng, 3, (4,), 1, "tanh")
    X, q = rng.normal(size=(20, 3)), CRITERIA["cross_entropy"]
    y = random_targets(rng, 20, "one output")
    J, _ = gradients(network, X, y, q, mu=0.5, nu=0.25)
    Q = criterion(q, y, outputs(network, X))[0].mean()
    hidden, last = network.weights
    assert pytest.approx(Q + 0.25 * np.sum(last**2) + 0.125 * np.sum(hidden**2)) == J


def test_without_hidden_layers_it_is_linear():
    W, b = np.array([[2.0], [-1.0]]), np.array([0.5])
    X = np.array([[1.0, 1.0], [0.0, 3.0]])
    assert_allclose(outputs(Network([W], [b], "tanh"), X), X @ W + b)
