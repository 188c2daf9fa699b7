"""Weights of examples are relative to each other in networks, committees and soft mixtures."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import DataConversionWarning
from sklearn.neural_network import MLPRegressor as ScikitMLPRegressor

from widemargin import (
    MixtureOfExpertsClassifier,
    MLPClassifier,
    MLPRegressor,
    NilssonMLPClassifier,
    SimpleMLPClassifier,
)
from widemargin.mixtures import MLPGater

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
rng = np.random.default_rng(0)
X = rng.normal(size=(150, 4))
VALUES = X[:, 0] * X[:, 1] + X[:, 2]
y = VALUES > 0
WEIGHTS = rng.uniform(0.5, 2, 150)
MODELS = {
    "adam": MLPClassifier((10,), alpha=0, max_iter=5, dtype="float64"),
    "one example per step": MLPClassifier(
        (10,), alpha=0, solver="sgd", momentum=0, batch_size=1, max_iter=3, dtype="float64"
    ),
    "lbfgs": MLPClassifier((10,), alpha=0, solver="lbfgs", max_iter=3, dtype="float64"),
    "regression": MLPRegressor(hidden_layer_sizes=(10,), alpha=0, max_iter=5, dtype="float64"),
    "simple": SimpleMLPClassifier(n_units=20, max_iter=3),
    "nilsson": NilssonMLPClassifier(n_units=21, max_iter=3),
    "soft mixture": MixtureOfExpertsClassifier(2, n_units=5, max_iter=3, dtype="float64"),
}
every_model = pytest.mark.parametrize("name", MODELS)


def fitted(name, weights, **options):
    model = MODELS[name].__class__(**MODELS[name].get_params() | {"random_state": 0} | options)
    return model.fit(X, VALUES if name == "regression" else y, sample_weight=weights)


def outputs(model):
    return getattr(model, "decision_function", model.predict)(X)


@every_model
@pytest.mark.parametrize("factor", [2.0**-10, 2.0**60])
def test_a_factor_of_all_weights_changes_nothing(name, factor):
    expected, found = fitted(name, WEIGHTS), fitted(name, factor * WEIGHTS)
    assert_allclose(outputs(found), outputs(expected), rtol=1e-9, atol=1e-12)
    assert found.history_[-1]["criterion"] == pytest.approx(expected.history_[-1]["criterion"])


@every_model
def test_equal_weights_are_no_weights(name):
    found, expected = fitted(name, np.full(150, 2.0**-10)), fitted(name, None)
    assert_allclose(outputs(found), outputs(expected), rtol=1e-9, atol=1e-12)


@every_model
def test_weights_count(name):
    assert np.any(outputs(fitted(name, WEIGHTS)) != outputs(fitted(name, None)))


def test_small_weights_with_defaults():
    model = MLPClassifier(random_state=0, learning_rate_init=0.01, max_iter=60)
    model.fit(X, y, sample_weight=np.full(150, 1e-3))
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("solver", ["adam", "lbfgs"])
def test_alpha_is_divided_by_the_weights_as_in_scikit_learn(solver):
    found = fitted("adam", WEIGHTS / 64, alpha=0.5, solver=solver)
    expected = fitted("adam", WEIGHTS, alpha=32.0, solver=solver)
    assert_allclose(outputs(found), outputs(expected), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", ["simple", "adam", "soft mixture"])
def test_partial_fit_compares_the_weights_of_all_calls(name):
    def trained(second_weight):
        model = MODELS[name].__class__(**MODELS[name].get_params() | {"random_state": 0})
        model.partial_fit(X, y)
        return outputs(model.partial_fit(X[:1], y[:1], sample_weight=[second_weight]))

    assert np.any(trained(8.0) != trained(1.0))


def test_gater():
    answers = np.stack([X[:, :1], -X[:, :1]], axis=1).astype(np.float32)
    found = [
        MLPGater((5,), max_iter=3, dtype="float64", mu=0.1, random_state=0)
        .fit(X, outputs=answers, targets=np.where(y, 1.0, -1.0)[:, None], sample_weight=weights)
        .gates(X)
        for weights in (WEIGHTS, 2.0**-10 * WEIGHTS)
    ]
    assert_allclose(*found, rtol=1e-9)


# ------------------------------------------------------------------------- targets of a regression


@pytest.mark.parametrize("scaling", ["standard", None])
@pytest.mark.parametrize("loss", ["squared_error", "epsilon_insensitive"])
def test_tolerance_is_that_of_standardised_targets(loss, scaling):
    """With steps of nearly 0 the objective stands still, in whatever unit y is."""
    options = {"hidden_layer_sizes": (5,), "learning_rate_init": 1e-9, "random_state": 0}
    for unit in (1.0, 1e3):
        model = MLPRegressor(loss, **options, scaling=scaling, n_iter_no_change=3, max_iter=10)
        assert model.fit(X, unit * VALUES).n_iter_ == 4
        assert model.converged_
    for tol, epochs in ((1e-9, 10), (10.0, 4)):  # of targets with a variance of about 2e6
        model.set_params(tol=tol, learning_rate_init=1e-3)
        assert model.fit(X, unit * VALUES).n_iter_ == epochs


def test_one_target_in_a_column_is_flat_as_in_scikit_learn():
    for cls in (ScikitMLPRegressor, MLPRegressor):
        model = cls(hidden_layer_sizes=(3,), max_iter=2, random_state=0)
        with pytest.warns(DataConversionWarning, match="column-vector"):
            model.fit(X, VALUES[:, None])
        assert model.predict(X).shape == (150,)
    flat = MLPRegressor(hidden_layer_sizes=(3,), max_iter=2, random_state=0).fit(X, VALUES)
    assert_array_equal(model.predict(X), flat.predict(X))
    assert model.n_outputs_ == 1
