"""What a search found: importances of columns that do not depend on the order of the rows."""

import numpy as np
import pytest
from sklearn.pipeline import Pipeline

from widemargin.linear_svm import LinearSVR
from widemargin.metrics.examples import Rows
from widemargin.svm import SVR
from widemargin.tabular.forms import InputForm
from widemargin.tabular.leaderboard import column_importances


@pytest.mark.parametrize("machine", [LinearSVR(), SVR(kernel="rbf", gamma=0.01, C=10.0)])
def test_importances_do_not_depend_on_the_order_of_rows(machine):
    X = np.random.default_rng(0).normal(size=(2000, 2))
    y = X[:, 0] + X[:, 1]
    form = InputForm("standard").fit(X)
    model = Pipeline([("form", form), ("machine", machine.fit(form.transform(X)[:300], y[:300]))])
    columns = [{"outputs": [0]}, {"outputs": [1]}]
    for order in (np.arange(2000), np.argsort(X[:, 0])):
        rows = Rows(X[order], y[order])
        found = column_importances([model], np.ones(1), columns, rows, "regression")
        np.testing.assert_allclose(found, [0.5, 0.5], atol=0.06)
