"""The curve is that of the search, and the machine beside it the chosen one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from helpers.pictures import close_figures, plt, two_classes  # noqa: F401
from widemargin import SVCCV, SVRCV, LinearSVCCV
from widemargin.plots import CostCurveDisplay

CS = [0.01, 1.0, 100.0]


def test_a_search_over_two_parameters():
    X, y = two_classes()
    search = SVCCV(Cs=CS, gamma=[0.1, 2.0], cv=3).fit(X, y)
    display = CostCurveDisplay.from_estimator(search, X, y)
    curve, machine = display.ax_
    chosen = search.validation_curve_[list(search.gammas_).index(search.gamma_)]
    assert_allclose(curve.lines[0].get_ydata(), 100 * (1 - chosen))
    assert_allclose(curve.lines[1].get_xdata(), search.C_)
    assert machine.get_title() == f"SVCCV, C = {search.C_:.3g}"
    assert display.machine.support.sum() == len(search.support_)
    assert display.figure_ is curve.figure


def test_a_linear_search_on_own_axes():
    X, y = two_classes()
    search = LinearSVCCV(Cs=CS, cv=3).fit(X, y)
    _, pair = plt.subplots(1, 2)
    display = CostCurveDisplay.from_estimator(search, X, y, ax=pair)
    assert display.ax_[0] is pair[0]
    assert_allclose(pair[0].lines[0].get_ydata(), 100 * (1 - search.validation_curve_))
    again = display.plot().ax_
    assert again[0] is not pair[0]
    assert_allclose(again[0].lines[0].get_ydata(), pair[0].lines[0].get_ydata())
    with pytest.raises(ValueError, match="give two"):
        display.plot(pair[0])


def test_regression():
    X = np.linspace(0, 6, 60)[:, None]
    search = SVRCV(Cs=CS, cv=3, epsilon=0.1).fit(X, np.sin(X[:, 0]))
    display = CostCurveDisplay.from_estimator(search, X, np.sin(X[:, 0]))
    assert display.ax_[0].get_ylabel() == "validation score (r2)"
    assert display.machine.epsilon == 0.1
