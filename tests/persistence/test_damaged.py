"""Damage is detected, or does not change the model."""

import warnings

import numpy as np
import pytest
from safetensors.numpy import save_file
from sklearn import preprocessing
from sklearn.pipeline import Pipeline, make_pipeline

from widemargin import load, save
from widemargin._testing_dummy import Holder, MeanClassifier, assert_same, rewrite
from widemargin.persistence import ModelFileError, describe


@pytest.fixture
def model_file(path):
    X = np.random.default_rng(0).random((10, 3))
    model = make_pipeline(preprocessing.StandardScaler(), MeanClassifier())
    save(model.fit(X, np.array(["a", "b"] * 5)), path)
    return path, X, model.decision_function(X)


def loads_the_same_or_fails_clearly(path, X, expected):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            loaded = load(path)
    except ModelFileError as error:
        message = str(error)
    else:
        assert_same(loaded.decision_function(X), expected)
        return True
    assert str(path) in message
    return False


def test_truncated_files(model_file):
    path, X, expected = model_file
    content = path.read_bytes()
    for length in [*range(20), *range(20, len(content), 37), len(content) - 1]:
        path.write_bytes(content[:length])
        assert not loads_the_same_or_fails_clearly(path, X, expected)
    path.write_bytes(content + b"\0")
    assert not loads_the_same_or_fails_clearly(path, X, expected)


@pytest.mark.slow
def test_any_changed_byte_is_detected(model_file):
    path, X, expected = model_file
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    survivors = 0
    for position in range(len(content)):
        changed = bytearray(content)
        changed[position] ^= 1 << rng.integers(8)
        path.write_bytes(changed)
        survivors += loads_the_same_or_fails_clearly(path, X, expected)
    # The survivors change only white space in the padding of the header.
    assert survivors < 20


def test_files_of_other_kinds(path):
    for content in (b"", b"{}", b"\x80\x04K\x01.", b"a,b\n1,2\n" * 10, b"\xff" * 64):
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match="damaged"):
            load(path)
    absurd = (2**50).to_bytes(8, "little") + b"{}"
    path.write_bytes(absurd)
    with pytest.raises(ModelFileError):
        describe(path)
    save_file({"a": np.ones(3)}, path)
    with pytest.raises(ModelFileError, match=r"widemargin did not write"):
        load(path)
    for text in ("", "[]", "1", "{}", "[" * 10**5, '{"format": "1"}', '{"format": 1}', "NaN"):
        save_file({"a": np.ones(3)}, path, metadata={"widemargin": text})
        with pytest.raises(ModelFileError):
            load(path)
        with pytest.raises(ModelFileError):
            describe(path)


def test_missing_files_are_os_errors(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none")
    with pytest.raises((IsADirectoryError, PermissionError)):
        load(tmp_path)


def test_newer_format(path):
    save(Holder(), path)

    def newer(header):
        return {"format": 7, "widemargin": "9.1", "other fields": 1}

    rewrite(path, newer)
    with pytest.raises(ModelFileError, match=r"widemargin 9\.1 \(format 7\).*upgrade widemargin"):
        load(path)


def test_other_scikit_learn_version_warns(path):
    def older(header):
        header["sklearn"] = "1.2.3"

    save(make_pipeline(preprocessing.StandardScaler()), path)
    rewrite(path, older)
    with pytest.warns(UserWarning, match=r"Pipeline, StandardScaler .*1\.2\.3"):
        assert isinstance(load(path), Pipeline)
    save(Holder(), path)
    rewrite(path, older)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(path)
