"""Decisions, classes and probabilities from scores."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator

from widemargin.training.outputs import (
    LogisticMixin,
    ProbabilityMixin,
    decision_values,
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
