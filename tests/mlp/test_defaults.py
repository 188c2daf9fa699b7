"""The default parameters of committees and networks depend on the table, and suit it."""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from helpers.committees import rings
from widemargin import LinearSVC, MLPClassifier, SimpleMLPClassifier, load, save

TABLES = ("coil2000", "dna", "mfeat-factors", "churn", "phoneme", "page-blocks")
MODELS = [SimpleMLPClassifier(random_state=0), MLPClassifier(random_state=0)]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


def committee(rows=300, classes=2, **options):
    return SimpleMLPClassifier(random_state=0, **options).fit(*rings(rows, classes=classes))


def network(rows=400, width=5, **options):
    options = {"hidden_layer_sizes": (3,), "max_iter": 2, "tol": None} | options
    return MLPClassifier(random_state=0, **options).fit(*rings(rows, width=width, classes=2))


# ----------------------------------------------------------------------------------- how good


def no_worse_than_a_linear_model(model, X, y):
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    linear = LinearSVC(scaling="standard", random_state=0).fit(X, y)
    errors = [1.0 - one.fit(X, y).score(X_test, y_test) for one in (model, linear)]
    return errors[0] <= errors[1] + 0.005


@pytest.mark.slow
@every_model
@pytest.mark.parametrize("seed", [0, 1])
def test_columns_of_noise(model, seed):
    X, y = make_classification(
        1300, n_informative=5, n_redundant=15, n_features=250, random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        assert no_worse_than_a_linear_model(model, X, y)


@pytest.mark.data
@pytest.mark.slow
@every_model
@pytest.mark.parametrize("table", TABLES)
def test_small_tables(model, table):
    with np.load(Path(os.environ["WIDEMARGIN_DATA"]) / "tables" / f"{table}.npz") as z:
        X, y = z["X"], z["y"]
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        assert no_worse_than_a_linear_model(model, X, y)


# --------------------------------------------------------------------------------- committees


@pytest.mark.parametrize(("classes", "units"), [(2, 1024), (3, 320), (10, 64), (20, 64)])
def test_classes_share_the_units(classes, units):
    clf = committee(classes=classes, max_iter=1)
    assert clf.coefs_[0].shape[-1] == units


def test_few_examples_are_visited_more_often():
    options = {"n_units": 5, "encoding": None, "early_stopping": True}
    assert committee(300, **options).n_iter_ == 370
    assert committee(4000, **options).n_iter_ == 30
    assert committee(300, max_iter=7, **options).n_iter_ == 7


def test_the_margin_falls_with_the_number_of_examples():
    options = {"n_units": 10, "encoding": None, "max_iter": 1}
    margins = [committee(rows, **options).margin_ for rows in (100, 20_000, 40_000, 300_000)]
    assert margins == pytest.approx([2.0, 2.0, 1.0, 0.3])


def test_the_margin_stays_when_training_resumes():
    clf = committee(100, n_units=10, max_iter=2, warm_start=True)
    clf.fit(*rings(40_000))
    assert clf.margin_ == pytest.approx(2.0)
    clf.set_params(margin=1.5).fit(*rings(100))
    assert clf.margin_ == 1.5


def test_online_learning_does_not_depend_on_the_first_call():
    X, y = rings(200)
    margins = set()
    for rows in (20, 200):
        clf = SimpleMLPClassifier(n_units=10).partial_fit(X[:rows], y[:rows], classes=[0, 1])
        margins.add(clf.margin_)
        assert clf.encoder_.n_knots == 16
    assert sorted(margins) == pytest.approx([0.3])


def test_few_examples_get_few_knots():
    knots = [committee(n, n_units=5, max_iter=1).encoder_.n_knots for n in (100, 900, 2500, 9000)]
    assert knots == [4, 6, 10, 16]
    assert committee(100, n_units=5, max_iter=1, encoding="hat").encoder_.n_knots == 16


def test_the_margin_is_saved(tmp_path):
    clf = committee(100, n_units=10, max_iter=2, warm_start=True)
    save(clf, tmp_path / "model")
    other = load(tmp_path / "model")
    assert other.margin_ == clf.margin_
    del other.margin_  # older model files
    assert other._margin_unit() == pytest.approx(clf.margin_)


# ----------------------------------------------------------------------------------- networks


@pytest.mark.parametrize(("rows", "batch"), [(400, 16), (6000, 60), (30_000, 200)])
def test_batches_are_smaller_for_few_examples(rows, batch):
    assert network(rows)._state["steps"] == 2 * -(-rows // batch)
    X, y = rings(rows)
    online = MLPClassifier((3,), random_state=0).partial_fit(X, y)
    assert online._state["steps"] == -(-rows // 200)


@pytest.mark.parametrize("solver", ["adam", "lbfgs"])
@pytest.mark.parametrize(("rows", "width"), [(400, 5), (2000, 30)])
def test_weight_decay_depends_on_the_table(rows, width, solver):
    clf = network(rows, width, solver=solver, alpha=0.0, weight_decay=3.0)
    record = clf.history_[-1]
    decay = 3.0 * min(width, 20) / (2 * max(rows, 1000))
    squares = sum(np.sum(W.astype(float) ** 2) for W in clf.coefs_)
    expected = record["criterion"] + 0.5 * decay * squares
    assert record["objective"] == pytest.approx(expected, rel=1e-5)


def test_weight_decay_can_be_left_out():
    clf = network(alpha=0.0, weight_decay=0.0)
    assert "objective" not in clf.history_[-1]
