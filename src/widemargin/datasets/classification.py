"""Classification data: Forest and Connect-4 (thesis Chapter 4), MNIST."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_matrix

from widemargin.datasets.common import (
    Fetched,
    check_dtype,
    check_option,
    check_whole,
    shuffled_rows,
    split_bunch,
    whole_bunch,
)
from widemargin.datasets.sources import DataHome, load

FOREST_FEATURES = [
    "Elevation",
    "Aspect",
    "Slope",
    "Horizontal_Distance_To_Hydrology",
    "Vertical_Distance_To_Hydrology",
    "Horizontal_Distance_To_Roadways",
    "Hillshade_9am",
    "Hillshade_Noon",
    "Hillshade_3pm",
    "Horizontal_Distance_To_Fire_Points",
    *(f"Wilderness_Area{i}" for i in range(1, 5)),
    *(f"Soil_Type{i}" for i in range(1, 41)),
]
COVER_TYPES = [
    "Spruce/Fir",
    "Lodgepole Pine",
    "Ponderosa Pine",
    "Cottonwood/Willow",
    "Aspen",
    "Douglas-fir",
    "Krummholz",
]
FOREST_DESCR = """Forest cover type (Blackard and Dean, 1998; UCI Covertype)

581,012 cells of 30 x 30 metres, 10 quantitative and 44 binary inputs, 7 cover types
(211,840 / 283,301 / 35,754 / 2,747 / 9,493 / 17,367 / 20,510).  The file is not in random order:
its first rows are balanced by class, so shuffle before you take a subset."""

SQUARES = [f"{column}{row}" for column in "abcdefg" for row in range(1, 7)]
SQUARE_STATES = ("blank", "player2", "player1")  # thesis 4.5: 1,0,0  0,1,0  0,0,1
CONNECT4_DESCR = """Connect-4 (Tromp, 1995; UCI)

67,557 legal positions after eight moves in which nobody has won and the next move is not forced.
42 squares (columns a..g, rows 1..6 from the bottom), each as three indicators: blank, taken by the
second player (o), taken by the first player (x).  Outcome for the first player under perfect play:
44,473 wins, 16,635 losses, 6,449 draws."""

MNIST_DESCR = """MNIST handwritten digits (LeCun, Cortes and Burges)

