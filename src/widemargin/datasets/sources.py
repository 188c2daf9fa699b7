"""Finding, downloading, verifying and caching the arrays of a data set.

A data set is one file ``<name>/<name>.npz`` in the folder that ``WIDEMARGIN_DATA`` names, or in
``data_home``.  If it is in neither, it is downloaded and kept in ``data_home``.  In each case the
arrays are brought to one canonical form (fixed dtype, C order) and compared with the checksums of
the catalogue.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import warnings
import zipfile
import zlib
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import get_data_home

from widemargin.datasets.catalogue import SOURCES, Arrays, ArraySpec, Source

ENVIRONMENT_VARIABLE = "WIDEMARGIN_DATA"
DataHome = str | os.PathLike[str] | None


def load(name: str, data_home: DataHome, download_if_missing: bool) -> Arrays:
    """The verified arrays of the data set `name`."""
    source = SOURCES[name]
    folders = [Path(folder) for folder in (os.environ.get(ENVIRONMENT_VARIABLE),) if folder]
    for file in (folder / name / f"{name}.npz" for folder in folders):
        if file.is_file():  # get_data_home, below, would create a folder
            return _read(file, source)
    cache = Path(data_home or Path(get_data_home()) / "widemargin").expanduser()
    file = cache / name / f"{name}.npz"
    if file.is_file():
        return _read(file, source)

    remedy = f"set {ENVIRONMENT_VARIABLE} to a folder that holds {name}/{name}.npz"
    looked = ", ".join(str(folder) for folder in [*folders, cache])
    if source.download is None:
        raise FileNotFoundError(
            f"data set '{name}' is not in {looked} and has no download source; {remedy}"
        )
    if not download_if_missing:
        raise FileNotFoundError(
            f"data set '{name}' is not in {looked}; {remedy}, or use download_if_missing=True"
        )
    try:
        raw = source.download()
    except Exception as error:  # network, server or parser: the remedy is the same
        raise OSError(
            f"data set '{name}' is not in {looked} and its download failed ({error}); "
            f"try again, or {remedy}"
        ) from error
    try:
        arrays = verify(raw, source, recode=True)
    except ValueError as error:
        raise OSError(
            f"the download of data set '{name}' was rejected: {error}; nothing was stored; "
            f"try again, or {remedy}"
        ) from error
    _store(file, arrays)
    return arrays


def _read(file: Path, source: Source) -> Arrays:
    """Read and verify one npz file; pickled objects are refused."""
    try:
        if not zipfile.is_zipfile(file):
            raise ValueError("it is not an npz archive")
        with np.load(file, allow_pickle=False) as archive:
            missing = sorted(set(source.arrays) - set(archive.files))
            if missing:
                raise ValueError(f"it lacks the arrays {', '.join(missing)}")
            return verify({key: archive[key] for key in source.arrays}, source)
    except (ValueError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise OSError(
            f"{file} is not the data set '{file.stem}': {error}; replace or delete this file"
        ) from error


def _store(file: Path, arrays: Arrays) -> None:
    """Write the complete file or none, so that a reader never finds a partial one."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=file.parent) as folder:
            temporary = Path(folder) / file.name
            save: Any = np.savez_compressed  # its keyword-only option makes **arrays hard to type
            save(temporary, **arrays)
            temporary.replace(file)
    except OSError as error:
        warnings.warn(f"{file} could not be written ({error}); not cached", stacklevel=4)


def verify(arrays: Arrays, source: Source, *, recode: bool = False) -> Arrays:
    """Canonical forms of `arrays`; a ValueError says which array is wrong, and how.

    With `recode`, the numbering of codes may differ; it is permuted to match the checksum.
    """
    verified = {}
    for key, spec in source.arrays.items():
        array = _canonical(key, arrays[key], spec)
        orders = permutations(range(spec.codes)) if recode and spec.codes else ()
        candidates = (np.asarray(order, dtype=spec.dtype)[array] for order in orders)
        for candidate in (array, *candidates):
            if checksum(candidate[: spec.fixed_rows]) == spec.sha256:
                verified[key] = candidate
                break
        else:
            raise ValueError(f"the content of array '{key}' differs (checksum mismatch)")
    if source.check is not None:
        source.check(verified)
    return verified


def _canonical(key: str, array: NDArray[Any], spec: ArraySpec) -> NDArray[Any]:
    """`array` in C order and in the dtype of `spec`, which must not change any value."""
    fits = array.ndim == len(spec.shape) and all(
        want is None or have == want for have, want in zip(array.shape, spec.shape, strict=True)
    )
    if not fits:
        raise ValueError(f"array '{key}' has shape {array.shape}, expected {spec.shape}")
    if array.dtype.kind not in "iuf":
        raise ValueError(f"array '{key}' has dtype {array.dtype}, expected numbers")
    with np.errstate(invalid="ignore"):
        canonical = np.ascontiguousarray(array, dtype=spec.dtype)
    if canonical.dtype != array.dtype and not np.array_equal(canonical, array):
        raise ValueError(f"array '{key}' has values that do not fit dtype {spec.dtype}")
    if spec.codes and canonical.max(initial=0) >= spec.codes:
        raise ValueError(f"array '{key}' has codes above {spec.codes - 1}")
    return canonical


def checksum(array: NDArray[Any]) -> str:
    """SHA-256 over dtype, shape and the bytes in C order."""
    digest = hashlib.sha256(f"{array.dtype.str}{array.shape}".encode())
    digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
