"""The numbers of epochs behind Theorem 8.1 are those of the recursion (8.17)."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widemargin import MLPClassifier, theory

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


# ----------------------------------------------------------------------------- networks (8.5.4)


def decayed(rate, decay, epochs, batch=1):
    """What is left of hidden and output weights of a network without errors within the margin."""
    X = np.array([[1.0], [1.0], [-1.0], [-1.0]] * 2)
    y = np.sign(X[:, 0])
    model = MLPClassifier(
        (2,),
        activation="identity",
        loss="margin",
        margin=1e-3,
        solver="sgd",
        momentum=0.0,
        batch_size=batch,
        learning_rate_init=rate,
        alpha=decay * batch,
        output_alpha=2 * decay * batch,
        weight_decay=0.0,
        scaling=None,
        tol=None,
        max_iter=1,
        dtype="float64",
        random_state=0,
        warm_start=True,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
        for layer, value in zip(model.coefs_, (2.0, 2.0), strict=True):
            layer[...] = value
        for bias in model.intercepts_:
            bias[...] = 0.0
        model.set_params(max_iter=epochs).fit(X, y)
    assert sum(record["updates"] for record in model.history_[-epochs:]) == 0
    return [np.abs(layer).max() / 2.0 for layer in model.coefs_]


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("rate", [0.1, 0.05])
def test_a_layer_is_halved_in_that_epoch(rate, batch):
    """ν = 0.02 and μ = 0.04: the hidden layer takes twice as long."""
    needed = theory.network_epochs(8, rate, 0.04, 0.02, batch=batch, epochs=theory.halving_epochs)
    assert needed.needed == needed.hidden > needed.output
    for layer, epochs in enumerate((needed.hidden, needed.output)):
        before, after = (
            decayed(rate, 0.02, int(whole), batch)[layer]
            for whole in (np.floor(epochs), np.ceil(epochs))
        )
        assert after <= 0.5 <= before
    assert decayed(2 * rate, 0.02, int(needed.hidden), batch)[0] < 0.5  # other steps, other epochs


def test_networks_with_one_decay():
    only_output = theory.network_epochs(100, 0.1, 0.01, 0.0)
    assert only_output == (theory.decay_epochs(100, 0.1, 0.01), 0.0)
    slower = theory.network_epochs(100, 0.1, 0.01, 0.01, hidden_rate=0.01)
    assert slower.needed == slower.hidden == pytest.approx(10 * slower.output)
    assert theory.network_epochs(101, 0.1, 0.01, 0.0, batch=10).output == pytest.approx(
        theory.decay_epochs(11, 0.1, 0.01)
    )
