"""The data of the benchmarks, ready for training: scaled, float32, with fixed seeds and splits.

Data come from WIDEMARGIN_DATA or are downloaded; kin-32fh, a9a, w8a, Reuters and skin cannot be
downloaded. Each function returns the first `rows` training rows, scaled by the statistics of these
rows, and test rows (none if the files have none).
"""

import os
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.datasets import fetch_connect4, fetch_forest, fetch_kin, fetch_mnist


@dataclass(frozen=True)
class Data:
    """Training and test rows."""

    X: Any
    y: NDArray[Any]
    X_test: Any
    y_test: NDArray[Any]


def forest(rows: int) -> Data:
    """Class 2 against the rest, standardised; shuffled rows 110,000..160,000 are test rows."""
    return _standardised(_fetch("forest"), rows)


def forest_regression(rows: int) -> Data:
    """The same rows; the targets are the numbers +1 and −1."""
    data = forest(rows)
    return Data(data.X, data.y.astype(np.float64), data.X_test, data.y_test.astype(np.float64))


def connect4(rows: int) -> Data:
    """A win of the first player against the rest; 126 indicators."""
    data = _fetch("connect-4")
    return Data(data.X_train[:rows], data.y_train[:rows], data.X_test, data.y_test)


def mnist(rows: int) -> Data:
    """Ten digits, pixels in [0, 1]."""
    data = _fetch("mnist")
    X = data.X_train[:rows] / np.float32(255)
    return Data(X, data.y_train[:rows], data.X_test / np.float32(255), data.y_test)


def kin(rows: int) -> Data:
    """kin-32fh, inputs and target standardised."""
    data = _fetch("kin")
    scaled = _standardised(data, rows)
    mean, deviation = scaled.y.mean(), scaled.y.std()
    y, y_test = ((part - mean) / deviation for part in (scaled.y, scaled.y_test))
    return Data(scaled.X, y, scaled.X_test, y_test)


def a9a(rows: int) -> Data:
    """123 sparse indicators (CSR)."""
    return _sparse("a9a", rows)


def w8a(rows: int) -> Data:
    """300 sparse indicators (CSR), 3 % positive; no test rows."""
    return _sparse("w8a", rows)


def reuters(rows: int) -> Data:
    """Texts on money and foreign exchange against the rest, 8,315 words (CSR)."""
    return _sparse("reuters-money-fx", rows)


def skin(rows: int) -> Data:
    """Colours of skin against others, 3 columns, standardised, shuffled; no test rows."""
    z = _read("skin_nonskin")
    order = np.random.default_rng(0).permutation(len(z["y"]))
    X, y = z["X"][order], z["y"][order]
    return _standardised(SimpleNamespace(X_train=X, y_train=y, X_test=X[:0], y_test=y[:0]), rows)


def _read(name: str) -> dict[str, NDArray[Any]]:
    file = Path(os.environ.get("WIDEMARGIN_DATA", "")) / name / f"{name}.npz"
    if not file.is_file():
        raise FileNotFoundError(f"set WIDEMARGIN_DATA to a folder that holds {name}/{name}.npz")
    with np.load(file, allow_pickle=False) as z:
        return dict(z)


def _sparse(name: str, rows: int) -> Data:
    z = _read(name)

    def part(prefix: str) -> tuple[Any, NDArray[Any]]:
        data, indices, indptr = (z[prefix + key] for key in ("data", "indices", "indptr"))
        shape = tuple(z[f"{prefix}shape"])
        return sp.csr_matrix((data.astype(np.float32), indices, indptr), shape), z[f"{prefix}y"]

    X, y = part("")
    X_test, y_test = part("t_") if "t_y" in z else (X[:0], y[:0])
    return Data(X[:rows], y[:rows], X_test, y_test)


@lru_cache(maxsize=1)
def _fetch(name: str) -> Any:
    fetchers = {
        "forest": partial(fetch_forest, split="thesis"),
        "connect-4": partial(fetch_connect4, split="thesis"),
        "mnist": partial(fetch_mnist, split="standard"),
        "kin": partial(fetch_kin, split="thesis"),
    }
    return fetchers[name]()


def _standardised(data: Any, rows: int) -> Data:
    X, X_test = (part.astype(np.float64) for part in (data.X_train[:rows], data.X_test))
    mean, deviation = X.mean(0), X.std(0)
    deviation[deviation == 0] = 1.0
    X, X_test = (((part - mean) / deviation).astype(np.float32) for part in (X, X_test))
    return Data(X, data.y_train[:rows], X_test, data.y_test)
