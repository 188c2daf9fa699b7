"""Data sets: sources are verified, splits are the thesis's, errors say what to do.

Tests of the real data run where WIDEMARGIN_DATA names their folder; all others use small stand-ins
whose checksums are put into the catalogue.
"""

import dataclasses
import os
from io import BytesIO
from urllib.error import URLError

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.utils import Bunch

from widemargin.datasets import (
    _downloads,
    _sources,
    fetch_connect4,
    fetch_forest,
    fetch_kin,
    fetch_mnist,
    fetch_sunspots,
    make_artificial,
    make_toy_mixture,
)
from widemargin.datasets._catalogue import SOURCES

real_data = pytest.mark.skipif(
    not os.environ.get("WIDEMARGIN_DATA"),
    reason="WIDEMARGIN_DATA is not set: it names the folder with the real data sets",
)


@pytest.fixture
def no_data(monkeypatch, tmp_path):
    """Neither the environment's data nor scikit-learn's data home: everything in tmp_path."""
    monkeypatch.delenv("WIDEMARGIN_DATA", raising=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "sklearn"))
    return tmp_path


def expect(monkeypatch, name, **arrays):
    """Make the catalogue expect these arrays (in its own dtypes) instead of the real ones."""
    source, specs, canonical = SOURCES[name], {}, {}
    for key, spec in source.arrays.items():
        canonical[key] = np.ascontiguousarray(arrays[key], dtype=spec.dtype)
        specs[key] = dataclasses.replace(
            spec,
            shape=canonical[key].shape if spec.fixed_rows is None else spec.shape,
            sha256=_sources.checksum(canonical[key][: spec.fixed_rows]),
        )
    monkeypatch.setitem(SOURCES, name, dataclasses.replace(source, arrays=specs))
    return canonical


@pytest.fixture
def kin(monkeypatch, no_data):
    """A stand-in for kin8nm; returns its arrays."""
    rng = np.random.default_rng(0)
    return expect(monkeypatch, "kin8nm", X=rng.normal(size=(8192, 8)), y=rng.normal(size=8192))


class FakeOpenML:
    """Answers like scikit-learn's fetch_openml, and counts the calls."""

    def __init__(self, **fields):
        self.answer, self.calls = Bunch(**fields), []

    def __call__(self, *, data_id, **options):
        assert options["as_frame"] is False
        self.calls.append(data_id)
        return self.answer


def store(folder, name, **arrays):
    file = folder / name / f"{name}.npz"
    file.parent.mkdir(parents=True)
    np.savez(file, **arrays)
    return file


# ---- sources: environment, cache, download


def test_checksum_covers_dtype_shape_and_content():
    a = np.arange(6, dtype="<i2")
    variants = [a, a.astype("<i4"), a.reshape(2, 3), a[::-1]]
    assert len({_sources.checksum(v) for v in variants}) == len(variants)
    fortran = np.asfortranarray(a.reshape(2, 3))
    assert _sources.checksum(fortran) == _sources.checksum(a.reshape(2, 3))


def test_download_is_cached_and_the_cache_needs_no_download(monkeypatch, kin, no_data):
    openml = FakeOpenML(data=kin["X"], target=kin["y"])
    monkeypatch.setattr(_downloads, "fetch_openml", openml)
    first = fetch_kin(variant="8nm")
    assert (no_data / "sklearn" / "widemargin" / "kin8nm" / "kin8nm.npz").is_file()
    second = fetch_kin(variant="8nm", download_if_missing=False)
    assert openml.calls == [189]
    np.testing.assert_array_equal(first.data, kin["X"])
    np.testing.assert_array_equal(second.data, kin["X"])
    np.testing.assert_array_equal(second.target, kin["y"])


def test_data_home_is_where_the_download_is_kept(monkeypatch, kin, no_data):
    monkeypatch.setattr(_downloads, "fetch_openml", FakeOpenML(data=kin["X"], target=kin["y"]))
    fetch_kin(variant="8nm", data_home=no_data / "mine")
    assert [p.name for p in (no_data / "mine" / "kin8nm").iterdir()] == ["kin8nm.npz"]
    assert not (no_data / "sklearn").exists()


