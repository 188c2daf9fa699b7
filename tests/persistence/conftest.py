"""Small estimators to save, and ways to change a model file.

Only classes of widemargin can be saved, so this module registers itself as a module of the package;
the tests import from it under that name.
"""

import json
import sys

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin

from widemargin import load, save
from widemargin.persistence import container
from widemargin.persistence.classes import CLASSES

MODULE = "widemargin._testing_dummy"
sys.modules[MODULE] = sys.modules[__name__]


@pytest.fixture(autouse=True)
def known_to_files(monkeypatch):
    """Allow files to hold the classes below."""
    for name in ("Holder", "MeanClassifier"):
        monkeypatch.setitem(CLASSES, f"widemargin.{name}", MODULE)


class Holder(TransformerMixin, BaseEstimator):
    """An estimator that holds any value."""

    __module__ = MODULE

    def __init__(self, value=None, other="default"):
        self.value = value
        self.other = other


class MeanClassifier(ClassifierMixin, BaseEstimator):
    """Nearest class mean: the smallest model with arrays and labels."""

    __module__ = MODULE

    def __init__(self, shrink=0.0):
        self.shrink = shrink

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        rows = [np.asarray(X[np.asarray(y == c)].mean(axis=0)).ravel() for c in self.classes_]
        self.coef_ = np.asfortranarray(rows) * (1 - self.shrink)
        return self

    def decision_function(self, X):
        return X @ self.coef_.T - 0.5 * (self.coef_**2).sum(axis=1)

    def predict(self, X):
        return self.classes_[np.argmax(self.decision_function(X), axis=1)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


def roundtrip(value, path):
    save(Holder(value), path)
    return load(path).value


def assert_same(a, b):
    """The two are equal in value, type, dtype and order; NaN equals NaN."""
    assert type(a) is type(b)
    if isinstance(a, np.ndarray):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        if a.dtype.kind == "O":
            assert_same(a.ravel().tolist(), b.ravel().tolist())
        else:
            np.testing.assert_array_equal(a, b)
    elif isinstance(a, dict):
        assert_same(list(a.items()), list(b.items()))
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_same(x, y)
    else:
        assert a == b or (a != a and b != b)


def rewrite(path, edit_header=None, edit_tensors=None):
    """Change a model file and correct its digest, as somebody who knows the format could."""
    with safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()["widemargin"])
        tensors = {name: file.get_tensor(name) for name in list(file.keys())}
    header.pop("digest")
    header = (edit_header(header) or header) if edit_header else header
    if edit_tensors:
        edit_tensors(tensors)
    header["digest"] = container.digest(header, tensors)
    save_file(tensors, path, metadata={"widemargin": json.dumps(header)})


def rewrite_value(path, node):
    save(Holder(0), path)
    rewrite(path, lambda header: header["model"]["params"].update(value=node))
