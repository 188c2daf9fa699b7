"""Every criterion: derivative, convexity, kink, conjugate, and agreement with the core.

Criteria are found in `widemargin.criteria`, so a new one is tested as soon as it is exported.
"""

import dataclasses
import inspect

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from widemargin import _core, criteria
from widemargin.criteria import Criterion

# Binary fractions, so that outputs can lie exactly at the kinks.
PARAMETERS = (0.5, 2.0)
SLOPES = np.arange(-3.0, 3.0 + 1 / 16, 1 / 8)
TARGETS_OF_REGRESSION = (-1.75, 0.0, 0.5)


def every_criterion() -> list[Criterion]:
    """Each exported criterion, with its default and with other parameters."""
    found = []
    for name in criteria.__all__:
        cls = getattr(criteria, name)
        if inspect.isclass(cls) and issubclass(cls, Criterion) and not inspect.isabstract(cls):
            found.append(cls())
            for field in dataclasses.fields(cls):
                found += [cls(**{field.name: value}) for value in PARAMETERS]
    return found


def targets(criterion: Criterion) -> tuple[float, ...]:
    regression = isinstance(criterion, criteria.MSE | criteria.EpsilonInsensitive)
    return (-1.0, 1.0, *(TARGETS_OF_REGRESSION if regression else ()))


EVERY = every_criterion()
CASES = [
    pytest.param(criterion, y, id=f"{criterion!r}-y={y}")
    for criterion in EVERY
    for y in targets(criterion)
]
EXACT = [case for case in CASES if case.values[0].parameter in (0.0, 1.0, *PARAMETERS)]
CONVEX = [case for case in CASES if case.values[0].convex]
OUTPUTS = st.floats(-50, 50)
PROPERTY = settings(deadline=None, max_examples=40)


def test_criteria_are_found():
    assert {type(c).__name__ for c in EVERY} >= {"Margin", "Perceptron", "MSE", "CrossEntropy"}
    assert len({type(c).name for c in EVERY}) == len({type(c) for c in EVERY})


# ------------------------------------------------------------------------------------ derivative


@pytest.mark.parametrize(("criterion", "y"), CASES)
@PROPERTY
@given(f=OUTPUTS)
def test_derivative_is_the_slope_of_the_value(criterion, y, f):
    h = 1e-5
    left, right = criterion.derivative(y, f - h), criterion.derivative(y, f + h)
    assume(abs(right - left) < 1e-2)  # no kink in between
    slope = (criterion.value(y, f + h) - criterion.value(y, f - h)) / (2 * h)
    assert criterion.derivative(y, f) == pytest.approx(slope, rel=1e-6, abs=h)


@pytest.mark.parametrize(("criterion", "y"), CASES)
@PROPERTY
@given(f=OUTPUTS)
def test_second_derivative_is_the_slope_of_the_derivative(criterion, y, f):
    h = 1e-5
    left, right = criterion.derivative(y, f - h), criterion.derivative(y, f + h)
    assume(abs(right - left) < 1e-2)  # no kink in between
    bends = [criterion.second_derivative(y, f + step) for step in (-h, h)]
    assume(abs(bends[1] - bends[0]) < 1e-2)  # nor one of the derivative
    assert criterion.second_derivative(y, f) == pytest.approx((right - left) / (2 * h), abs=1e-3)


@pytest.mark.parametrize(("criterion", "y"), EXACT)
def test_derivative_at_a_kink_is_that_of_the_side_that_updates(criterion, y):
    b = criterion.parameter
    places = np.unique([s * p for s in (-1, 1) for p in (0.0, b, y + b, y - b)])
    left = criterion.derivative(y, places - 1e-7)
    right = criterion.derivative(y, places + 1e-7)
    kinks = np.abs(right - left) > 0.1
    steepest = np.maximum(np.abs(left), np.abs(right))
    at = np.abs(criterion.derivative(y, places))
    np.testing.assert_array_equal(at[kinks], steepest[kinks])


@pytest.mark.parametrize(
    ("criterion", "y", "f", "derivative"),
    [
        (criteria.Perceptron(), 1, 0.0, -1),
        (criteria.Perceptron(), -1, 0.0, 1),
        (criteria.Margin(), 1, 1.0, -1),
        (criteria.Margin(), -1, -1.0, 1),
        (criteria.Margin(2.0), 1, 2.0, -1),
        (criteria.EpsilonInsensitive(0.5), 2, 1.5, -1),
        (criteria.EpsilonInsensitive(0.5), 2, 2.5, 1),
        (criteria.EpsilonInsensitive(0.0), 2, 2.0, -1),
    ],
)
def test_kinks_are_inclusive(criterion, y, f, derivative):
    assert criterion.derivative(y, f) == derivative


# ----------------------------------------------------------------------------------------- values


