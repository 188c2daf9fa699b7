"""The inputs, targets and splits of the data sets are those of the thesis.

Tests of the real data run only if WIDEMARGIN_DATA names their folder.
"""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from widemargin.datasets import (
    fetch_connect4,
    fetch_forest,
    fetch_kin,
    fetch_mnist,
    fetch_sunspots,
    make_artificial,
    make_toy_mixture,
)

# ---- inputs and targets


def test_connect4_indicators_dense_and_sparse(no_data, boards, store):
    store(no_data, "connect-4", **boards)
    dense = fetch_connect4(data_home=no_data)
    sparse = fetch_connect4(data_home=no_data, sparse=True, dtype=np.float64).data
    assert sparse.format == "csr"
    assert sparse.dtype == np.float64
    np.testing.assert_array_equal(sparse.toarray(), dense.data)
    rows = {0: (1, 0, 0), 1: (0, 0, 1), 2: (0, 1, 0)}  # blank, player 1, player 2
    expected = [[bit for code in board for bit in rows[code]] for board in boards["X"].tolist()]
    np.testing.assert_array_equal(dense.data, expected)
    assert dense.feature_names[:4] == ["a1_blank", "a1_player2", "a1_player1", "a2_blank"]
    assert dense.feature_names[-1] == "g6_player1"


def test_sunspots_windows_are_yearly_averages(no_data, expect, store, daily_series):
    ymd, ssn = daily_series(75_240)
    ssn = np.random.default_rng(4).integers(0, 300, len(ssn))
    ssn[[5, 11_000]] = -1  # only rows after the last missing day are complete for 13 years
    store(no_data, "sunspots_daily", **expect("sunspots_daily", ymd=ymd, ssn=ssn))
    task = fetch_sunspots(split="thesis", data_home=no_data)
    first = np.datetime64("1818-01-01")
    for part, i in (("train", 0), ("train", 39_999), ("test", 0), ("test", 2_499)):
        t = int((task[f"date_{part}"][i] - first).astype(int))
        years = [ssn[t - 365 * k - 364 : t - 365 * k + 1].mean() for k in range(11, -1, -1)]
        np.testing.assert_allclose(task[f"X_{part}"][i], years, rtol=1e-12)
        np.testing.assert_allclose(task[f"y_{part}"][i], ssn[t + 1 : t + 366].mean(), rtol=1e-12)
    # days 6..10999 also hold complete rows, which come first
    assert task.date_train[0] == first + 5 + 12 * 365
    # every training target was known on the first day of the test
    assert task.date_test[0] == task.date_train[-1] + 365


# ---- options


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fetch_forest(split="paper"), "split='paper' is not known; use one of None"),
        (lambda: fetch_forest(target="two"), "target='two'"),
        (lambda: fetch_forest(dtype=np.int16), "use numpy.float32"),
        (lambda: fetch_forest(split="thesis", return_X_y=True), "use split=None"),
        (lambda: fetch_forest(split="thesis-regression", target="cover_type"), "target='binary'"),
        (lambda: fetch_connect4(target="winner"), "target='winner'"),
        (lambda: fetch_mnist(split="thesis"), "'standard'"),
        (lambda: fetch_mnist(digits=(1, 1)), "different digits"),
        (lambda: fetch_mnist(digits=()), "different digits"),
        (lambda: fetch_mnist(digits=(3, 10)), "different digits"),
        (lambda: fetch_kin(variant="32nh"), "variant='32nh'"),
        (lambda: fetch_sunspots(split="random"), "split='random'"),
        (lambda: make_artificial(0), "n_train=0"),
        (lambda: make_artificial(window=10), "odd number"),
        (
            lambda: make_artificial(5, 5, series=np.arange(20.0), n_lags=9, window=3),
            "has 9 fully observed",
        ),
        (lambda: make_artificial(5, 5, series=np.arange(20.0)), "has 0 fully observed"),
        (lambda: make_artificial(5, 5, series=np.ones((20, 2))), "it needs shape"),
        (lambda: make_artificial(5, 5, series=[np.inf] * 20), "series contains infinity"),
        (lambda: make_toy_mixture(1), "n_samples=1"),
        (lambda: make_toy_mixture(10, noise=-1), "noise=-1"),
        (lambda: make_toy_mixture(10, noise=np.nan), "noise=nan"),
    ],
)
def test_wrong_options_are_refused_with_a_remedy(no_data, call, message):
    with pytest.raises(ValueError, match=message):
        call()


