"""Arrays, and later tables of other types and orders."""

import decimal
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import NotFittedError

from helpers.mixed_tables import mixed_frame
from widemargin.tables import TableEncoder

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

pytestmark = pytest.mark.filterwarnings("error")


# ---------------------------------------------------------------- arrays


def test_arrays_of_numbers_do_not_need_pandas(monkeypatch):
    X = np.array([[1, np.nan, 7], [2, 5, 7], [4, 7, 7.0]])
    monkeypatch.delitem(sys.modules, "pandas")
    monkeypatch.setattr(sys, "meta_path", [Refuse(), *sys.meta_path])
    with pytest.warns(UserWarning, match=r"'x2' \(constant\)"):
        encoder = TableEncoder().fit(X)
    assert encoder.transform(X).tolist() == [[1, 6, 1], [2, 5, 0], [4, 7, 0]]
    assert encoder.get_feature_names_out().tolist() == ["x0", "x1", "x1 is missing"]
    assert not hasattr(encoder, "feature_names_in_")
    with pytest.raises(ImportError, match="arrays of objects or text need pandas: pip install"):
        TableEncoder().fit(np.array([[1, "a"], [2, "b"]], dtype=object))
    with pytest.raises(ImportError, match="tables with text need pandas"):
        TableEncoder().fit(pl.DataFrame({"a": ["x", "y"]}))
    assert TableEncoder().fit_transform(pl.DataFrame({"a": [1, None, 2]})).shape == (3, 2)


class Refuse:
    """An importer without pandas."""

    def find_spec(self, name, path=None, target=None):
        if name == "pandas":
            raise ModuleNotFoundError(name)


def test_types_of_arrays():
    X = np.array([[1, 2], [3, 5]])
    for dtype in (np.float64, np.int16, np.float32):
        Z = TableEncoder().fit_transform(X.astype(dtype))
        assert Z.tolist() == X.tolist()
        assert Z.dtype == (np.float32 if dtype is np.float32 else np.float64)
    assert TableEncoder().fit(X > 2).columns_[0]["kind"] == "boolean"
    dates = np.array([["2026-01-01"], ["2026-01-03"]], dtype="datetime64[D]")
    assert TableEncoder().fit_transform(dates).ravel().tolist() == [20454, 20456]


def test_arrays_of_objects_have_one_type_per_column():
    rows = [[1, "a", None], [2, "b", True], ["3", "c", False]]
    encoder = TableEncoder(sparse=False)
    Z = encoder.fit_transform(np.array(rows, dtype=object))
    assert [column["kind"] for column in encoder.columns_] == ["number", "category", "boolean"]
    assert Z[:, 0].tolist() == [1, 2, 3]
    words = np.array([["1", "a"], ["2", "b"]])
    assert TableEncoder().fit_transform(words).tolist() == [[1, 0], [2, 1]]


