"""Gates are drawn as mixed colours."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from helpers.mixtures import X, Y, quick
from helpers.pictures import close_figures  # noqa: F401
from widemargin.plots import GatesDisplay
from widemargin.plots.style import EXPERT_COLOURS


def test_gates_are_drawn_as_mixed_colours():
    from matplotlib.colors import to_rgb

    fitted = quick(n_experts=2).fit(X, Y)
    display = GatesDisplay.from_estimator(fitted, X, grid_resolution=20)
    (image,) = display.ax_.get_images()
    gates = fitted.gates([X.min(0)])  # of the lower left corner
    expected = gates[0] @ [to_rgb(name) for name in EXPERT_COLOURS[:2]]
    assert_allclose(image.get_array()[0, 0], expected, atol=1e-6)
    assert_allclose(display.gates.sum(axis=2), 1.0)
    with pytest.raises(ValueError, match="a plane has two inputs"):
        GatesDisplay.from_estimator(fitted, X[:, :1])


def test_numbers_stand_where_their_expert_leads():
    fitted = quick(n_experts=3).fit(X, Y)
    display = GatesDisplay.from_estimator(fitted, X)
    places = {int(text.get_text()): text.get_position() for text in display.ax_.texts}
    assert len(places) > 1
    for expert, place in places.items():
        assert np.argmax(fitted.gates([place])) == expert


def test_the_boundary_is_that_of_the_mixture():
    fitted = quick(n_experts=2).fit(X, Y)
    display = GatesDisplay.from_estimator(fitted, X, Y)
    (boundary,) = (c for c in display.ax_.collections if hasattr(c, "levels"))
    points = np.concatenate(boundary.allsegs[0])
    assert_allclose(fitted.decision_function(points), 0.0, atol=0.05)
    circles, crosses = display.ax_.collections[-2:]
    assert_allclose(circles.get_offsets(), X[Y == 0])
    assert_allclose(crosses.get_offsets(), X[Y == 1])
