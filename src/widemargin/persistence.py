"""Save models to files that are safe to load, and load them.

A model file is one `safetensors` file.  Its arrays are tensors that any safetensors reader can
open; its metadata has one entry, ``widemargin``, a JSON header::

    {"format": 1, "widemargin": "...", "sklearn": "...", "numpy": "...",
     "model": {...}, "digest": "sha256 of all of the above and of the tensors"}

Loading runs no code from the file: the decoder accepts only the kinds of values it knows, makes
only estimators of widemargin and a fixed list of scikit-learn transformers, and checks every size
and index before an array is used.  The digest finds damage; it does not tell who wrote the file.
"""

import hashlib
import inspect
import json
import math
import os
import secrets
import stat
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file
from scipy.interpolate import BSpline
from sklearn.base import BaseEstimator

from . import _encoding as enc

__all__ = ["ModelFileError", "describe", "load", "save"]

FORMAT = 1
MAX_HEADER_BYTES = 90_000_000  # safetensors reads headers of at most 100 MB


# What broken or hostile content can raise below, in NumPy, SciPy and the JSON parser included.
_DECODING_ERRORS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)

PathLike = str | os.PathLike[str]


class ModelFileError(ValueError):
    """A file is not a model that this version of widemargin can load; the message says why."""


def save(model: BaseEstimator, path: PathLike) -> None:
    """Save a model to one file that is safe to load.

    Parameters
    ----------
    model : estimator
        A widemargin estimator, or a pipeline of scikit-learn transformers that may end in one.
    path : str or path
        File to write.  It is replaced only when the new file is complete.

    Raises
    ------
    TypeError
        If the model holds something that a file without code cannot: a function, a random
        generator, an estimator of another package.  The message names the attribute.

    Notes
    -----
    Callbacks set with ``set_callbacks`` watch the training; they are not saved.

    Examples
    --------
    >>> import tempfile, pathlib, numpy as np, widemargin.persistence as persistence
    >>> from sklearn.preprocessing import StandardScaler
    >>> scaler = StandardScaler().fit(np.arange(6.0).reshape(3, 2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "scaler.safetensors"
    ...     persistence.save(scaler, path)
    ...     persistence.load(path).mean_
    array([2., 3.])
    """
    if not isinstance(model, BaseEstimator) or isinstance(model, type):
        raise TypeError(f"model={model!r} is not an estimator; save a fitted estimator")
    encoder = enc.Encoder()
    header = _versions() | {"model": encoder.encode(model, "")}
    text = json.dumps(header | {"digest": _digest(header, encoder.tensors)}, allow_nan=False)
    # The header is JSON inside JSON, and quotes are escaped a second time.
    if len(json.dumps(text)) + sum(map(len, encoder.tensors)) > MAX_HEADER_BYTES:
        raise ValueError("the model holds too much text for a model file; use pickle")
    with atomic_path(path) as temporary:
        try:
            save_file(encoder.tensors, temporary, metadata={"widemargin": text})
        except SafetensorError as error:
            raise OSError(f"{path} cannot be written: {error}") from error


def load(path: PathLike) -> Any:
    """Load a model written by `save`; no code from the file is run.

    Parameters
    ----------
    path : str or path
        File to read.

    Returns
    -------
    estimator
        A model that predicts exactly what the saved one did.

    Raises
    ------
    ModelFileError
        If the file is damaged, is no model file, or needs another version of widemargin.
    OSError
        If there is no such file or it may not be read.

    Warns
    -----
    UserWarning
        If another version of scikit-learn wrote the scikit-learn parts of the model.

    Examples
    --------
    See `save`.
    """
    header, tensors = _read(path, with_tensors=True)
    if header.pop("digest") != _digest(header, tensors):
        raise _damaged(path, "its digest does not match its content")
    decoder = _Decoder(tensors)
    try:
        model = decoder.decode(header["model"], "")
    except _DECODING_ERRORS as error:
        raise ModelFileError(
            f"{path}: {error or type(error).__name__}; get the file again from its source, or "
            f"load it with widemargin {header['widemargin']}, which wrote it"
        ) from error
    if not isinstance(model, BaseEstimator):
        raise _damaged(path, "it holds no estimator")
    if unused := tensors.keys() - decoder.used:
        raise _damaged(path, f"the model does not use its tensor {min(unused)!r}")
    if decoder.sklearn_classes and header["sklearn"] != sklearn.__version__:
        warnings.warn(
            f"{path}: {', '.join(sorted(decoder.sklearn_classes))} were saved with scikit-learn "
            f"{header['sklearn']} and loaded with {sklearn.__version__}; check the predictions, "
            "or fit and save again",
            UserWarning,
            stacklevel=2,
        )
    return model