def test_environment_folder_comes_first(monkeypatch, kin, no_data):
    store(no_data / "data", "kin8nm", X=np.asfortranarray(kin["X"]), y=kin["y"])
    monkeypatch.setenv("WIDEMARGIN_DATA", str(no_data / "data"))
    monkeypatch.setattr(_downloads, "fetch_openml", None)  # a call would fail
    np.testing.assert_array_equal(fetch_kin(variant="8nm").data, kin["X"])
    assert not (no_data / "sklearn").exists()


def test_unwritable_cache_gives_the_data_and_a_warning(monkeypatch, kin, no_data):
    monkeypatch.setattr(_downloads, "fetch_openml", FakeOpenML(data=kin["X"], target=kin["y"]))
    blocker = no_data / "file"
    blocker.write_text("not a folder")
    with pytest.warns(UserWarning, match="not cached"):
        data = fetch_kin(variant="8nm", data_home=blocker).data
    np.testing.assert_array_equal(data, kin["X"])


def test_corrupted_download_is_rejected_and_not_stored(monkeypatch, kin, no_data):
    wrong = kin["X"].copy()
    wrong[4000, 3] += 1e-9
    monkeypatch.setattr(_downloads, "fetch_openml", FakeOpenML(data=wrong, target=kin["y"]))
    with pytest.raises(OSError, match=r"'kin8nm' was rejected.*'X' differs.*nothing was stored"):
        fetch_kin(variant="8nm", data_home=no_data)
    assert list(no_data.rglob("*.npz")) == []


def test_failed_download_names_data_set_folder_and_remedy(monkeypatch, no_data):
    def offline(**options):
        raise URLError("no network")

    monkeypatch.setattr(_downloads, "fetch_openml", offline)
    with pytest.raises(OSError, match=r"'mnist' is not in .*no network.*set WIDEMARGIN_DATA"):
        fetch_mnist(data_home=no_data)


@pytest.mark.parametrize(
    ("fetch", "name"),
    [
        (fetch_forest, "covtype"),
        (fetch_connect4, "connect-4"),
        (fetch_mnist, "mnist"),
        (fetch_kin, "kin-32fh"),
        (fetch_sunspots, "sunspots_daily"),
        (make_artificial, "sunspots_daily"),
    ],
)
def test_missing_data_names_data_set_folders_and_remedy(monkeypatch, no_data, fetch, name):
    monkeypatch.setenv("WIDEMARGIN_DATA", str(no_data / "elsewhere"))
    with pytest.raises(FileNotFoundError, match=f"{name}/{name}.npz") as raised:
        fetch(data_home=no_data / "home", download_if_missing=False)
    message = str(raised.value)
    assert f"data set '{name}'" in message
    assert str(no_data / "elsewhere") in message
    assert str(no_data / "home") in message
    assert "set WIDEMARGIN_DATA" in message


def test_kin_32fh_cannot_be_downloaded(no_data):
    with pytest.raises(FileNotFoundError, match=r"'kin-32fh'.*no download source"):
        fetch_kin(download_if_missing=True)


def test_broken_files_are_refused_by_name(kin, no_data):
    X, y = kin["X"], kin["y"]
    cases = {
        "lacks the arrays y": dict(X=X),
        "expected .8192, 8.": dict(X=X[:, :7], y=y),
        "content of array 'y' differs": dict(X=X, y=-y),
        "expected numbers": dict(X=X.astype(str), y=y),
        "allow_pickle=False": dict(X=X.astype(object), y=y),
    }
    for i, (message, arrays) in enumerate(cases.items()):
        file = store(no_data / str(i), "kin8nm", **arrays)
        with pytest.raises(OSError, match=message) as raised:
            fetch_kin(variant="8nm", data_home=no_data / str(i))
        assert str(file) in str(raised.value)


@pytest.mark.parametrize("damage", ["text", "npy", "truncated", "flipped"])
def test_corrupt_archives_are_refused_by_name(kin, no_data, damage):
    file = store(no_data, "kin8nm", **kin)
    content = bytearray(file.read_bytes())
    if damage == "npy":
        buffer = BytesIO()
        np.save(buffer, kin["X"])
        content = bytearray(buffer.getvalue())
    content[5000] ^= 255
    file.write_bytes(
        {"text": b"<html>404</html>", "truncated": content[:9000]}.get(damage, content)
    )
    with pytest.raises(OSError, match="is not the data set 'kin8nm'") as raised:
        fetch_kin(variant="8nm", data_home=no_data)
    assert str(file) in str(raised.value)


