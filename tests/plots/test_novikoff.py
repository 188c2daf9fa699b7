"""The race: what is drawn is Novikoff's proof, step by step."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from helpers.pictures import close_figures  # noqa: F401
from widemargin import SVC, Perceptron, theory
from widemargin.plots import NovikoffDisplay


def separable(seed, bias):
    """Two classes, and the hyperplane with the largest margin over (x, 1)."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(60, 3))
    y = np.where(X @ [1.0, -1.0, 0.5] + 0.3 * bias > 0, 1.0, -1.0)
    X += 0.1 * y[:, None] * np.array([1.0, -1.0, 0.5])
    svm = SVC(kernel="linear", C=1e6, tol=1e-8).fit(X, y)
    return X, y, np.append(svm.coef_, svm.intercept_)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("step", [1.0, 0.25])
def test_both_bounds_hold_after_every_mistake(seed, step):
    X, y, separating = separable(seed, bias=True)
    model = Perceptron(shuffle=False, eta0=step, tol=None)
    display = NovikoffDisplay.from_estimator(model, X, y, separating=separating)
    upper, norm, alignment, lower, _ = display.ax_.lines
    t = np.arange(1, len(display.norm) + 1)
    assert_allclose(norm.get_xydata(), np.column_stack([t, display.norm]))
    assert_allclose(alignment.get_xydata(), np.column_stack([t, display.alignment]))
    rounding = 1 + 1e-9
    assert np.all(display.alignment * rounding >= display.gamma * t)
    assert np.all(display.alignment <= display.norm * rounding)
    assert np.all(display.norm <= display.radius * np.sqrt(t) * rounding)
    assert_allclose(upper.get_ydata(), display.radius * np.sqrt(upper.get_xdata()))
    assert_allclose(lower.get_ydata(), display.gamma * lower.get_xdata())


def test_numbers_are_those_of_the_fitted_model_and_of_the_theory():
    X, y, separating = separable(0, bias=True)
    display = NovikoffDisplay.from_estimator(Perceptron(shuffle=False), X, y, separating=separating)
    fitted = Perceptron(shuffle=False).fit(X, y)
    assert fitted.converged_
    assert len(display.norm) == fitted.n_updates_
    weights = np.append(fitted.coef_, fitted.intercept_)
    assert display.norm[-1] == pytest.approx(np.linalg.norm(weights))
    bound = theory.novikoff_bound(theory.radius(X), 2 * display.gamma, bias=True)
    assert display.bound == pytest.approx(bound)


def test_without_a_bias():
    X, y, separating = separable(1, bias=False)
    u = SVC(kernel="linear", C=1e6).fit(np.vstack([X, -X]), np.append(y, -y)).coef_[0]
    model = Perceptron(fit_intercept=False)
    display = NovikoffDisplay.from_estimator(model, X, y, separating=u)
    assert display.radius == pytest.approx(theory.radius(X))
    assert len(display.norm) <= display.bound
    with pytest.raises(ValueError, match="4 entries, but the Perceptron has 3"):
        NovikoffDisplay.from_estimator(model, X, y, separating=separating)
    assert not hasattr(model, "coef_")  # a copy was trained


def test_assumptions_of_the_theorem():
    X, y, separating = separable(0, bias=True)
    with pytest.raises(ValueError, match="does not separate"):
        NovikoffDisplay.from_estimator(Perceptron(), X, y, separating=-separating)
    for option in ({"scaling": "standard"}, {"penalty": "l2"}, {"average": True}):
        name = next(iter(option))
        with pytest.raises(ValueError, match=f"{name}=.*: the theorem is about"):
            NovikoffDisplay.from_estimator(Perceptron(**option), X, y, separating=separating)
    with pytest.raises(ValueError, match="3 classes"):
        NovikoffDisplay.from_estimator(
            Perceptron(), X, np.arange(len(X)) % 3, separating=separating
        )