# ---- generated data


def test_artificial_omits_rows_with_missing_days():
    series = np.random.default_rng(5).normal(size=200)
    series[60] = np.nan
    data = make_artificial(100, 20, series=series, n_lags=10, window=5)
    starts = [s for s in range(200 - 14) if not np.isnan(series[s : s + 15]).any()]
    smooth = [[series[s + k : s + k + 5].mean() for k in range(11)] for s in starts[:120]]
    np.testing.assert_allclose(np.vstack([data.X_train, data.X_test]), np.array(smooth)[:, :10])
    np.testing.assert_allclose(np.r_[data.y_train, data.y_test], np.array(smooth)[:, 10])


def test_toy_mixture_needs_two_lines():
    X, y = make_toy_mixture(random_state=0)
    assert X.shape == (10_000, 2)
    assert y.sum() == 0
    line = LogisticRegression().fit(X, y)
    assert line.score(X, y) < 0.85
    wedge = np.where(X[:, 1] > 2 * np.abs(X[:, 0]) - 1, 1, -1)
    assert 0.005 < np.mean(wedge != y) < 0.05

    # one line on each side of a linear gater solves it
    side = X[:, 0] > 0
    experts = [LogisticRegression().fit(X[s], y[s]).score(X[s], y[s]) for s in (side, ~side)]
    assert min(experts) > 0.95


def test_toy_mixture_is_reproducible():
    X, y = make_toy_mixture(101, random_state=3)
    again = make_toy_mixture(101, random_state=3)
    np.testing.assert_array_equal(X, again[0])
    np.testing.assert_array_equal(y, again[1])
    assert y.sum() == 1
    assert np.any(make_toy_mixture(101, random_state=4)[0] != X)


# ---- the real data


def assert_parts_of(whole_X, whole_y, bunch, sizes, *, shuffled=True):
    """The parts have these sizes, are disjoint, and hold the rows of the whole set they name."""
    rows = np.concatenate([bunch[f"rows_{part}"] for part in sizes])
    assert len(np.unique(rows)) == len(rows) == sum(sizes.values())
    for part, size in sizes.items():
        chosen = bunch[f"rows_{part}"]
        assert len(chosen) == size
        np.testing.assert_array_equal(bunch[f"X_{part}"], whole_X[chosen])
        np.testing.assert_array_equal(bunch[f"y_{part}"], whole_y[chosen])
    order = np.arange(len(whole_y))
    if shuffled:
        order = np.random.RandomState(0).permutation(len(whole_y))
    np.testing.assert_array_equal(rows, order[: len(rows)])


@pytest.mark.data
def test_forest():
    whole = fetch_forest()
    assert whole.data.shape == (581_012, 54)
    assert whole.data.dtype == np.float32
    assert len(set(whole.feature_names)) == 54
    assert np.unique(whole.target, return_counts=True)[1].tolist() == [297_711, 283_301]
    np.testing.assert_array_equal(whole.data[:, 10:14].sum(axis=1), 1)
    split = fetch_forest(split="thesis")
    sizes = {"train": 100_000, "valid": 10_000, "test": 50_000}
    assert_parts_of(whole.data, whole.target, split, sizes)
    regression = fetch_forest(split="thesis-regression", dtype=np.float64)
    sizes = {"train": 25_000, "test": 10_000}
    assert_parts_of(whole.data, whole.target, regression, sizes, shuffled=False)
    assert regression.y_train.dtype == regression.X_train.dtype == np.float64
    types = fetch_forest(target="cover_type", return_X_y=True)[1]
    counts = [211_840, 283_301, 35_754, 2_747, 9_493, 17_367, 20_510]
    assert np.bincount(types)[1:].tolist() == counts


