"""A hostile file cannot make `load` do anything but build a model."""

import json

import numpy as np
import pytest
from scipy import sparse

from widemargin import load, save
from widemargin._testing_dummy import (
    Holder,
    rewrite,
    rewrite_value,
)
from widemargin.persistence import ModelFileError, describe


@pytest.mark.parametrize(
    "name",
    [
        "os.system",
        "builtins.eval",
        "builtins.dict",
        "subprocess.Popen",
        "sklearn.externals._arff.ArffEncoder",
        "sklearn.linear_model.LogisticRegression",
        "sklearn.preprocessing._data.StandardScaler",
        "sklearn.preprocessing.os",
        "widemargin.persistence.load",
        "widemargin.persistence.BaseEstimator",
        "widemargin.persistence.os.system",
        "widemargin.persistence.ModelFileError",
        "widemargin.__main__.app",
        "widemargin._testing_dummy.__class__",
        "widemargin..Holder",
        "widemargin/../os.system",
        "widemargin.none.None",
        "widemargin",
        "",
        "Holder",
        "os\n.system",
        ["os.system"],
        None,
    ],
)
def test_other_classes_are_refused(name, path):
    node = {"kind": "estimator", "id": 0, "class": name, "params": {}, "state": {}}
    rewrite_value(path, node)
    with pytest.raises(ModelFileError):
        load(path)
    rewrite(path, lambda header: header.update(model=node))
    with pytest.raises(ModelFileError):
        load(path)


def estimator_node(name="widemargin.Holder", number=9, params=(), state=()):
    node = {"kind": "estimator", "id": number, "class": name}
    return node | {"params": dict(params), "state": dict(state)}


FUNCTION_TRANSFORMER = "sklearn.preprocessing.FunctionTransformer"
BAD_NODES = [
    {"kind": "pickle", "items": []},
    {"kind": ["tuple"], "items": []},
    {"items": []},
    {"kind": "tuple"},
    {"kind": "tuple", "items": 3},
    {"kind": "tuple", "items": [], "more": 1},
    {"kind": "int", "hex": "zz"},
    {"kind": "int", "hex": 3},
    {"kind": "float", "text": "1.5"},
    {"kind": "float", "text": "word"},
    {"kind": "dict", "items": [[1, 2], [1, 3]]},
    {"kind": "dict", "items": [[[1], 2]]},
    {"kind": "dict", "items": [[1, 2, 3]]},
    {"kind": "dict", "items": [3]},
    {"kind": "set", "items": [1, 1]},
    {"kind": "set", "items": [[]]},
    {"kind": "slice", "items": [1]},
    {"kind": "type", "name": "builtins.eval"},
    {"kind": "type", "name": "os.system"},
    {"kind": "dtype", "name": "O,O"},
    {"kind": "dtype", "name": "<f3"},
    {"kind": "dtype", "name": "<U9999999999999"},
    {"kind": "scalar", "dtype": "<f8", "hex": "00"},
    {"kind": "scalar", "dtype": "|O", "hex": "0000000000000000"},
    {"kind": "scalar", "dtype": "|b1", "hex": "07"},
    {"kind": "array", "tensor": "missing", "dtype": "<f8", "fortran": False},
    {"kind": "array", "tensor": None, "dtype": "<f8", "fortran": False},
    {"kind": "text", "dtype": "<U1", "shape": [2], "items": ["a"]},
    {"kind": "text", "dtype": "<U1", "shape": [1], "items": ["long"]},
    {"kind": "text", "dtype": "<U1", "shape": [-1], "items": ["a"]},
    {"kind": "text", "dtype": "<U1", "shape": [1], "items": [3]},
    {"kind": "text", "dtype": "<U999999999", "shape": [1], "items": ["a"]},
    {"kind": "text", "dtype": "<f8", "shape": [1], "items": ["1"]},
    {"kind": "text", "dtype": "<U1", "shape": [0, 2**70], "items": []},
    {"kind": "objects", "shape": [3], "items": [1]},
    {"kind": "objects", "shape": "3", "items": [1, 2, 3]},
    {"kind": "bspline", "items": [[0, 1], [1], 3, True, 0]},
    {"kind": "same", "id": 5},
    {"kind": "same", "id": 0},  # the model itself, which is not complete yet
    estimator_node(state={"a b": 1}),
    estimator_node(state={"__class__": 1}),
    estimator_node(state={"value": 1}, params={"value": 1}),
    estimator_node(params={"unknown": 1}),
    estimator_node(number=True),
    estimator_node(FUNCTION_TRANSFORMER, params={"func": {"kind": "type", "name": "builtins.int"}}),
    estimator_node("sklearn.pipeline.Pipeline", params={"steps": [], "memory": "cache"}),
    estimator_node("sklearn.pipeline.Pipeline"),  # `steps` has no default
    json.loads("[" * 150 + "]" * 150),
]


