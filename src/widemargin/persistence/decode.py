"""From the JSON tree of a model file, which is not trusted, to an estimator.

Nothing in the tree is executed: a class is looked up in a fixed list, an instance is made without
calling its constructor, and its attributes are set.  `encode` describes the format.
"""

import inspect
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.interpolate import BSpline

from widemargin._runtime.sparse import checked_sparse
from widemargin.persistence import allowed

# Errors that broken or hostile content can cause here, in NumPy, in SciPy and in the JSON parser.
DECODING_ERRORS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)
SIMPLE_KINDS = ("int", "float", "str_", "scalar", "dtype", "type")


class Decoder:
    """Builds values from nodes; there is one method ``kind_*`` for each kind of node.

    The fields of every node, their types and sizes are checked before it is used.  Anything
    unexpected raises a ValueError that names the place.  `used` collects the names of tensors and
    `sklearn_classes` those of scikit-learn classes.

    A small file must not need much memory: `file_size` bounds what all its values take together,
    before they are allocated.
    """

    def __init__(self, tensors: Mapping[str, np.ndarray], file_size: int = 0) -> None:
        self._tensors = tensors
        self._free_bytes = allowed.memory_budget(file_size)
        self._free_estimators = max(allowed.FREE_ESTIMATORS, file_size)
        self._estimators: dict[int, tuple[Any, int]] = {}  # id -> estimator, estimators in it
        self._n_estimators = 0  # so far, counted at each place they are used
        self._depth = 0
        self.used: set[str] = set()
        self.sklearn_classes: set[str] = set()

    def decode(self, node: Any, where: str) -> Any:
        """Value of one node; `where` is its place in the model, for messages."""
        if node is None or isinstance(node, (bool, int, float, str)):
            return node
        if self._depth > allowed.MAX_DEPTH:
            raise ValueError(f"nested more than {allowed.MAX_DEPTH} levels deep at {where}")
        self._depth += 1
        if isinstance(node, list):
            value: Any = self._items(node, where)
        else:
            kind = node.get("kind")
            build = getattr(self, f"kind_{kind}", None)
            if not isinstance(kind, str) or build is None:
                raise ValueError(f"unknown kind of value {kind!r} at {where or 'the top'}")
            value = build(node, where)
        self._depth -= 1
        return value

    def kind_int(self, node: Any, where: str) -> int:
        return int(_field(node, "hex", str, where), 16)

    def kind_float(self, node: Any, where: str) -> float:
        value = float(_field(node, "text", str, where))
        if math.isfinite(value):
            raise ValueError(f"a finite number is stored as text at {where}")
        return value

    def kind_str_(self, node: Any, where: str) -> np.str_:
        return np.str_(_field(node, "text", str, where))

    def kind_dtype(self, node: Any, where: str) -> np.dtype[Any]:
        return _dtype(_field(node, "name", str, where), where)

    def kind_type(self, node: Any, where: str) -> type:
        return allowed.TYPES[_field(node, "name", str, where)]

    def kind_scalar(self, node: Any, where: str) -> Any:
        _check_fields(node, ("dtype", "hex"), where)
        dtype = _dtype(node["dtype"], where)
        content = bytes.fromhex(node["hex"])
        if not allowed.is_numeric(dtype) or len(content) != dtype.itemsize:
            raise ValueError(f"improper number at {where}")
        return _checked_bools(np.frombuffer(content, dtype), where)[0]

    def kind_tuple(self, node: Any, where: str) -> tuple[Any, ...]:
        return tuple(self._items(_field(node, "items", list, where), where))

    def kind_set(self, node: Any, where: str) -> set[Any]:
        items = self.kind_tuple(node, where)
        if not all(map(allowed.is_key, items)) or len(set(items)) != len(items):
            raise ValueError(f"improper or repeated elements of the set at {where}")
        return set(items)

    def kind_frozenset(self, node: Any, where: str) -> frozenset[Any]:
        return frozenset(self.kind_set(node, where))

    def kind_dict(self, node: Any, where: str) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for pair in _field(node, "items", list, where):
            key_node, value_node = pair
            key = self.decode(key_node, where)
            if not allowed.is_key(key) or key in result:
                raise ValueError(f"improper or repeated key {key!r} at {where}")
            result[key] = self.decode(value_node, f"{where}[{key!r}]")
        return result

    def kind_slice(self, node: Any, where: str) -> slice:
        start, stop, step = self.kind_tuple(node, where)
        return slice(start, stop, step)

    def kind_bspline(self, node: Any, where: str) -> BSpline:
        t, c, k, extrapolate, axis = self.kind_tuple(node, where)
        self._spend(8 * (np.size(t) + np.size(c)), where)
        return BSpline(t, c, k, extrapolate=extrapolate, axis=axis)  # checks its arguments

    def kind_array(self, node: Any, where: str) -> np.ndarray:
        _check_fields(node, ("tensor", "dtype", "fortran"), where)
        name, dtype = node["tensor"], _dtype(node["dtype"], where)
        if not isinstance(name, str) or name not in self._tensors:
            raise ValueError(f"tensor {name!r} of {where} is missing")
        self.used.add(name)
        tensor = self._tensors[name]
        if not allowed.is_numeric(dtype) or tensor.dtype != allowed.storage_dtype(dtype):
            raise ValueError(f"tensor {name!r} has type {tensor.dtype}, which cannot hold {dtype}")
        _checked_bools(tensor, where)
        if dtype.kind == "c":
            if tensor.shape[-1:] != (2,):
                raise ValueError(f"complex tensor {name!r} has the shape {tensor.shape}")
            tensor = tensor.view(dtype).reshape(tensor.shape[:-1])
        array = tensor.view(dtype)
        return array.T if node["fortran"] is True else array

    def kind_text(self, node: Any, where: str) -> np.ndarray:
        _check_fields(node, ("dtype", "shape", "items"), where)
        dtype, items = _dtype(node["dtype"], where), node["items"]
        shape = _shape(node["shape"], len(items), where)
        if dtype.kind != "U":
            raise ValueError(f"improper array of strings at {where}")
        self._spend(allowed.text_bytes(shape, dtype), where)
        if any(not isinstance(item, str) or 4 * len(item) > dtype.itemsize for item in items):
            raise ValueError(f"element that is not a string of type {dtype} at {where}")
        return np.array(items, dtype).reshape(shape)

    def kind_objects(self, node: Any, where: str) -> np.ndarray:
        _check_fields(node, ("shape", "items"), where)
        items = self._items(node["items"], where)
        array = np.empty(len(items), object)
        for i, item in enumerate(items):  # np.array(items) would merge items that are arrays
            array[i] = item
        return array.reshape(_shape(node["shape"], len(items), where))

    def kind_sparse(self, node: Any, where: str) -> Any:
        names = ("data", "indices", "indptr")
        _check_fields(node, ("class", "shape", *names), where)
        data, indices, indptr = (self.decode(node[name], f"{where}.{name}") for name in names)
        if not all(isinstance(part, np.ndarray) for part in (data, indices, indptr)):
            raise ValueError(f"improper sparse matrix at {where}")
        self._spend(8 * (2 * indices.size + indptr.size), where)
        return checked_sparse(allowed.SPARSE[node["class"]], data, indices, indptr, node["shape"])

    def kind_estimator(self, node: Any, where: str) -> Any:
        _check_fields(node, ("id", "class", "params", "state"), where)
        name, number = node["class"], node["id"]
        if not isinstance(name, str) or type(number) is not int or number in self._estimators:
            raise ValueError(f"improper estimator at {where or 'the top'}")
        before = self._n_estimators
        cls = allowed.resolve_class(name)
        params = self._attributes(node["params"], where)
        state = self._attributes(node["state"], where)
        _complete(params, cls, name)
        if params.keys() & state.keys():
            raise ValueError(f"attribute of {name} given twice")
        if any(params[key] != value for key, value in allowed.PINNED.get(name, {}).items()):
            raise ValueError(f"{name} with a parameter that a model file must not set")
        if name.startswith("sklearn."):
            self.sklearn_classes.add(cls.__name__)
        estimator: Any = object.__new__(cls)  # does not call the constructor
        vars(estimator).update(params | state)
        self._use_estimators(1, where)
        self._estimators[number] = estimator, self._n_estimators - before
        return estimator

    def kind_same(self, node: Any, where: str) -> Any:
        # Only complete estimators are listed, so there can be no cycle.
        estimator, size = self._estimators[_field(node, "id", int, where)]
        self._use_estimators(size, where)
        return estimator

    def _spend(self, n_bytes: int, where: str) -> None:
        """Count memory about to be allocated."""
        self._free_bytes -= n_bytes
        if self._free_bytes < 0:
            raise ValueError(f"the values up to {where} need far more memory than the file has")

    def _use_estimators(self, count: int, where: str) -> None:
        """Count estimators: unions of unions of the same one would double at each level."""
        self._n_estimators += count
        if self._n_estimators > self._free_estimators:
            raise ValueError(f"more than {self._free_estimators} estimators up to {where}")

    def _items(self, nodes: list[Any], where: str) -> list[Any]:
        return [self.decode(node, f"{where}[{i}]") for i, node in enumerate(nodes)]

    def _attributes(self, nodes: Any, where: str) -> dict[str, Any]:
        for name in nodes:
            if not name.isidentifier() or name.startswith("__"):
                raise ValueError(f"improper attribute name {name!r} at {where or 'the top'}")
        return {name: self.decode(n, f"{where}.{name}".lstrip(".")) for name, n in nodes.items()}


