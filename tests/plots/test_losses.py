"""Criteria are drawn as they are computed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from helpers.pictures import close_figures, plt, two_classes  # noqa: F401
from widemargin import SVC, criteria
from widemargin.plots import LossDisplay

ALL = [
    criteria.Margin(),
    criteria.Margin(0.5),
    criteria.Perceptron(),
    criteria.SquaredMargin(),
    criteria.CrossEntropy(),
    criteria.MSE(),
    criteria.TanhMSE(),
]


def test_lines_are_the_criteria():
    display = LossDisplay.from_criteria(ALL, limits=(-3.0, 2.0))
    errors, *lines = display.lines_
    assert_allclose(errors.get_xydata(), [[-3, 1], [0, 1], [0, 0], [2, 0]])
    for line, criterion in zip(lines, ALL, strict=True):
        z = line.get_xdata()
        assert (z[0], z[-1]) == (-3.0, 2.0)
        assert_allclose(line.get_ydata(), criterion.value(np.ones_like(z), z))
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names[1:4] == ["margin", "margin, 0.5", "perceptron"]


def test_examples_are_counted_by_their_margin():
    X, y = two_classes()
    model = SVC(C=100).fit(X, y)
    display = LossDisplay.from_estimator(model, X, y, ALL[:1])
    z = np.where(y == "yes", 1, -1) * model.decision_function(X)
    assert_allclose(display.margins, z)
    (histogram,) = display.ax_.patches
    values, edges, _ = histogram.get_data()
    counts = np.histogram(z, edges)[0]
    assert counts.sum() == len(X)
    assert_allclose(values / values.max(), counts / counts.max())


def test_a_criterion_of_regression_is_refused():
    with pytest.raises(ValueError, match=r"not a function of y f\(x\)"):
        LossDisplay.from_criteria([Shifted()])


class Shifted(criteria.MSE):
    """Depends on y and f, but not on their product alone."""

    def value(self, y, f):
        return np.square(np.subtract(f, y) + 1.0)


def test_it_is_drawn_again_elsewhere():
    display = LossDisplay.from_criteria(ALL)
    _, ax = plt.subplots()
    assert display.plot(ax) is display
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert len(ax.lines) == 1 + len(ALL)
