"""Hyperplanes of fitted classifiers: norms, margins, distances and slack against their formulas."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from widemargin import (
    SGDSVC,
    SVC,
    SVCCV,
    SVR,
    KernelPerceptron,
    LinearSVC,
    LinearSVCCV,
    MarginPerceptron,
    NuSVC,
    Perceptron,
)
from widemargin.analysis import hyperplanes

random = np.random.default_rng(1)
X = random.normal(size=(120, 3)) * [1.0, 5.0, 0.3] + [0.0, 3.0, 0.0]
SCORE = X[:, 0] - 0.2 * X[:, 1] + X[:, 0] * X[:, 2]
Y, THREE = np.where(SCORE > 0, 1, 0), np.digitize(SCORE, [-1.0, 0.5])
LINEAR = [
    SVC(kernel="linear"),
    SVC(kernel="linear", scaling="standard"),
    NuSVC(kernel="linear", nu=0.3),
    LinearSVC(loss="hinge"),
    LinearSVC(scaling="standard"),
    LinearSVC(multi_class="crammer_singer", scaling="minmax"),
    Perceptron(),
    MarginPerceptron(),
    MarginPerceptron(margin=3.0, scaling=None, learning_rate=0.01),
    SGDSVC(max_iter=20),
    LinearSVCCV(Cs=3),
]
KERNEL = [SVC(), SVC(scaling="standard"), NuSVC(nu=0.3), KernelPerceptron(), SVCCV(Cs=3)]


def fitted(model, y=Y, rows=X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(rows, y)


@pytest.mark.parametrize("model", LINEAR, ids=repr)
@pytest.mark.parametrize("y", [Y, THREE], ids=["two classes", "three classes"])
def test_linear_planes_have_their_weights(model, y):
    model = fitted(model, y)
    for plane in hyperplanes(model, X, y):
        assert plane.norm == pytest.approx(np.linalg.norm(plane.weights))
        scaled = X[plane.rows]
        if getattr(model, "feature_offset_", None) is not None:
            scaled = (scaled - model.feature_offset_) / model.feature_scale_
        elif model.scaling == "standard":
            scaled = (scaled - X.mean(axis=0)) / X.std(axis=0)
        elif model.scaling == "minmax":
            scaled = (scaled - X.min(axis=0)) / np.ptp(X, axis=0)
        assert_allclose(scaled @ plane.weights + plane.intercept, plane.f, atol=1e-8)
        assert_allclose(plane.distances * plane.norm, plane.f)


@pytest.mark.parametrize("model", KERNEL, ids=repr)
@pytest.mark.parametrize("y", [Y, THREE], ids=["two classes", "three classes"])
def test_kernel_norms_are_those_of_the_expansion(model, y):
    """‖w‖² = Σ β β' k, with the kernel written out."""
    model = fitted(model, y)
    vectors = model.support_vectors_
    if model.feature_offset_ is not None:
        vectors = (vectors - model.feature_offset_) / model.feature_scale_
    squares = ((vectors[:, None] - vectors[None]) ** 2).sum(axis=2)
    K = np.exp(-model.gamma_ * squares)
    planes = hyperplanes(model, X, y)
    if isinstance(model, KernelPerceptron):
        coefs = list(model.dual_coef_)
    else:
        coefs = []
        for _, members, coef in model.expansions():
            full = np.zeros(len(vectors))
            full[members] = coef
            coefs.append(full)
    assert len(planes) == len(coefs)
    for plane, coef in zip(planes, coefs, strict=True):
        assert plane.norm**2 == pytest.approx(coef @ K @ coef, rel=1e-6)


def test_outputs_have_the_sign_of_their_labels():
    """Also for pairs of classes: +1 is where f is positive."""
    models = (SVC(C=100.0), LinearSVC(multi_class="crammer_singer"), KernelPerceptron())
    for model in models:
        for plane in hyperplanes(fitted(model, THREE), X, THREE):
            assert set(plane.y) == {-1.0, 1.0}
            assert np.mean(plane.errors) < 0.4, plane.name
            assert_array_equal(plane.errors, (plane.f > 0) != (plane.y > 0))


@pytest.mark.parametrize("model", [SVC(kernel="linear", C=1e4), SVC(C=1e4), LinearSVC(C=1e4)])
def test_the_canonical_hyperplane_touches_the_nearest_rows(model):
    y = np.where(X[:, 0] > 0, 1, 0)
    rows, y = X[np.abs(X[:, 0]) > 0.4], y[np.abs(X[:, 0]) > 0.4]
    (plane,) = hyperplanes(fitted(model, y, rows), rows, y)
    assert plane.separates
    canonical = plane.canonical()
    assert np.abs(canonical.f).min() == pytest.approx(1.0)
    assert np.all(canonical.y * canonical.f >= 1.0 - 1e-12)  # (3.21)
    assert canonical.margin == pytest.approx(2.0 * np.abs(plane.distances).min())
    assert_allclose(canonical.distances, plane.distances)
    assert not canonical.slack.any()


