"""Probabilities: valid, the likeliest of their kind, whatever the order of the classes."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import expit, softmax

from widemargin.tabular.calibration import (
    Calibration,
    _PairLikelihood,
    log_loss,
    sharpened,
    temperature,
)


def pairs_of(scores):
    """Outputs of machines for pairs, from scores per class."""
    first, second = np.triu_indices(scores.shape[1], 1)
    return scores[:, first] - scores[:, second]


def drawn(K, rows=4000, seed=0):
    """Scores of K classes, and classes drawn with the probabilities that they mean."""
    random = np.random.default_rng(seed)
    scores = random.normal(size=(rows, K))
    p = softmax(2.0 * scores, axis=1)
    codes = np.array([random.choice(K, p=row) for row in p])
    return scores, p, codes


def test_two_classes_recover_the_sigmoid():
    random = np.random.default_rng(0)
    f = random.normal(size=20_000) * 2.0
    p = expit(1.5 * f - 0.5)
    codes = (random.random(len(f)) < p).astype(int)
    found = Calibration.fitted("binary", f[:, None], codes, None, 2)
    np.testing.assert_allclose(found.probabilities(f[:, None], 2)[:, 1], p, atol=0.03)


@pytest.mark.parametrize("K", [3, 5])
@pytest.mark.parametrize("kind", ["classes", "pairs"])
def test_many_classes_are_close_to_the_truth(K, kind):
    scores, p, codes = drawn(K)
    outputs = scores if kind == "classes" else pairs_of(scores)
    found = Calibration.fitted(kind, outputs, codes, None, K).probabilities(outputs, K)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert log_loss(found, codes) < log_loss(p, codes) + 0.02
    assert np.abs(found - p).mean() < 0.05


def test_the_order_of_the_classes_does_not_matter():
    scores, _, codes = drawn(4, rows=500)
    order = np.array([2, 0, 3, 1])  # the class that stands at each place
    renamed = np.argsort(order)[codes]
    straight = Calibration.fitted("pairs", pairs_of(scores), codes, None, 4)
    turned = Calibration.fitted("pairs", pairs_of(scores[:, order]), renamed, None, 4)
    p = straight.probabilities(pairs_of(scores), 4)
    q = turned.probabilities(pairs_of(scores[:, order]), 4)
    np.testing.assert_allclose(q, p[:, order], atol=1e-6)


def test_a_weight_of_two_is_an_example_given_twice():
    scores, _, codes = drawn(3, rows=300)
    weights = np.random.default_rng(1).integers(1, 3, size=300)
    weighted = Calibration.fitted("classes", scores, codes, weights.astype(float), 3)
    twice = np.repeat(np.arange(300), weights)
    copied = Calibration.fitted("classes", scores[twice], codes[twice], None, 3)
    assert weighted.second == pytest.approx(copied.second, rel=1e-4)


def test_outputs_that_rank_the_wrong_way_are_not_turned_round():
    f = np.linspace(-1, 1, 100)
    found = Calibration.fitted("binary", f[:, None], (f < 0).astype(int), None, 2)
    p = found.probabilities(f[:, None], 2)[:, 1]
    assert np.ptp(p) < 1e-6


def test_temperature_mends_careful_and_bold_probabilities():
    _, p, codes = drawn(3)
    for factor in (0.6, 1.6):
        wrong = sharpened(p, factor)
        mended = sharpened(wrong, temperature(wrong, codes))
        assert log_loss(mended, codes) < log_loss(wrong, codes)
        assert log_loss(mended, codes) == pytest.approx(log_loss(p, codes), abs=0.01)


def test_no_class_is_impossible():
    assert sharpened(np.array([[1.0, 0.0]]), 1.0, 0.01)[0, 1] == pytest.approx(0.005)
    assert np.isfinite(log_loss(np.array([[1.0, 0.0]]), np.array([1])))


@pytest.mark.parametrize("K", [3, 6])
def test_the_gradient_of_the_pairs_is_that_of_differences(K):
    scores, _, codes = drawn(K, rows=200)
    shares = np.random.default_rng(1).dirichlet(np.ones(200))
    minus_likelihood = _PairLikelihood(3.0 * pairs_of(scores), codes, shares, K)
    for point in np.random.default_rng(2).uniform(-2.0, 2.0, (5, 2)):
        measured = approx_fprime(point, lambda at: minus_likelihood(at)[0], 1e-6)
        np.testing.assert_allclose(minus_likelihood(point)[1], measured, atol=1e-5)


def test_pairs_of_many_classes_as_the_formula_says():
    """Rows are done part by part, and the pairs of a class are added without a matrix of signs."""
    K, a, b = 30, 0.8, 0.6
    scores = np.random.default_rng(0).normal(size=(700, K))
    found = Calibration("pairs", a, b).probabilities(pairs_of(scores), K)
    log_sigma = np.log(expit(a * (scores[:, :, None] - scores[:, None, :])))
    sums = log_sigma.sum(axis=2) - np.log(0.5)  # without the pair of a class with itself
    np.testing.assert_allclose(found, softmax(2 * b / (K - 1) * sums, axis=1), rtol=1e-10)


def test_large_outputs_of_pairs_stay_finite():
    outputs = np.array([[800.0, -800.0, 0.0], [-800.0, 800.0, 1e-300]])
    found = Calibration("pairs", 5.0, 5.0).probabilities(outputs, 3)
    assert np.all(np.isfinite(found))
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
