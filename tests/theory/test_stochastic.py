"""The numbers of epochs behind Theorem 8.1 are those of the recursion (8.17)."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widemargin import theory

STEPS = st.floats(1e-6, 1e-2)


def grown(L, step, epochs):
    """The dual weight of an example that is within the margin at each visit (8.17)."""
    alpha = 0.0
    for _ in range(epochs):
        alpha = (1 - step) ** L * alpha + step
    return alpha


@given(L=st.integers(2, 300), step=STEPS)
def test_the_bound_is_reached_in_that_epoch(L, step):
    epochs = theory.bound_epochs(L, 1.0, step)
    whole = int(np.ceil(epochs))
    if whole < 20_000:
        assert grown(L, step, whole) >= (1 - 1e-9) / L
        if whole - epochs < 1 - 1e-6 and whole > 1:
            assert grown(L, step, whole - 1) <= (1 + 1e-9) / L


@given(L=st.integers(1, 10**6), step=st.floats(1e-9, 1e-3))
def test_half_is_left(L, step):
    visits = L * theory.halving_epochs(L, 1.0, step)
    assert np.exp(visits * np.log1p(-step)) == pytest.approx(0.5)


@pytest.mark.parametrize("total", [0.9e-5, 1.1e-5])
def test_the_series_continues_the_formula(total):
    """On both sides of the limit, against twenty digits more."""

    L = 100
    step = Fraction(total) / L
    left = 1 - (1 - (1 - step) ** L) / (L * step)
    expected = np.log(float(left)) / (L * np.log1p(-float(step)))
    assert theory.bound_epochs(L, 1.0, float(step)) == pytest.approx(expected, rel=1e-9)


def test_the_values_of_the_thesis():
    L, step = 10_000, 1e-7
    exact = theory.bound_epochs(L, 1.0, step)
    assert exact == pytest.approx(7601.3, abs=0.1)
    assert np.log(2 / (L * step)) / (L * step) == pytest.approx(exact, rel=1e-3)
    assert theory.decay_epochs(L, 1.0, step) == pytest.approx(1000)
    assert theory.halving_epochs(L, 1.0, step) == pytest.approx(np.log(2) * 1000, rel=1e-6)


def test_one_example_never_reaches_its_bound():
    assert theory.bound_epochs(1, 0.5, 0.1) == np.inf