def test_sparse_matrices_pass_through():
    X = sparse.random(20, 30, density=0.2, random_state=0, format="csc")
    encoder = TableEncoder()
    Z = encoder.fit_transform(X)
    assert sparse.issparse(Z)
    assert Z.format == "csr"
    np.testing.assert_array_equal(Z.toarray(), X.toarray())
    np.testing.assert_array_equal(encoder.transform(X.toarray()).toarray(), X.toarray())
    assert [column["outputs"] for column in encoder.columns_] == [[i] for i in range(30)]
    assert encoder.output_kinds_ == ["number"] * 30
    assert len(encoder.get_feature_names_out()) == 30
    np.testing.assert_array_equal(TableEncoder(sparse=False).fit_transform(X), X.toarray())
    X.data[0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        TableEncoder().fit(X)


def test_sparse_rows_for_an_encoder_of_dense_ones():
    X = np.array([[0, 1.5], [2, 0], [0, 3]])
    encoder = TableEncoder().fit(X)
    np.testing.assert_array_equal(encoder.transform(sparse.csr_array(X)), X)


@pytest.mark.parametrize("options", [{"sparse": False}, {"sparse": True}, {"sparse": "auto"}])
def test_sparse_output(options):
    words = pd.DataFrame({"c": [f"w{i % 10}" for i in range(100)]})
    Z = TableEncoder(**options).fit_transform(words)
    assert sparse.issparse(Z) is (options["sparse"] is not False)
    numbers = pd.DataFrame({"a": [0.0, 0.0, 0.0, 1.0]})  # without categories "auto" is dense
    assert sparse.issparse(TableEncoder(**options).fit_transform(numbers)) is (
        options["sparse"] is True
    )
    few = pd.DataFrame({"c": ["a", "b", "c"]})
    encoder = TableEncoder(**options).fit(few)
    assert sparse.issparse(encoder.transform(few)) is encoder.sparse_output_


# ---------------------------------------------------------------- later tables


def test_columns_are_found_by_name():
    frame = mixed_frame()
    encoder = TableEncoder().fit(frame)
    shuffled = frame[frame.columns[::-1]].assign(more="text")
    np.testing.assert_array_equal(encoder.transform(shuffled), encoder.transform(frame))
    with pytest.raises(ValueError, match=r"lacks column 'town' \(closest: 'towns'\)"):
        encoder.transform(frame.rename(columns={"town": "towns"}))
    with pytest.raises(ValueError, match=r"columns .* and 3 more"):
        encoder.transform(pd.DataFrame({"x": [1]}))


def test_columns_of_arrays_are_found_by_position():
    X = np.arange(6.0).reshape(3, 2)
    encoder = TableEncoder().fit(X)
    with pytest.raises(ValueError, match="X has 3 features, but TableEncoder is expecting 2"):
        encoder.transform(np.ones((2, 3)))
    with pytest.raises(ValueError, match="X has 3 features, but TableEncoder is expecting 2"):
        encoder.transform(pd.DataFrame(np.ones((2, 3)), columns=list("abc")))
    assert encoder.transform(pd.DataFrame(X, columns=list("ab"))).tolist() == X.tolist()
    numbered = TableEncoder().fit(pd.DataFrame(X))
    assert numbered.get_feature_names_out().tolist() == ["x0", "x1"]
    assert numbered.transform(X).tolist() == X.tolist()
    named = TableEncoder().fit(pd.DataFrame(X, columns=list("ab")))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert named.transform(X).tolist() == X.tolist()
    assert named.fit(X).get_feature_names_out(["u", "v"]).tolist() == ["u", "v"]


def test_names_that_cannot_be_used():
    X = np.arange(4.0).reshape(2, 2)
    with pytest.raises(ValueError, match="more than one column is called 'a'"):
        TableEncoder().fit(pd.DataFrame(X, columns=["a", "a"]))
    with pytest.raises(TypeError, match="make all names strings"):
        TableEncoder().fit(pd.DataFrame(X, columns=["a", 1]))


@pytest.mark.parametrize(
    ("columns", "expected"),
    [([7, 8, 9], "9"), ([("a", "b"), ("a", "c"), ("d", "e")], "d e")],
    ids=["numbers", "levels"],
)
def test_names_that_are_not_text_are_told_as_they_are(columns, expected):
    X = pd.DataFrame(np.array([[1, 2, 7], [2, 5, 7], [4, 7, 7.0]]))
    X.columns = pd.Index(columns)
    with pytest.warns(UserWarning, match=rf"'{expected}' \(constant\)"):
        encoder = TableEncoder().fit(X)
    assert encoder.columns_[2]["name"] == expected
    assert not hasattr(encoder, "feature_names_in_")  # they are known by their position
    assert encoder.transform(X.to_numpy()).tolist() == [[1, 2], [2, 5], [4, 7]]


def test_empty_tables():
    with pytest.raises(ValueError, match="X has 0 rows and 1 columns"):
        TableEncoder().fit(pd.DataFrame({"a": []}))
    with pytest.raises(ValueError, match="0 sample"):
        TableEncoder().fit(np.empty((0, 2)))
    encoder = TableEncoder().fit(pd.DataFrame({"a": [1, 2], "t": ["x", "y"]}))
    assert encoder.transform(pd.DataFrame({"a": [], "t": []})).shape == (0, 2)
    with pytest.raises(NotFittedError):
        TableEncoder().transform([[1]])
    assert not hasattr(TableEncoder(), "columns_")


SAME = [
    [1, 2, 2],
    [1.0, 2.0, 2.0],
    ["1", "2", " 2 "],
    np.array([1, "2", 2.0], object),
    pd.Categorical([1, 2, 2]),
    pd.array([1, 2, 2], dtype="Int64"),
    [decimal.Decimal(1), decimal.Decimal(2), decimal.Decimal(2)],
]


@pytest.mark.parametrize("train", [["1", "2", "A"], [1.0, 2.0, None], [1, 2, 3]])
@pytest.mark.parametrize("later", SAME)
def test_codes_do_not_depend_on_the_type_of_the_column(train, later):
    encoder = TableEncoder(sparse=False).fit(pd.DataFrame({"c": train}))
    expected = encoder.transform(pd.DataFrame({"c": train}))[[0, 1, 1]]
    assert encoder.transform(pd.DataFrame({"c": later})).tolist() == expected.tolist()


@pytest.mark.parametrize("later", [[True, False], ["true", "False"], [1, 0], ["1", "0"], [2.5, 0]])
@pytest.mark.parametrize("train", [[True, False], ["True", "False"]])
def test_booleans_of_every_type(train, later):
    encoder = TableEncoder().fit(pd.DataFrame({"c": train}))
    assert encoder.transform(pd.DataFrame({"c": later})).tolist() == [[1], [0]]


def test_odd_values_count_as_missing():
    encoder = TableEncoder().fit(pd.DataFrame({"n": [1.0, 2.0, 6.0], "b": [True, True, False]}))
    odd = pd.DataFrame({"n": ["4", "many", "few"], "b": [True, False, True]})
    with pytest.warns(UserWarning, match="'n' holds 'many', which is not a number") as record:
        assert encoder.transform(odd).tolist() == [[4, 1], [2, 0], [2, 1]]
    assert len(record) == 1
    with (
        pytest.warns(UserWarning, match="'b' holds 'perhaps', which is not true or false"),
        pytest.warns(UserWarning, match="'n' holds '1000"),
    ):
        Z = encoder.transform(pd.DataFrame({"n": [10**400, "x", 4], "b": ["perhaps"] * 3}))
    assert Z.tolist() == [[2, 1], [2, 1], [4, 1]]


ANY_VALUE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**100), 10**100),
    st.floats(allow_infinity=False),
    st.text(max_size=3).filter(lambda text: "inf" not in text.lower()),
    st.dates(),
    st.datetimes(),
    st.timedeltas(),
    st.decimals(-(10**6), 10**6),
    st.lists(st.integers(), max_size=2),
)


