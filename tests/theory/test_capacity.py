"""Capacities by enumeration agree with the theorems."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from widemargin import SVC, theory


def points(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def in_dimension(d, sizes):
    return [points(n, d, seed) for n in sizes for seed in range(3)]


@pytest.mark.parametrize("d", [1, 2, 3])
def test_hyperplanes_shatter_d_plus_1_points_and_no_more(d):
    sets = in_dimension(d, range(1, d + 4))
    found = theory.vc_dimension(theory.hyperplane_labellings, sets)
    assert found == theory.hyperplane_capacity(d) == d + 1


@pytest.mark.parametrize(("n", "d"), [(3, 1), (5, 1), (4, 2), (6, 2), (6, 3), (7, 3)])
def test_cover_counts_the_labellings(n, d):
    labels = theory.hyperplane_labellings(points(n, d))
    assert len(labels) == theory.labellings_in_general_position(n, d)
    assert len(np.unique(labels, axis=0)) == len(labels)


def test_points_on_a_line_have_fewer():
    line = np.column_stack([np.arange(4.0), np.arange(4.0)])
    assert len(theory.hyperplane_labellings(line)) == 8
    assert len(theory.hyperplane_labellings(points(4, 2))) == 14


def test_thresholds_and_intervals():
    sets = [np.arange(n) for n in range(1, 6)]
    assert theory.vc_dimension(theory.threshold_labellings, sets) == 1
    assert theory.vc_dimension(theory.interval_labellings, sets) == 2
    assert theory.growth(theory.threshold_labellings, sets) == 6
    assert theory.growth(theory.interval_labellings, sets) == 16


@pytest.mark.parametrize(
    ("family", "capacity", "d"),
    [(theory.threshold_labellings, 1, 1), (theory.interval_labellings, 2, 1),
     (theory.hyperplane_labellings, 3, 2)],
)  # fmt: skip
def test_sauer(family, capacity, d):
    for n in range(1, 7):
        bound = theory.sauer_bound(capacity, n)
        assert theory.growth(family, [points(n, d)]) <= bound
        assert bound == 2**n if n <= capacity else bound < 2**n


def test_every_labelling_is_one_of_a_hyperplane():
    """And no other labelling is: a hard-margin machine separates just these."""
    X = points(5, 2, seed=4)
    found = {tuple(labels) for labels in theory.hyperplane_labellings(X)}
    for labels in product([-1.0, 1.0], repeat=5):
        if len(set(labels)) == 2:
            machine = SVC(kernel="linear", C=1e6).fit(X, labels)
            assert (machine.score(X, labels) == 1.0) == (labels in found)


def test_margins_of_labellings_are_those_of_an_svm():
    X = points(5, 2, seed=5)
    separable = [y for y in theory.hyperplane_labellings(X) if len(set(y)) == 2]
    margins = []
    for y in separable:
        w = SVC(kernel="linear", C=1e9, tol=1e-10).fit(X, y).coef_[0]
        margins.append(2 / np.linalg.norm(w))
    for rho in (0.1, 0.5, 1.0):
        found = len(theory.hyperplane_labellings(X, rho))
        assert found == 2 + np.sum(np.array(margins) >= rho)


@settings(deadline=None, max_examples=30)
@given(n=st.integers(2, 5), d=st.integers(1, 3), seed=st.integers(0, 1000), rho=st.floats(0.05, 2))
def test_theorem_3_4(n, d, seed, rho):
    """What margin hyperplanes shatter is no larger than the bound."""
    X = points(n, d, seed)
    X /= np.linalg.norm(X, axis=1).max()
    if theory.shattered(theory.hyperplane_labellings(X, rho)):
        assert n <= theory.margin_capacity(1.0, rho, d)


def test_a_simplex_attains_theorem_3_4():
    X = np.array([[1.0], [-1.0]])
    assert theory.shattered(theory.hyperplane_labellings(X, 2.0))
    assert theory.margin_capacity(1.0, 2.0) == 2.0
    square = np.eye(4) - 0.25  # a regular tetrahedron
    radius = np.linalg.norm(square[0])
    rho = 2 * radius / np.sqrt(3)
    assert theory.shattered(theory.hyperplane_labellings(square, rho * (1 - 1e-7)))
    assert not theory.shattered(theory.hyperplane_labellings(square, rho * 1.01))
    assert theory.margin_capacity(radius, rho) == pytest.approx(4.0)


def test_the_smaller_of_margin_and_dimension():
    # γ = ρ/2: min(R²/γ², d) + 1
    assert theory.margin_capacity(1.0, 1.0) == 5.0
    assert theory.margin_capacity(1.0, 1.0, dimension=2) == 3.0
    assert theory.margin_capacity(1.0, 0.01, dimension=10) == 11.0


def test_no_margin_leaves_the_dimension():
    assert theory.margin_capacity(1.0, 0.0, 7) == 8.0
    assert theory.margin_capacity(1.0, 0.0) == np.inf


@pytest.mark.parametrize(("d", "p"), [(1, 3), (2, 2), (3, 2)])
def test_polynomials(d, p):
    """The rank of the kernel matrix of many points is the dimension of the feature space."""
    X = points(60, d)
    assert np.linalg.matrix_rank((1 + X @ X.T) ** p) == theory.polynomial_capacity(d, p)
    homogeneous = np.linalg.matrix_rank((X @ X.T) ** p)
    assert homogeneous == theory.polynomial_capacity(d - 1, p)  # as printed


def test_mlps_have_an_order():
    """Lower bounds of thresholds hold for every function that comes near to one."""
    threshold = theory.mlp_capacity("sign").at_least
    for transfer in ("hardtanh", "relu", "tanh"):
        assert theory.mlp_capacity(transfer).at_least == threshold
    assert theory.mlp_capacity("tanh").at_most == "W² N²"
    with pytest.raises(ValueError, match="must be one of 'sign'"):
        theory.mlp_capacity("sine")