def test_values_that_do_not_fit_are_refused(monkeypatch, no_data):
    arrays = expect(monkeypatch, "covtype", X=np.arange(20).reshape(10, 2), y=np.ones(10))
    for bad in (0.5, np.nan, 70_000):
        X = arrays["X"].astype(float)
        X[3, 1] = bad
        monkeypatch.setattr(_downloads, "fetch_covtype", lambda X=X, **_: (X, arrays["y"]))
        with pytest.raises(OSError, match="do not fit dtype <i2"):
            fetch_forest(data_home=no_data)


# ---- the downloads of each data set


def test_forest_download_through_sklearn(monkeypatch, no_data):
    rng = np.random.default_rng(1)
    arrays = expect(
        monkeypatch, "covtype", X=rng.integers(-9, 99, (50, 54)), y=rng.integers(1, 8, 50)
    )

    def covtype(*, data_home, shuffle, return_X_y):
        assert return_X_y
        assert not shuffle
        return arrays["X"].astype(np.float64), arrays["y"].astype(np.int32)

    monkeypatch.setattr(_downloads, "fetch_covtype", covtype)
    X, y = fetch_forest(return_X_y=True, data_home=no_data)
    assert X.dtype == np.float32
    np.testing.assert_array_equal(X, arrays["X"])
    np.testing.assert_array_equal(y, np.where(arrays["y"] == 2, 1, -1))


LETTERS = {"squares": np.array(["b", "x", "o"]), "outcomes": np.array(["win", "loss", "draw"])}
NUMBERS = {"squares": np.array(["0", "2", "1"]), "outcomes": np.array(["2", "1", "0"])}


@pytest.fixture
def boards(monkeypatch, no_data):
    rng = np.random.default_rng(2)
    return expect(
        monkeypatch, "connect-4", X=rng.integers(0, 3, (60, 42)), y=rng.integers(0, 3, 60)
    )


QUOTED = {key: np.char.add(np.char.add("'", names), "'") for key, names in LETTERS.items()}
INTEGERS = {key: names.astype(int) for key, names in NUMBERS.items()}


@pytest.mark.parametrize("names", [LETTERS, NUMBERS, QUOTED, INTEGERS])
def test_connect4_codes_are_recognised_whatever_their_names(monkeypatch, no_data, boards, names):
    openml = FakeOpenML(
        data=names["squares"][boards["X"]].astype(object),
        target=names["outcomes"][boards["y"]].astype(object),
    )
    monkeypatch.setattr(_downloads, "fetch_openml", openml)
    bunch = fetch_connect4(target="outcome", data_home=no_data)
    np.testing.assert_array_equal(bunch.target, boards["y"])
    np.testing.assert_array_equal(bunch.data[:, 2::3], boards["X"] == 1)
    assert openml.calls == [40668]


def test_connect4_from_positions_in_lists_of_categories(monkeypatch, no_data, boards):
    """The parser without pandas gives each value's position in its own column's list."""
    lists = [["b", "x", "o"], ["o", "b", "x"]]
    positions = [np.array([0, 1, 2]), np.array([1, 2, 0])]
    names = [f"s{j}" for j in range(42)]
    openml = FakeOpenML(
        data=np.column_stack([positions[j % 2][boards["X"][:, j]] for j in range(42)]) * 1.0,
        target=LETTERS["outcomes"][boards["y"]],
        feature_names=names,
        categories={name: lists[j % 2] for j, name in enumerate(names)},
    )
    monkeypatch.setattr(_downloads, "fetch_openml", openml)
    bunch = fetch_connect4(data_home=no_data)
    np.testing.assert_array_equal(bunch.data[:, 1::3], boards["X"] == 2)


