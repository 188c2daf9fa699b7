"""The memory that loading needs is in proportion to the size of the file."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from scipy.interpolate import BSpline

from widemargin import load, save
from widemargin._testing_dummy import Holder, rewrite, rewrite_value
from widemargin.persistence import ModelFileError, allowed


def test_many_wide_arrays_of_text(path):
    node = {"kind": "text", "dtype": "<U1000000", "shape": [1], "items": ["a"]}
    rewrite_value(path, [node] * 50)  # 4 MB each
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match=r"far more memory than the file"):
            load(path)
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()


def test_repeated_tensors_that_loading_copies(path, monkeypatch):
    splines = [BSpline(np.arange(8.0), np.arange(4.0), 3)] * 50
    matrices = [sparse.csr_array(np.eye(30))] * 50
    for values in (splines, matrices):
        save(Holder(values), path)
        load(path)
        with monkeypatch.context() as small:
            small.setattr(allowed, "FREE_BYTES", 0)
            small.setattr(allowed, "BYTES_PER_BYTE", 1e-3)
            with pytest.raises(ModelFileError, match="far more memory"):
                load(path)


def test_what_loading_would_refuse_is_not_saved(path, monkeypatch):
    monkeypatch.setattr(allowed, "FREE_BYTES", 1000)
    save(Holder(np.array(["a" * 50, *"bcd"])), path)
    load(path)
    with pytest.raises(ValueError, match="dtype=object"):
        save(Holder(np.array(["a" * 1000, *["b"] * 1000])), path)
    save(Holder(np.array(["a" * 1000, *["b"] * 1000], dtype=object)), path)
    assert load(path).value[-1] == "b"


def union(number, parts):
    transformers = [{"kind": "tuple", "items": [f"part{i}", p]} for i, p in enumerate(parts)]
    return {
        "kind": "estimator",
        "id": number,
        "class": "sklearn.pipeline.FeatureUnion",
        "params": {"transformer_list": transformers},
        "state": {},
    }


@pytest.mark.parametrize(("levels", "loads"), [(5, True), (30, False)])
def test_unions_of_unions_of_the_same_estimator(path, levels, loads):
    node = union(0, [])
    for number in range(1, levels):
        node = union(number, [node, {"kind": "same", "id": number - 1}])
    save(Holder(), path)
    rewrite(path, lambda header: header.update(model=node))
    if loads:
        load(path)
    else:
        with pytest.raises(ModelFileError, match="estimators"):
            load(path)