def summary(node: Any) -> Any:
    """Value of a small node, or a short description; no estimator or array is built."""
    if isinstance(node, list):
        return [summary(item) for item in node]
    if not isinstance(node, dict):
        return node
    kind = node["kind"]
    if kind in SIMPLE_KINDS:
        value = Decoder({}).decode(node, "")
        return value.item() if isinstance(value, np.generic) else value
    if kind == "tuple":
        return tuple(summary(item) for item in node["items"])
    if kind == "dict":
        return {summary(key): summary(value) for key, value in node["items"]}
    if kind == "array":
        return f"array {node['tensor']!r}"
    if kind in ("text", "objects", "sparse"):
        return f"{kind} {tuple(node['shape'])}"
    return str(node["class"]).rpartition(".")[2] if kind == "estimator" else str(kind)


def _complete(params: dict[str, Any], cls: type, name: str) -> None:
    """Set parameters that are newer than the file to their defaults; refuse unknown ones."""
    defaults = allowed.constructor_defaults(cls)
    if unknown := params.keys() - defaults.keys():
        # Ignoring a parameter could change the predictions.
        raise ValueError(f"{name} has no parameter {min(unknown)!r} in this version")
    for parameter, default in defaults.items():
        if params.setdefault(parameter, default) is inspect.Parameter.empty:
            raise ValueError(f"parameter {parameter!r} of {name} is missing")


