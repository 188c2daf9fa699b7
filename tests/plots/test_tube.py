"""The tube is drawn at f ± ε, and slack outside of it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from helpers.pictures import close_figures, labelled  # noqa: F401
from widemargin import SVR, LinearSVR, MLPRegressor, NuSVR
from widemargin.plots import TubeDisplay

RANDOM = np.random.default_rng(0)
X = np.sort(RANDOM.uniform(0, 6, 70))[:, None]
Y = np.sin(X[:, 0]) + 0.2 * RANDOM.normal(size=70)


def test_tube_and_slack():
    model = SVR(C=10, epsilon=0.2).fit(X, Y)
    display = TubeDisplay.from_estimator(model, X, Y)
    (line,) = display.ax_.lines
    x, f = line.get_data()
    assert_allclose(f, model.predict(x[:, None]))
    corners = labelled(display, "tube").get_paths()[0].vertices
    assert_allclose(corners[:, 1].max(), f.max() + 0.2)
    assert_allclose(corners[:, 1].min(), f.min() - 0.2)
    segments = np.array(labelled(display, "slack").get_segments())
    errors = np.abs(Y - model.predict(X))
    outside = errors > 0.2 * 1.001
    assert_allclose(segments[:, 0], np.column_stack([X, Y])[outside])
    lengths = np.abs(segments[:, 0, 1] - segments[:, 1, 1])
    assert_allclose(lengths, errors[outside] - 0.2)
    rows = np.sort(model.support_)
    rings = labelled(display, "support vectors")
    assert_array_equal(rings.get_offsets(), np.column_stack([X, Y])[rows])
    assert rings.get_label() == f"{len(rows)} support vectors"


def test_models_without_support_vectors():
    model = LinearSVR(epsilon=0.3).fit(X, Y)
    display = TubeDisplay.from_estimator(model, X, Y)
    assert_array_equal(display.support, np.abs(Y - model.predict(X)) >= 0.3 * 0.999)
    assert TubeDisplay.from_estimator(model, X, Y, support_vectors=False).support is None


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_where_epsilon_comes_from():
    """`epsilon` of a network is Adam's; `NuSVR` finds its own."""
    network = MLPRegressor("epsilon_insensitive", (3,), tube=0.25, max_iter=3).fit(X, Y)
    assert TubeDisplay.from_estimator(network, X, Y).epsilon == 0.25
    model = NuSVR().fit(X, Y)
    assert TubeDisplay.from_estimator(model, X, Y, epsilon=0.1).epsilon == 0.1
    with pytest.raises(ValueError, match="give epsilon"):
        TubeDisplay.from_estimator(model, X, Y)
    with pytest.raises(ValueError, match="one input"):
        TubeDisplay.from_estimator(model, np.column_stack([X, X]), Y)
