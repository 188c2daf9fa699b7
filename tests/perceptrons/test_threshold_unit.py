"""Threshold logic units: the lecture's truth tables, and every Boolean function built from them."""

from itertools import product

import numpy as np
import pytest

from widemargin.perceptrons import ThresholdNetwork, ThresholdUnit

FALSE_TRUE = (False, True)


def rows(n_inputs):
    """All inputs, in the order of a truth table: 0…00, 0…01, …, 1…11."""
    return list(product(FALSE_TRUE, repeat=n_inputs))


# ------------------------------------------------------------------------------------------- units


@pytest.mark.parametrize(
    ("unit", "weight", "bias"),
    [
        (ThresholdUnit.or_(), 1, -0.5),
        (ThresholdUnit.and_(), 1, -1.5),
        (ThresholdUnit.not_(), -1, 0.5),
    ],
    ids=["or", "and", "not"],
)
def test_weights_of_the_lecture(unit, weight, bias):
    assert unit.weights == weight
    assert unit.bias == bias


@pytest.mark.parametrize("u", FALSE_TRUE)
@pytest.mark.parametrize("v", FALSE_TRUE)
def test_or_and_not(u, v):
    assert ThresholdUnit.or_()(u, v) is (u or v)
    assert ThresholdUnit.and_()(u, v) is (u and v)
    assert ThresholdUnit.not_()(u) is (not u)


@pytest.mark.parametrize("n_inputs", [1, 2, 3, 5])
def test_and_and_or_of_many_inputs(n_inputs):
    X = rows(n_inputs)
    np.testing.assert_array_equal(ThresholdUnit.and_(n_inputs).predict(X), [all(x) for x in X])
    np.testing.assert_array_equal(ThresholdUnit.or_().predict(X), [any(x) for x in X])


def test_a_unit_fires_when_the_sum_is_zero():
    assert ThresholdUnit(1.0, -1.0)(1, 0)
    assert not ThresholdUnit(1.0, -1.0)(0, 0)


def test_one_weight_an_input():
    implies = ThresholdUnit([-1.0, 1.0], 0.5)  # u implies v
    assert [implies(*x) for x in rows(2)] == [True, True, False, True]


def test_bad_inputs_of_a_unit():
    with pytest.raises(ValueError, match="2 inputs"):
        ThresholdUnit([1.0, 1.0], 0.0).predict([[0, 1, 1]])
    with pytest.raises(ValueError, match="Boolean"):
        ThresholdUnit.or_().predict([[0, 2]])
    with pytest.raises(ValueError, match="dimensions"):
        ThresholdUnit.or_().predict([0, 1])


# ---------------------------------------------------------------------------------------- networks


def test_operators_compose_units():
    u, v, w = ThresholdNetwork.inputs(3)
    network = (u & ~v) | (v & w)
    np.testing.assert_array_equal(
        network.predict(rows(3)), [(a and not b) or (b and c) for a, b, c in rows(3)]
    )
    assert network.n_units == 4


def test_xor_needs_more_than_one_unit():
    u, v = ThresholdNetwork.inputs(2)
    xor = (u | v) & ~(u & v)
    assert [xor(*x) for x in rows(2)] == [a != b for a, b in rows(2)]


@pytest.mark.parametrize("n_inputs", [1, 2, 3])
def test_every_truth_table_is_reproduced(n_inputs):
    X = rows(n_inputs)
    for table in product(FALSE_TRUE, repeat=2**n_inputs):
        network = ThresholdNetwork.from_truth_table(table)
        assert network.n_inputs == n_inputs
        np.testing.assert_array_equal(network.predict(X), table)


def test_a_network_can_go_on_in_another():
    xor = ThresholdNetwork.from_truth_table([0, 1, 1, 0])
    u, v = ThresholdNetwork.inputs(2)
    assert [(~xor & (u | v))(*x) for x in rows(2)] == [False, False, False, True]


@pytest.mark.parametrize("length", [0, 1, 3, 6])
def test_a_truth_table_has_a_power_of_two_rows(length):
    with pytest.raises(ValueError, match=f"{length} entries"):
        ThresholdNetwork.from_truth_table([0] * length)


def test_bad_inputs_of_a_network():
    u, v = ThresholdNetwork.inputs(2)
    with pytest.raises(ValueError, match="2 inputs"):
        (u & v)(1, 0, 1)
    with pytest.raises(ValueError, match="Boolean"):
        (u & v)(1, 3)
    with pytest.raises(ValueError, match="different numbers of inputs"):
        u & ThresholdNetwork.inputs(3)[0]
