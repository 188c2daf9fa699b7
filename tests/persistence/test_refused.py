"""If a model cannot be saved, the error says why and the old file stays."""

import os

import numpy as np
import pytest
from scipy import sparse
from sklearn import preprocessing
from sklearn.base import BaseEstimator
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from widemargin import load, save
from widemargin._testing_dummy import Holder
from widemargin.persistence import container


def a_function(x):
    return x


class Stranger(BaseEstimator):
    pass


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (a_function, r"value is a builtins\.function; .* hold no code.*or pickle"),
        ([{"k": (lambda x: x)}], r"value\[0\]\['k'\] is a .*no code"),
        (np.sin, "no code"),
        (dict, "no code"),
        (np.random.RandomState(0), "integer"),
        (np.random.default_rng(0), "integer"),
        (LogisticRegression(), "LogisticRegression, which is neither"),
        (Stranger(), "neither"),
        (sparse.coo_array(np.eye(2)), r"\.tocsr\(\)"),
        (np.array([1], dtype=[("a", int)]), "dtype"),
        (np.array([object()]), r"value\[0\] is a builtins\.object"),
        (np.longdouble(1), "dtype"),
        (np.ma.masked_array([1.0]), "convert"),
        (b"bytes", "bytes"),
        ({frozenset(): 1}, "key"),
        (make_pipeline("passthrough", memory="cache"), "memory='cache'.*None"),
        (preprocessing.FunctionTransformer(np.log1p), r"value\.func=.*no code"),
        (TfidfVectorizer(input="filename"), "input='filename'"),
        (TfidfVectorizer(tokenizer=str.split), "no code"),
    ],
)
def test_refused_values_name_their_place_and_the_remedy(value, message, path):
    path.write_bytes(b"before")
    with pytest.raises(TypeError, match=message):
        save(Holder(value), path)
    assert path.read_bytes() == b"before"
    assert os.listdir(path.parent) == [path.name]


def test_cycles_and_depth_are_refused(path):
    loop = []
    loop.append([loop, loop])
    with pytest.raises(TypeError, match="cycle"):
        save(Holder(loop), path)
    deep = []
    for _ in range(500):
        deep = [deep]
    with pytest.raises(TypeError, match="levels deep"):
        save(Holder(deep), path)
    model = Holder()
    model.me_ = [model, model]
    with pytest.raises(TypeError, match="cycle"):
        save(model, path)


def test_only_estimators_are_saved(path):
    for thing in (3, "model", Holder, None):
        with pytest.raises(TypeError, match="not an estimator"):
            save(thing, path)


def test_a_failed_write_keeps_the_old_file(path, monkeypatch):
    save(Holder(1), path)

    def fail(tensors, filename, metadata):
        filename.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(container, "save_file", fail)
    with pytest.raises(OSError, match="disk full"):
        save(Holder(2), path)
    assert load(path).value == 1
    assert os.listdir(path.parent) == [path.name]


def test_file_permissions_are_the_usual_ones(path):
    save(Holder(), path)
    usual = path.with_name("usual")
    usual.touch()
    assert path.stat().st_mode == usual.stat().st_mode
    path.chmod(0o640)
    save(Holder(), path)
    assert path.stat().st_mode & 0o777 == 0o640


def test_paths_that_cannot_be_written(tmp_path):
    with pytest.raises(IsADirectoryError):
        save(Holder(), tmp_path)
    with pytest.raises(FileNotFoundError):
        save(Holder(), tmp_path / "no" / "folder")


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*absent; create it first"):
        save(preprocessing.StandardScaler(), tmp_path / "absent" / "m.safetensors")