def test_connect4_with_other_content_is_rejected(monkeypatch, no_data, boards):
    other = np.roll(boards["X"], 1, axis=0)
    answer = FakeOpenML(data=LETTERS["squares"][other], target=LETTERS["outcomes"][boards["y"]])
    monkeypatch.setattr(_downloads, "fetch_openml", answer)
    with pytest.raises(OSError, match="'connect-4' was rejected: the content of array 'X' differs"):
        fetch_connect4(data_home=no_data)
    two = FakeOpenML(data=LETTERS["squares"][boards["X"] % 2], target=answer.answer.target)
    monkeypatch.setattr(_downloads, "fetch_openml", two)
    with pytest.raises(OSError, match="expected three different values, found 2"):
        fetch_connect4(data_home=no_data)


def test_connect4_indicators_dense_and_sparse(monkeypatch, no_data, boards):
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


def test_mnist_download_splits_at_60000(monkeypatch, no_data):
    digits = np.arange(60_020) * 7 % 10
    images = np.zeros((60_020, 784), dtype=np.uint8)
    images[np.arange(60_020), digits] = 255
    expect(
        monkeypatch,
        "mnist",
        x_train=images[:60_000].reshape(-1, 28, 28),
        y_train=digits[:60_000],
        x_test=images[60_000:].reshape(-1, 28, 28),
        y_test=digits[60_000:],
    )
    openml = FakeOpenML(data=images, target=digits.astype(str).astype(object))
    monkeypatch.setattr(_downloads, "fetch_openml", openml)
    bunch = fetch_mnist(split="standard", digits=(7, 2), data_home=no_data)
    assert openml.calls == [554]
    assert set(bunch.y_train) == set(bunch.y_test) == {2, 7}
    assert len(bunch.y_test) == np.isin(digits[60_000:], [2, 7]).sum()
    np.testing.assert_array_equal(bunch.X_train.argmax(axis=1), bunch.y_train)
    assert bunch.target_names == ["2", "7"]


def daily_series(n_days):
    days = np.datetime64("1818-01-01") + np.arange(n_days)
    months = days.astype("M8[M]")
    year = days.astype("M8[Y]").astype(int) + 1970
    ymd = np.column_stack([year, months.astype(int) % 12 + 1, (days - months).astype(int) + 1])
    return ymd, np.arange(n_days) % 300


def serve_csv(monkeypatch, ymd, ssn):
    lines = [
        f"{y};{m:02d};{d:02d};0;{s:4d}; -1.0; 0;1" for (y, m, d), s in zip(ymd, ssn, strict=True)
    ]
    text = "\n".join(lines).encode()
    monkeypatch.setattr(_downloads, "urlopen", lambda url, timeout: BytesIO(text))


def test_sunspots_download_may_grow_but_its_past_must_not_change(monkeypatch, no_data):
    ymd, ssn = daily_series(75_240 + 40)
    ssn[10] = -1
    expect(monkeypatch, "sunspots_daily", ymd=ymd, ssn=ssn)
    longer_ymd, longer = daily_series(75_240 + 90)
    longer[10], longer[75_250:] = -1, 7
    serve_csv(monkeypatch, longer_ymd, longer)
    series = fetch_sunspots(data_home=no_data / "a")
    assert len(series.ssn) == 75_330
    assert series.date[0] == np.datetime64("1818-01-01")
    assert series.date[75_239] == np.datetime64("2023-12-31")
    assert np.flatnonzero(np.isnan(series.ssn)).tolist() == [10]

    longer[75_239] += 1
    serve_csv(monkeypatch, longer_ymd, longer)
    with pytest.raises(OSError, match="'ssn' differs"):
        fetch_sunspots(data_home=no_data / "b")
    serve_csv(monkeypatch, np.delete(ymd, 75_260, axis=0), np.delete(ssn, 75_260))
    with pytest.raises(OSError, match="consecutive days"):
        fetch_sunspots(data_home=no_data / "b")
    monkeypatch.setattr(_downloads, "urlopen", lambda url, timeout: BytesIO(b"<html>sorry"))
    with pytest.raises(OSError, match=r"'sunspots_daily'.*download failed"):
        fetch_sunspots(data_home=no_data / "b")


