"""Mixtures in cells: k-means divides the examples, and no gater is trained."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_moons
from sklearn.pipeline import make_pipeline

import widemargin
from widemargin import SVC, SVR, GradientMetric, HardMixtureClassifier, HardMixtureRegressor
from widemargin.mixtures import CellGater

EXPERT = SVC(kernel="exponential", C=10.0)


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(1500, noise=0.15, random_state=0)
    return X[:1000], y[:1000], X[1000:], y[1000:]


def mixture(**options):
    options = {"n_experts": 5, "scaling": None, "random_state": 0, **options}
    return HardMixtureClassifier(EXPERT, options.pop("gater", "cells"), **options)


def test_cells_are_as_good_as_one_machine(moons):
    X, y, X_test, y_test = moons
    model = mixture().fit(X, y)
    whole = EXPERT.fit(X, y).score(X_test, y_test)
    assert model.score(X_test, y_test) > whole - 0.01
    assert model.n_iter_ == 1
    assert model.stop_reason_ == "no_update"
    assert model.history_[0]["error"] < 0.05


def test_each_example_is_in_its_nearest_cell(moons):
    X, y, _, _ = moons
    model = mixture().fit(X, y)
    distances = np.linalg.norm(X[:, None] - model.gater_.centres_, axis=2)
    assert np.array_equal(model.partition_, distances.argmin(axis=1))
    gates = model.gates(X)
    assert gates.sum(axis=1) == pytest.approx(np.ones(len(X)))
    assert np.array_equal(gates.argmax(axis=1), model.partition_)
    ratio = (distances[:, 0] / distances[:, 1]) ** -20.0
    assert gates[:, 0] == pytest.approx(ratio * gates[:, 1], rel=1e-6)


def test_overlap_trains_both_experts(moons):
    X, y, _, _ = moons
    gaters = CellGater(overlap=0.0), CellGater(overlap=0.3)
    models = [mixture(gater=gater, n_experts=3).fit(X, y) for gater in gaters]
    alone, both = ([expert.shape_fit_[0] for expert in model.experts_] for model in models)
    assert sum(alone) == len(X) < sum(both)
    gater = models[1].gater_
    for k, rows in enumerate(gater.neighbours(X, models[1].partition_)):
        distances = np.linalg.norm(X[rows, None] - gater.centres_, axis=2)
        assert np.all(models[1].partition_[rows] != k)
        assert np.all(distances[:, k] <= 1.3 * distances.min(axis=1) * (1 + 1e-9))


def test_sparse_equals_dense(moons):
    X, y, X_test, _ = moons
    dense, sparse = mixture().fit(X, y), mixture().fit(sp.csr_matrix(X), y)
    scores = dense.decision_function(X_test)
    assert sparse.decision_function(sp.csr_matrix(X_test)) == pytest.approx(scores, abs=1e-3)


def test_probabilities_many_classes_and_values(moons):
    X, y, X_test, y_test = moons
    model = mixture(criterion="likelihood").fit(X, y)
    assert model.predict_proba(X_test).sum(axis=1) == pytest.approx(np.ones(len(X_test)))
    assert model.score(X_test, y_test) > 0.95
    classes = np.digitize(X[:, 0], [-0.3, 0.5, 1.2])
    assert mixture().fit(X, classes).score(X, classes) > 0.95
    target = np.sin(3 * X[:, 0])
    model = HardMixtureRegressor(SVR(C=10.0), "cells", n_experts=4, random_state=0).fit(X, target)
    assert model.score(X, target) > 0.9


def test_fewer_distinct_rows_than_cells():
    X = np.repeat(np.eye(3), 20, axis=0)
    y = np.tile([0, 1], 30)
    model = mixture(n_experts=6).fit(X, y)
    assert model.n_experts_ == 3
    assert model.predict(X).shape == (60,)


def test_in_a_learnt_metric():
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 10))
    y = X[:, 2] * X[:, 5] > 0
    plain = mixture(scaling="standard").fit(X[:2000], y[:2000]).score(X[2000:], y[2000:])
    model = make_pipeline(GradientMetric(), mixture()).fit(X[:2000], y[:2000])
    assert model.score(X[2000:], y[2000:]) > max(plain + 0.05, 0.95)


def test_model_files(moons, tmp_path):
    X, y, X_test, _ = moons
    model = mixture().fit(X, y)
    widemargin.save(model, tmp_path / "cells.safetensors")
    again = widemargin.load(tmp_path / "cells.safetensors")
    assert np.array_equal(again.decision_function(X_test), model.decision_function(X_test))


def test_resuming_changes_nothing(moons):
    X, y, X_test, _ = moons
    model = mixture(warm_start=True).fit(X, y)
    before = model.decision_function(X_test)
    assert model.fit(X, y).decision_function(X_test) == pytest.approx(before, abs=1e-6)


def test_errors(moons):
    X, y, _, _ = moons
    with pytest.raises(ValueError, match="balance=2"):
        mixture(balance=2.0).fit(X, y)
    with pytest.raises(ValueError, match="has no examples"):
        CellGater().fit(X[:4], partition=[0, 0, 2, 2])
