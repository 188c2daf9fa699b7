"""Multi-layer perceptrons on the thesis's data: errors, and the order of Table 7.1.

Parameters were chosen on the validation rows.
"""

import pytest

from widemargin import MLPClassifier
from widemargin.datasets import fetch_connect4, fetch_forest

pytestmark = [pytest.mark.data, pytest.mark.slow]

COMMON = {"learning_rate": "one_cycle", "tol": None, "random_state": 0, "n_jobs": 1}
COMMON |= {"weight_decay": 0.0, "scaling": "standard"}


def error(model, X, y):
    return 100 * (1 - model.score(X, y))


def test_connect4():
    data = fetch_connect4(split="thesis")
    options = {"solver": "adamw", "alpha": 25.6, "learning_rate_init": 0.003, "batch_size": 256}
    clf = MLPClassifier((500,), max_iter=20, **options, **COMMON)
    clf.fit(data.X_train, data.y_train)
    assert error(clf, data.X_test, data.y_test) <= 11.4


def test_forest():
    data = fetch_forest(split="thesis")
    options = {"alpha": 0.0, "learning_rate_init": 0.01, "batch_size": 64}
    clf = MLPClassifier((500,), "tanh", max_iter=60, **options, **COMMON)
    clf.fit(data.X_train, data.y_train)
    assert error(clf, data.X_test, data.y_test) <= 8.9


def test_criteria_have_the_training_errors_in_the_order_of_table_7_1():
    data = fetch_connect4(split="thesis")
    options = {"alpha": 0.0, "learning_rate_init": 0.003, "batch_size": 64}
    errors = []
    for loss in ("squared_error", "tanh_squared_error", "log_loss"):
        clf = MLPClassifier((500,), "tanh", loss=loss, max_iter=20, **options, **COMMON).fit(
            data.X_train, data.y_train
        )
        errors.append(error(clf, data.X_train, data.y_train))
    assert errors[0] > errors[1] > errors[2]
