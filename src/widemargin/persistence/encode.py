"""From a fitted estimator to a JSON tree and a dictionary of arrays.

A value is written as JSON if JSON can hold it (``None``, booleans, 64-bit integers, finite floats,
strings, lists), otherwise as an object ``{"kind": ..., ...}``.  Arrays of numbers become tensors,
and the tree refers to them by name.
"""

import json
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse
from scipy.interpolate import BSpline
from sklearn.base import BaseEstimator

from widemargin.persistence import allowed


class Encoder:
    """Turns an estimator into a JSON tree; `tensors` collects the arrays by name."""

    def __init__(self) -> None:
        self.tensors: dict[str, np.ndarray] = {}
        self.text_bytes = 0  # of arrays of fixed-width strings, once they are loaded
        self._seen: dict[int, tuple[Any, Any]] = {}  # id -> (object kept alive, its node)
        self._active: list[int] = []  # ids of the containers around the current value
        self._n_estimators = 0

    def encode(self, value: Any, path: str) -> Any:
        """JSON node of `value`; `path` is its place in the model, for messages and tensor names."""
        if value is None or type(value) in (bool, str):
            return value
        if type(value) is int:
            # Beyond 64 bits, decimal digits are slow, and Python refuses more than 4300 of them.
            return value if -(2**63) <= value < 2**63 else {"kind": "int", "hex": hex(value)}
        if type(value) is float:
            return value if math.isfinite(value) else {"kind": "float", "text": repr(value)}
        if isinstance(value, np.generic):
            return self._scalar(value, path)
        if isinstance(value, np.dtype) and allowed.DTYPE.fullmatch(value.str):
            return {"kind": "dtype", "name": value.str}
        if isinstance(value, type) and value in allowed.TYPE_NAMES:
            return {"kind": "type", "name": allowed.TYPE_NAMES[value]}
        if id(value) in self._seen:
            return self._seen[id(value)][1]
        with self._inside(value, path):
            return self._container(value, path)

    @contextmanager
    def _inside(self, value: Any, path: str) -> Iterator[None]:
        if id(value) in self._active:
            raise TypeError(f"{path} refers back to an object that holds it; remove the cycle")
        if len(self._active) >= allowed.MAX_DEPTH:
            raise TypeError(
                f"{path} is nested more than {allowed.MAX_DEPTH} levels deep; flatten it"
            )
        self._active.append(id(value))
        yield
        self._active.pop()

    def _container(self, value: Any, path: str) -> Any:
        cls = type(value)
        if cls is list:
            return self._items(value, path)
        if cls is tuple:
            return {"kind": "tuple", "items": self._items(value, path)}
        if cls is dict:
            pairs = [
                [self._key(k, path), self.encode(v, f"{path}[{k!r}]")] for k, v in value.items()
            ]
            return {"kind": "dict", "items": pairs}
        if cls in (set, frozenset):
            items = sorted((self._key(item, path) for item in value), key=json.dumps)
            return {"kind": cls.__name__, "items": items}
        if cls is slice:
            return {
                "kind": "slice",
                "items": self._items([value.start, value.stop, value.step], path),
            }
        if cls in (np.ndarray, np.memmap):
            return self._array(value, path)
        if cls in allowed.SPARSE_NAMES and value.ndim == 2:
            return self._sparse(value, path)
        if cls is BSpline:
            parts = (value.t, value.c, int(value.k), value.extrapolate, int(value.axis))
            return {"kind": "bspline", "items": self._items(parts, path)}
        name = allowed.class_name(cls)
        if name is None:
            raise TypeError(_refusal(value, path))
        return self._estimator(value, name, path)

    def _items(self, values: Iterable[Any], path: str) -> list[Any]:
        return [self.encode(value, f"{path}[{i}]") for i, value in enumerate(values)]

    def _key(self, key: Any, path: str) -> Any:
        if not allowed.is_key(key):
            raise TypeError(
                f"{path} has the key {key!r}; use strings, numbers or tuples of them as keys"
            )
        return self.encode(key, path)

    def _scalar(self, value: Any, path: str) -> dict[str, Any]:
        if isinstance(value, np.str_):
            return {"kind": "str_", "text": str(value)}
        array = np.asarray(value)
        if not allowed.is_numeric(array.dtype):
            raise TypeError(_refusal(value, path))
        array = array.astype(array.dtype.newbyteorder("<"))
        return {"kind": "scalar", "dtype": array.dtype.str, "hex": array.tobytes().hex()}

    def _array(self, value: Any, path: str) -> dict[str, Any]:
        dtype = value.dtype
        if dtype.kind == "U":
            self.text_bytes += allowed.text_bytes(value.shape, dtype)
            node = {"kind": "text", "dtype": dtype.str, "shape": list(value.shape)}
            return node | {"items": value.ravel().tolist()}
        if dtype.kind == "O":
            items = [self.encode(item, f"{path}[{i}]") for i, item in enumerate(value.ravel())]
            return {"kind": "objects", "shape": list(value.shape), "items": items}
        if not allowed.is_numeric(dtype):
            raise TypeError(_refusal(value, path))
        # Column-major arrays are stored transposed, so that a loaded model multiplies them in the
        # same order, with the same rounding, as the saved one.
        fortran = bool(value.flags.f_contiguous and not value.flags.c_contiguous)
        stored = np.asarray(value.T if fortran else value, dtype.newbyteorder("<"), order="C")
        name = path if path not in self.tensors else f"{path}#{len(self.tensors)}"
        self.tensors[name] = _to_tensor(stored)
        node = {"kind": "array", "tensor": name, "dtype": stored.dtype.str, "fortran": fortran}
        self._seen[id(value)] = (value, node)
        return node

    def _sparse(self, value: Any, path: str) -> dict[str, Any]:
        # SciPy allows unused entries after the last one; the file leaves them out.
        n_entries = int(value.indptr[-1])
        parts = {"data": value.data[:n_entries], "indices": value.indices[:n_entries]}
        parts["indptr"] = value.indptr
        nodes = {name: self._array(part, f"{path}.{name}") for name, part in parts.items()}
        shape = [int(n) for n in value.shape]
        return {
            "kind": "sparse",
            "class": allowed.SPARSE_NAMES[type(value)],
            "shape": shape,
        } | nodes

    def _estimator(self, value: Any, name: str, path: str) -> dict[str, Any]:
        for parameter, pinned in allowed.PINNED.get(name, {}).items():
            if getattr(value, parameter) != pinned:
                raise TypeError(
                    f"{_join(path, parameter)}={getattr(value, parameter)!r} cannot be stored in a "
                    "widemargin file, which holds no code and no file names; set it to "
                    f"{pinned!r}, or use pickle"
                )
        names = allowed.constructor_defaults(type(value))
        nodes: dict[str, dict[str, Any]] = {"params": {}, "state": {}}
        for attribute, content in vars(value).items():
            if attribute not in allowed.SKIPPED_ATTRIBUTES:
                part = nodes["params" if attribute in names else "state"]
                part[attribute] = self.encode(content, _join(path, attribute))
        number, self._n_estimators = self._n_estimators, self._n_estimators + 1
        self._seen[id(value)] = (value, {"kind": "same", "id": number})
        return {"kind": "estimator", "id": number, "class": name} | nodes


