"""Tabular models of rare labels, labels of any type, and numbers of any size."""

import warnings

import numpy as np
import pandas
import pytest

from helpers.raw_tables import QUICK, values
from widemargin import TabularClassifier, TabularRegressor

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _no_warning_of_constants():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="columns left out")
        yield


@pytest.mark.parametrize("place", [0, 7])
def test_a_class_with_one_row(place):
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = np.zeros(60, dtype=int)
    y[place] = 1
    model = TabularClassifier(**QUICK).fit(X, y)
    assert model.loss_ < 0.1
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("target", [np.zeros(60), np.r_[np.zeros(59), 1e6]])
def test_a_target_that_hardly_varies(target):
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = TabularRegressor(**QUICK).fit(X, target)
    assert np.all(np.isfinite(model.predict(X)))
    assert abs(np.median(model.predict(X))) < 0.1 * (target.max() or 1e-9)


def test_a_column_that_varies_in_one_row():
    x = np.zeros((60, 1))
    x[11] = 1.0
    y = np.arange(60) % 2
    assert np.all(np.isfinite(TabularClassifier(**QUICK).fit(x, y).predict_proba(x)))


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (pandas.Series([True, False] * 20, dtype="boolean"), "b"),
        (pandas.Series([True, False] * 20, dtype=object), "b"),
        (pandas.Series([3, 5] * 20, dtype="Int64"), "i"),
        (pandas.Series([3, 5] * 20, dtype="int64[pyarrow]"), "i"),
        (np.array([3, 5] * 20, dtype=object), "i"),
        (np.array([0.5, 5] * 20, dtype=object) * 2, "f"),
    ],
    ids=["boolean", "truth objects", "Int64", "arrow", "integer objects", "number objects"],
)
def test_labels_keep_their_type(labels, kind):
    X = np.arange(40.0)[:, None] % 2
    model = TabularClassifier(effort=0.05).fit(X, labels)
    assert model.classes_.dtype.kind == kind
    assert model.predict(X).tolist() == list(labels)


@pytest.mark.parametrize(
    "y",
    [
        np.array(["a", None] * 20, dtype=object),
        np.array(["a", 1] * 20, dtype=object),
        np.array(["a", np.nan] * 20, dtype=object),
        np.array([0.0, np.nan] * 20),
        np.array([True, None] * 20),
        pandas.Series([1, None] * 20, dtype="Int64"),
        np.arange(40),
    ],
    ids=["none", "mixed", "nan", "number", "truth", "missing", "one row each"],
)
def test_labels_that_are_none(y):
    with pytest.raises(ValueError, match=r"sorted|NaN|two rows|label"):
        TabularClassifier(**QUICK).fit(np.arange(40.0)[:, None], y)


@pytest.mark.parametrize(
    "y",
    [
        np.array(["a", "b"] * 20),
        np.array([1.0, None] * 20, dtype=object),
        pandas.Series([1.0, None] * 20, dtype="Float64"),
        np.datetime64("2024-01-01") + np.arange(40),
        np.linspace(-1e300, 1e300, 40),
    ],
    ids=["text", "none", "missing", "dates", "huge"],
)
def test_values_that_are_none(y):
    with pytest.raises(ValueError, match=r"no numbers|NaN|dates|too large"):
        TabularRegressor(**QUICK).fit(np.arange(40.0)[:, None], y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
def test_numbers_of_any_type_raise_no_warning(dtype):
    random = np.random.default_rng(0)
    X = (50 * random.normal(size=(200, 4))).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = TabularClassifier(**QUICK).fit(X, X[:, 0] > X[:, 1])
    assert model.loss_ < model.baseline_loss_


@pytest.mark.filterwarnings("error")
def test_inputs_of_single_precision():
    X, y = values(60)
    X = X.astype(np.float32)
    single = TabularRegressor(effort=0.05).fit(X, y).predict(X)
    double = TabularRegressor(effort=0.05).fit(X.astype(np.float64), y).predict(X)
    np.testing.assert_allclose(single, double)


def test_inputs_too_large_to_add_up():
    X, y = values(60)
    X[3, 1] = 1e305
    with pytest.raises(ValueError, match=r"X holds 1e\+305"):
        TabularRegressor(**QUICK).fit(X, y)
