"""Mixtures on a cluster: the parameters of local mixtures, and what they do."""

import inspect

import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

import widemargin
import widemargin.dask
from helpers.cluster_mixtures import (
    GATER,
    GATERS,
    LINEAR,
    assert_same_experts_and_gates,
    chunked,
    mixture,
)
from widemargin import MLPClassifier
from widemargin.dask import learner
from widemargin.datasets import make_toy_mixture

pytestmark = pytest.mark.slow  # every file starts clusters

MISSING = {"tune", "n_jobs"}  # for reasons that the docstrings give


@pytest.mark.parametrize("name", ["HardMixtureClassifier", "HardMixtureRegressor"])
def test_parameters_are_those_of_the_local_mixture(name):
    local, cluster = (getattr(module, name) for module in (widemargin, widemargin.dask))
    expected = dict(inspect.signature(local).parameters)
    found = dict(inspect.signature(cluster).parameters)
    assert list(found) == [name for name in expected if name not in MISSING] + ["client"]
    for parameter in set(found) - {"client", "gater_rows"}:
        assert found[parameter].default == expected[parameter].default
        assert found[parameter].kind == expected[parameter].kind
    for parameter in MISSING:
        assert f"no `{parameter}`" in cluster.__doc__
    signatures = (list(inspect.signature(cls.fit).parameters) for cls in (local, cluster))
    assert len({tuple(names) for names in signatures}) == 1


@pytest.mark.parametrize("options", [{"tol": 1e-3}, {"time_limit": 1.0}])
def test_parameters_of_the_gater_without_effect_raise_errors(client, toy, options):
    with pytest.raises(ValueError, match="of the gater would have no effect on a cluster"):
        mixture(client, clone(GATER).set_params(**options)).fit(*chunked(*toy))


# ------------------------------------------------------------------------------------ resuming


@pytest.mark.parametrize("gater", GATERS)
@pytest.mark.parametrize("expert", ["machine", "network"])
def test_two_fits_of_two_iterations_equal_one_of_four(client, toy, gater, expert):
    estimator = LINEAR if expert == "machine" else MLPClassifier((5,), max_iter=2, tol=None)
    options = {"n_experts": 3, "gater_rows": 500}
    whole = mixture(client, gater, max_iter=4, **options).set_params(expert=estimator)
    parts = mixture(client, gater, warm_start=True, **options).set_params(expert=estimator)
    whole.fit(*chunked(*toy))
    parts.fit(*chunked(*toy)).fit(*chunked(*toy))
    if gater != "uniform":  # which stops after one iteration
        assert [record["epoch"] for record in parts.history_] == list(range(len(whole.history_)))
        assert [r["criterion"] for r in parts.history_] == [r["criterion"] for r in whole.history_]
        assert_array_equal(parts.subset_sizes_, whole.subset_sizes_)
    assert_array_equal(parts.to_local().gates(toy[0]), whole.to_local().gates(toy[0]))
    if expert == "machine":
        assert_same_experts_and_gates(parts, whole)


def test_a_regression_with_densities_resumes(client):
    X = np.random.RandomState(0).uniform(-1, 1, (600, 1))
    dX, dy = chunked(X, np.abs(X[:, 0]), 200)
    options = {"n_experts": 3, "random_state": 0, "client": client}
    make = widemargin.dask.HardMixtureRegressor
    whole = make(LinearRegression(), "local", max_iter=4, **options).fit(dX, dy)
    parts = make(LinearRegression(), "local", max_iter=2, warm_start=True, **options)
    parts.fit(dX, dy).fit(dX, dy)
    assert_array_equal(parts.predict(X), whole.predict(X))
    assert not hasattr(parts.to_local(), "_error_variances")