def test_sunspots_windows_are_yearly_averages(monkeypatch, no_data):
    ymd, ssn = daily_series(75_240)
    ssn = np.random.default_rng(4).integers(0, 300, len(ssn))
    ssn[[5, 11_000]] = -1  # only rows after the last missing day are complete for 13 years
    store(no_data, "sunspots_daily", **expect(monkeypatch, "sunspots_daily", ymd=ymd, ssn=ssn))
    task = fetch_sunspots(split="thesis", data_home=no_data)
    first = np.datetime64("1818-01-01")
    for part, i in (("train", 0), ("train", 39_999), ("test", 0), ("test", 2_499)):
        t = int((task[f"date_{part}"][i] - first).astype(int))
        years = [ssn[t - 365 * k - 364 : t - 365 * k + 1].mean() for k in range(11, -1, -1)]
        np.testing.assert_allclose(task[f"X_{part}"][i], years, rtol=1e-12)
        np.testing.assert_allclose(task[f"y_{part}"][i], ssn[t + 1 : t + 366].mean(), rtol=1e-12)
    # days 6..10999 hold complete rows too: they come first
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
        (lambda: make_artificial(5, 5, series=np.arange(20.0), n_lags=9, window=3), "gives 9"),
        (lambda: make_artificial(5, 5, series=np.arange(20.0)), "gives 0"),
        (lambda: make_artificial(5, 5, series=np.ones((20, 2))), "one value a day"),
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


def test_artificial_leaves_out_rows_with_missing_days():
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


def assert_parts_of(whole_X, whole_y, bunch, sizes):
    """The parts have these sizes, share no row, and hold the rows of the whole set they name."""
    rows = np.concatenate([bunch[f"rows_{part}"] for part in sizes])
    assert len(np.unique(rows)) == len(rows) == sum(sizes.values())
    for part, size in sizes.items():
        chosen = bunch[f"rows_{part}"]
        assert len(chosen) == size
        np.testing.assert_array_equal(bunch[f"X_{part}"], whole_X[chosen])
        np.testing.assert_array_equal(bunch[f"y_{part}"], whole_y[chosen])
    order = np.random.RandomState(0).permutation(len(whole_y))
    np.testing.assert_array_equal(rows, order[: len(rows)])


@real_data
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
    assert_parts_of(whole.data, whole.target, regression, {"train": 25_000, "test": 10_000})
    assert regression.y_train.dtype == regression.X_train.dtype == np.float64
    types = fetch_forest(target="cover_type", return_X_y=True)[1]
    counts = [211_840, 283_301, 35_754, 2_747, 9_493, 17_367, 20_510]
    assert np.bincount(types)[1:].tolist() == counts


@real_data
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


@real_data
def test_connect4_download_with_the_real_checksums(monkeypatch, tmp_path):
    boards = fetch_connect4(target="outcome")
    codes = boards.data.reshape(-1, 42, 3).argmax(axis=2)  # 0 blank, 1 o, 2 x
    answer = FakeOpenML(
        data=codes.astype(str).astype(object), target=(2 - boards.target).astype(str)
    )
    monkeypatch.delenv("WIDEMARGIN_DATA")
    monkeypatch.setattr(_downloads, "fetch_openml", answer)
    again = fetch_connect4(target="outcome", data_home=tmp_path)
    np.testing.assert_array_equal(again.data, boards.data)
    np.testing.assert_array_equal(again.target, boards.target)


@real_data
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


@real_data
@pytest.mark.parametrize(("variant", "n_features"), [("32fh", 32), ("8nm", 8)])
def test_kin(variant, n_features):
    whole = fetch_kin(variant=variant)
    assert whole.data.shape == (8_192, n_features)
    assert len(whole.feature_names) == n_features
    split = fetch_kin(variant=variant, split="thesis")
    assert_parts_of(whole.data, whole.target, split, {"train": 6_192, "test": 2_000})
    line = LinearRegression().fit(split.X_train, split.y_train)
    assert line.score(split.X_test, split.y_test) > 0.3


@real_data
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


@real_data
def test_artificial_of_the_thesis_is_easy():
    data = make_artificial()
    assert data.X_train.shape == (20_000, 100)
    assert data.X_test.shape == (2_000, 100)
    # the next value of a yearly average is close to the last one
    assert np.abs(data.X_test[:, -1] - data.y_test).mean() < 0.02 * data.y_test.std()
