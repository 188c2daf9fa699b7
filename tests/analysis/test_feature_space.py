"""Positive definite kernels on given rows, and the map of Figure 3.2."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from widemargin import SVC
from widemargin.analysis import kernel_is_positive_definite, quadratic_map

random = np.random.default_rng(0)
X = random.normal(size=(60, 4))


@pytest.mark.parametrize(
    ("kernel", "options"),
    [
        ("linear", {}),
        ("poly", {"coef0": 1.0, "degree": 3}),
        ("poly", {"degree": 2}),
        ("rbf", {"gamma": 0.3}),
        ("rbf", {"gamma": 1e-6}),  # eigenvalues far below rounding
        ("exponential", {"exponent": 1.0}),
        ("exponential", {"exponent": 2.0}),
        ("laplacian", {"exponent": 0.5}),
    ],
)
def test_kernels_are_positive_definite(kernel, options):
    for rows in (X, sp.csr_array(X), 1e4 * X):
        found = kernel_is_positive_definite(kernel, rows, **options)
        assert found, found


def test_what_is_no_kernel_has_a_negative_eigenvalue():
    assert not kernel_is_positive_definite("sigmoid", X)
    assert not kernel_is_positive_definite("poly", X, coef0=-1.0, degree=1)
    distances = kernel_is_positive_definite(
        lambda a, b: np.linalg.norm(a[:, None] - b[None], axis=2), X
    )
    assert not distances
    assert distances.smallest < -1.0


def test_a_kernel_must_be_symmetric():
    K = X @ X.T + 10.0 * np.eye(60)
    assert kernel_is_positive_definite("precomputed", K).strict
    K[0, 1] += 0.1
    found = kernel_is_positive_definite("precomputed", K)
    assert not found
    assert found.asymmetry == pytest.approx(0.1)


def test_the_tolerance_is_that_of_rounding():
    """A negative eigenvalue just above the tolerance is found, one below it is not."""
    basis, _ = np.linalg.qr(random.normal(size=(40, 40)))
    for factor, holds in ((0.3, True), (30.0, False)):
        values = np.linspace(0.0, 1.0, 40)
        exact = kernel_is_positive_definite("precomputed", basis @ np.diag(values) @ basis.T)
        values[0] = -factor * exact.tolerance
        found = kernel_is_positive_definite("precomputed", basis @ np.diag(values) @ basis.T)
        assert bool(found) is holds
    assert exact.tolerance < 1e-12
    assert kernel_is_positive_definite("sigmoid", X, tolerance=100.0)


def test_strict_needs_different_rows():
    assert kernel_is_positive_definite("rbf", X).strict
    twice = kernel_is_positive_definite("rbf", np.vstack([X, X[:1]]))
    assert twice
    assert not twice.strict


def test_kernel_errors():
    with pytest.raises(ValueError, match="kernel='cosine' is unknown"):
        kernel_is_positive_definite("cosine", X)
    with pytest.raises(ValueError, match="exponent=3"):
        kernel_is_positive_definite("exponential", X, exponent=3)
    with pytest.raises(ValueError, match="not a square"):
        kernel_is_positive_definite("precomputed", X)
    with pytest.raises(ValueError, match="not finite"):
        kernel_is_positive_definite(lambda a, b: np.full((60, 60), np.nan), X)


def test_the_map_of_figure_3_2_has_the_polynomial_kernel():
    """Φ(x)·Φ(x') = (x·x')², and a plane separates what circles separate."""
    points = random.normal(size=(80, 2))
    mapped = quadratic_map(points)
    assert_allclose(mapped @ mapped.T, (points @ points.T) ** 2, atol=1e-12)
    y = (points**2).sum(axis=1) > 1.0
    assert SVC(kernel="linear", C=1e6).fit(mapped, y).score(mapped, y) == 1.0
    assert SVC(kernel="linear", C=10.0).fit(points, y).score(points, y) < 0.9
    with pytest.raises(ValueError, match="3 columns"):
        quadratic_map(mapped)
