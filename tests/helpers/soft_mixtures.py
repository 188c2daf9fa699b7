"""Soft mixtures to test: random ones for the reference and the models, and small problems."""

import numpy as np
import pytest

from helpers.networks import random_network
from widemargin import MixtureOfExpertsClassifier, MixtureOfExpertsRegressor
from widemargin.mixtures.soft.criteria import Gaussian, Logistic, Softmax, Squares
from widemargin.mixtures.soft.network import Layout
from widemargin.reference.soft_mixture import Mixture

KINDS = {"logistic": 1, "softmax": 3, "gaussian": 2}  # number of outputs per expert


def random_mixture(rng, kind, *, inputs=3, experts=3, hidden=4, gater=5, transfer="tanh"):
    units, gater_units = [hidden] if hidden else [], [gater] if gater else []
    networks = [random_network(rng, inputs, units, KINDS[kind], transfer) for _ in range(experts)]
    gate = random_network(rng, inputs, gater_units, experts, transfer)
    variances = 0.3 * rng.normal(size=KINDS[kind]) if kind == "gaussian" else np.zeros(0)
    return Mixture(networks, gate, variances)


def random_targets(rng, count, kind):
    if kind == "logistic":
        return rng.choice([-1.0, 1.0], count)
    if kind == "softmax":
        return rng.integers(0, 3, count).astype(float)
    return rng.normal(size=(count, 2))


def criterion(kind, name):
    if name != "likelihood":
        return Squares(tanh=name == "tanh_mse")
    return {"logistic": Logistic, "softmax": Softmax}.get(kind, lambda: Gaussian(np.ones(2)))()


def layout(mixture):
    expert, gater = mixture.experts[0], mixture.gater
    return Layout(
        inputs=len(expert.weights[0]),
        experts=len(mixture.experts),
        outputs=len(expert.biases[-1]),
        hidden=len(expert.biases[0]) if len(expert.biases) > 1 else 0,
        gater=len(gater.biases[0]) if len(gater.biases) > 1 else 0,
        transfer=expert.transfer,
        variances=len(mixture.log_variance),
    )


def flat(sizes, experts, gater, log_variance):
    """Arrays of the experts (W, b, …), of the gater and variances, as one array of a layout."""
    parameters = np.zeros(sizes.n_parameters)
    views = sizes.views(parameters)
    views["first"][...] = np.hstack([*(arrays[0] for arrays in experts), gater[0]])
    views["first_bias"][...] = np.hstack([*(arrays[1] for arrays in experts), gater[1]])
    if "experts" in views:
        views["experts"][...] = [arrays[2] for arrays in experts]
        views["experts_bias"][...] = [arrays[3] for arrays in experts]
    if "gater" in views:
        views["gater"][...], views["gater_bias"][...] = gater[2:]
    views["log_variance"][...] = log_variance
    return parameters


def parameters(mixture):
    """Parameters of a reference mixture as one array of its layout."""
    experts = [expert.parameters() for expert in mixture.experts]
    return flat(layout(mixture), experts, mixture.gater.parameters(), mixture.log_variance)


# ------------------------------------------------------------------------------- estimators

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 4))
QUADRANTS = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
THREE = np.digitize(X[:, 0] * X[:, 1], [-0.3, 0.3])
VALUES = np.column_stack([1e4 * np.abs(X[:, 0]) + 5e4, np.maximum(X[:, 1], X[:, 2])])
SPARSE = X * (rng.random(X.shape) < 0.1)
SOLVERS = {
    "likelihood": {"learning_rate": 0.01, "n_units": 10, "n_gater_units": 10},
    "mse": {"criterion": "mse", "learning_rate": 0.01, "n_units": 10, "n_gater_units": 10},
    "em": {"solver": "em"},
    "em of networks": {"solver": "em", "n_units": 5, "n_gater_units": 5, "activation": "tanh"},
}
OPTIONS = {"n_experts": 3, "max_iter": 6, "tol": None, "random_state": 0}
every_solver = pytest.mark.parametrize("solver", SOLVERS)
by_gradient = pytest.mark.parametrize("solver", ["likelihood", "mse"])
every_target = pytest.mark.parametrize("target", ["two classes", "three classes", "values"])


def classifier(solver="likelihood", **options):
    return MixtureOfExpertsClassifier(**OPTIONS | SOLVERS[solver] | options)


def regressor(solver="likelihood", **options):
    return MixtureOfExpertsRegressor(**OPTIONS | SOLVERS[solver] | options)


def problem(target, solver="likelihood", **options):
    """An estimator and its targets."""
    if target == "values":
        return regressor(solver, **options), VALUES
    return classifier(solver, **options), QUADRANTS if target == "two classes" else THREE


def outputs(model, X):
    return model.predict(X) if hasattr(model, "n_outputs_") else model.decision_function(X)
