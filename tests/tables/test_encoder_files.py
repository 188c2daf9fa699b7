"""Encoders as scikit-learn's transformers, and in model files."""

import contextlib
import os
import pickle
import unittest
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from helpers.data_files import write
from helpers.mixed_tables import mixed_frame
from widemargin import persistence
from widemargin.tables import DataFileError, TableEncoder, read_table, text_columns
from widemargin.tables.models import needed_columns

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

pytestmark = pytest.mark.filterwarnings("error")

OLD_MODELS = Path(__file__).parents[1] / "persistence" / "models"


@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_checks():
    for estimator, check in estimator_checks_generator(TableEncoder()):
        with warnings.catch_warnings(), contextlib.suppress(unittest.SkipTest):
            warnings.simplefilter("ignore")
            check(estimator)


def test_wrong_parameters():
    for options in (
        {"sparse": "yes"},
        {"max_categories": 1},
        {"min_frequency": 0},
        {"missing_indicator": "no"},
    ):
        (name,) = options
        with pytest.raises(ValueError, match=name):
            TableEncoder(**options).fit([[1], [2]])


@pytest.mark.parametrize("sparse_output", ["auto", True, False])
def test_encoders_can_be_stored(sparse_output, tmp_path):
    frame = mixed_frame().assign(when=pd.date_range("2026-01-01 10:00", periods=4, freq="30h"))
    encoder = TableEncoder(sparse=sparse_output).fit(frame)
    persistence.save(encoder, tmp_path / "encoder")
    for again in (
        persistence.load(tmp_path / "encoder"),
        pickle.loads(pickle.dumps(encoder)),
        clone(encoder).fit(frame),
    ):
        Z, expected = again.transform(frame), encoder.transform(frame)
        assert sparse.issparse(Z) is sparse.issparse(expected)
        assert (expected != Z).sum() == 0
        assert again.columns_ == encoder.columns_
        assert again.feature_names_in_.tolist() == encoder.feature_names_in_.tolist()


def test_columns_keep_their_type_in_later_files(tmp_path):
    train = read_table(write(tmp_path, "train.csv", "code,n,y\n01,1,0\n2,2,1\nA,3,0\n"), target="y")
    model = make_pipeline(TableEncoder(sparse=False), StandardScaler()).fit(train.X)
    assert text_columns(model) == ["code"]
    assert needed_columns(model) == ["code", "n"]
    later = write(tmp_path, "later.csv", "y,n,code\n1,2,01\n1,2,2\n")
    table = read_table(later, text_columns=text_columns(model))
    assert table.X["code"].tolist() == ["01", "2"]
    assert model[0].transform(table.X).tolist() == [[1, 0, 0, 2], [0, 1, 0, 2]]
    numbers = read_table(write(tmp_path, "n.csv", "a\n1\n2\n"), text_columns=[])
    assert isinstance(numbers.X, pd.DataFrame)
    with pytest.raises(DataFileError, match="lacks 'code', to be read as text"):
        read_table(write(tmp_path, "short.csv", "codes,n\n1,2\n"), text_columns=["code"])
    assert text_columns(StandardScaler()) is None


def test_booleans_are_read_as_text(tmp_path):
    frame = pd.DataFrame({"on": [True, False, True], "n": [1, 2, 3]})
    encoder = TableEncoder().fit(frame)
    assert text_columns(encoder) == ["on"]
    file = write(tmp_path, "later.csv", "on,n\ntrue,1\nFalse,2\n1,3\n")
    table = read_table(file, text_columns=text_columns(encoder))
    assert encoder.transform(table.X).tolist() == encoder.transform(frame).tolist()


@pytest.mark.filterwarnings("ignore")
def test_older_models_know_their_columns():
    model = persistence.load(OLD_MODELS / "Pipeline-a.safetensors")
    assert text_columns(model) == ["town"]
    assert needed_columns(model) == ["age", "size", "town"]


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
    encoder = TableEncoder()
    Z = encoder.fit_transform(table.X)
    assert sparse.issparse(Z)
    assert 100 < Z.shape[1] < 115
    persistence.save(encoder, tmp_path / "adult")
    again = persistence.load(tmp_path / "adult").transform(table.X)
    assert (again != Z).nnz == 0
