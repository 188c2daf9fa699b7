"""Hat functions: their sums, the functions they express, and the encoding of each kind of input."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from widemargin import HatEncoder


def encoded(encoder, X):
    return encoder.transform(X).toarray()


def hats_of(encoder, X):
    """The hats of the only input, without the input itself."""
    return encoded(encoder, X)[:, 1:]


def many(rows=200, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, 1))


SCALINGS = st.sampled_from(["standard", "minmax", None])
numbers = st.floats(-1e6, 1e6, allow_nan=False, width=32)
columns = arrays(np.float64, st.integers(12, 60), elements=numbers)


# ------------------------------------------------------------------------------ the functions


@given(columns, st.integers(2, 5), columns)
@settings(max_examples=60, deadline=None)
def test_hats_are_a_partition_of_unity(x, n_knots, others):
    encoder = HatEncoder(n_knots=n_knots).fit(x[:, None])
    if np.isnan(encoder.knots_).all():
        return
    for values in (x, others):  # inside the knots and outside
        hats = hats_of(encoder, values[:, None])
        assert np.all((hats >= 0) & (hats <= 1))
        assert np.all(np.count_nonzero(hats, axis=1) <= 2)
        total = hats.sum(axis=1)
        if np.isnan(encoder.base_[0]):
            assert_allclose(total, 1)
        else:  # the hat of the base value is left out
            assert np.all(total <= 1 + 1e-12)
            assert_array_equal(total[values == encoder.base_[0]], 0)


@given(columns, st.integers(2, 5), st.data())
@settings(max_examples=60, deadline=None)
def test_they_express_every_piecewise_linear_function(x, n_knots, data):
    encoder = HatEncoder(n_knots=n_knots).fit(x[:, None])
    knots, base = encoder.knots_[0][~np.isnan(encoder.knots_[0])], encoder.base_[0]
    if not len(knots):
        return
    heights = data.draw(arrays(np.float64, len(knots), elements=st.floats(-10, 10)))
    at_base = 0.0 if np.isnan(base) else heights[knots == base][0]
    hats = hats_of(encoder, x[:, None])
    found = at_base + hats @ (heights[knots != base] - at_base)
    assert_allclose(found, np.interp(x, knots, heights), rtol=1e-6, atol=1e-6)


def test_knots_are_quantiles():
    x = many(1000)
    encoder = HatEncoder(n_knots=5).fit(x)
    assert_allclose(encoder.knots_[0], np.quantile(x, [0, 0.25, 0.5, 0.75, 1]))
    assert_array_equal(hats_of(encoder, encoder.knots_.T), np.eye(5))


def test_values_outside_the_knots_are_the_last_hats():
    encoder = HatEncoder(n_knots=4).fit(many())
    low, high = encoded(encoder, [[-1e9], [1e9]])
    assert_array_equal(low, [-5, 1, 0, 0, 0])  # the input itself is clipped
    assert_array_equal(high, [5, 0, 0, 0, 1])


# --------------------------------------------------------------------------- kinds of inputs


@pytest.mark.parametrize(("off", "on"), [(0, 1), (0, -7), (3, 5), (5, 3)])
@pytest.mark.parametrize("scaling", ["standard", "minmax", None])
def test_two_values_are_an_indicator_of_the_rarer(off, on, scaling):
    x = np.full((20, 1), float(off))
    x[::4] = on
    encoder = HatEncoder(scaling=scaling).fit(x)
    sign = 1 if on > off else -1
    assert_array_equal(encoded(encoder, [[off], [on]]), [[0], [sign]])
    assert encoder.transform(x).nnz == 5
    assert encoder.base_[0] == off


@pytest.mark.parametrize("value", [0.0, 4.0])
def test_constant_columns_are_nothing(value):
    x = np.full((10, 2), value)
    x[:, 1] = np.arange(10)
    encoder = HatEncoder(n_knots=3, scaling=None).fit(x)
    assert_array_equal(encoded(encoder, x)[:, 0], 0)
    assert np.isnan(encoder.knots_[0]).all()


def test_few_values_have_no_hats():
    x = np.arange(64.0)[:, None]
    assert encoded(HatEncoder(n_knots=32).fit(x), x).shape == (64, 1)
    assert encoded(HatEncoder(n_knots=31).fit(x), x).shape == (64, 32)
    assert encoded(HatEncoder(n_knots=None).fit(x), x).shape == (64, 1)


def test_the_most_frequent_value_is_zeros():
    x = np.r_[np.zeros(60), np.arange(1.0, 41.0)][:, None]
    encoder = HatEncoder(n_knots=6).fit(x)
    assert encoder.base_[0] == 0
    assert encoder.transform(x[:60]).nnz == 0
    assert encoder.transform(x).shape[1] == 1 + 5
    assert encoder.scale_[0] == pytest.approx(np.sqrt(np.mean(np.arange(1, 41) ** 2)))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix], ids=["dense", "CSR"])
def test_inputs_beside_their_hats_are_scaled(kind):
    x = kind(100 + 7 * many(500))
    itself = encoded(HatEncoder().fit(x), x)[:, 0]
    assert_allclose([itself.mean(), itself.std()], [0, 1], atol=1e-12)
    itself = encoded(HatEncoder(scaling="minmax").fit(x), x)[:, 0]
    assert_allclose([itself.min(), itself.max()], [0, 1], atol=1e-12)
    assert_allclose(encoded(HatEncoder(scaling=None).fit(x), x)[:, 0], np.ravel(x.sum(axis=1)))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix], ids=["dense", "CSR"])
@pytest.mark.parametrize("n_knots", [None, 4])
def test_minmax_keeps_the_most_frequent_value_at_zero(kind, n_knots):
    x = np.r_[np.zeros(60), np.linspace(-20, 5, 40)][:, None]
    encoder = HatEncoder(n_knots, scaling="minmax").fit(kind(x))
    itself = encoded(encoder, kind(x))[:, 0]
    assert_allclose(itself, x[:, 0] / 20)
    beyond = encoded(encoder, kind(np.array([[-100.0], [100.0]])))[:, 0]
    assert_allclose(beyond, [-5, 5] if n_knots is None else [-1, 1])


# -------------------------------------------------------------------------------- CSR, types


def mixed(rows, rng):
    """Dense, sparse, two-valued, few-valued, constant and empty columns."""
    X = np.zeros((rows, 8))
    X[:, 0] = rng.normal(size=rows)
    X[:, 1] = rng.normal(size=rows) * (rng.random(rows) < 0.3)
    X[:, 2] = 4.0 * (rng.random(rows) < 0.2)
    X[:, 3] = -3.0 * (rng.random(rows) < 0.7)
    X[:, 4] = rng.integers(0, 4, rows)
    X[:, 5] = rng.integers(1, 4, rows) * (rng.random(rows) < 0.2)
    X[:, 6] = 2.5
    return X


@given(st.integers(5, 120), st.integers(0, 1000), st.sampled_from([None, 2, 8]), SCALINGS)
@settings(max_examples=60, deadline=None)
def test_csr_is_dense(rows, seed, n_knots, scaling):
    X = mixed(rows, np.random.default_rng(seed))
    options = {"n_knots": n_knots, "scaling": scaling}
    dense, sparse = HatEncoder(**options).fit(X), HatEncoder(**options).fit(sp.csr_matrix(X))
    expected = encoded(dense, X)
    for encoder, inputs in ((dense, sp.csr_matrix(X)), (sparse, X), (sparse, sp.csr_matrix(X))):
        assert_allclose(encoded(encoder, inputs), expected, rtol=1e-9, atol=1e-12)


def test_stored_zeros_are_zeros():
    X = sp.csr_matrix(mixed(50, np.random.default_rng(0)))
    stored = X.copy()
    stored.data[::3] = 0.0
    plain = stored.copy()
    plain.eliminate_zeros()
    one, other = HatEncoder(n_knots=4).fit(stored), HatEncoder(n_knots=4).fit(plain)
    assert_allclose(encoded(one, stored), encoded(other, plain))


def test_float32_stays_float32():
    X = mixed(200, np.random.default_rng(0))
    X = X.astype(np.float32).astype(np.float64)
    encoder = HatEncoder().fit(X.astype(np.float32))
    found = encoder.transform(X.astype(np.float32))
    assert found.dtype == np.float32
    assert_allclose(found.toarray(), encoded(HatEncoder().fit(X), X), rtol=1e-5, atol=1e-5)


# --------------------------------------------------------------------------- names and errors


@pytest.mark.parametrize("scaling", ["standard", "minmax", None])
def test_a_name_for_every_column(scaling):
    X = mixed(300, np.random.default_rng(0))
    encoder = HatEncoder(n_knots=4, scaling=scaling).fit(X)
    names = encoder.get_feature_names_out(list("abcdefgh"))
    assert len(names) == encoder.transform(X).shape[1]
    assert list(names[:5]) == ["a", *(f"a~{knot:g}" for knot in encoder.knots_[0])]
    assert {name.split("~")[0] for name in names} == set("abcdefgh")


def test_names_of_a_frame():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    encoder = HatEncoder(n_knots=2).fit(pandas.DataFrame({"height": np.arange(10.0)}))
    assert list(encoder.get_feature_names_out()) == ["height", "height~0", "height~9"]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_missing_and_infinite_numbers_are_refused(bad):
    x = many()
    encoder = HatEncoder().fit(x)
    x[3] = bad
    for call in (encoder.transform, HatEncoder().fit):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            call(x)


def test_wrong_inputs_are_refused():
    encoder = HatEncoder().fit(many())
    with pytest.raises(ValueError, match="2 features"):
        encoder.transform(np.ones((3, 2)))
    with pytest.raises(ValueError, match="n_knots"):
        HatEncoder(n_knots=1).fit(many())


def test_indices_outside_the_matrix_are_refused():
    lying = sp.csr_array(np.eye(5))
    lying.indices[0] = 10_000_000
    with pytest.raises(ValueError, match="outside the matrix"):
        HatEncoder().fit(lying)