@pytest.mark.parametrize("node", BAD_NODES, ids=lambda node: f"{json.dumps(node):.40}")
def test_malformed_nodes(node, path):
    rewrite_value(path, node)
    with pytest.raises(ModelFileError):
        load(path)


@pytest.mark.parametrize("node", [3, None, "text", [], {"kind": "tuple", "items": []}])
def test_the_root_must_be_an_estimator(node, path):
    save(Holder(), path)
    rewrite(path, lambda header: header.update(model=node))
    with pytest.raises(ModelFileError):
        load(path)
    with pytest.raises(ModelFileError):
        describe(path)


def test_missing_and_unused_tensors(path):
    save(Holder(np.ones(3)), path)
    rewrite(path, edit_tensors=lambda tensors: tensors.update(extra=np.ones(2)))
    with pytest.raises(ModelFileError, match="does not use its tensor 'extra'"):
        load(path)
    rewrite(path, edit_tensors=lambda tensors: tensors.clear())
    with pytest.raises(ModelFileError, match="'value' of value is missing"):
        load(path)


def test_tensors_of_another_type(path):
    save(Holder([np.ones(3), np.ones(2, bool), np.ones(2, complex)]), path)
    content = path.read_bytes()
    for name, bad in [
        ("value[0]", np.ones(3, np.float32)),
        ("value[1]", np.array([1, 2], np.uint8).view(bool)),
        ("value[2]", np.ones(4)),
    ]:
        path.write_bytes(content)
        rewrite(path, edit_tensors=lambda tensors, n=name, b=bad: tensors.update({n: b}))
        with pytest.raises(ModelFileError):
            load(path)


@pytest.mark.parametrize(
    ("part", "bad"),
    [
        ("indices", [0, 99]),
        ("indices", [0, -1]),
        ("indices", [0]),
        ("indices", [0.0, 1.0]),
        ("indices", [[0, 1]]),
        ("indptr", [0, 1]),
        ("indptr", [0, 5, 2]),
        ("indptr", [1, 1, 2]),
        ("indptr", [0, 1, 1]),
        ("indptr", [0, -1, 2]),
        ("data", [1.0]),
        ("shape", [2]),
        ("shape", [-2, 2]),
        ("shape", [2, 2**80]),
        ("shape", ["2", 2]),
        ("class", "coo_array"),
    ],
)
def test_hostile_sparse_matrices(part, bad, path):
    save(Holder(sparse.csr_array(np.eye(2))), path)

    def edit_header(header):
        node = header["model"]["params"]["value"]
        if part in ("shape", "class"):
            node[part] = bad
        else:
            node[part]["dtype"] = np.asarray(bad).dtype.str

    def edit_tensors(tensors):
        if f"value.{part}" in tensors:
            tensors[f"value.{part}"] = np.asarray(bad)

    rewrite(path, edit_header, edit_tensors)
    with pytest.raises(ModelFileError):
        load(path)
