"""The benchmark data, ready for kernel machines: scaled, float32, seeds and splits fixed.

All come from WIDEMARGIN_DATA or are downloaded, except a9a and kin-32fh, which are only read.
Each function gives the first `rows` training rows, scaled by what these rows show, and test rows.
"""

import os
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.datasets import fetch_connect4, fetch_forest, fetch_kin, fetch_mnist


@dataclass(frozen=True)
class Data:
    X: Any
    y: NDArray[Any]
    X_test: Any
    y_test: NDArray[Any]


def forest(rows: int) -> Data:
    """Class 2 against the rest, standardised; shuffled rows 110,000..160,000 are for testing."""
    return _standardised(_fetch("forest"), rows)


def forest_regression(rows: int) -> Data:
    """The same rows, to predict the numbers +1 and −1."""
    return _standardised(_fetch("forest-regression"), rows)


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
    file = Path(os.environ.get("WIDEMARGIN_DATA", "")) / "a9a" / "a9a.npz"
    if not file.is_file():
        raise FileNotFoundError("set WIDEMARGIN_DATA to a folder that holds a9a/a9a.npz")
    with np.load(file, allow_pickle=False) as z:
        X, X_test = (
            sp.csr_matrix(
                (z[f"{part}data"].astype(np.float32), z[f"{part}indices"], z[f"{part}indptr"]),
                shape=tuple(z[f"{part}shape"]),
            )
            for part in ("", "t_")
        )
        return Data(X[:rows], z["y"][:rows], X_test, z["t_y"])


@lru_cache(maxsize=1)
def _fetch(name: str) -> Any:
    fetchers = {
        "forest": partial(fetch_forest, split="thesis"),
        "forest-regression": partial(fetch_forest, split="thesis-regression"),
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
