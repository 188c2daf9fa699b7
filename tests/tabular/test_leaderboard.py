"""What a search found: importances, and what a report says of the columns."""

from types import SimpleNamespace

import numpy as np
import pandas
import pytest
import scipy.sparse as sp
from sklearn.pipeline import Pipeline

from widemargin.linear_svm import LinearSVC, LinearSVR
from widemargin.metrics.examples import Rows
from widemargin.svm import SVC, SVR
from widemargin.tables import TableEncoder
from widemargin.tabular.forms import InputForm
from widemargin.tabular.leaderboard import _columns, column_importances
from widemargin.tabular.targets import Classes, Values


@pytest.mark.parametrize("machine", [LinearSVR(), SVR(kernel="rbf", gamma=0.01, C=10.0)])
def test_importances_do_not_depend_on_the_order_of_rows(machine):
    X = np.random.default_rng(0).normal(size=(2000, 2))
    y = X[:, 0] + X[:, 1]
    form = InputForm("standard").fit(X)
    model = Pipeline([("form", form), ("machine", machine.fit(form.transform(X)[:300], y[:300]))])
    columns = [{"outputs": [0]}, {"outputs": [1]}]
    for order in (np.arange(2000), np.argsort(X[:, 0])):
        rows = Rows(X[order], y[order])
        found = column_importances([model], np.ones(1), columns, rows, Values(0.0, 1.0))
        np.testing.assert_allclose(found, [0.5, 0.5], atol=0.1)


@pytest.mark.parametrize("kernel", ["laplacian", "exponential", "rbf"])
def test_importances_of_indicators_and_noise(kernel):
    random = np.random.default_rng(0)
    levels = random.integers(0, 3, 400)
    X = np.column_stack([random.normal(size=(400, 2)), levels[:, None] == np.arange(3)])
    y = ((X[:, 0] > 0) ^ (levels == 0)).astype(np.int64)  # the second input is noise
    found = importances(X, y, SVC(kernel=kernel, gamma=0.3, C=10.0), [[0], [1], [2, 3, 4]])
    assert found.sum() == pytest.approx(1.0)
    assert found[0] > 0.3
    assert found[1] < 0.1
    assert found[2] > 0.3


@pytest.mark.parametrize("machine", [LinearSVC(), SVC(kernel="rbf", gamma=0.1)])
def test_importances_of_sparse_inputs(machine):
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 3)) * (random.random((400, 3)) < 0.4)
    y = (X[:, 0] > 0).astype(np.int64)
    found = importances(sp.csr_array(X), y, machine, [[0], [1], [2]])
    assert found.sum() == pytest.approx(1.0)
    assert found[0] > 0.7


def importances(X, y, machine, outputs):
    form = InputForm("standard").fit(X)
    model = Pipeline([("form", form), ("machine", machine.fit(form.transform(X), y))])
    columns = [{"outputs": own} for own in outputs]
    rows = Rows(X, y.astype(float))
    return column_importances([model], np.ones(1), columns, rows, Classes(np.arange(2)))


def test_a_report_says_once_why_a_column_is_left_out():
    frame = pandas.DataFrame(
        {
            "age\n(years)": [1.0, np.nan] * 20,
            "town": ["Bern", "Sion", None, "Chur"] * 10,
            "one": ["same"] * 40,
            "name": [f"person {number}" for number in range(40)],
            "empty": [None] * 40,
        }
    )
    with pytest.warns(UserWarning, match="left out"):
        encoder = TableEncoder().fit(frame)
    model = SimpleNamespace(encoder_=encoder, feature_importances_=np.array([0.5, 0.5, 0, 0, 0]))
    notes = {line.split()[0]: line.partition("%")[2].strip() for line in _columns(model)[2:]}
    assert notes["age"].startswith("20 missing")
    assert notes["town"] == "10 missing, 3 levels"
    assert notes["one"] == "constant"
    assert notes["empty"] == "all missing"
    assert notes["name"].count("40 ") == 2  # "40 distinct texts in 40 rows"
