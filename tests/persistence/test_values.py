"""Every kind of value can be saved and loaded."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn import preprocessing

from widemargin._testing_dummy import assert_same, roundtrip
from widemargin.persistence import describe

VALUES = [
    None,
    True,
    0,
    -(2**63),
    2**63,
    -(10**6000),
    0.1,
    -0.0,
    float("nan"),
    float("-inf"),
    "",
    'quotes " \\ and \u00e9\U0001f600\ud800\x00',
    [],
    (),
    {},
    [1, (2, [3, {"a": (None,)}])],
    {"b": 1, "a": 2, 3: "three", -1: None, "3": 4, (1, "x"): 0.5},
    {np.int64(3): np.float32(0.25)},
    {1, 2, "a"},
    frozenset({"x", (1, 2)}),
    slice(1, None, -2),
    np.float64(0.1),
    np.float32("nan"),
    np.int8(-3),
    np.bool_(True),
    np.str_("text"),
    np.complex128(1 - 2j),
    np.datetime64("2026-01-02"),
    np.dtype("float32"),
    np.dtype(">i4"),
    np.dtype("U7"),
    np.dtype(object),
    float,
    object,
    np.float64,
    np.bool_,
    np.array(3.5),
    np.zeros((0, 3), np.float32),
    np.zeros((2, 0, 3)),
    np.arange(6, dtype=">i2").reshape(2, 3).astype("<i2"),
    np.array([[True], [False]]),
    np.array([1 + 2j, np.nan], np.complex64),
    np.array(1j),
    np.array(["2026-01-02", "NaT"], "M8[D]"),
    np.array([1, -2], "m8[us]"),
    np.array(["a", "longer", ""]),
    np.array([["x"], ["y"]], "U9"),
    np.array([], "U1"),
    np.array(["a", 1, 2.5, None, True, float("nan")], dtype=object),
    np.array([[None], ["b"]], dtype=object),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_each_kind_of_value(value, path):
    assert_same(roundtrip(value, path), value)


simple = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.binary(min_size=8, max_size=8).map(lambda b: np.frombuffer(b, np.float64)[0])
)
arrays = hnp.arrays(
    hnp.boolean_dtypes()
    | hnp.integer_dtypes(endianness="<")
    | hnp.floating_dtypes(endianness="<", sizes=(16, 32, 64))
    | hnp.complex_number_dtypes(endianness="<", sizes=(64, 128))
    | hnp.unicode_string_dtypes(endianness="<", max_len=5),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)
nested = st.recursive(
    simple | arrays,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=4)
    ),
    max_leaves=12,
)


@pytest.mark.slow
@given(nested)
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_nested_values(path, value):
    assert_same(roundtrip(value, path), value)


def test_memory_order_is_kept(path):
    array = np.asfortranarray(np.arange(24.0).reshape(2, 3, 4))
    loaded = roundtrip(array, path)
    np.testing.assert_array_equal(loaded, array)
    assert loaded.flags.f_contiguous
    assert loaded.flags.writeable


def test_strided_and_memory_mapped_arrays(path, tmp_path):
    np.save(tmp_path / "a.npy", np.arange(10.0))
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    first, second = roundtrip([mapped, np.arange(10)[::-2]], path)
    assert_same([first, second], [np.arange(10.0), np.array([9, 7, 5, 3, 1])])


@pytest.mark.parametrize("name", ["csr_array", "csr_matrix", "csc_array", "csc_matrix"])
@pytest.mark.parametrize("shape", [(4, 5), (0, 3), (3, 0)])
def test_sparse_matrices(name, shape, path):
    dense = np.random.default_rng(0).integers(0, 2, shape).astype(np.float32)
    matrix = getattr(sparse, name)(dense)
    loaded = roundtrip(matrix, path)
    assert type(loaded) is type(matrix)
    assert loaded.dtype == np.float32
    np.testing.assert_array_equal(loaded.toarray(), dense)


def test_shared_objects_stay_shared(path):
    scaler, array = preprocessing.StandardScaler(), np.arange(1000.0)
    first, second, a, b = roundtrip([scaler, scaler, array, array], path)
    assert first is second
    assert np.shares_memory(a, b)
    assert len(describe(path)["tensors"]) == 1
