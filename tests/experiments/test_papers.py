"""Published experiments on real data: published errors are reached, bounds hold."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from widemargin import MarginPerceptron, Perceptron, SimpleMLPClassifier
from widemargin.datasets import fetch_connect4, fetch_forest, fetch_mnist
from widemargin.experiments.papers import PUBLISHED_TABLE_8_1, fleuret_mnist, table_8_2
from widemargin.theory import margin_bound, radius

pytestmark = [pytest.mark.data, pytest.mark.slow]

FETCH = {"Forest": fetch_forest, "Connect-4": fetch_connect4}


@pytest.fixture(scope="module")
def table():
    rows = table_8_2(seeds=(0,), models=("Perceptron", "MarginPerceptron"))
    return {(row.data, row.model): row for row in rows}


@pytest.mark.parametrize(
    ("data", "model", "limit"),
    [
        ("Forest", "Perceptron", 31.6),
        ("Connect-4", "Perceptron", 25.6),
        ("Forest", "MarginPerceptron", 23.9),
        ("Connect-4", "MarginPerceptron", 20.4),
    ],
)
def test_table_8_2_is_reached(table, data, model, limit):
    assert table[data, model].test_error <= limit


@pytest.mark.parametrize("data", FETCH)
def test_the_margin_lowers_the_error(table, data):
    assert table[data, "MarginPerceptron"].test_error < table[data, "Perceptron"].test_error


@pytest.mark.parametrize(("column", "data"), list(enumerate(FETCH)))
def test_a_small_simple_mlp_beats_the_svm_of_table_8_1(column, data):
    rows = FETCH[data](split="thesis")
    clf = SimpleMLPClassifier(n_units=300, margin=17.3, max_iter=15, random_state=0, n_jobs=-1)
    clf.fit(rows.X_train, rows.y_train)
    error = 100 * (1 - clf.score(rows.X_valid, rows.y_valid))
    assert error < PUBLISHED_TABLE_8_1["SVM"][column]


def test_a_small_simple_mlp_on_mnist():
    data = fetch_mnist(split="standard")
    clf = SimpleMLPClassifier(
        n_units=200, multi_class="ovr", encoding=PCA(50, random_state=0), random_state=0
    ).set_params(margin=14.1, init_scale=1.0, learning_rate=0.005, max_iter=20)
    clf.fit(data.X_train / np.float32(255), data.y_train)
    assert 100 * (1 - clf.score(data.X_test / np.float32(255), data.y_test)) <= 1.8


def test_fleuret_ends_with_an_epoch_without_change():
    rows = fleuret_mnist()
    assert rows[-1]["changes"] == 0
    assert rows[-1]["train_error"] == 0
    assert rows[-1]["test_error"] <= 0.2
    assert sum(row["changes"] for row in rows) < 200


@pytest.mark.parametrize("data", FETCH)
@pytest.mark.parametrize("schedule", ["constant", "decay"])
def test_theorem_8_3_holds_after_every_epoch(data, schedule):
    rows = FETCH[data](split="thesis")
    model = MarginPerceptron(
        learning_rate=1e-2, schedule=schedule, max_iter=8, tol=None, random_state=0
    ).fit(rows.X_train, rows.y_train)
    R = radius((rows.X_train - model.feature_offset_) / model.feature_scale_)
    updates = np.cumsum([record["updates"] for record in model.history_])
    for t, record in zip(updates, model.history_, strict=True):
        assert record["geometric_margin"] >= margin_bound(t, R, 1e-2)


@pytest.mark.parametrize("data", FETCH)
def test_sparse_and_dense_inputs_train_the_same_model(data):
    from scipy.sparse import csr_array

    rows = FETCH[data](split="thesis")
    fits = [
        Perceptron(scaling="standard", max_iter=3, tol=None).fit(X, rows.y_train)
        for X in (rows.X_train, csr_array(rows.X_train))
    ]
    assert fits[0].n_updates_ == fits[1].n_updates_
    np.testing.assert_allclose(fits[0].coef_, fits[1].coef_, rtol=1e-6, atol=1e-9)