def describe(path: PathLike) -> dict[str, Any]:
    """Facts about a model file, read from its header without building the model.

    Parameters
    ----------
    path : str or path
        File to read.

    Returns
    -------
    dict
        ``class``, ``format``, ``widemargin``, ``sklearn``, ``numpy`` (versions), ``parameters``
        and ``attributes`` (name to value, or to a short text for arrays and estimators),
        ``tensors`` (name to dtype and shape) and ``file_size`` in bytes.

    Raises
    ------
    ModelFileError
        If the file is no model file.  The digest is left to `load`.

    Examples
    --------
    >>> import tempfile, pathlib, widemargin.persistence as persistence
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "scaler.safetensors"
    ...     persistence.save(MinMaxScaler(clip=True), path)
    ...     facts = persistence.describe(path)
    >>> facts["class"], facts["parameters"]["clip"]
    ('sklearn.preprocessing.MinMaxScaler', True)
    """
    header, tensors = _read(path, with_tensors=False)
    model = header["model"]
    try:
        parts = {
            title: {name: _summary(node) for name, node in model[part].items()}
            for title, part in (("parameters", "params"), ("attributes", "state"))
        }
        facts = {"class": str(model["class"])}
    except _DECODING_ERRORS as error:
        raise _damaged(path, "its header describes no estimator") from error
    facts |= {key: header[key] for key in _versions()}
    return facts | parts | {"tensors": tensors, "file_size": Path(path).stat().st_size}


@contextmanager
def atomic_path(path: PathLike) -> Iterator[Path]:
    """Temporary path beside `path`, moved onto it if the block succeeds, deleted if it fails."""
    target = Path(os.path.realpath(path))  # replace the file, not a link to it
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file to write")
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.tmp")
    try:
        temporary.touch(exist_ok=False)
        # The permissions that writing to `path` itself would give; libraries make private files.
        mode = (target if target.exists() else temporary).stat().st_mode
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())  # else a power cut could leave an empty file under the name
        temporary.chmod(stat.S_IMODE(mode))
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def _versions() -> dict[str, Any]:
    import widemargin  # here, because widemargin's own __init__ imports this module

    own = str(getattr(widemargin, "__version__", "unknown"))
    versions = {"widemargin": own, "sklearn": sklearn.__version__, "numpy": np.__version__}
    return {"format": FORMAT} | versions


