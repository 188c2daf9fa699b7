"""Estimators are described to Theorem 3.2 as they are trained."""

import pytest

from widemargin import (
    SGDSVC,
    SVC,
    KernelPerceptron,
    MarginPerceptron,
    MLPClassifier,
    NilssonMLPClassifier,
    Perceptron,
    SimpleMLPClassifier,
)
from widemargin.analysis import model_conditions

SGD = {"solver": "sgd", "momentum": 0.0}


def which_hold(estimator, **options):
    every = model_conditions(estimator, **options).every
    return {condition.name: condition.holds for condition in every}


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (Perceptron(), {"ii": False, "iii": False, "v": None}),
        (Perceptron(penalty="l2"), {"iii": False, "v": True}),
        (Perceptron(penalty="l2", alpha=0.0), {"v": None}),
        (KernelPerceptron(), {"iii": False, "v": None}),
        (MarginPerceptron(), {"ii": False, "iii": True, "iv": True, "v": None, "vi": True}),
        (MarginPerceptron(decay=0.0), {"iii": False}),
        (MarginPerceptron(schedule="invscaling", power_t=0.75), {"iii": True}),
        (SGDSVC(), {"ii": False, "iii": True, "v": True}),
        (SGDSVC(schedule="constant"), {"iii": False}),
        (SimpleMLPClassifier(), {"iii": False, "iv": True, "v": False}),
        (SimpleMLPClassifier(schedule="decay", decay=0.1), {"iii": True}),
        (MLPClassifier(50, **SGD), {"ii": False, "iii": False, "iv": True, "v": False}),
        (MLPClassifier((50,), "logistic", **SGD), {"ii": True}),
        (MLPClassifier((50,), "tanh", loss="squared_error", **SGD), {"ii": True, "iv": False}),
        (
            MLPClassifier((50,), "tanh", learning_rate="invscaling", power_t=1.0, **SGD),
            {"iii": True},
        ),
    ],
)
def test_conditions_of_estimators(estimator, expected):
    found = which_hold(estimator)
    assert {name: found[name] for name in expected} == expected


def test_the_expected_risk_has_no_kinks():
    assert which_hold(MarginPerceptron(), finite=False)["ii"]
    assert model_conditions(SGDSVC(), finite=False).holds


def test_decay_of_a_network_is_seen():
    decayed = model_conditions(MLPClassifier((5,), weight_decay=0.0, alpha=1e-4, **SGD))
    without = model_conditions(MLPClassifier((5,), weight_decay=0.0, alpha=0.0, **SGD))
    assert "biases, which do not decay" in decayed["v"].reason
    assert "hidden weights" in without["v"].reason


def test_what_it_refuses():
    with pytest.raises(ValueError, match="momentum=0"):
        model_conditions(MLPClassifier())
    with pytest.raises(ValueError, match="one hidden layer"):
        model_conditions(MLPClassifier((5, 5), **SGD))
    for estimator in (SVC(), NilssonMLPClassifier()):
        with pytest.raises(TypeError, match=type(estimator).__name__):
            model_conditions(estimator)