def test_the_largest_margin_of_known_points():
    rows, y = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]]), [0, 0, 1, 1]
    for model in (
        SVC(kernel="linear", C=1e3, tol=1e-9),
        LinearSVC(C=1e6, intercept_scaling=None, loss="hinge", tol=1e-9),
    ):
        (plane,) = hyperplanes(model.fit(rows, y), rows, y)
        assert plane.margin == pytest.approx(2.0, rel=1e-4)
        assert_allclose(plane.distances, [-1, -1, 1, 1], rtol=1e-4)


@pytest.mark.parametrize("model", [SVC(C=2.0), NuSVC(nu=0.3), SVC(kernel="linear")], ids=repr)
def test_support_vectors_and_slack_obey_figure_3_5(model):
    """α = 0: beyond the margin; free: on it; at bound: within it."""
    model.set_params(tol=1e-6)
    (plane,) = hyperplanes(fitted(model), X, Y)
    free, bound = plane.free, plane.at_bound
    assert free.any()
    assert bound.any()
    assert free.sum() + bound.sum() == len(model.support_)
    assert_allclose((plane.y * plane.f)[free], 1.0, atol=1e-4)
    assert np.all((plane.y * plane.f)[bound] <= 1.0 + 1e-4)
    assert np.all(plane.slack[~free & ~bound] <= 1e-4)
    if hasattr(model, "C"):  # Σ ξ is what the primal objective adds to ½‖w‖²
        total = 0.5 * plane.norm**2 + model.C * plane.slack.sum()
        assert total == pytest.approx(model.primal_objective_, rel=1e-4)


def test_hinge_is_at_least_the_error():
    for model in (SVC(C=0.1), LinearSVC(), MarginPerceptron(margin=0.2)):
        for plane in hyperplanes(fitted(model, THREE), X, THREE):
            assert plane.errors.any()
            assert plane.hinge_bounds_errors
            assert np.all(plane.slack / plane.unit >= plane.errors)


def test_weights_set_the_bounds_and_leave_rows_out():
    weights = random.integers(0, 3, size=len(X)).astype(float)
    model = SVC(C=0.5).fit(X, Y, sample_weight=weights)
    (plane,) = hyperplanes(model, X, Y, sample_weight=weights)
    assert_array_equal(plane.rows, np.flatnonzero(weights))
    assert_allclose(plane.upper, 0.5 * weights[weights > 0])
    assert np.all(plane.alpha <= plane.upper * (1 + 1e-9))
    perceptron = fitted(Perceptron())
    (plane,) = hyperplanes(perceptron, X, Y, sample_weight=weights)
    assert len(plane.f) == np.count_nonzero(weights)


def test_other_rows_than_those_of_the_fit():
    model = LinearSVC(scaling="standard").fit(X, Y)
    new = random.normal(size=(20, 3))
    labels = np.arange(20) % 2
    (here,) = hyperplanes(model, X, Y)
    (there,) = hyperplanes(model, new, labels, X_train=X)
    assert there.norm == pytest.approx(here.norm)
    assert_allclose(there.f, model.decision_function(new))
    (plane,) = hyperplanes(SVC().fit(X, Y), new, labels, X_train=X)
    assert plane.alpha is None
    with pytest.raises(ValueError, match="no dual variables"):
        _ = plane.free


def test_sparse_rows():
    rows = np.where(np.abs(X) > 0.5, X, 0.0)
    online = MarginPerceptron(random_state=0)
    for model in (SVC(scaling="standard"), LinearSVC(scaling="standard"), online):
        (dense,) = hyperplanes(fitted(model, Y, rows), rows, Y)
        (sparse,) = hyperplanes(fitted(model, Y, sp.csr_array(rows)), sp.csr_array(rows), Y)
        assert sparse.norm == pytest.approx(dense.norm, rel=1e-3)


def test_errors():
    with pytest.raises(TypeError, match="SVR is no classifier with a hyperplane"):
        hyperplanes(SVR().fit(X, SCORE), X, SCORE)
    with pytest.raises(ValueError, match="class 7"):
        hyperplanes(SVC().fit(X, Y), X, np.full(len(X), 7))
    (plane,) = hyperplanes(
        SVC(kernel="linear").fit([[0.0], [1.0]], [0, 1]), [[0.5]], [1], X_train=X
    )
    with pytest.raises(ValueError, match="no factor"):
        plane.canonical()
