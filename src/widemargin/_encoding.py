"""Fitted estimators as plain data: a JSON tree and a dictionary of arrays.

A value is written as JSON where JSON can hold it (``None``, booleans, 64-bit integers, finite
floats, strings, lists) and otherwise as an object ``{"kind": ..., ...}``.  Large arrays leave the
tree and become tensors, which the tree names.  Nothing in the tree is ever executed: a class is
looked up in a fixed list, made without calling its constructor, and given its attributes.
"""

import inspect
import json
import math
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse
from scipy.interpolate import BSpline
from sklearn.base import BaseEstimator

__all__ = ["Encoder", "checked_sparse"]

MAX_DEPTH = 100  # levels of nesting; far above any real pipeline, far below Python's stack
MAX_TEXT_BYTES = 2**30  # memory that one array of fixed-width strings may ask for

SKLEARN_CLASSES: dict[str, frozenset[str]] = {
    module: frozenset(names.split())
    for module, names in {
        "sklearn.compose": "ColumnTransformer",
        "sklearn.decomposition": "PCA TruncatedSVD",
        "sklearn.feature_extraction": "DictVectorizer FeatureHasher",
        "sklearn.feature_extraction.text": (
            "CountVectorizer HashingVectorizer TfidfTransformer TfidfVectorizer"
        ),
        "sklearn.feature_selection": "VarianceThreshold",
        "sklearn.impute": "MissingIndicator SimpleImputer",
        "sklearn.kernel_approximation": (
            "AdditiveChi2Sampler Nystroem PolynomialCountSketch RBFSampler SkewedChi2Sampler"
        ),
        "sklearn.pipeline": "FeatureUnion Pipeline",
        "sklearn.preprocessing": (
            "Binarizer FunctionTransformer KBinsDiscretizer LabelBinarizer LabelEncoder "
            "MaxAbsScaler MinMaxScaler Normalizer OneHotEncoder OrdinalEncoder "
            "PolynomialFeatures PowerTransformer QuantileTransformer RobustScaler "
            "SplineTransformer StandardScaler"
        ),
        "sklearn.random_projection": "GaussianRandomProjection SparseRandomProjection",
    }.items()
}

# Parameters through which a file could reach code or other files: a function to call, a folder of
# pickled results (joblib.Memory), documents given as file names.  Only these values are stored.
PINNED: dict[str, dict[str, str | None]] = {
    "sklearn.pipeline.Pipeline": {"memory": None},
    "sklearn.preprocessing.FunctionTransformer": {"func": None, "inverse_func": None},
    "sklearn.feature_extraction.text.CountVectorizer": {"input": "content"},
    "sklearn.feature_extraction.text.HashingVectorizer": {"input": "content"},
    "sklearn.feature_extraction.text.TfidfVectorizer": {"input": "content"},
}

# Observers of the training, not part of the model.
SKIPPED_ATTRIBUTES = frozenset({"_skl_callbacks"})

NUMBER_TYPES = (
    *(np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
    *(np.float16, np.float32, np.float64, np.complex64, np.complex128),
)
TYPES: dict[str, type] = {
    f"{cls.__module__}.{cls.__name__}": cls
    for cls in (bool, int, float, str, object, np.str_, np.object_, *NUMBER_TYPES)
}
TYPE_NAMES = {cls: name for name, cls in TYPES.items()}
SPARSE: dict[str, type] = {
    cls.__name__: cls
    for cls in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.csc_matrix)
}
SPARSE_NAMES = {cls: name for name, cls in SPARSE.items()}

_OWN_CLASS = re.compile(r"widemargin(\.(?!__)[A-Za-z_]\w*)+", re.ASCII)
DTYPE = re.compile(r"[<>|][biufcmMUO]\d{0,9}(\[\d{0,9}[a-zA-Z]{1,2}\])?", re.ASCII)


def _own_name(cls: type) -> str | None:
    """Name of an estimator of this package; None if it could not be found again by its name."""
    name = f"{cls.__module__}.{cls.__name__}"
    findable = cls.__qualname__ == cls.__name__ and _OWN_CLASS.fullmatch(name)
    return name if findable and issubclass(cls, BaseEstimator) else None


def class_name(cls: type) -> str | None:
    """Name under which instances of `cls` are stored, or None when they may not be."""
    for module, names in SKLEARN_CLASSES.items():
        # The public name: scikit-learn's private modules move between its versions.
        if cls.__name__ in names and getattr(import_module(module), cls.__name__) is cls:
            return f"{module}.{cls.__name__}"
    return _own_name(cls)