60,000 training and 10,000 test images of 28 x 28 grey values 0..255, row by row, in the original
order."""


def fetch_forest(
    *,
    split: Literal["thesis", "thesis-regression"] | None = None,
    target: Literal["binary", "cover_type"] = "binary",
    dtype: DTypeLike = np.float32,
    data_home: DataHome = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Fetched:
    """Forest: which trees grow on a cell of 30 x 30 metres (thesis 4.4).

    Parameters
    ----------
    split : {None, "thesis", "thesis-regression"}, default=None
        ``"thesis"``: all rows are shuffled with ``numpy.random.RandomState(0)``, then the first
        100,000 are for training, the next 10,000 for validation and the next 50,000 for testing.
        ``"thesis-regression"`` (Table 5.1): the first 25,000 rows of the file are for training and
        the next 10,000 for testing; the targets are the real numbers +1 and -1. The file is
        ordered by place, so these rows are another task than as many shuffled ones.
    target : {"binary", "cover_type"}, default="binary"
        "binary": +1 for class 2 (Lodgepole Pine), -1 for all others.  "cover_type": the seven
        classes 1..7.
    dtype : {numpy.float32, numpy.float64}, default=numpy.float32
        Type of the inputs.
    data_home : path, default=None
        Folder for downloads.  None means the folder ``widemargin`` in the data home of
        scikit-learn.
    download_if_missing : bool, default=True
        Whether to download data that are missing; False raises an error instead.
    return_X_y : bool, default=False
        Return ``(data, target)``; possible only without a split.

    Returns
    -------
    bunch : Bunch or tuple
        Without a split: `data` (581,012 x 54), `target`.  With a split: `X_train`, `y_train`,
        `rows_train` (row numbers in the whole set), the same for `valid` and `test`.  Always:
        `feature_names`, `target_names` (in increasing order of the labels), `DESCR`.

    Examples
    --------
    >>> from widemargin.datasets import fetch_forest
    >>> forest = fetch_forest(split="thesis")  # doctest: +SKIP
    >>> forest.X_train.shape, forest.X_valid.shape, forest.X_test.shape  # doctest: +SKIP
    ((100000, 54), (10000, 54), (50000, 54))
    """
    check_option("split", split, (None, "thesis", "thesis-regression"))
    check_option("target", target, ("binary", "cover_type"))
    check_whole(split, return_X_y)
    dtype = check_dtype(dtype)
    if split == "thesis-regression" and target != "binary":
        raise ValueError(
            f"target={target!r} cannot be used with split='thesis-regression', "
            "which predicts +1 and -1; use target='binary'"
        )
    arrays = load("covtype", data_home, download_if_missing)
    X, y = arrays["X"], arrays["y"].astype(np.int64)
    names = COVER_TYPES
    if target == "binary":
        y, names = np.where(y == 2, 1, -1), ["other", "Lodgepole Pine"]
    facts = {"feature_names": FOREST_FEATURES, "target_names": names, "DESCR": FOREST_DESCR}
    if split is None:
        return whole_bunch(X.astype(dtype), y, facts, return_X_y)
    if split == "thesis":
        rows = shuffled_rows(len(y), train=100_000, valid=10_000, test=50_000)
    else:
        y = y.astype(np.float64)
        rows = {"train": np.arange(25_000), "test": np.arange(25_000, 35_000)}
    return split_bunch(lambda chosen: X[chosen].astype(dtype), y, rows, facts)


def fetch_connect4(
    *,
    split: Literal["thesis"] | None = None,
    target: Literal["binary", "outcome"] = "binary",
    sparse: bool = False,
    dtype: DTypeLike = np.float32,
    data_home: DataHome = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Fetched:
    """Connect-4: does the first player win (thesis 4.5).

    Each of the 42 squares is three indicators: 1,0,0 if it is free, 0,1,0 if player 2 has taken it,
    0,0,1 if player 1 has.

    Parameters
    ----------
    split : {None, "thesis"}, default=None
        ``"thesis"``: all rows are shuffled with ``numpy.random.RandomState(0)``, then the first
        50,000 are for training, the next 7,500 for validation and the next 10,000 for testing.
    target : {"binary", "outcome"}, default="binary"
        "binary": +1 if the first player wins, otherwise -1.  "outcome": 0 win, 1 loss, 2 draw.
    sparse : bool, default=False
        Return the inputs as CSR matrices (42 of 126 values are not zero).
    dtype : {numpy.float32, numpy.float64}, default=numpy.float32
        Type of the inputs.
    data_home : path, default=None
        Folder for downloads.  None means the folder ``widemargin`` in the data home of
        scikit-learn.
    download_if_missing : bool, default=True
        Whether to download data that are missing; False raises an error instead.
    return_X_y : bool, default=False
        Return ``(data, target)``; possible only without a split.

    Returns
    -------
    bunch : Bunch or tuple
        Without a split: `data` (67,557 x 126), `target`.  With a split: `X_train`, `y_train`,
        `rows_train` (row numbers in the whole set), the same for `valid` and `test`.  Always:
        `feature_names`, `target_names` (in increasing order of the labels), `DESCR`.

    Examples
    --------
    >>> from widemargin.datasets import fetch_connect4
    >>> X, y = fetch_connect4(sparse=True, return_X_y=True)  # doctest: +SKIP
    >>> X.shape, X.nnz  # doctest: +SKIP
    ((67557, 126), 2837394)
    """
    check_option("split", split, (None, "thesis"))
    check_option("target", target, ("binary", "outcome"))
    check_whole(split, return_X_y)
    dtype = check_dtype(dtype)
    arrays = load("connect-4", data_home, download_if_missing)
    X, y = arrays["X"], arrays["y"].astype(np.int64)
    names = ["win", "loss", "draw"]
    if target == "binary":
        y, names = np.where(y == 0, 1, -1), ["loss or draw", "win"]
    facts = {
        "feature_names": [f"{square}_{state}" for square in SQUARES for state in SQUARE_STATES],
        "target_names": names,
        "DESCR": CONNECT4_DESCR,
    }
    if split is None:
        return whole_bunch(_indicators(X, dtype, sparse), y, facts, return_X_y)
    rows = shuffled_rows(len(y), train=50_000, valid=7_500, test=10_000)
    return split_bunch(lambda chosen: _indicators(X[chosen], dtype, sparse), y, rows, facts)


def _indicators(codes: NDArray[np.uint8], dtype: np.dtype[Any], sparse: bool) -> Any:
    """Three indicators per square, from the codes 0 (blank), 1 (player 1) and 2 (player 2)."""
    n_rows, n_squares = codes.shape
    position = np.array([0, 2, 1], dtype=np.int32)[codes]
    columns = 3 * np.arange(n_squares, dtype=np.int32) + position
    if not sparse:
        dense = np.zeros((n_rows, 3 * n_squares), dtype=dtype)
        np.put_along_axis(dense, columns, 1, axis=1)
        return dense
    starts = np.arange(0, columns.size + 1, n_squares, dtype=np.int32)
    ones = np.ones(columns.size, dtype=dtype)
    return csr_matrix((ones, columns.ravel(), starts), shape=(n_rows, 3 * n_squares))


def fetch_mnist(
    *,
    digits: Sequence[int] | None = None,
    split: Literal["standard"] | None = None,
    dtype: DTypeLike = np.float32,
    data_home: DataHome = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Fetched:
    """MNIST: images of handwritten digits.

    Parameters
    ----------
    digits : sequence of int, default=None
        Keep only these digits, such as ``(0, 1)``; None keeps all ten.
    split : {None, "standard"}, default=None
        ``"standard"``: the official 60,000 training and 10,000 test images, in their order.
    dtype : {numpy.float32, numpy.float64}, default=numpy.float32
        Type of the inputs, which are grey values 0..255.
    data_home : path, default=None
        Folder for downloads.  None means the folder ``widemargin`` in the data home of
        scikit-learn.
    download_if_missing : bool, default=True
        Whether to download data that are missing; False raises an error instead.
    return_X_y : bool, default=False
        Return ``(data, target)``; possible only without a split.

    Returns
    -------
    bunch : Bunch or tuple
        Without a split: `data` (70,000 x 784, training images first), `target` (the digits).  With
        a split: `X_train`, `y_train`, `rows_train`, the same for `test`.  Always: `feature_names`,
        `target_names`, `DESCR`.

    Examples
    --------
    >>> from widemargin.datasets import fetch_mnist
    >>> mnist = fetch_mnist(digits=(0, 1), split="standard")  # doctest: +SKIP
    >>> mnist.X_train.shape, mnist.X_test.shape  # doctest: +SKIP
    ((12665, 784), (2115, 784))
    """
    check_option("split", split, (None, "standard"))
    check_whole(split, return_X_y)
    dtype = check_dtype(dtype)
    wanted = list(range(10)) if digits is None else list(digits)
    if not wanted or len(set(wanted)) < len(wanted) or not set(wanted) <= set(range(10)):
        raise ValueError(f"digits={digits!r} must be different digits out of 0..9, or None")
    chosen = sorted(int(digit) for digit in wanted)
    arrays = load("mnist", data_home, download_if_missing)
    X = np.concatenate([arrays["x_train"], arrays["x_test"]]).reshape(-1, 784)
    y = np.concatenate([arrays["y_train"], arrays["y_test"]]).astype(np.int64)
    kept = np.flatnonzero(np.isin(y, chosen))
    facts = {
        "feature_names": [f"pixel{i}" for i in range(1, 785)],
        "target_names": [str(digit) for digit in chosen],
        "DESCR": MNIST_DESCR,
    }
    if split is None:
        return whole_bunch(X[kept].astype(dtype), y[kept], facts, return_X_y)
    n_train = len(arrays["y_train"])
    rows = {"train": kept[kept < n_train], "test": kept[kept >= n_train]}
    return split_bunch(lambda part: X[part].astype(dtype), y, rows, facts)