def _check_fields(node: Any, names: tuple[str, ...], where: str) -> None:
    if node.keys() != {"kind", *names}:
        raise ValueError(f"fields {sorted(node)} of a {node['kind']} at {where or 'the top'}")


def _field(node: Any, name: str, cls: type, where: str) -> Any:
    """The single field of a node, which must have type `cls`."""
    _check_fields(node, (name,), where)
    if type(node[name]) is not cls:
        raise ValueError(f"{name} of a {node['kind']} at {where} is not a {cls.__name__}")
    return node[name]


def _dtype(name: Any, where: str) -> np.dtype[Any]:
    if not isinstance(name, str) or not allowed.DTYPE.fullmatch(name):
        raise ValueError(f"dtype {name!r} at {where} is unknown")
    return np.dtype(name)


def _shape(shape: Any, size: int, where: str) -> tuple[int, ...]:
    if any(type(n) is not int or n < 0 for n in shape) or math.prod(shape) != size:
        raise ValueError(f"shape {shape} of {size} elements at {where}")
    return tuple(shape)


def _checked_bools(array: np.ndarray, where: str) -> np.ndarray:
    # A boolean byte other than 0 and 1 is neither true nor false to compiled code.
    if array.dtype == bool and np.any(array.view(np.uint8) > 1):
        raise ValueError(f"a boolean at {where} is neither 0 nor 1")
    return array