def test_resuming_checks_parameters_inputs_and_classes(client, toy):
    X, y = toy
    model = mixture(client, warm_start=True).fit(*chunked(X, y))
    before = model.predict(X)
    with pytest.raises(ValueError, match="3 features, but the mixture was fitted to 2"):
        model.fit(*chunked(np.column_stack([X, X[:, 0]]), y))
    with pytest.raises(ValueError, match="not in classes"):
        model.fit(*chunked(X, y + 7))
    with pytest.raises(ValueError, match="scaling='standard' differs"):
        model.set_params(scaling="standard").fit(*chunked(X, y))
    assert_array_equal(model.predict(X), before)


# ----------------------------------------------------------------------------- first partition


def test_clusters_of_one_block_are_those_of_the_local_mixture(client, toy):
    X, y = toy
    options = {"n_experts": 3, "max_iter": 2, "first_partition": "kmeans", "random_state": 0}
    local = widemargin.HardMixtureClassifier(LINEAR, GATER, **options).fit(X, y)
    model = mixture(client, **options).fit(*chunked(X, y, len(y)))
    assert_array_equal(model.subset_sizes_, np.bincount(local.partition_))
    assert_allclose(model.gates(X), local.gates(X), atol=1e-3)


@pytest.mark.parametrize("rows", [100_000, 300])
def test_clusters_of_several_blocks_are_balanced_and_compact(client, toy, rows, monkeypatch):
    monkeypatch.setattr(learner, "CLUSTERED_ROWS", rows)  # 300: k-means sees a sample
    seen, random_subsets = [], learner.ClusterLearner._train

    def watched(self):
        seen.append(np.concatenate(self.cluster.gather(self.partition)))
        return random_subsets(self)

    monkeypatch.setattr(learner.ClusterLearner, "_train", watched)
    model = mixture(client, n_experts=4, max_iter=1, first_partition="kmeans")
    model.fit(*chunked(*toy))
    sizes = np.bincount(seen[0], minlength=4)
    assert sizes.max() <= len(toy[1]) // 4 + 1
    within = sum(toy[0][seen[0] == k].var(0).sum() for k in range(4)) / 4
    assert within < 0.5 * toy[0].var(0).sum()


# ---------------------------------------------------------------------------------- validation


def test_given_validation_examples_choose_the_iteration(client, toy):
    X_val, y_val = make_toy_mixture(500, random_state=5)
    validation = [da.from_array(X_val, chunks=(200, 2)), da.from_array(y_val, chunks=200)]
    model = mixture(client, early_stopping=True, max_iter=3)
    model.fit(*chunked(*toy), None, *validation)
    errors = [record["validation_error"] for record in model.history_]
    assert model.best_iter_ == 1 + int(np.argmin(errors))
    assert min(errors) == pytest.approx(1 - model.to_local().score(X_val, y_val))
    assert model.subset_sizes_.sum() == len(toy[1])  # none is held out


def test_weights_of_validation_examples(client, toy):
    X_val, y_val = make_toy_mixture(400, random_state=5)
    weights = np.random.RandomState(0).uniform(0, 2, 400)
    given = [da.from_array(part, chunks=100) for part in (X_val, y_val, weights)]
    options = {"early_stopping": True, "max_iter": 1, "class_weight": {-1: 1.0, 1: 3.0}}
    model = mixture(client, **options).fit(*chunked(*toy), None, *given)
    expected = 1 - model.to_local().score(X_val, y_val, sample_weight=weights)
    assert model.history_[0]["validation_error"] == pytest.approx(expected)


def test_validation_examples_that_cannot_be_used(client, toy):
    X, y = chunked(*toy)
    with pytest.raises(ValueError, match="set early_stopping=True"):
        mixture(client).fit(X, y, None, X, y)
    stopping = mixture(client, early_stopping=True)
    with pytest.raises(ValueError, match="X_val and y_val go together"):
        stopping.fit(X, y, X_val=X)
    with pytest.raises(TypeError, match="X_val is a ndarray"):
        stopping.fit(X, y, None, *toy)
    with pytest.raises(ValueError, match="no validation examples"):
        stopping.fit(X, y, None, X, y, da.zeros_like(y))
