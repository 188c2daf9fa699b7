"""Inputs are validated once per fit and once per prediction."""

import numpy as np
import pytest
import sklearn.utils.validation
from sklearn.base import clone

from widemargin import (
    SGDSVC,
    KernelPerceptron,
    KernelSGDSVC,
    MarginPerceptron,
    MixtureOfExpertsClassifier,
    MLPClassifier,
    NilssonMLPClassifier,
    Perceptron,
    SimpleMLPClassifier,
)

MODELS = [
    Perceptron(),
    MarginPerceptron(early_stopping=True),
    SGDSVC(tol=None),
    KernelPerceptron(),
    KernelSGDSVC(tol=None, max_iter=20),
    SimpleMLPClassifier(n_units=10),
    NilssonMLPClassifier(n_units=11),
    MLPClassifier(hidden_layer_sizes=(3,), tol=None),
    MixtureOfExpertsClassifier(n_experts=2, tol=None),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_inputs_are_validated_once(model, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 2
    seen, check_array = [], sklearn.utils.validation.check_array

    def count(array, *arguments, **options):
        seen.append(np.shape(array))
        return check_array(array, *arguments, **options)

    monkeypatch.setattr(sklearn.utils.validation, "check_array", count)
    clf = clone(model).set_params(max_iter=2, random_state=0).fit(X, y)
    assert seen.count(X.shape) == 1
    seen.clear()
    clf.predict(X)
    assert seen.count(X.shape) == 1