@pytest.mark.data
def test_connect4():
    whole = fetch_connect4()
    assert whole.data.shape == (67_557, 126)
    assert (whole.target == 1).sum() == 44_473
    outcome = fetch_connect4(target="outcome").target
    assert np.bincount(outcome).tolist() == [44_473, 16_635, 6_449]
    # eight moves were made, four by each player
    per_state = whole.data.reshape(-1, 42, 3).sum(axis=1)
    np.testing.assert_array_equal(np.unique(per_state, axis=0), [[34, 4, 4]])
    split = fetch_connect4(split="thesis")
    sizes = {"train": 50_000, "valid": 7_500, "test": 10_000}
    assert_parts_of(whole.data, whole.target, split, sizes)
    sparse = fetch_connect4(split="thesis", sparse=True)
    np.testing.assert_array_equal(sparse.X_valid.toarray(), split.X_valid)


@pytest.mark.data
def test_connect4_download_with_the_real_checksums(monkeypatch, tmp_path, serve_openml):
    boards = fetch_connect4(target="outcome")
    codes = boards.data.reshape(-1, 42, 3).argmax(axis=2)  # 0 blank, 1 o, 2 x
    serve_openml(data=codes.astype(str).astype(object), target=(2 - boards.target).astype(str))
    monkeypatch.delenv("WIDEMARGIN_DATA")
    again = fetch_connect4(target="outcome", data_home=tmp_path)
    np.testing.assert_array_equal(again.data, boards.data)
    np.testing.assert_array_equal(again.target, boards.target)


@pytest.mark.data
def test_mnist():
    split = fetch_mnist(split="standard")
    assert split.X_train.shape == (60_000, 784)
    assert split.X_test.shape == (10_000, 784)
    assert split.X_train.dtype == np.float32
    assert split.X_train.max() == 255
    pair = fetch_mnist(digits=(0, 1), split="standard")
    assert np.bincount(pair.y_train).tolist() == [5_923, 6_742]
    assert np.bincount(pair.y_test).tolist() == [980, 1_135]
    np.testing.assert_array_equal(pair.X_test, split.X_test[split.y_test < 2])
    X, y = fetch_mnist(digits=(0, 1), return_X_y=True)
    np.testing.assert_array_equal(X, np.vstack([pair.X_train, pair.X_test]))
    np.testing.assert_array_equal(y, np.r_[pair.y_train, pair.y_test])


@pytest.mark.data
@pytest.mark.parametrize(("variant", "n_features"), [("32fh", 32), ("8nm", 8)])
def test_kin(variant, n_features):
    whole = fetch_kin(variant=variant)
    assert whole.data.shape == (8_192, n_features)
    assert len(whole.feature_names) == n_features
    split = fetch_kin(variant=variant, split="thesis")
    assert_parts_of(whole.data, whole.target, split, {"train": 6_192, "test": 2_000})
    line = LinearRegression().fit(split.X_train, split.y_train)
    assert line.score(split.X_test, split.y_test) > 0.3


@pytest.mark.data
def test_sunspots():
    series = fetch_sunspots()
    assert np.isnan(series.ssn).sum() == 3_247
    assert series.ssn[series.date.astype("M8[Y]") == np.datetime64("1957")].mean().round(1) == 269.3
    task = fetch_sunspots(split="thesis")
    assert task.X_train.shape == (40_000, 12)
    assert task.X_test.shape == (2_500, 12)
    assert np.isfinite(task.X_train).all()
    assert task.date_train.max() < task.date_test.min()
    assert task.date_train[0] == np.datetime64("1848-12-22") + 12 * 365
    again = fetch_sunspots(split="thesis")
    np.testing.assert_array_equal(again.X_test, task.X_test)


@pytest.mark.data
def test_artificial_is_an_easy_task():
    data = make_artificial()
    assert data.X_train.shape == (20_000, 100)
    assert data.X_test.shape == (2_000, 100)
    # the next value of a yearly average is close to the last one
    assert np.abs(data.X_test[:, -1] - data.y_test).mean() < 0.02 * data.y_test.std()
