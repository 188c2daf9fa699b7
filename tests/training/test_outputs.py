"""Decisions, classes, probabilities, criteria and errors from scores."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator

from helpers.networks import CRITERIA, random_targets
from widemargin.criteria import Margin
from widemargin.reference.mlp import criterion
from widemargin.training.outputs import (
    LogisticMixin,
    ProbabilityMixin,
    decision_values,
    evaluate,
    example_criterion,
    predicted_codes,
)


class Scores(LogisticMixin, BaseEstimator):
    """A classifier whose inputs are its scores."""

    def __init__(self, logits=True):
        self.logits = logits

    def decision_function(self, X):
        return decision_values(np.asarray(X))

    def _require_probabilities(self):
        if not self.logits:
            raise AttributeError("use logits=True")


class Shares(ProbabilityMixin):
    """A classifier whose inputs are its probabilities."""

    def _probabilities(self, X):
        return np.asarray(X)


def test_two_classes_are_the_sides_of_zero():
    scores = np.array([[2.0], [0.0], [-3.0]])
    assert_array_equal(decision_values(scores), [2.0, 0.0, -3.0])
    assert_array_equal(predicted_codes(scores), [1, 0, 0])


def test_probabilities_of_two_classes():
    p = Scores().predict_proba([[0.0], [np.log(3)]])
    assert_allclose(p, [[0.5, 0.5], [0.25, 0.75]])


def test_probabilities_of_several_classes():
    scores = np.log([[1.0, 2.0, 5.0]])
    assert_allclose(Scores().predict_proba(scores), [[0.125, 0.25, 0.625]])
    assert_array_equal(predicted_codes(scores), [2])


@pytest.mark.parametrize("scores", [[[2000.0]], [[2000.0, 0.0, 1.0]]], ids=["two", "several"])
def test_logarithms_are_finite_where_probabilities_are_zero(scores):
    assert Scores().predict_proba(scores).min() == 0
    assert Scores().predict_log_proba(scores).min() == -2000


def test_the_logarithm_of_zero_is_minus_infinity_without_a_warning():
    assert_array_equal(Shares().predict_log_proba([[1.0, 0.0]]), [[0.0, -np.inf]])


@pytest.mark.parametrize("method", ["predict_proba", "predict_log_proba"])
def test_a_model_without_probabilities_has_no_such_method(method):
    assert hasattr(Scores(), method)
    assert not hasattr(Scores(logits=False), method)
    with pytest.raises(AttributeError) as caught:
        getattr(Scores(logits=False), method)
    assert "use logits=True" in str(caught.value.__cause__)


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize("kind", ["one output", "classes", "values"])
def test_joint_criteria_are_those_of_the_reference(name, kind):
    rng = np.random.default_rng(0)
    scores = 3 * rng.normal(size=(40, 1 if kind == "one output" else 3))
    y = random_targets(rng, 40, kind)
    expected, _ = criterion(CRITERIA[name], y, scores)
    assert_allclose(example_criterion(CRITERIA[name], y, scores, joint=True), expected)


def test_criteria_against_the_rest_add_up():
    scores, y = np.array([[2.0, -3.0, 0.5], [0.0, 0.0, 0.0]]), np.array([0.0, 2.0])
    assert_array_equal(example_criterion(Margin(1.0), y, scores), [0 + 0 + 1.5, 3])


def test_evaluation_is_a_weighted_mean():
    scores, y = np.array([[2.0], [0.5], [-1.0]]), np.array([1.0, 1.0, 1.0])
    assert evaluate(scores, y, None, Margin(1.0)) == pytest.approx((2.5 / 3, 1 / 3))
    weights = np.array([1.0, 0.0, 3.0])
    assert evaluate(scores, y, weights, Margin(1.0)) == pytest.approx((1.5, 0.75))


def test_errors_of_values_are_squares():
    scores, y = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[0.0, 2.0], [3.0, 2.0]])
    scale = np.array([0.5, 0.25])
    _, error = evaluate(scores, y, None, CRITERIA["mse"], error_scale=scale)
    assert error == pytest.approx((0.5 + 1.0) / 2)
