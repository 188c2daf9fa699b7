"""Columns of every kind become numbers."""

import datetime

import numpy as np
import pytest

from helpers.mixed_tables import encoded, kind, mixed_frame
from widemargin.tables import TableEncoder

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

pytestmark = pytest.mark.filterwarnings("error")


# ---------------------------------------------------------------- kinds of columns


def test_every_kind_of_column():
    frame = mixed_frame()
    encoder = TableEncoder()
    Z = encoder.fit_transform(frame)
    names = encoder.get_feature_names_out().tolist()
    assert names == [
        *("age", "age is missing", "count", "count is missing"),
        *("town=Bern", "town=Sion", "town is missing"),
        *("object=u", "object=v", "object=w", "object is missing"),
        *("category=4", "flag", "day", "day is missing", "price", "price is missing"),
    ]
    output = dict(zip(names, Z.T.tolist(), strict=True))
    assert output["age"] == [20, 25, 40, 25]
    assert output["age is missing"] == [0, 1, 0, 0]
    assert output["count"] == [1, 2, 2, 4]
    assert output["town is missing"] == [0, 0, 1, 0]
    assert output["category=4"] == [0, 1, 0, 0]
    assert output["flag"] == [1, 0, 1, 1]
    assert output["day"] == [20483, 20484, 20483, 20483]
    assert output["price"] == [1.5, 2, 2, 3]
    kinds = [column["kind"] for column in encoder.columns_]
    assert kinds == ["number"] * 2 + ["category"] * 3 + ["boolean", "date", "number"]
    assert encoder.columns_[2] == {
        "name": "town",
        "kind": "category",
        "missing": 1,
        "levels": 2,
        "note": "",
        "outputs": [4, 5, 6],
    }
    assert [i for column in encoder.columns_ for i in column["outputs"]] == [*range(Z.shape[1])]
    assert encoder.output_kinds_[:3] == ["number", "missing", "number"]
    assert encoder.output_kinds_[11:14] == ["indicator", "indicator", "number"]
    assert encoder.feature_names_in_.tolist() == frame.columns.tolist()
    assert encoder.n_features_in_ == 8


def test_polars_and_arrow_tables_give_the_same_numbers():
    frame = mixed_frame()
    frame["object"] = frame["object"].astype(str)
    arrow = pa.Table.from_pandas(frame.astype({"category": str}).astype({"category": "category"}))
    tables = [
        frame,
        arrow,
        pl.from_arrow(arrow),
        arrow.to_pandas(types_mapper=pd.ArrowDtype),
        frame.convert_dtypes(),
    ]
    expected = TableEncoder().fit(frame)
    for table in tables:
        encoder = TableEncoder()
        np.testing.assert_array_equal(encoder.fit_transform(table), expected.transform(frame))
        np.testing.assert_array_equal(expected.transform(table), expected.transform(frame))
        assert encoder.columns_ == expected.columns_
        assert encoder.feature_names_in_.tolist() == frame.columns.tolist()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1", " 2.5 ", "?", "-3e2"], "number"),
        (["1", "2", "1_000"], "category"),
        ([1, "2", 3.0, None], "number"),
        ([True, None, False], "boolean"),
        (["true", "False", "NA"], "boolean"),
        (["0", "1", "1"], "number"),
        ([datetime.timedelta(hours=6), datetime.timedelta(1)], "number"),
        ([datetime.time(6), datetime.time(12)], "number"),
        (["2026-01-30", "2026-02-01", None], "date"),
        (pd.period_range("2026-01", periods=3, freq="M"), "date"),
        (pd.Categorical(["1", "2", "3"]), "category"),
        (["a", 1, 2.5], "category"),
        ([[1], [2], [1]], "category"),
        ([b"a", b"b", b"a"], "category"),
    ],
)
def test_the_kind_of_a_column(values, expected):
    assert kind(pd.Series(values)) == expected


def test_complex_numbers_are_refused():
    with pytest.raises(ValueError, match="'c' holds complex numbers"):
        kind([1j, 2j])


def test_text_that_is_a_number_is_one():
    assert encoded(["1", " 2.5", "?", "4"]).tolist() == [[1, 0], [2.5, 0], [2.5, 1], [4, 0]]


