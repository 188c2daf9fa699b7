"""The format of the file: safetensors, with a JSON header and a digest in its metadata."""

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import sklearn
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from widemargin._runtime.files import PathLike, atomic_path
from widemargin.persistence.allowed import memory_budget
from widemargin.persistence.decode import DECODING_ERRORS
from widemargin.persistence.history import tensor_names, upgrade

FORMAT = 3  # `history` translates formats 1 and 2
MAX_HEADER_BYTES = 90_000_000  # safetensors reads headers of at most 100 MB

Header = dict[str, Any]
Tensors = dict[str, np.ndarray]


class ModelFileError(ValueError):
    """A file is not a model that this version of widemargin can load."""


def damaged(path: PathLike, what: str) -> ModelFileError:
    """Error for a file with inconsistent content."""
    return ModelFileError(f"{path}: {what}; the file is damaged, get it again from its source")


def versions() -> Header:
    """Versions of the format and of the packages that determine what a file means."""
    from widemargin import __version__  # at call time: the package's __init__ imports this module

    return {
        "format": FORMAT,
        "widemargin": __version__,
        "sklearn": sklearn.__version__,
        "numpy": np.__version__,
    }


def digest(header: Header, tensors: Tensors) -> str:
    """SHA-256 over the header and over the name, type, shape and bytes of each tensor."""
    total = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        total.update(json.dumps([name, tensor.dtype.str, tensor.shape]).encode())
        total.update(tensor.reshape(-1).view(np.uint8).data)
    return total.hexdigest()


def write(path: PathLike, model: Any, tensors: Tensors, text_bytes: int = 0) -> None:
    """Write the JSON tree and the tensors of a model to one file, which is complete or absent.

    `text_bytes` is the memory that its arrays of fixed-width strings take once they are loaded.
    """
    header = versions() | {"model": model}
    text = json.dumps(header | {"digest": digest(header, tensors)}, allow_nan=False)
    # The header is JSON inside JSON, so quotes are escaped a second time.
    if len(json.dumps(text)) + sum(map(len, tensors)) > MAX_HEADER_BYTES:
        raise ValueError("the model holds too much text for a model file; use pickle")
    size = len(text) + sum(tensor.nbytes for tensor in tensors.values())
    if text_bytes > memory_budget(size):
        raise ValueError(
            f"the model holds {text_bytes:,} bytes of fixed-width strings, mostly unused, which "
            "`load` would refuse; convert them to dtype=object, or shorten the longest"
        )
    with atomic_path(path) as temporary:
        try:
            save_file(tensors, temporary, metadata={"widemargin": text})
        except SafetensorError as error:
            raise OSError(f"{path} cannot be written: {error}") from error


def read(path: PathLike) -> tuple[Header, Tensors]:
    """Header (without its digest) and tensors of a file that is unchanged since it was written."""
    header, tensors = _open(path, with_tensors=True)
    if header.pop("digest") != digest(header, tensors):
        raise damaged(path, "its digest does not match its content")
    return header, tensors


def read_header(path: PathLike) -> tuple[Header, dict[str, str]]:
    """Header, and dtype and shape of each tensor; the digest is not checked."""
    return _open(path, with_tensors=False)


def _open(path: PathLike, *, with_tensors: bool) -> tuple[Header, dict[str, Any]]:
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
    except (SafetensorError, OSError, *DECODING_ERRORS) as error:
        raise damaged(path, f"not a complete model file ({error})") from error


def _header(path: PathLike, metadata: Mapping[str, str] | None) -> Header:
    text = (metadata or {}).get("widemargin")
    if text is None:
        raise ModelFileError(
            f"{path}: a safetensors file that widemargin did not write; use a model saved with "
            "widemargin.save"
        )
    header: Header = _parse(text)
    # Check the format first: a newer one may have other fields and another digest.
    if type(header["format"]) is not int or header["format"] < 1:
        raise damaged(path, f"it has the unknown format {header['format']!r}")
    if header["format"] > FORMAT:
        raise ModelFileError(
            f"{path}: written by widemargin {header.get('widemargin')} (format "
            f"{header['format']}); this version reads up to format {FORMAT}: upgrade widemargin"
        )
    if header.keys() != {*versions(), "model", "digest"}:
        raise damaged(path, f"its header has the fields {sorted(header)}")
    return header


def model_of(header: Header) -> Any:
    """The JSON tree of the model, with the current names of classes, parameters and attributes."""
    written_as = header["format"]
    return header["model"] if written_as == FORMAT else upgrade(header["model"], written_as)


def removed_tensors(header: Header) -> set[str]:
    """Names of the tensors of attributes that this version no longer has."""
    return tensor_names(header["model"]) - tensor_names(model_of(header))


def _parse(text: str) -> Any:
    """JSON without Python's extensions ``NaN`` and ``Infinity``, which are never written."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)
