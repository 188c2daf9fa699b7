"""Downloads of the data sets: each function returns the arrays that the catalogue names.

Downloads are not trusted: `sources` verifies their shapes, dtypes and checksums.
"""

from __future__ import annotations

import tempfile
from importlib.util import find_spec
from io import StringIO
from typing import Any
from urllib.request import urlopen

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import fetch_covtype, fetch_openml

SILSO_URL = "https://www.sidc.be/SILSO/INFO/sndtotcsv.php"
SILSO_MAX_BYTES = 20_000_000  # the file has 2.9 MB and grows by 14 kB a year
OPENML_CONNECT4, OPENML_MNIST, OPENML_KIN8NM = 40668, 554, 189


def _openml(data_id: int) -> Any:
    """One OpenML data set as plain arrays; numbers are parsed to the nearest double.

    pandas infers the types of the columns, because the choice of scikit-learn 1.9 fails with
    pandas 3.1 when the names of categories are numbers.
    """
    parser = "pandas" if find_spec("pandas") else "liac-arff"
    options = {"float_precision": "round_trip", "dtype": None} if parser == "pandas" else None
    return fetch_openml(
        data_id=data_id, as_frame=False, cache=False, parser=parser, read_csv_kwargs=options
    )


def _names(values: Any) -> NDArray[np.str_]:
    """Names of categories, which may arrive as text, as quoted text or as numbers."""
    names: NDArray[np.str_] = np.char.strip(np.asarray(values).astype(str), "'\"")
    return names


def download_covtype() -> dict[str, NDArray[Any]]:
    """Forest cover types through scikit-learn, in the order of the original file."""
    with tempfile.TemporaryDirectory() as folder:  # only our own, smaller file is kept
        X, y = fetch_covtype(data_home=folder, shuffle=False, return_X_y=True)
    return {"X": X, "y": y}


def download_connect4() -> dict[str, NDArray[Any]]:
    """Connect-4 positions; squares and outcomes are codes 0..2 in the order that OpenML has."""
    bunch = _openml(OPENML_CONNECT4)
    data, categories = np.asarray(bunch.data), bunch.get("categories") or {}
    if data.dtype.kind == "f" and categories:  # positions in the list of each column
        data = np.column_stack(
            [
                np.asarray(categories[name], dtype=str)[data[:, j].astype(np.intp)]
                for j, name in enumerate(bunch.feature_names)
            ]
        )
    return {"X": _codes(data), "y": _codes(np.asarray(bunch.target))}


def _codes(values: NDArray[Any]) -> NDArray[np.uint8]:
    """Number the three distinct values 0, 1, 2 in sorted order."""
    names, codes = np.unique(_names(values), return_inverse=True)
    if len(names) != 3:
        raise ValueError(f"expected three distinct values, found {len(names)}: {names[:5]}")
    return codes.reshape(values.shape).astype(np.uint8)


def download_mnist() -> dict[str, NDArray[Any]]:
    """MNIST: the first 60,000 images are for training, the others for testing."""
    bunch = _openml(OPENML_MNIST)
    images = np.asarray(bunch.data).reshape(-1, 28, 28)
    digits = _names(bunch.target).astype(np.int64)
    return {
        "x_train": images[:60_000],
        "y_train": digits[:60_000],
        "x_test": images[60_000:],
        "y_test": digits[60_000:],
    }


def download_kin8nm() -> dict[str, NDArray[Any]]:
    """Delve's kin-8nm."""
    bunch = _openml(OPENML_KIN8NM)
    return {
        "X": np.asarray(bunch.data, dtype=np.float64),
        "y": np.asarray(bunch.target, dtype=np.float64),
    }


def download_sunspots() -> dict[str, NDArray[Any]]:
    """Daily total sunspot number from SILSO: year;month;day;decimal year;number;..."""
    with urlopen(SILSO_URL, timeout=60) as response:
        content = response.read(SILSO_MAX_BYTES + 1)
    if len(content) > SILSO_MAX_BYTES:
        raise ValueError(f"{SILSO_URL} sent more than {SILSO_MAX_BYTES} bytes")
    table = np.loadtxt(
        StringIO(content.decode("ascii")), delimiter=";", usecols=(0, 1, 2, 4), dtype=np.int64
    )
    table = table.reshape(-1, 4)
    return {"ymd": table[:, :3], "ssn": table[:, 3]}