def test_durations_and_times_are_days():
    hours = [datetime.timedelta(hours=6), datetime.timedelta(days=2)]
    assert encoded(hours).ravel().tolist() == [0.25, 2]
    assert encoded(pd.Series(hours)).ravel().tolist() == [0.25, 2]
    assert encoded([datetime.time(6), datetime.time(12)]).ravel().tolist() == [0.25, 0.5]


def test_infinite_numbers_are_errors():
    frame = pd.DataFrame({"a": [1.0, 2.0, np.inf]})
    with pytest.raises(ValueError, match=r"'a' is infinite in 1 of 3 rows, first in data row 3"):
        TableEncoder().fit(frame)
    encoder = TableEncoder().fit(frame[:2])
    with pytest.raises(ValueError, match="'a' is infinite"):
        encoder.transform(pd.DataFrame({"a": ["-inf"]}))


# ---------------------------------------------------------------- missing values


def test_missing_values_have_an_indicator_only_if_training_had_some():
    train = pd.DataFrame({"a": [1.0, 3.0, 8.0], "b": [1.0, None, 3.0], "t": ["x", "y", "z"]})
    later = pd.DataFrame({"a": [None], "b": [None], "t": [None]})
    encoder = TableEncoder(sparse=False).fit(train)
    assert encoder.transform(later).tolist() == [[3, 2, 1, 0, 0, 0]]
    plain = TableEncoder(sparse=False, missing_indicator=False).fit(train)
    assert plain.transform(later).tolist() == [[3, 2, 0, 0, 0]]


def test_one_value_and_missing_ones():
    assert encoded([5.0, None, 5.0]).tolist() == [[0], [1], [0]]
    assert encoded([True, None, True]).tolist() == [[0], [1], [0]]
    assert encoded(["a", None, "a"]).tolist() == [[0], [1], [0]]
    with pytest.warns(UserWarning, match="constant"), pytest.raises(ValueError, match="varies"):
        encoded([5.0, None, 5.0], missing_indicator=False)


def test_missing_booleans_are_the_more_frequent_value():
    assert encoded([True, False, True, None]).tolist() == [[1, 0], [0, 0], [1, 0], [1, 1]]


def test_words_that_mean_missing():
    assert encoded(["a", "?", "b", "", "NA", "a"]).tolist() == [
        *([1, 0, 0], [0, 0, 1], [0, 1, 0]),
        *([0, 0, 1], [0, 0, 1], [1, 0, 0]),
    ]


# ---------------------------------------------------------------- categories


def test_two_levels_become_one_indicator_of_the_rarer():
    frame = pd.DataFrame({"c": ["no", "yes", "no "]})
    encoder = TableEncoder().fit(frame)
    assert encoder.get_feature_names_out().tolist() == ["c=yes"]
    assert encoder.transform(frame).tolist() == [[0], [1], [0]]
    # What was never seen counts as the more frequent level.
    assert encoder.transform(pd.DataFrame({"c": ["maybe", None]})).tolist() == [[0], [0]]


def test_new_and_rare_levels_share_an_indicator():
    frame = pd.DataFrame({"w": ["a", "b"] * 30 + ["c", "d"] + [None] * 2})
    encoder = TableEncoder(sparse=False).fit(frame)
    assert encoder.get_feature_names_out().tolist() == ["w=a", "w=b", "w is missing", "w is rare"]
    assert encoder.columns_[0]["note"] == "2 rare levels in one indicator"
    rows = encoder.transform(pd.DataFrame({"w": ["a", "c", "new", None]}))
    assert rows.tolist() == [[1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 1, 0]]
    # A missing value where none was missing in training has no indicator.
    complete = TableEncoder(sparse=False).fit(frame.dropna())
    assert complete.transform(pd.DataFrame({"w": [None]})).tolist() == [[0, 0, 0]]
    # A rare missing value is rare.
    gap = TableEncoder(sparse=False).fit(frame[:-1])
    assert gap.transform(pd.DataFrame({"w": [None, "new"]})).tolist() == [[0, 0, 1]] * 2


def test_unseen_levels_without_rare_ones_are_zeros():
    encoder = TableEncoder(sparse=False).fit(pd.DataFrame({"w": ["a", "b", "c"]}))
    assert encoder.transform(pd.DataFrame({"w": ["new"]})).tolist() == [[0, 0, 0]]


