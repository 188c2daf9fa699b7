"""Figures 2.1 and 2.2: the curves have the shape that the theory gives them."""

from itertools import product

import numpy as np
import pytest

from widemargin import theory
from widemargin.theory.curves import _best_alternating


def test_figure_2_1():
    curve = theory.learning_curve([5, 20, 100, 1000], n_samples=2000)
    assert np.all(np.diff(curve.empirical) > 0)
    assert np.all(np.diff(curve.expected) < 0)
    assert np.all(curve.empirical < curve.optimum + 1e-3)
    assert np.all(curve.expected >= curve.optimum)
    assert np.all(curve.expected < curve.bound)
    assert curve.expected[-1] - curve.empirical[-1] < 0.005
    assert curve.sizes.tolist() == [5, 20, 100, 1000]


def test_figure_2_2():
    curve = theory.capacity_curve(1000, largest=30)
    assert np.all(np.diff(curve.empirical) <= 0)
    assert curve.best == 5  # four changes
    assert curve.expected[-1] > curve.expected[4] + 0.005  # learns noise
    assert curve.expected[0] > 0.4
    assert np.all(curve.bound >= curve.empirical)
    assert np.all(curve.expected <= curve.bound)
    assert curve.chosen <= curve.best


def test_more_examples_allow_a_larger_capacity():
    """A class in a twentieth of the range is worth two changes, if there are many examples."""
    options = {"largest": 6, "changes": (0.45, 0.5)}
    few, many = (theory.capacity_curve(n, **options).chosen for n in (100, 20_000))
    assert (few, many) == (1, 3)


@pytest.mark.parametrize("seed", range(5))
def test_fewest_errors_by_enumeration(seed):
    random = np.random.default_rng(seed)
    x, positive = np.sort(random.random(9)), random.random(9) < 0.5
    labellings = np.array(list(product([False, True], repeat=9)))
    changes = np.sum(labellings[:, 1:] != labellings[:, :-1], axis=1)
    errors = np.sum(labellings != positive, axis=1)
    for count, (fewest, places, first) in enumerate(_best_alternating(x, positive, 9)):
        assert fewest == errors[changes <= count].min()
        assert len(places) <= count
        sign = (np.searchsorted(places, x) % 2 == 0) == first
        assert np.sum(sign != positive) == fewest


@pytest.mark.parametrize("most", [0, 1, 2, 3])
def test_the_capacity_of_functions_with_few_changes(most):
    """They shatter one example more than they have changes."""

    def family(x):
        found = np.array(list(product([-1.0, 1.0], repeat=len(x))))
        return found[np.sum(found[:, 1:] != found[:, :-1], axis=1) <= most]

    sets = [np.arange(n) for n in range(1, 7)]
    assert theory.vc_dimension(family, sets) == most + 1


def test_the_expected_risk_is_that_of_new_examples():
    """By drawing many new examples of the same distribution."""
    random = np.random.default_rng(7)
    x = np.sort(random.random(300))
    truth = np.array([0.15, 0.4, 0.5, 0.8])
    positive = (np.searchsorted(truth, x) % 2 == 0) ^ (random.random(300) < 0.1)
    curve = theory.capacity_curve(300, largest=10, random_state=7)
    new = random.random(200_000)
    labels = (np.searchsorted(truth, new) % 2 == 0) ^ (random.random(200_000) < 0.1)
    for found, risk in zip(_best_alternating(x, positive, 10), curve.expected, strict=True):
        sign = (np.searchsorted(found[1], new) % 2 == 0) == found[2]
        assert np.mean(sign != labels) == pytest.approx(risk, abs=0.005)
