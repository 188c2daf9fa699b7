"""Boundaries, margins, support vectors and slack are those of the model."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from helpers.pictures import close_figures, labelled, two_classes  # noqa: F401
from widemargin import SVC, MarginPerceptron
from widemargin.plots import MarginDisplay


def test_lines_are_where_the_model_says():
    X, y = two_classes()
    model = SVC(kernel="linear").fit(X, y)
    display = MarginDisplay.from_estimator(model, X, y, margin=0.5)
    contours = [c for c in display.ax_.collections if hasattr(c, "levels")]
    boundary, edges = contours[1:]
    for contour, levels in ((boundary, [0.0]), (edges, [-0.5, 0.5])):
        assert_array_equal(contour.levels, levels)
        for level, lines in zip(levels, contour.allsegs, strict=True):
            assert_allclose(model.decision_function(np.concatenate(lines)), level, atol=1e-9)


def test_classes_are_drawn_by_their_markers():
    X, y = two_classes()
    display = MarginDisplay.from_estimator(SVC().fit(X, y), X, y)
    first, second = display.ax_.collections[-2:]
    assert_array_equal(first.get_offsets(), X[y == "no"])
    assert_array_equal(second.get_offsets(), X[y == "yes"])
    assert display.ax_.get_legend() is None
    assert display.ax_.get_title() == "SVC"


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_rings_are_around_the_support_vectors(kernel):
    X, y = two_classes()
    model = SVC(kernel=kernel, scaling="standard").fit(X, y)
    display = MarginDisplay.from_estimator(model, X, y, support_vectors=True)
    found = labelled(display, "support vectors")
    assert found.get_label() == f"{len(model.support_)} support vectors"
    assert_array_equal(found.get_offsets(), X[np.sort(model.support_)])


def test_other_examples_have_rings_within_the_margin():
    """On rows that were not trained on, and for models without support vectors."""
    X, y = two_classes()
    for model in (SVC().fit(X[:40], y[:40]), MarginPerceptron(random_state=0).fit(X, y)):
        display = MarginDisplay.from_estimator(model, X[40:], y[40:], support_vectors=True)
        z = np.where(y == "yes", 1, -1) * model.decision_function(X)
        assert_array_equal(labelled(display, "support vectors").get_offsets(), X[40:][z[40:] <= 1])


def test_slack_of_a_line_is_drawn_in_its_length():
    """The lines are perpendicular to the boundary and ξ / ‖w‖ long, if the edge is in view."""
    X, y = two_classes()
    model = SVC(kernel="linear", C=10).fit(X, y)
    display = MarginDisplay.from_estimator(model, X, y, slack=True)
    slack = np.maximum(0, 1 - np.where(y == "yes", 1, -1) * model.decision_function(X))
    assert_allclose(display.slack, slack)
    begins, ends = np.array(labelled(display, "slack").get_segments()).swapaxes(0, 1)
    assert_array_equal(np.sort(begins, axis=0), np.sort(X[slack > 1e-6], axis=0))
    assert_allclose(np.abs(model.decision_function(ends)), 1.0, atol=1e-9)
    w = model.coef_[0]
    labels = np.sign(model.decision_function(ends))
    xi = 1 - labels * model.decision_function(begins)
    assert_allclose(ends - begins, np.outer(labels * xi, w) / (w @ w), atol=1e-6)


def test_slack_of_a_curve_ends_on_its_edge():
    X, y = two_classes()
    model = SVC(C=10, gamma=1.0).fit(X, y)
    display = MarginDisplay.from_estimator(model, X, y, slack=True, grid_resolution=400)
    ends = np.array(labelled(display, "slack").get_segments())[:, 1]
    assert len(ends) > 3
    assert_allclose(np.abs(model.decision_function(ends)), 1.0, atol=0.01)


def test_names_of_columns_are_kept(recwarn):
    X, y = two_classes()
    frame = pd.DataFrame(X, columns=["length", "width"])
    MarginDisplay.from_estimator(SVC().fit(frame, y), frame, y)
    assert not [w for w in recwarn if "feature names" in str(w.message)]


def test_bad_input():
    X, y = two_classes()
    model = SVC().fit(X, y)
    with pytest.raises(ValueError, match="a plane has two inputs"):
        MarginDisplay.from_estimator(model, X[:, :1], y)
    with pytest.raises(ValueError, match="y=None"):
        MarginDisplay.from_estimator(model, X, slack=True)
    three = SVC().fit(X, np.arange(len(X)) % 3)
    with pytest.raises(ValueError, match="3 classes"):
        MarginDisplay.from_estimator(three, X)