def test_min_frequency():
    words = ["a"] * 5 + ["b"] * 4 + ["c"] * 3 + ["d"] * 3
    assert encoded(words).shape[1] == 4  # a small table
    assert encoded(words, min_frequency=4).sum(axis=0).tolist() == [5, 4, 6]
    assert encoded(words, min_frequency=5).sum(axis=0).tolist() == [5]  # "a", or else rare
    large = np.repeat(["a", "b", "c", "d"], [40_000, 9_994, 3, 3])
    # c and d are rarer than one row in ten thousand.
    assert encoded(large).sum(axis=0).tolist() == [40_000, 9_994, 6]
    assert encoded(large, min_frequency=3).shape[1] == 4
    with pytest.warns(UserWarning, match="all levels are rare"), pytest.raises(ValueError):  # noqa: PT011
        encoded(words, min_frequency=6)


def test_max_categories():
    words = np.repeat(["d", "c", "b", "a"], [4, 3, 3, 2])
    encoder = TableEncoder(max_categories=3, sparse=False).fit(pd.DataFrame({"c": words}))
    assert encoder.get_feature_names_out().tolist() == ["c=b", "c=d", "c is rare"]
    assert encoder.columns_[0]["levels"] == 4
    assert encoded(words, max_categories=4).shape[1] == 4
    many = [f"w{i % 100}" for i in range(400)]
    assert encoded(many).shape[1] == 64
    assert encoded(many, max_categories=None).shape[1] == 100


def test_text_that_hardly_repeats_is_left_out():
    frame = pd.DataFrame({"price": [f"{i},5" for i in range(40)], "town": ["Bern", "Sion"] * 20})
    with pytest.warns(UserWarning, match=r"'price' \(40 distinct texts.*'0,5'.*decimal point"):
        encoder = TableEncoder().fit(frame)
    assert encoder.columns_[0]["kind"] == "dropped"
    assert encoder.columns_[0]["levels"] == 40
    assert TableEncoder().fit(frame[:20]).columns_[0]["kind"] == "category"
    half = frame.assign(price=[f"{i // 2},5" for i in range(40)])
    assert TableEncoder().fit(half).columns_[0]["kind"] == "category"


def test_columns_without_information_are_left_out_with_one_warning():
    frame = mixed_frame().assign(one=1.0, word="w", void=np.nan, nothing=None, on=True)
    frame["when"] = pd.Timestamp("2026-01-02")
    left_out = ["one", "word", "void", "nothing", "on", "when"]
    with pytest.warns(UserWarning, match="columns left out") as record:
        encoder = TableEncoder().fit(frame)
    assert len(record) == 1
    assert record[0].filename == __file__
    message = str(record[0].message)
    assert message == (
        "columns left out: 'one' (constant), 'word' (constant), 'void' (all missing), "
        "'nothing' (all missing), 'on' (constant), 'when' (constant)"
    )
    assert encoder.transform(mixed_frame()).shape[1] == 17  # they are not needed later
    dropped = [column for column in encoder.columns_ if column["kind"] == "dropped"]
    assert [column["name"] for column in dropped] == left_out
    assert all(column["outputs"] == [] for column in dropped)
    with pytest.raises(ValueError, match="varies"), pytest.warns(UserWarning, match="one"):
        TableEncoder().fit(frame[left_out])
    with pytest.warns(UserWarning, match=r"'x19' \(constant\) and 10 more$"):
        TableEncoder().fit(np.c_[np.ones((2, 30)), [1, 2]])


@pytest.mark.filterwarnings("ignore:columns left out")
def test_a_table_without_a_usable_column_is_refused_with_the_reasons():
    X = pd.DataFrame({"name": [f"person {number}" for number in range(60)], "one": 1})
    reasons = r"'name' \(60 distinct texts.*'one' \(constant\)"
    with pytest.warns(UserWarning, match="left out"), pytest.raises(ValueError, match=reasons):
        TableEncoder().fit(X)


def test_infinite_text_is_an_infinite_number():
    frame = pd.DataFrame({"b": ["1", "2.5", "Infinity"]})
    with pytest.raises(ValueError, match=r"'b' is infinite in 1 of 3 rows.* 3, which holds inf;"):
        TableEncoder().fit(frame)