def _to_tensor(array: np.ndarray) -> np.ndarray:
    storage = allowed.storage_dtype(array.dtype)
    if array.dtype.kind == "c":  # the last axis holds the real and imaginary parts
        return array.reshape(*array.shape, 1).view(storage)
    return array.view(storage)


def _join(path: str, attribute: str) -> str:
    return f"{path}.{attribute}" if path else attribute


def _refusal(value: Any, path: str) -> str:
    """Message that says why `value` cannot be stored, and what to do."""
    what = f"{path or 'the model'} is a {type(value).__module__}.{type(value).__qualname__}"
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        return f"{what}, whose state is not stored; set it to an integer or None before saving"
    if sparse.issparse(value):
        return f"{what}; convert it to CSR with .tocsr()"
    if isinstance(value, (np.ndarray, np.generic)):
        return f"{what} of dtype {value.dtype}; convert it to numbers or strings"
    if isinstance(value, BaseEstimator):
        return (
            f"{what}, which is neither an estimator of widemargin nor one of the scikit-learn "
            "transformers that its files may hold; replace it, or use pickle"
        )
    if callable(value):
        return f"{what}; widemargin files hold no code. Use a named option, or pickle"
    return f"{what}, which widemargin files cannot hold; replace or delete it, or use pickle"
