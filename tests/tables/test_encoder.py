"""Columns of every type become numbers, in the training file and in later files."""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers.data_files import X, write
from widemargin import persistence
from widemargin.tables import (
    DataFileError,
    TextColumns,
    read_table,
    table_encoder,
    text_columns,
)

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


def mixed_frame():
    return pd.DataFrame(
        {
            "age": [20.0, None, 40.0, 25.0],
            "count": pd.array([1, 2, None, 4], dtype="Int64"),
            "town": ["Bern", "Sion", None, "Bern"],
            "object": np.array(["u", None, "v", "u"], dtype=object),
            "category": pd.Categorical([3, 4, 3, 4]),
            "flag": [True, False, True, True],
        }
    )


@pytest.mark.parametrize("sparse_output", ["auto", True, False])
def test_the_encoder_handles_every_column_type_and_can_be_saved(sparse_output, tmp_path):
    frame = mixed_frame()
    encoder = table_encoder(frame, sparse=sparse_output)
    Z = encoder.fit_transform(frame)
    if sparse_output != "auto":
        assert sparse.issparse(Z) is sparse_output
    Z = Z.toarray() if sparse.issparse(Z) else Z
    assert Z.shape == (4, 2 + 3 + 3 + 2 + 2)
    assert Z[1, 0] == 25.0
    assert Z[2, 1] == 2.0
    assert np.isfinite(Z).all()
    persistence.save(encoder, tmp_path / "encoder")
    again = persistence.load(tmp_path / "encoder").transform(frame)
    np.testing.assert_array_equal(again.toarray() if sparse.issparse(again) else again, Z)
    assert text_columns(encoder) == ["town", "object", "category", "flag"]
    assert len(encoder.get_feature_names_out()) == Z.shape[1]


def test_the_encoder_drops_constant_columns():
    frame = mixed_frame().assign(
        one=1.0, word="w", void=np.nan, nothing=None, when=pd.Timestamp("2026-01-02")
    )
    with pytest.warns(UserWarning, match="'one'.*'word'.*'void'.*'nothing'.*'when'.*dates"):
        encoder = table_encoder(frame)
    assert encoder.fit_transform(frame).shape[1] == 12
    with pytest.raises(ValueError, match="varies"), pytest.warns(UserWarning, match="one"):
        table_encoder(frame[["one"]])
    with pytest.raises(TypeError, match="arrays need no encoder"):
        table_encoder(X)
    with pytest.raises(ValueError, match="sparse='yes'"):
        table_encoder(frame, sparse="yes")


def test_new_and_rare_categories_share_an_indicator():
    words = np.r_[np.repeat(["a", "b"], 15_000), ["rare"]]
    frame = pd.DataFrame({"w": words})
    encoder = table_encoder(frame, sparse=False).fit(frame)
    rows = encoder.transform(pd.DataFrame({"w": ["a", "rare", "new", None]}))
    assert rows.tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 1], [0, 0, 1]]


def test_text_does_not_depend_on_the_type_of_the_column():
    columns = [[1, 2], [1.0, 2.0], ["1", "2"], np.array([1, "2"], object), pd.Categorical([1, 2])]
    for column in columns:
        assert TextColumns().fit_transform(pd.DataFrame({"c": column})).tolist() == [["1"], ["2"]]
    array = np.array([["x", None], [float("nan"), 2]], dtype=object)
    assert TextColumns("?").fit_transform(array).tolist() == [["x", "?"], ["?", "2"]]


def test_columns_keep_their_type_in_later_files(tmp_path):
    train = read_table(write(tmp_path, "train.csv", "code,n,y\n01,1,0\n2,2,1\nA,3,0\n"), target="y")
    encoder = table_encoder(train.X, sparse=False)
    model = make_pipeline(encoder, StandardScaler()).fit(train.X)
    later = write(tmp_path, "later.csv", "y,n,code\n1,2,01\n1,2,2\n")
    table = read_table(later, text_columns=text_columns(model))
    assert table.X["code"].tolist() == ["01", "2"]
    assert model[0].transform(table.X).tolist() == [[2, 1, 0, 0], [2, 0, 1, 0]]
    numbers = read_table(write(tmp_path, "n.csv", "a\n1\n2\n"), text_columns=[])
    assert isinstance(numbers.X, pd.DataFrame)
    with pytest.raises(DataFileError, match="lacks 'code', to be read as text"):
        read_table(write(tmp_path, "short.csv", "codes,n\n1,2\n"), text_columns=["code"])
    assert text_columns(StandardScaler()) is None


@pytest.mark.data
def test_adult(tmp_path):
    source = Path(os.environ["WIDEMARGIN_DATA"]) / "adult" / "adult.data.xz"
    if not source.exists():
        pytest.skip("WIDEMARGIN_DATA holds no adult/adult.data.xz")
    table = read_table(source, target="-1", format="csv", header=False)
    assert table.X.shape == (32_561, 14)
    assert np.unique(table.y).tolist() == ["<=50K", ">50K"]
    # 1836 + 1843 + 583 question marks in work class, occupation and country.
    assert int(table.X.isna().to_numpy().sum()) == 4262
    encoder = table_encoder(table.X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Z = encoder.fit_transform(table.X)
    assert sparse.issparse(Z)
    assert 100 < Z.shape[1] < 115
    persistence.save(encoder, tmp_path / "adult")
    again = persistence.load(tmp_path / "adult").transform(table.X)
    assert (again != Z).nnz == 0


def test_text_that_hardly_repeats_gives_a_warning():
    frame = pd.DataFrame(
        {"price": [f"{i},5" for i in range(40)], "town": ["Bern", "Sion"] * 20, "n": range(40)}
    )
    with pytest.warns(UserWarning, match=r"'price' holds 40 distinct texts.*decimal point"):
        table_encoder(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table_encoder(frame.drop(columns="price"))