def resolve_class(name: str) -> type:
    """Class called `name`, if it is on the list; the opposite of `class_name`."""
    module, _, short = name.rpartition(".")
    if short in SKLEARN_CLASSES.get(module, ()):
        return getattr(import_module(module), short)  # type: ignore[no-any-return]
    if not _OWN_CLASS.fullmatch(name):
        raise ValueError(f"class {name!r} is not one that a model file may name")
    try:
        cls = getattr(import_module(module), short, None)
    except ImportError as error:
        raise ValueError(f"class {name!r} cannot be imported ({error})") from error
    # The names differ for a class that the module merely imported.
    if not isinstance(cls, type) or _own_name(cls) != name:
        raise ValueError(f"{name!r} is not an estimator of this version of widemargin")
    return cls


def constructor_defaults(cls: type) -> dict[str, Any]:
    """Constructor parameters of `cls` with their defaults (`inspect.Parameter.empty` if none)."""
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]  # type: ignore[misc]
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {p.name: p.default for p in parameters if p.kind not in variadic}


def checked_sparse(cls: Any, data: Any, indices: Any, indptr: Any, shape: Any) -> Any:
    """CSR or CSC matrix whose parts were checked; the C++ code trusts them afterwards.

    Parameters
    ----------
    cls : class
        ``csr_array``, ``csr_matrix``, ``csc_array`` or ``csc_matrix`` of scipy.sparse.
    data, indices, indptr : ndarray of one dimension
        The compressed rows (CSR) or columns (CSC).
    shape : sequence of two integers
        Number of rows and of columns.

    Raises
    ------
    ValueError
        If the parts do not describe a matrix of this shape.
    """
    whole = all(isinstance(n, (int, np.integer)) and 0 <= n < 2**62 for n in shape)
    if len(shape) != 2 or not whole:
        raise ValueError(f"sparse matrix of shape {tuple(shape)}; two sizes are needed")
    major, minor = map(int, shape if cls.__name__.startswith("csr") else shape[::-1])
    if any(part.ndim != 1 for part in (data, indices, indptr)):
        raise ValueError("data, indices and indptr of a sparse matrix must have one dimension")
    if data.dtype.kind not in "biufc" or any(p.dtype.kind not in "iu" for p in (indices, indptr)):
        raise ValueError("a sparse matrix needs numeric data and integer indices and indptr")
    if len(indptr) != major + 1 or len(data) != len(indices):
        raise ValueError("data, indices and indptr of a sparse matrix do not fit its shape")
    if indptr[0] != 0 or indptr[-1] != len(indices) or np.any(indptr[1:] < indptr[:-1]):
        raise ValueError("indptr of a sparse matrix must grow from 0 to the number of entries")
    if len(indices) and not (indices.min() >= 0 and indices.max() < minor):
        raise ValueError(f"index outside 0..{minor - 1} in a sparse matrix")
    return cls((data, indices, indptr), shape=(int(shape[0]), int(shape[1])))


