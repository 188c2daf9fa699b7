"""Regression data of Table 5.1 of the thesis: Kin, Sunspots and Artificial."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, DTypeLike, NDArray
from sklearn.utils import Bunch, check_array

from widemargin.datasets.catalogue import SUNSPOTS_FIXED_DAYS, dates_of
from widemargin.datasets.common import (
    Fetched,
    check_count,
    check_dtype,
    check_option,
    check_whole,
    shuffled_rows,
    split_bunch,
    whole_bunch,
)
from widemargin.datasets.sources import DataHome, load

YEAR_DAYS = 365  # days of a "yearly" average
SUNSPOTS_INPUT_YEARS = 12  # number of yearly averages that are inputs

KIN_DESCR = """Kin (Delve): forward kinematics of a simulated robot arm with 8 revolute joints

8,192 rows; the target is the distance of the end effector from a point.  kin-32fh: fairly linear,
high noise, 32 inputs (joint angles theta, link twists alpha, lengths a, offsets d); kin-8nm:
non-linear, medium noise, the 8 joint angles.  Kin in the thesis has 32 inputs; the thesis does not
say which member of the family it is."""

SUNSPOTS_DESCR = """Daily total sunspot number, version 2.0 (WDC-SILSO, Brussels)

One value per day since 1818-01-01; 3,247 days before 1849 have no observation.  About the last half
year is provisional.  Licence CC BY-NC 4.0.  The thesis (2004) used version 1 of the series, which
has a different scale."""


def fetch_kin(
    *,
    variant: Literal["32fh", "8nm"] = "32fh",
    split: Literal["thesis"] | None = None,
    dtype: DTypeLike = np.float64,
    data_home: DataHome = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Fetched:
    """Kin: how far a robot arm's hand is from a point (thesis Table 5.1).

    Parameters
    ----------
    variant : {"32fh", "8nm"}, default="32fh"
        Member of the family.  "32fh" has the 32 inputs of Table 5.1, but no download source.
    split : {None, "thesis"}, default=None
        ``"thesis"``: all rows are shuffled with ``numpy.random.RandomState(0)``, then the first
        6,192 are for training and the other 2,000 for testing.
    dtype : {numpy.float32, numpy.float64}, default=numpy.float64
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
        Without a split: `data` (8,192 x 32 or x 8), `target`.  With a split: `X_train`, `y_train`,
        `rows_train` (row numbers in the whole set), the same for `test`.  Always:
        `feature_names`, `target_names`, `DESCR`.

    Examples
    --------
    >>> from widemargin.datasets import fetch_kin
    >>> fetch_kin(variant="8nm").data.shape  # doctest: +SKIP
    (8192, 8)
    """
    check_option("variant", variant, ("32fh", "8nm"))
    check_option("split", split, (None, "thesis"))
    check_whole(split, return_X_y)
    dtype = check_dtype(dtype)
    name = "kin-32fh" if variant == "32fh" else "kin8nm"
    arrays = load(name, data_home, download_if_missing)
    X, y = arrays["X"].astype(dtype), arrays["y"]
    kinds = ("theta", "alpha", "a", "d")[: X.shape[1] // 8]
    facts = {
        "feature_names": [f"{kind}{i}" for kind in kinds for i in range(1, 9)],
        "target_names": ["distance"],
        "DESCR": KIN_DESCR,
    }
    if split is None:
        return whole_bunch(X, y, facts, return_X_y)
    return split_bunch(X.__getitem__, y, shuffled_rows(len(y), train=6_192, test=2_000), facts)


def fetch_sunspots(
    *,
    split: Literal["thesis"] | None = None,
    dtype: DTypeLike = np.float64,
    data_home: DataHome = None,
    download_if_missing: bool = True,
) -> Bunch:
    """Sunspots: the daily series, or next year's average from the last 12 (thesis Table 5.1).

    For each day t, with :math:`m(t)` the average of the 365 days that end with t,

    .. math:: x = (m(t - 11 \\cdot 365), \\ldots, m(t - 365), m(t)), \\qquad y = m(t + 365),

    and only rows for which every day of the 13 windows was observed.

    Parameters
    ----------
    split : {None, "thesis"}, default=None
        ``"thesis"``: the first 40,000 days for training and 2,500 later ones for testing, in the
        order of time.  Neighbouring days have almost the same inputs and target, so a shuffled
        split would test on near copies of training examples.  The 364 days between the two parts
        are left out, so that every training target was known on the first test day.  Both parts
        belong to the definitive values of the series, and do not change when it grows.
    dtype : {numpy.float32, numpy.float64}, default=numpy.float64
        Type of the inputs.
    data_home : path, default=None
        Folder for downloads.  None means the folder ``widemargin`` in the data home of
        scikit-learn.
    download_if_missing : bool, default=True
        Whether to download data that are missing; False raises an error instead.

    Returns
    -------
    bunch : Bunch
        Without a split: `date` (datetime64[D]) and `ssn` (float64, NaN where nothing was
        observed).  With a split: `X_train`, `y_train`, `date_train` (day t of each row), the same
        for `test`, and `feature_names`, `target_names`.  Always: `DESCR`.

    Examples
    --------
    >>> from widemargin.datasets import fetch_sunspots
    >>> sunspots = fetch_sunspots(split="thesis")  # doctest: +SKIP
    >>> sunspots.X_train.shape, sunspots.X_test.shape  # doctest: +SKIP
    ((40000, 12), (2500, 12))
    """
    check_option("split", split, (None, "thesis"))
    dtype = check_dtype(dtype)
    arrays = load("sunspots_daily", data_home, download_if_missing)
    date = dates_of(arrays["ymd"])
    ssn = np.where(arrays["ssn"] < 0, np.nan, arrays["ssn"].astype(np.float64))
    if split is None:
        return Bunch(date=date, ssn=ssn, DESCR=SUNSPOTS_DESCR)

    m = moving_average(
        ssn[:SUNSPOTS_FIXED_DAYS], YEAR_DAYS
    )  # m[i]: the year that ends with i + 364
    last = np.arange(
        (SUNSPOTS_INPUT_YEARS - 1) * YEAR_DAYS, len(m) - YEAR_DAYS
    )  # day t is last + 364
    windows = m[last[:, None] + YEAR_DAYS * np.arange(1 - SUNSPOTS_INPUT_YEARS, 2)]
    observed = ~np.isnan(windows).any(axis=1)
    windows, day = windows[observed], date[last[observed] + YEAR_DAYS - 1]
    parts = {
        "train": slice(0, 40_000),
        "test": slice(40_000 + YEAR_DAYS - 1, 42_500 + YEAR_DAYS - 1),
    }
    result = Bunch()
    for part, rows in parts.items():
        result[f"X_{part}"] = windows[rows, :-1].astype(dtype)
        result[f"y_{part}"] = windows[rows, -1]
        result[f"date_{part}"] = day[rows]
    result.update(
        feature_names=[f"year{i}" for i in range(1 - SUNSPOTS_INPUT_YEARS, 1)],
        target_names=["year+1"],
        DESCR=SUNSPOTS_DESCR,
    )
    return result


def make_artificial(
    n_train: int = 20_000,
    n_test: int = 2_000,
    *,
    series: ArrayLike | None = None,
    n_lags: int = 100,
    window: int = 365,
    data_home: DataHome = None,
    download_if_missing: bool = True,
) -> Bunch:
    """Artificial: a smooth daily value from the 100 previous ones (thesis Table 5.1).

    Each value of the series is replaced by the average of the `window` days centred on it.  The
    task is to predict such an average from the `n_lags` previous ones (oldest first).

    Parameters
    ----------
    n_train, n_test : int, default=20,000 and 2,000
        Number of rows, in the order of time: the first `n_train` fully observed ones, and the
        `n_test` after them.
    series : array-like of shape (n_days,), default=None
        Daily values, NaN where missing.  None means the sunspots up to the end of 2023.
    n_lags : int, default=100
        Number of inputs.
    window : int, default=365
        Number of days per average; it must be odd.
    data_home, download_if_missing
        As in `fetch_sunspots`; used only if `series` is None.

    Returns
    -------
    bunch : Bunch
        `X_train`, `y_train`, `X_test`, `y_test`.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.datasets import make_artificial
    >>> data = make_artificial(3, 1, series=np.arange(10.0), n_lags=2, window=3)
    >>> data.X_train
    array([[1., 2.],
           [2., 3.],
           [3., 4.]])
    >>> data.y_train
    array([3., 4., 5.])
    """
    check_count("n_train", n_train, 1)
    check_count("n_test", n_test, 0)
    check_count("n_lags", n_lags, 1)
    check_count("window", window, 1)
    if window % 2 == 0:
        raise ValueError(f"window={window} has no centre; use an odd number of days")
    if series is None:
        sunspots = fetch_sunspots(data_home=data_home, download_if_missing=download_if_missing)
        series = sunspots.ssn[:SUNSPOTS_FIXED_DAYS]
    days = check_array(
        series,
        ensure_2d=False,
        dtype=np.float64,
        ensure_all_finite="allow-nan",
        input_name="series",
    )
    if days.ndim != 1:
        raise ValueError(f"series has shape {days.shape}; it needs shape (n_days,)")

    smooth = moving_average(days, window)
    if len(smooth) > n_lags:
        rows = sliding_window_view(smooth, n_lags + 1)
        complete = moving_average(smooth, n_lags + 1)
        rows = rows[np.flatnonzero(~np.isnan(complete))[: n_train + n_test]]
    else:
        rows = np.empty((0, n_lags + 1))
    if len(rows) < n_train + n_test:
        raise ValueError(
            f"n_train + n_test = {n_train + n_test}, but the series has {len(rows)} fully "
            "observed rows; use fewer rows or a longer series"
        )
    train, test = rows[:n_train], rows[n_train:]
    return Bunch(
        X_train=np.ascontiguousarray(train[:, :-1]),
        y_train=train[:, -1].copy(),
        X_test=np.ascontiguousarray(test[:, :-1]),
        y_test=test[:, -1].copy(),
    )


def moving_average(series: NDArray[np.float64], window: int) -> NDArray[np.float64]:
    """Element i is the average of series[i : i + window], NaN if one of them is missing."""
    if len(series) < window:
        return np.empty(0)
    missing = np.isnan(series)
    total = np.concatenate([[0.0], np.cumsum(np.where(missing, 0.0, series))])
    n_missing = np.concatenate([[0], np.cumsum(missing)])
    average: NDArray[np.float64] = (total[window:] - total[:-window]) / window
    average[n_missing[window:] > n_missing[:-window]] = np.nan
    return average