@settings(deadline=None, max_examples=100)
@given(st.lists(ANY_VALUE, min_size=2, max_size=8), st.lists(ANY_VALUE, min_size=1, max_size=8))
def test_no_value_is_too_odd(train, later):
    frame = pd.DataFrame({"c": np.array([*train, None], dtype=object)[:-1], "n": range(len(train))})
    other = pd.DataFrame({"c": np.array([*later, None], dtype=object)[:-1], "n": range(len(later))})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        encoder = TableEncoder(sparse=False)
        Z = encoder.fit_transform(frame)
        np.testing.assert_array_equal(encoder.transform(frame), Z)
        assert np.isfinite(encoder.transform(other)).all()
    assert len(encoder.output_kinds_) == len(encoder.get_feature_names_out()) == Z.shape[1]


@settings(deadline=None, max_examples=50)
@given(st.lists(st.sampled_from(["a", "b", "c", "d", None]), min_size=2), st.randoms())
def test_the_order_of_rows_changes_nothing(words, random):
    shuffled = random.sample(words, len(words))
    if len(set(words)) > 1:
        first, second = (TableEncoder().fit(pd.DataFrame({"c": w})) for w in (words, shuffled))
        assert first._states == second._states


@pytest.mark.parametrize(
    ("X", "remedy"),
    [
        (pd.Series([1.0, 2.0]), "to_frame"),
        (pl.Series([1.0, 2.0]), "to_frame"),
        (pl.LazyFrame({"a": [1.0, 2.0]}), "collect"),
    ],
    ids=["series", "polars series", "lazy frame"],
)
def test_what_is_no_table(X, remedy):
    with pytest.raises(ValueError, match=remedy):
        TableEncoder().fit(X)


def test_structures_of_polars_are_categories():
    frame = pl.DataFrame({"s": [{"x": i % 2, "z": "a"} for i in range(6)]})
    arrays = pl.DataFrame({"s": pl.Series([[i % 2, 3] for i in range(6)], dtype=pl.Array(int, 2))})
    for table in (frame, arrays):
        encoder = TableEncoder().fit(table)
        assert encoder.columns_[0]["levels"] == 2
        assert encoder.transform(table).shape == (6, 1)


@pytest.mark.parametrize("dtype", [pl.Int128, pl.Decimal(20, 2), pl.UInt8])
def test_numbers_of_polars(dtype):
    X = pl.DataFrame({"a": pl.Series([1, None, 3], dtype=dtype)})
    assert TableEncoder().fit_transform(X).tolist() == [[1, 0], [2, 1], [3, 0]]