class Encoder:
    """Turns an estimator into a JSON tree; `tensors` collects the arrays that the tree names."""

    def __init__(self) -> None:
        self.tensors: dict[str, np.ndarray] = {}
        self._seen: dict[int, tuple[Any, Any]] = {}  # id -> (object kept alive, its node)
        self._active: list[int] = []  # ids of the containers around the current value
        self._n_estimators = 0

    def encode(self, value: Any, path: str) -> Any:
        """JSON node of `value`; `path` is its place in the model, for messages and tensors."""
        if value is None or type(value) in (bool, str):
            return value
        if type(value) is int:
            # Beyond 64 bits decimal digits get slow (and Python refuses 4300 of them).
            return value if -(2**63) <= value < 2**63 else {"kind": "int", "hex": hex(value)}
        if type(value) is float:
            return value if math.isfinite(value) else {"kind": "float", "text": repr(value)}
        if isinstance(value, np.generic):
            return self._scalar(value, path)
        if isinstance(value, np.dtype) and DTYPE.fullmatch(value.str):
            return {"kind": "dtype", "name": value.str}
        if isinstance(value, type) and value in TYPE_NAMES:
            return {"kind": "type", "name": TYPE_NAMES[value]}
        if id(value) in self._seen:
            return self._seen[id(value)][1]
        with self._inside(value, path):
            return self._container(value, path)

    @contextmanager
    def _inside(self, value: Any, path: str) -> Iterator[None]:
        if id(value) in self._active:
            raise TypeError(f"{path} refers back to an object that holds it; remove the cycle")
        if len(self._active) >= MAX_DEPTH:
            raise TypeError(f"{path} is nested more than {MAX_DEPTH} levels deep; flatten it")
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
        if cls in SPARSE_NAMES and value.ndim == 2:
            return self._sparse(value, path)
        if cls is BSpline:
            parts = (value.t, value.c, int(value.k), value.extrapolate, int(value.axis))
            return {"kind": "bspline", "items": self._items(parts, path)}
        name = class_name(cls)
        if name is None:
            raise TypeError(_refusal(value, path))
        return self._estimator(value, name, path)

    def _items(self, values: Iterable[Any], path: str) -> list[Any]:
        return [self.encode(value, f"{path}[{i}]") for i, value in enumerate(values)]

    def _key(self, key: Any, path: str) -> Any:
        if not is_key(key):
            raise TypeError(
                f"{path} has the key {key!r}; use strings, numbers or tuples of them as keys"
            )
        return self.encode(key, path)

    def _scalar(self, value: Any, path: str) -> dict[str, Any]:
        if isinstance(value, np.str_):
            return {"kind": "str_", "text": str(value)}
        array = np.asarray(value)
        if not is_numeric(array.dtype):
            raise TypeError(_refusal(value, path))
        array = array.astype(array.dtype.newbyteorder("<"))
        return {"kind": "scalar", "dtype": array.dtype.str, "hex": array.tobytes().hex()}

    def _array(self, value: Any, path: str) -> dict[str, Any]:
        dtype = value.dtype
        if dtype.kind == "U":
            node = {"kind": "text", "dtype": dtype.str, "shape": list(value.shape)}
            return node | {"items": value.ravel().tolist()}
        if dtype.kind == "O":
            items = [self.encode(item, f"{path}[{i}]") for i, item in enumerate(value.ravel())]
            return {"kind": "objects", "shape": list(value.shape), "items": items}
        if not is_numeric(dtype):
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
        # SciPy allows room behind the last entry; the file does not keep it.
        n_entries = int(value.indptr[-1])
        parts = {"data": value.data[:n_entries], "indices": value.indices[:n_entries]}
        parts["indptr"] = value.indptr
        nodes = {name: self._array(part, f"{path}.{name}") for name, part in parts.items()}
        shape = [int(n) for n in value.shape]
        return {"kind": "sparse", "class": SPARSE_NAMES[type(value)], "shape": shape} | nodes

    def _estimator(self, value: Any, name: str, path: str) -> dict[str, Any]:
        for parameter, pinned in PINNED.get(name, {}).items():
            if getattr(value, parameter) != pinned:
                raise TypeError(
                    f"{_join(path, parameter)}={getattr(value, parameter)!r} cannot be stored in a "
                    f"widemargin file, which holds no code and names no files; set it to "
                    f"{pinned!r}, or use pickle"
                )
        names = constructor_defaults(type(value))
        nodes: dict[str, dict[str, Any]] = {"params": {}, "state": {}}
        for attribute, content in vars(value).items():
            if attribute not in SKIPPED_ATTRIBUTES:
                part = nodes["params" if attribute in names else "state"]
                part[attribute] = self.encode(content, _join(path, attribute))
        number, self._n_estimators = self._n_estimators, self._n_estimators + 1
        self._seen[id(value)] = (value, {"kind": "same", "id": number})
        return {"kind": "estimator", "id": number, "class": name} | nodes


def is_key(key: Any) -> bool:
    """Whether a dictionary or set of a model may have this key."""
    if type(key) is tuple:
        return all(map(is_key, key))
    return key is None or isinstance(key, (bool, int, float, str, np.generic))


def is_numeric(dtype: np.dtype[Any]) -> bool:
    """Whether arrays of `dtype` become tensors: all but text, objects, records, long doubles."""
    return dtype.kind in "biumM" or (dtype.kind in "fc" and dtype.char not in "gG")


def storage_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Type of the tensor for an array of `dtype`: safetensors knows no dates, few complex."""
    if dtype.kind in "mM":
        return np.dtype("<i8")
    return np.dtype(f"<f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def _to_tensor(array: np.ndarray) -> np.ndarray:
    storage = storage_dtype(array.dtype)
    if array.dtype.kind == "c":  # real and imaginary parts on a last axis
        return array.reshape(*array.shape, 1).view(storage)
    return array.view(storage)


def _join(path: str, attribute: str) -> str:
    return f"{path}.{attribute}" if path else attribute


def _refusal(value: Any, path: str) -> str:
    """Why `value` is not stored, and what to do."""
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
    return f"{what}, which widemargin files do not hold; replace or delete it, or use pickle"
