"""The arrays of each data set: names, canonical dtypes, shapes and checksums."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.datasets import downloads

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class ArraySpec:
    """Canonical dtype, shape and checksum (see `sources.checksum`) of one array.

    If the first dimension is None, the array grows over time, and only its first `fixed_rows` rows
    are verified.  If `codes` > 0, the values are 0..codes-1 and a download may permute them.
    """

    dtype: str
    shape: tuple[int | None, ...]
    sha256: str
    fixed_rows: int | None = None
    codes: int = 0


@dataclass(frozen=True)
class Source:
    """One data set: its arrays, its download function (None if it has none), an extra check."""

    arrays: Mapping[str, ArraySpec]
    download: Callable[[], Arrays] | None
    check: Callable[[Arrays], None] | None = None


def dates_of(ymd: NDArray[Any]) -> NDArray[np.datetime64]:
    """Days from columns (year, month, day)."""
    months = (ymd[:, 0].astype(np.int64) - 1970) * 12 + ymd[:, 1] - 1
    days: NDArray[np.datetime64] = months.astype("M8[M]").astype("M8[D]") + (ymd[:, 2] - 1)
    return days


def _check_daily(arrays: Arrays) -> None:
    """Check that a daily series has exactly one row per day."""
    if len(arrays["ymd"]) != len(arrays["ssn"]):
        raise ValueError("arrays 'ymd' and 'ssn' have different lengths")
    if np.any(np.diff(dates_of(arrays["ymd"])) != np.timedelta64(1, "D")):
        raise ValueError("array 'ymd' does not hold consecutive days")
    if np.any(arrays["ssn"] < -1):
        raise ValueError("array 'ssn' holds values below -1 (-1 stands for no observation)")


COVTYPE_X = "8f220e95ffdbe3949e127c64eda596cda9ca7a26988338e7c956b701e694f018"
COVTYPE_Y = "bcd6f4b09f232765d740057edfa5509f8971d1a7b14b02c8460fe1ca6da9779c"
CONNECT4_X = "b64899349385000ab635845c4b7c0a4711810987dc733676986e7875467abb65"
CONNECT4_Y = "5f91ae66833ea0380b4ba3c3fb90b0da7fc7ec347577d8f58a2ddf82efb7e6c1"
MNIST_X_TRAIN = "157fe16da1dbced4a1376f4be5df2d665d51d11177dcaf7aa4848b1ff033343f"
MNIST_Y_TRAIN = "e6a049a9876d2010dddfc2322bb8cad03f5934de9a0b5012c7251eca5b5a7201"
MNIST_X_TEST = "fbf9701b11f5659e6366884b0bbf01ea129fb049e3239251eddb226ada72239e"
MNIST_Y_TEST = "6a90c4ebf8538b9b76438e5dddb0f5afc42d636e8e259d894485f9314cdad47d"
KIN_32FH_X = "3e3fda47fd44b36338531e4bc45891cdd78810a850fa0842f2d1dc3c549d2e77"
KIN_32FH_Y = "a4bb1be5511b35ffae689afdb06831a2cb94dca8797f9d66af61b880b4bde6e6"
KIN8NM_X = "04fbbc2527ec77ff4249e56daf8dd2124257b163be3e852dea7c759ef95972b5"
KIN8NM_Y = "21ac115978bc78122292fb3bcba249bd8f7e215313bf445a352f2e97c9027d53"
SUNSPOTS_YMD = "0fe8c787032c3378a3735256a2ec00d67cc710306ce1b085e6698c14a536d254"
SUNSPOTS_SSN = "3762a01d80281a944a5a2ca90197773dc92e3f65eba59286a9da9ae7498bdd5a"

# 1818-01-01 .. 2023-12-31; the newest months of the series are provisional and get revised
SUNSPOTS_FIXED_DAYS = 75_240

SOURCES: dict[str, Source] = {
    "covtype": Source(
        {
            "X": ArraySpec("<i2", (581_012, 54), COVTYPE_X),
            "y": ArraySpec("|u1", (581_012,), COVTYPE_Y),
        },
        downloads.download_covtype,
    ),
    # squares: 0 blank, 1 first player (x), 2 second player (o); y: 0 win, 1 loss, 2 draw
    "connect-4": Source(
        {
            "X": ArraySpec("|u1", (67_557, 42), CONNECT4_X, codes=3),
            "y": ArraySpec("|u1", (67_557,), CONNECT4_Y, codes=3),
        },
        downloads.download_connect4,
    ),
    "mnist": Source(
        {
            "x_train": ArraySpec("|u1", (60_000, 28, 28), MNIST_X_TRAIN),
            "y_train": ArraySpec("|u1", (60_000,), MNIST_Y_TRAIN),
            "x_test": ArraySpec("|u1", (10_000, 28, 28), MNIST_X_TEST),
            "y_test": ArraySpec("|u1", (10_000,), MNIST_Y_TEST),
        },
        downloads.download_mnist,
    ),
    "kin-32fh": Source(
        {
            "X": ArraySpec("<f8", (8192, 32), KIN_32FH_X),
            "y": ArraySpec("<f8", (8192,), KIN_32FH_Y),
        },
        None,
    ),
    "kin8nm": Source(
        {
            "X": ArraySpec("<f8", (8192, 8), KIN8NM_X),
            "y": ArraySpec("<f8", (8192,), KIN8NM_Y),
        },
        downloads.download_kin8nm,
    ),
    "sunspots_daily": Source(
        {
            "ymd": ArraySpec("<i2", (None, 3), SUNSPOTS_YMD, fixed_rows=SUNSPOTS_FIXED_DAYS),
            "ssn": ArraySpec("<i2", (None,), SUNSPOTS_SSN, fixed_rows=SUNSPOTS_FIXED_DAYS),
        },
        downloads.download_sunspots,
        _check_daily,
    ),
}
