"""Kernels agree with scikit-learn, for dense and sparse inputs, standardised or not."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import pairwise

from widemargin import _core
from widemargin.inputs.gamma import resolve_gamma
from widemargin.kernels import DISTANCE_KERNELS, KERNELS, Inputs, Kernel, check_exponent
from widemargin.perceptrons.kernel_learner import scaled_inputs
from widemargin.reference.kernels import distance_kernel, expansion_gradient

GAMMA, DEGREE, COEF0 = 0.3, 3, 0.7
NAMED = {
    "linear": pairwise.linear_kernel,
    "poly": lambda A, B: pairwise.polynomial_kernel(A, B, DEGREE, GAMMA, COEF0),
    "rbf": lambda A, B: pairwise.rbf_kernel(A, B, GAMMA),
    "sigmoid": lambda A, B: pairwise.sigmoid_kernel(A, B, GAMMA, COEF0),
    "exponential": lambda A, B: np.exp(-GAMMA * pairwise.euclidean_distances(A, B)),
    "laplacian": lambda A, B: pairwise.laplacian_kernel(A, B, GAMMA),
}
EXPONENTS = {"exponential": (0.25, 0.7, 1.0, 1.5, 2.0), "laplacian": (0.25, 0.7, 1.0)}


@pytest.fixture
def sets():
    """Two sets of examples; about a third of the entries are non-zero."""
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(17, 6)), rng.normal(size=(9, 6))
    return A * (rng.random(A.shape) < 0.3), B * (rng.random(B.shape) < 0.3)


@pytest.fixture
def statistics():
    rng = np.random.default_rng(1)
    return rng.normal(size=6), rng.uniform(0.2, 3.0, size=6)


def kernel_of(name):
    return Kernel(name, gamma=GAMMA, degree=DEGREE, coef0=COEF0)


def test_every_named_kernel_is_tested_here():
    assert set(NAMED) == set(KERNELS) - {"precomputed"}


@pytest.mark.parametrize("first", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("second", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("name", NAMED)
def test_values_are_those_of_scikit_learn(name, first, second, sets):
    A, B = sets
    values = kernel_of(name)(Inputs.of(first(A)), Inputs.of(second(B)))
    np.testing.assert_allclose(values, NAMED[name](A, B), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("first", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("second", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("name", NAMED)
def test_sparse_inputs_stay_sparse_when_standardised(name, first, second, sets, statistics):
    A, B = sets
    mean, scale = statistics
    a, b = scaled_inputs(first(A), mean, scale), scaled_inputs(second(B), mean, scale)
    assert sp.issparse(a.x) == sp.issparse(first(A))
    expected = NAMED[name]((A - mean) / scale, (B - mean) / scale)
    np.testing.assert_allclose(kernel_of(name)(a, b), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("standardise", [False, True])
@pytest.mark.parametrize("function", [*NAMED, pairwise.laplacian_kernel])
def test_diagonal(function, layout, standardise, sets, statistics):
    if callable(function) and standardise and layout is sp.csr_array:
        pytest.skip("a function needs dense inputs here; estimators refuse this case")
    inputs = scaled_inputs(layout(sets[0]), *(statistics if standardise else (None, None)))
    kernel = kernel_of(function)
    np.testing.assert_allclose(
        kernel.diagonal(inputs), np.diag(kernel(inputs, inputs)), rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("rows", [slice(3, 8), np.array([5, 0, 5]), np.array([2])])
@pytest.mark.parametrize("name", NAMED)
def test_selected_rows_give_the_same_rows_of_the_matrix(name, rows, layout, sets, statistics):
    inputs, others = (scaled_inputs(layout(X), *statistics) for X in sets)
    kernel = kernel_of(name)
    np.testing.assert_allclose(
        kernel(inputs[rows], others), kernel(inputs, others)[rows], rtol=1e-12, atol=1e-12
    )
    assert len(inputs[rows]) == len(np.arange(17)[rows])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_values_are_double_precision_for_any_inputs(dtype):
    X = np.arange(12).reshape(4, 3).astype(dtype)
    for inputs in (Inputs.of(X), Inputs.of(sp.csr_array(X))):
        K = kernel_of("poly")(inputs, inputs)
        assert K.dtype == np.float64
        np.testing.assert_allclose(K, NAMED["poly"](X.astype(float), X.astype(float)))


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8])
@pytest.mark.parametrize("name", DISTANCE_KERNELS)
def test_distances_are_exact_where_norms_cancel(name, offset, layout):
    """‖x‖² + ‖x'‖² − 2 x·x' has an error of 2⁻⁵³ times the norms: 1 and more at 1e8."""
    rng = np.random.default_rng(0)
    X = rng.integers(-8, 8, size=(50, 3)) / 4 + offset * (rng.random((50, 3)) < 0.7)
    expected = distance_kernel(name, X, X, GAMMA)  # exact differences
    first, second = Inputs.of(layout(X)), Inputs.of(X)
    K = kernel_of(name)(first, second)
    np.testing.assert_allclose(K, expected, rtol=1e-9, atol=1e-12)
    assert K.max() == 1.0


def test_precomputed_selects_columns_and_keeps_the_diagonal(sets):
    A, _ = sets
    K = NAMED["rbf"](A, A)
    inputs, kernel = Inputs.precomputed(K), Kernel("precomputed")
    rows, columns = np.array([4, 1, 7]), np.array([0, 9])
    np.testing.assert_array_equal(kernel(inputs[rows], inputs[columns]), K[np.ix_(rows, columns)])
    np.testing.assert_array_equal(kernel.diagonal(inputs), np.diag(K))


def test_an_unknown_kernel_is_named_with_the_known_ones(sets):
    a = Inputs.of(sets[0])
    with pytest.raises(ValueError, match=r"kernel='cosine'.*linear, poly, rbf"):
        Kernel("cosine")(a, a)


# ------------------------------------------------------------------------- powers of distances

POWERS = [(name, exponent) for name in EXPONENTS for exponent in EXPONENTS[name]]


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("name", "exponent"), POWERS)
def test_powers_of_distances(name, exponent, layout, sets):
    A, B = sets
    values = Kernel(name, GAMMA, exponent=exponent)(Inputs.of(layout(A)), Inputs.of(layout(B)))
    np.testing.assert_allclose(values, distance_kernel(name, A, B, GAMMA, exponent), rtol=1e-12)
    eigenvalues = np.linalg.eigvalsh(distance_kernel(name, A, A, GAMMA, exponent))
    assert eigenvalues.min() > -1e-12  # positive definite


def test_the_largest_exponent_of_exponential_is_rbf(sets):
    A, B = (Inputs.of(X) for X in sets)
    squared = Kernel("exponential", GAMMA, exponent=2.0)(A, B)
    np.testing.assert_allclose(squared, kernel_of("rbf")(A, B), rtol=1e-12)


@pytest.mark.parametrize(("name", "exponent"), [("laplacian", 1.5), ("exponential", 2.5)])
def test_beyond_its_limit_a_kernel_is_not_positive_definite(name, exponent):
    """The counter-examples of docs/kernel-svms.md; an estimator refuses such an exponent."""
    cross = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [0.0, 0.0]])
    points = cross if name == "laplacian" else np.array([[-1.0], [0.0], [1.0]])
    assert np.linalg.eigvalsh(distance_kernel(name, points, points, 0.01, exponent)).min() < -1e-4
    with pytest.raises(ValueError, match=rf"exponent={exponent}.*{name}.*0 < exponent <= \d"):
        check_exponent(name, exponent)


@pytest.mark.parametrize(("name", "exponent"), [*POWERS, ("rbf", 1.0)])
def test_gradients_of_expansions_are_those_of_the_reference(name, exponent, sets):
    A, B = sets
    B = np.concatenate([B, A[:3]])  # where a distance has no derivative
    coef, out = np.random.default_rng(0).normal(size=(2, len(A))), np.empty((2, *B.shape))
    _core.kernel_gradients(name, GAMMA, 0.0, 0, exponent, A, coef, B, out, 2)
    for found, c in zip(out, coef, strict=True):
        expected = expansion_gradient(name, A, c, B, GAMMA, exponent)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_the_core_refuses_what_is_no_kernel():
    one, out = np.zeros((1, 1)), np.empty((1, 1, 1))
    for name, exponent in (("laplacian", 1.5), ("exponential", 2.5), ("exponential", 0.0)):
        with pytest.raises(ValueError, match="exponent"):
            _core.kernel_gradients(name, 1.0, 0.0, 0, exponent, one, one, one, out, 1)


# --------------------------------------------------------------------------------------- gamma


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize(("name", "exponent"), POWERS)
def test_gamma_is_one_at_a_typical_distance(name, exponent, offset, layout, sets):
    X = np.round(64 * sets[0]) / 64 + offset
    away = X - X.mean(axis=0)
    typical = {
        "exponential": np.sqrt(np.square(away).sum(axis=1).mean()),
        "laplacian": np.abs(away).sum(axis=1).mean(),
    }[name]
    gamma = resolve_gamma("scale", layout(X), None, name, exponent)
    assert gamma == pytest.approx(typical**-exponent, rel=1e-9)
    auto = resolve_gamma("auto", layout(X), None, name, exponent)
    assert auto == pytest.approx(6.0 ** (-exponent / DISTANCE_KERNELS[name]))
    assert resolve_gamma(0.5, layout(X), None, name, exponent) == 0.5


@pytest.mark.parametrize("name", EXPONENTS)
def test_gamma_does_not_see_the_scale_of_the_inputs(name, sets):
    """γ dᵠ is the same: with the rule for squared distances it would change with the scale."""
    X, exponent = sets[0], 0.75
    for scale in (1e-8, 1e8):
        one, other = (resolve_gamma("scale", s * X, None, name, exponent) for s in (1.0, scale))
        assert other == pytest.approx(one * scale**-exponent)
    assert resolve_gamma("scale", np.ones((4, 2)), None, name, exponent) == 1.0
    with pytest.raises(ValueError, match="overflow"):
        resolve_gamma("scale", 1e300 * X, None, "exponential")