@pytest.mark.parametrize(
    ("criterion", "y", "f", "value", "derivative"),
    [
        # |-z|+                                                                       (8.14)
        (criteria.Perceptron(), 1, -3.0, 3.0, -1.0),
        (criteria.Perceptron(), -1, -3.0, 0.0, 0.0),
        # |1 - z|+ and |beta - z|+                                              (8.18, 8.34)
        (criteria.Margin(), 1, -2.0, 3.0, -1.0),
        (criteria.Margin(), -1, 0.25, 1.25, 1.0),
        (criteria.Margin(), 1, 1.5, 0.0, 0.0),
        (criteria.Margin(5.0), 1, 2.0, 3.0, -1.0),
        (criteria.SquaredMargin(), 1, -2.0, 9.0, -6.0),
        (criteria.SquaredMargin(), -1, -2.0, 0.0, 0.0),
        # log(1 + exp(-z))                                                            (3.13)
        (criteria.CrossEntropy(), 1, 0.0, np.log(2), -0.5),
        (criteria.CrossEntropy(), -1, np.log(3), np.log(4), 0.75),
        # (y - f)^2 / 2                                                                (3.8)
        (criteria.MSE(), 0.5, 2.5, 2.0, 2.0),
        # (y - tanh f)^2 / 2                                                           (7.5)
        (criteria.TanhMSE(), 1, 0.0, 0.5, -1.0),
        (criteria.TanhMSE(), -1, np.arctanh(0.5), 1.125, 1.5 * 0.75),
        # ||y - f| - epsilon|+                                                        (3.34)
        (criteria.EpsilonInsensitive(0.5), 2, 0.5, 1.0, -1.0),
        (criteria.EpsilonInsensitive(0.5), 2, 4.5, 2.0, 1.0),
        (criteria.EpsilonInsensitive(0.5), 2, 2.25, 0.0, 0.0),
    ],
)
def test_values_agree_with_the_formulas(criterion, y, f, value, derivative):
    assert criterion.value(y, f) == pytest.approx(value)
    assert criterion.derivative(y, f) == pytest.approx(derivative)


# -------------------------------------------------------------------------------------- convexity


@pytest.mark.parametrize(("criterion", "y"), CONVEX)
@PROPERTY
@given(f=OUTPUTS, g=OUTPUTS, t=st.floats(0, 1))
def test_convex_criteria_lie_below_their_chords(criterion, y, f, g, t):
    chord = t * criterion.value(y, f) + (1 - t) * criterion.value(y, g)
    assert criterion.value(y, t * f + (1 - t) * g) <= chord + 1e-9 * (1 + chord)


@pytest.mark.parametrize(("criterion", "y"), [case for case in CASES if case not in CONVEX])
def test_other_criteria_are_not_convex_and_have_no_conjugate(criterion, y):
    f = np.linspace(-4, 4, 81)
    middle = criterion.value(y, (f[2:] + f[:-2]) / 2)
    chord = (criterion.value(y, f[2:]) + criterion.value(y, f[:-2])) / 2
    assert np.any(middle > chord + 1e-4)
    with pytest.raises(ValueError, match="not convex"):
        criterion.conjugate(y, 0.0)


# -------------------------------------------------------------------------------------- conjugate


@pytest.mark.parametrize(("criterion", "y"), CONVEX)
@PROPERTY
@given(f=OUTPUTS, a=st.floats(-3, 3))
def test_fenchel_young_inequality(criterion, y, f, a):
    value = float(criterion.value(y, f))
    tolerance = 1e-9 * (1 + value)
    assert value + criterion.conjugate(y, a) >= a * f - tolerance
    slope = criterion.derivative(y, f)
    assert value + criterion.conjugate(y, slope) == pytest.approx(slope * f, abs=tolerance)


@pytest.mark.parametrize(("criterion", "y"), CONVEX)
def test_conjugate_is_the_supremum(criterion, y):
    conjugate = criterion.conjugate(y, SLOPES)
    for a, expected in zip(SLOPES, conjugate, strict=True):
        if np.isinf(expected):  # outside the domain: a f - Q grows without bound
            f = np.array([-1e9, 1e9])
            assert np.max(a * f - criterion.value(y, f)) > 1e6
        else:
            found = minimize_scalar(
                lambda f, a=a: float(criterion.value(y, f)) - a * f,
                bounds=(-60, 60),
                method="bounded",
                options={"xatol": 1e-9},
            )
            assert expected == pytest.approx(-found.fun, abs=1e-6)


@pytest.mark.parametrize(
    ("criterion", "y", "inside", "outside"),
    [
        (criteria.Perceptron(), 1, (-1, 0), (-1.125, 0.125)),
        (criteria.Margin(2.0), 1, (-1, 0), (-1.125, 0.125)),
        (criteria.Margin(2.0), -1, (0, 1), (-0.125, 1.125)),
        (criteria.SquaredMargin(), 1, (-100, 0), (0.125, 5)),
        (criteria.CrossEntropy(), 1, (-1, 0), (-1.125, 0.125)),
        (criteria.EpsilonInsensitive(), 3.0, (-1, 1), (-1.125, 1.125)),
        (criteria.MSE(), 3.0, (-100, 100), ()),
    ],
)
def test_domain_of_the_conjugate(criterion, y, inside, outside):
    assert np.all(np.isfinite(criterion.conjugate(y, inside)))
    assert np.all(np.isposinf(criterion.conjugate(y, outside)))


# -------------------------------------------------------------------------------------------- core


@pytest.mark.slow
@pytest.mark.parametrize(("criterion", "y"), CASES)
@PROPERTY
@given(outputs=st.lists(st.floats(-700, 700), max_size=20))
def test_the_core_computes_the_same(criterion, y, outputs):
    b = criterion.parameter
    f = np.array([*outputs, -700, 700, 0.0, b, -b, y + b, y - b, 1e-300, -1e-300])
    targets = np.full(len(f), float(y))
    value, derivative = np.empty(len(f)), np.empty(len(f))
    _core.criterion(criterion.name, criterion.parameter, targets, f, value, derivative)
    np.testing.assert_allclose(value, criterion.value(targets, f), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(derivative, criterion.derivative(targets, f), rtol=1e-12, atol=1e-12)


def test_the_core_refuses_unknown_criteria():
    one = np.ones(1)
    with pytest.raises(ValueError, match="quadratic"):
        _core.criterion("quadratic", 0.0, one, one, one.copy(), one.copy())
    with pytest.raises(ValueError, match="same length"):
        _core.criterion("mse", 0.0, one, np.ones(2), one.copy(), one.copy())
