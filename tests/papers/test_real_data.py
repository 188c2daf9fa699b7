"""Published experiments on real data: published errors are reached, bounds hold."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from widemargin import MarginPerceptron, Perceptron, SimpleMLPClassifier
from widemargin.datasets import fetch_connect4, fetch_forest, fetch_mnist
from widemargin.papers import ITEMS, REACHED, Scope
from widemargin.papers.table_8_2 import candidates
from widemargin.papers.trials import tuned
from widemargin.theory import margin_bound, radius

pytestmark = [pytest.mark.data, pytest.mark.slow]

FETCH = {"Forest": fetch_forest, "Connect-4": fetch_connect4}


@pytest.fixture(scope="module", params=FETCH)
def perceptrons(request):
    """The name of the data, and test errors of the first two rows of Table 8.2."""
    data, models = Scope().thesis_split(request.param), candidates(request.param, Scope())
    names = ("Perceptron", "Margin Perceptron")
    return request.param, {name: tuned(models[name], data, (0,)).error for name in names}


def test_table_8_2_is_reached(perceptrons):
    data, errors = perceptrons
    published = ITEMS["table-8.2"].published
    for name, error in errors.items():
        assert error <= published[f"{data}, {name}"] + 0.1


def test_the_margin_lowers_the_error(perceptrons):
    _, errors = perceptrons
    assert errors["Margin Perceptron"] < errors["Perceptron"]


@pytest.mark.parametrize("data", FETCH)
def test_a_small_simple_mlp_beats_the_svm_of_table_8_1(data):
    rows = FETCH[data](split="thesis")
    clf = SimpleMLPClassifier(n_units=300, margin=17.3, max_iter=15, random_state=0, n_jobs=-1)
    clf.fit(rows.X_train, rows.y_train)
    error = 100 * (1 - clf.score(rows.X_valid, rows.y_valid))
    assert error < ITEMS["table-8.1"].published[f"{data}, SVM"]


def test_a_small_simple_mlp_on_mnist():
    data = fetch_mnist(split="standard")
    clf = SimpleMLPClassifier(
        n_units=200, multi_class="ovr", encoding=PCA(50, random_state=0), random_state=0
    ).set_params(margin=14.1, init_scale=1.0, learning_rate=0.005, max_iter=20)
    clf.fit(data.X_train / np.float32(255), data.y_train)
    assert 100 * (1 - clf.score(data.X_test / np.float32(255), data.y_test)) <= 1.8


def test_fleuret_ends_with_an_epoch_without_change():
    item = ITEMS["fleuret"]
    measured = item.run(Scope())
    assert item.verdict(measured) == REACHED
    ends = [value for name, value in measured.here.items() if name.startswith("test error at")]
    assert len(ends) == 5
    assert max(ends) <= 0.2


def test_figure_6_1_is_reached():
    item = ITEMS["figure-6.1"]
    assert item.verdict(item.run(Scope())) == REACHED


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
