"""Committees to test, and examples that no line separates."""

import numpy as np

from widemargin import NilssonMLPClassifier, SimpleMLPClassifier

MODELS = {
    "simple": SimpleMLPClassifier(n_units=30),
    "mean": SimpleMLPClassifier(n_units=30, average=True),
    "dropout": SimpleMLPClassifier(n_units=30, dropout=0.3),
    "three": SimpleMLPClassifier(n_units=20, n_committees=3, dropout=0.2),
    "plain": SimpleMLPClassifier(n_units=70, encoding=None, scaling=None),
    "Nilsson": NilssonMLPClassifier(n_units=21),
}


def model(name, **options):
    common = {"schedule": "constant", "max_iter": 5, "random_state": 0}
    return type(MODELS[name])(**MODELS[name].get_params() | common | options)


def simple(**options):
    return SimpleMLPClassifier(**{"n_units": 40, "max_iter": 10, "random_state": 0} | options)


def rings(rows=300, width=5, classes=2, seed=0):
    """Classes by the distance of two inputs from their centre; the other inputs are noise."""
    X = np.random.default_rng(seed).normal(size=(rows, width))
    radius = np.hypot(X[:, 0], X[:, 1])
    y = np.digitize(radius, np.quantile(radius, np.arange(1, classes) / classes))
    return X, y


X, Y = rings()


def assert_same_model(a, b):
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), rtol=1e-5, atol=1e-5)
    assert a.n_updates_ == b.n_updates_