def _digest(header: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> str:
    """SHA-256 over the header and over the name, type, shape and bytes of each tensor."""
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(json.dumps([name, tensor.dtype.str, tensor.shape]).encode())
        digest.update(tensor.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _damaged(path: PathLike, what: str) -> ModelFileError:
    return ModelFileError(f"{path}: {what}; the file is damaged, get it again from its source")


def _read(path: PathLike, *, with_tensors: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """Checked header, and each tensor (or, without tensors, its dtype and shape)."""
    with open(path, "rb"):
        pass  # a missing file or a folder is an OSError, not a damaged model
    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            header = _header(path, file.metadata())
            names = list(file.keys())
            if with_tensors:
                return header, {name: file.get_tensor(name) for name in names}
            slices = {name: file.get_slice(name) for name in names}
            return header, {n: f"{s.get_dtype()} {s.get_shape()}" for n, s in slices.items()}
    except ModelFileError:
        raise
    except (SafetensorError, OSError, *_DECODING_ERRORS) as error:
        raise _damaged(path, f"it is no complete model file ({error})") from error


def _header(path: PathLike, metadata: Mapping[str, str] | None) -> dict[str, Any]:
    text = (metadata or {}).get("widemargin")
    if text is None:
        raise ModelFileError(
            f"{path}: a safetensors file that widemargin.save did not write; give a model saved "
            "with widemargin.save"
        )
    header: dict[str, Any] = _parse(text)
    # The format comes first: a newer one may have other fields and another digest.
    if type(header["format"]) is not int or header["format"] < 1:
        raise _damaged(path, f"it has the unknown format {header['format']!r}")
    if header["format"] > FORMAT:
        raise ModelFileError(
            f"{path}: written by widemargin {header.get('widemargin')} (format "
            f"{header['format']}); this version reads up to format {FORMAT}: upgrade widemargin"
        )
    if header.keys() != {*_versions(), "model", "digest"}:
        raise _damaged(path, f"its header has the fields {sorted(header)}")
    return header


def _parse(text: str) -> Any:
    """JSON without Python's additions ``NaN`` and ``Infinity``, which `save` never writes."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


class _Decoder:
    """The JSON tree back into an estimator, trusting nothing in it (format: see `_encoding`).

    Every node is checked for its exact fields, their types and sizes before it is used; anything
    unexpected is a ValueError that names the place.  `used` (tensors) and `sklearn_classes` tell
    what it met on the way.
    """

    def __init__(self, tensors: Mapping[str, np.ndarray]) -> None:
        self._tensors = tensors
        self._estimators: dict[int, Any] = {}
        self._depth = 0
        self.used: set[str] = set()
        self.sklearn_classes: set[str] = set()

    def decode(self, node: Any, where: str) -> Any:
        """Value of one node; `where` is its place in the model, for messages."""
        if node is None or isinstance(node, (bool, int, float, str)):
            return node
        if self._depth > enc.MAX_DEPTH:
            raise ValueError(f"nested more than {enc.MAX_DEPTH} levels deep at {where}")
        self._depth += 1
        if isinstance(node, list):
            value: Any = self._items(node, where)
        else:
            kind = node.get("kind")
            if not isinstance(kind, str) or kind not in _KINDS:
                raise ValueError(f"unknown kind of value {kind!r} at {where or 'the top'}")
            value = _KINDS[kind](self, node, where)
        self._depth -= 1
        return value

    def _items(self, nodes: list[Any], where: str) -> list[Any]:
        return [self.decode(node, f"{where}[{i}]") for i, node in enumerate(nodes)]

    def _int(self, node: Any, where: str) -> int:
        return int(_field(node, "hex", str, where), 16)

    def _float(self, node: Any, where: str) -> float:
        value = float(_field(node, "text", str, where))
        if math.isfinite(value):
            raise ValueError(f"a finite number is stored as text at {where}")
        return value

    def _str(self, node: Any, where: str) -> np.str_:
        return np.str_(_field(node, "text", str, where))

    def _dtype(self, node: Any, where: str) -> np.dtype[Any]:
        return _dtype(_field(node, "name", str, where), where)

    def _type(self, node: Any, where: str) -> type:
        return enc.TYPES[_field(node, "name", str, where)]

    def _tuple(self, node: Any, where: str) -> tuple[Any, ...]:
        return tuple(self._items(_field(node, "items", list, where), where))

    def _set(self, node: Any, where: str) -> set[Any] | frozenset[Any]:
        items = self._items(_field(node, "items", list, where), where)
        if not all(map(enc.is_key, items)) or len(set(items)) != len(items):
            raise ValueError(f"improper or repeated elements of the set at {where}")
        return set(items) if node["kind"] == "set" else frozenset(items)

    def _dict(self, node: Any, where: str) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for pair in _field(node, "items", list, where):
            key_node, value_node = pair
            key = self.decode(key_node, where)
            if not enc.is_key(key) or key in result:
                raise ValueError(f"improper or repeated key {key!r} at {where}")
            result[key] = self.decode(value_node, f"{where}[{key!r}]")
        return result

    def _slice(self, node: Any, where: str) -> slice:
        start, stop, step = self._items(_field(node, "items", list, where), where)
        return slice(start, stop, step)

    def _bspline(self, node: Any, where: str) -> BSpline:
        t, c, k, extrapolate, axis = self._items(_field(node, "items", list, where), where)
        return BSpline(t, c, k, extrapolate=extrapolate, axis=axis)  # checks its arguments

    def _scalar(self, node: Any, where: str) -> Any:
        _check_fields(node, ("dtype", "hex"), where)
        dtype = _dtype(node["dtype"], where)
        content = bytes.fromhex(node["hex"])
        if not enc.is_numeric(dtype) or len(content) != dtype.itemsize:
            raise ValueError(f"improper number at {where}")
        return _checked_bools(np.frombuffer(content, dtype), where)[0]

    def _array(self, node: Any, where: str) -> np.ndarray:
        _check_fields(node, ("tensor", "dtype", "fortran"), where)
        name, dtype = node["tensor"], _dtype(node["dtype"], where)
        if not isinstance(name, str) or name not in self._tensors:
            raise ValueError(f"tensor {name!r} of {where} is missing")
        self.used.add(name)
        tensor = self._tensors[name]
        if not enc.is_numeric(dtype) or tensor.dtype != enc.storage_dtype(dtype):
            raise ValueError(f"tensor {name!r} has type {tensor.dtype}, which cannot hold {dtype}")
        _checked_bools(tensor, where)
        if dtype.kind == "c":
            if tensor.shape[-1:] != (2,):
                raise ValueError(f"complex tensor {name!r} has the shape {tensor.shape}")
            tensor = tensor.view(dtype).reshape(tensor.shape[:-1])
        array = tensor.view(dtype)
        return array.T if node["fortran"] is True else array

    def _text(self, node: Any, where: str) -> np.ndarray:
        _check_fields(node, ("dtype", "shape", "items"), where)
        dtype, items = _dtype(node["dtype"], where), node["items"]
        shape = _shape(node["shape"], len(items), where)
        if dtype.kind != "U" or dtype.itemsize * len(items) > enc.MAX_TEXT_BYTES:
            raise ValueError(f"improper array of strings at {where}")
        if any(not isinstance(item, str) or 4 * len(item) > dtype.itemsize for item in items):
            raise ValueError(f"element that is no string of type {dtype} at {where}")
        return np.array(items, dtype).reshape(shape)

    def _objects(self, node: Any, where: str) -> np.ndarray:
        _check_fields(node, ("shape", "items"), where)
        items = self._items(node["items"], where)
        array = np.empty(len(items), object)
        for i, item in enumerate(items):  # np.array(items) would merge arrays among the items
            array[i] = item
        return array.reshape(_shape(node["shape"], len(items), where))

    def _sparse(self, node: Any, where: str) -> Any:
        names = ("data", "indices", "indptr")
        _check_fields(node, ("class", "shape", *names), where)
        data, indices, indptr = (self.decode(node[name], f"{where}.{name}") for name in names)
        if not all(isinstance(part, np.ndarray) for part in (data, indices, indptr)):
            raise ValueError(f"improper sparse matrix at {where}")
        return enc.checked_sparse(enc.SPARSE[node["class"]], data, indices, indptr, node["shape"])

    def _estimator(self, node: Any, where: str) -> Any:
        _check_fields(node, ("id", "class", "params", "state"), where)
        name, number = node["class"], node["id"]
        if not isinstance(name, str) or type(number) is not int or number in self._estimators:
            raise ValueError(f"improper estimator at {where or 'the top'}")
        cls = enc.resolve_class(name)
        params = self._attributes(node["params"], where)
        state = self._attributes(node["state"], where)
        _complete(params, cls, name)
        if params.keys() & state.keys():
            raise ValueError(f"attribute of {name} given twice")
        if any(params[key] != value for key, value in enc.PINNED.get(name, {}).items()):
            raise ValueError(f"{name} with a parameter that a model file may not set")
        if name.startswith("sklearn."):
            self.sklearn_classes.add(cls.__name__)
        estimator: Any = object.__new__(cls)  # no constructor runs
        vars(estimator).update(params | state)
        self._estimators[number] = estimator
        return estimator

    def _same(self, node: Any, where: str) -> Any:
        # Only finished estimators are listed, so no cycle can be made.
        return self._estimators[_field(node, "id", int, where)]

    def _attributes(self, nodes: Any, where: str) -> dict[str, Any]:
        for name in nodes:
            if not name.isidentifier() or name.startswith("__"):
                raise ValueError(f"improper attribute name {name!r} at {where or 'the top'}")
        return {name: self.decode(n, f"{where}.{name}".lstrip(".")) for name, n in nodes.items()}


_KINDS: dict[str, Callable[[_Decoder, Any, str], Any]] = {
    "int": _Decoder._int,
    "float": _Decoder._float,
    "str_": _Decoder._str,
    "scalar": _Decoder._scalar,
    "dtype": _Decoder._dtype,
    "type": _Decoder._type,
    "tuple": _Decoder._tuple,
    "set": _Decoder._set,
    "frozenset": _Decoder._set,
    "dict": _Decoder._dict,
    "slice": _Decoder._slice,
    "array": _Decoder._array,
    "text": _Decoder._text,
    "objects": _Decoder._objects,
    "sparse": _Decoder._sparse,
    "bspline": _Decoder._bspline,
    "estimator": _Decoder._estimator,
    "same": _Decoder._same,
}


def _summary(node: Any) -> Any:
    """Value of a small node as plain Python, or a short text; nothing is built."""
    if isinstance(node, list):
        return [_summary(item) for item in node]
    if not isinstance(node, dict):
        return node
    kind = node["kind"]
    if kind in ("int", "float", "str_", "scalar", "dtype", "type"):
        value = _Decoder({}).decode(node, "")
        return value.item() if isinstance(value, np.generic) else value
    if kind == "tuple":
        return tuple(_summary(item) for item in node["items"])
    if kind == "dict":
        return {_summary(key): _summary(value) for key, value in node["items"]}
    if kind == "array":
        return f"array {node['tensor']!r}"
    if kind in ("text", "objects", "sparse"):
        return f"{kind} {tuple(node['shape'])}"
    return str(node["class"]).rpartition(".")[2] if kind == "estimator" else str(kind)


def _complete(params: dict[str, Any], cls: type, name: str) -> None:
    """Give parameters that are newer than the file their defaults; refuse unknown ones."""
    defaults = enc.constructor_defaults(cls)
    if unknown := params.keys() - defaults.keys():
        # It may change the predictions: leaving it out would load another model.
        raise ValueError(f"{name} has no parameter {min(unknown)!r} in this version")
    for parameter, default in defaults.items():
        if params.setdefault(parameter, default) is inspect.Parameter.empty:
            raise ValueError(f"parameter {parameter!r} of {name} is missing")


def _check_fields(node: Any, names: tuple[str, ...], where: str) -> None:
    if node.keys() != {"kind", *names}:
        raise ValueError(f"fields {sorted(node)} of a {node['kind']} at {where or 'the top'}")


def _field(node: Any, name: str, cls: type, where: str) -> Any:
    """The only field of a node, of type `cls`."""
    _check_fields(node, (name,), where)
    if type(node[name]) is not cls:
        raise ValueError(f"{name} of a {node['kind']} at {where} is no {cls.__name__}")
    return node[name]


def _dtype(name: Any, where: str) -> np.dtype[Any]:
    if not isinstance(name, str) or not enc.DTYPE.fullmatch(name):
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
