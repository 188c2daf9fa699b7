"""Mixtures on a cluster learn what local ones learn."""

import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

import widemargin
from helpers.cluster_mixtures import (
    GATERS,
    LINEAR,
    assert_same_experts_and_gates,
    chunked,
    mixture,
)
from widemargin import MLPClassifier
from widemargin.dask import HardMixtureClassifier, HardMixtureRegressor, gaters
from widemargin.mixtures import MLPGater
from widemargin.mixtures.hard.partition import divided_room

pytestmark = pytest.mark.slow  # every file starts clusters


@pytest.mark.parametrize("gater", GATERS)
@pytest.mark.parametrize("regression", [False, True])
def test_one_block_gives_the_local_mixture(client, toy, gater, regression):
    X, y = toy
    expert, module = (widemargin.SVR(), "Regressor") if regression else (LINEAR, "Classifier")
    options = {"n_experts": 3, "max_iter": 3, "random_state": 0}
    local = getattr(widemargin, f"HardMixture{module}")(expert, GATERS[gater], **options)
    cls = HardMixtureRegressor if regression else HardMixtureClassifier
    model = cls(expert, GATERS[gater], client=client, **options).fit(*chunked(X, y, len(y)))
    local.fit(X, y)
    assert_array_equal(model.subset_sizes_, np.bincount(local.partition_))
    assert_allclose(model.gates(X), local.gates(X), atol=1e-3)
    for record, expected in zip(model.history_, local.history_, strict=True):
        assert_allclose(record["criterion"], expected["criterion"], rtol=1e-3)
        assert record["updates"] == expected["updates"]


def test_blocks_solve_the_toy_problem(client, toy):
    """Which no line can separate (6.5.1)."""
    X, y = toy
    gater = MLPGater((), learning_rate=0.1, max_iter=5)
    model = mixture(client, gater, max_iter=4).fit(*chunked(X, y))
    assert LINEAR.fit(X, y).score(X, y) < 0.8 < 0.9 < model.score(*chunked(X, y))
    assert model.subset_sizes_.max() <= len(y) // 2 + 1


def test_averaged_copies_of_the_gater_learn(client, toy, monkeypatch):
    monkeypatch.setattr(gaters, "ROWS_PER_COPY", 300)  # three copies
    gater = MLPGater((), learning_rate=0.2, max_iter=5)
    one, again = (mixture(client, gater, max_iter=4).fit(*chunked(*toy)) for _ in range(2))
    assert one.score(*chunked(*toy)) > 0.85
    assert_same_experts_and_gates(one, again)
    monkeypatch.setattr(gaters, "ROWS_PER_COPY", 3000)
    alone = mixture(client, gater, max_iter=4).fit(*chunked(*toy))
    assert not np.array_equal(alone.gater_.coefs_[0], one.gater_.coefs_[0])


def test_sorted_data_keep_the_balance(client, toy):
    X, y = toy
    order = np.argsort(X[:, 0])
    model = mixture(client, n_experts=3).fit(*chunked(X[order], y[order], 170))
    assert model.subset_sizes_.sum() == len(y)
    assert model.subset_sizes_.max() <= len(y) // 3 + 1


@pytest.mark.parametrize("gater", GATERS)
def test_bound_is_above_the_likelihood(client, toy, gater):
    model = mixture(client, gater, criterion="likelihood").fit(*chunked(*toy))
    for record in model.history_:
        assert record["bound"] >= record["negative_log_likelihood"]


@pytest.mark.parametrize("gater", GATERS)
def test_regression(client, gater):
    X = np.random.RandomState(0).uniform(-1, 1, (800, 1))
    y = np.abs(X[:, 0])
    line = widemargin.SVR(kernel="linear")
    model = HardMixtureRegressor(
        line, GATERS[gater], n_experts=2, max_iter=5, random_state=0, client=client
    ).fit(*chunked(X, y, 200))
    assert model.predict(X).shape == y.shape
    if gater != "uniform":
        assert line.fit(X, y).score(X, y) < 0.1 < 0.5 < model.score(*chunked(X, y, 150))


def test_several_targets(client):
    X = np.random.RandomState(0).uniform(-1, 1, (400, 2))
    y = X @ [[1.0, 2.0], [0.5, -1.0]]
    model = HardMixtureRegressor(
        LinearRegression(), n_experts=2, random_state=0, client=client
    ).fit(da.from_array(X, chunks=(100, 1)), da.from_array(y, chunks=(100, 1)))
    assert model.predict(da.from_array(X, chunks=100)).compute().shape == y.shape
    assert model.score(da.from_array(X, chunks=100), y) > 0.99


def test_three_classes_with_names(client):
    random = np.random.RandomState(0)
    X = random.normal(size=(600, 2))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    expert = MLPClassifier((8,), max_iter=20, learning_rate_init=0.01)
    model = HardMixtureClassifier(expert, n_experts=2, random_state=0, client=client)
    dX, dy = chunked(X, y, 150)
    model.fit(dX, dy)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.score(dX, dy) > 0.9
    assert_allclose(model.predict_proba(dX).sum(1).compute(), 1.0)


def test_a_classifier_as_gater(client, toy):
    model = mixture(client, DecisionTreeClassifier(max_depth=4, random_state=0), gater_rows=400)
    assert model.fit(*chunked(*toy)).score(*chunked(*toy)) > 0.8


def test_weights_are_repetitions_for_exact_experts(client, toy):
    """An example of weight zero has no effect; with one expert, nothing else is random."""
    X, y = toy
    w = (np.arange(len(y)) % 3 > 0).astype(float)
    dX, dy = chunked(X, y)
    model = mixture(client, "uniform", n_experts=1, scaling=None)
    kept = clone(model).fit(*chunked(X[w > 0], y[w > 0], 200))
    model.fit(dX, dy, sample_weight=da.from_array(w, chunks=300))
    assert model.subset_sizes_.sum() == np.count_nonzero(w)
    assert_allclose(model.experts_[0].coef_, kept.experts_[0].coef_, atol=1e-3)


def test_early_stopping_holds_out_a_fraction_of_every_block(client, toy):
    model = mixture(client, early_stopping=True, validation_fraction=0.2).fit(*chunked(*toy))
    errors = [record["validation_error"] for record in model.history_]
    assert model.best_iter_ == 1 + int(np.argmin(errors))
    assert model.subset_sizes_.sum() == 0.8 * len(toy[1])


def test_class_weights_are_balanced_over_all_blocks(client, toy):
    """Sorted by class, so that every block has a single class."""
    X, y = toy
    keep = np.argsort(y, kind="stable")[300:]
    dX, dy = chunked(X[keep], y[keep], 100)
    model = mixture(client, "uniform", n_experts=1, class_weight="balanced").fit(dX, dy)
    local = widemargin.HardMixtureClassifier(
        LINEAR, "uniform", n_experts=1, class_weight="balanced", random_state=0
    ).fit(X[keep], y[keep])
    assert_allclose(model.experts_[0].coef_, local.experts_[0].coef_, atol=1e-3)


@pytest.mark.parametrize("seed", range(20))
def test_the_room_of_each_block_suffices_within_the_limit(seed):
    random = np.random.RandomState(seed)
    demand = random.randint(0, random.randint(2, 60), (random.randint(1, 12), 7))
    room = demand.sum() // 7 + 1
    divided = divided_room(demand, room)
    assert np.all(divided >= 0)
    assert np.all(divided.sum(0) <= room)
    assert np.all(divided.sum(1) >= demand.sum(1))
