"""Files and downloads of data sets are verified; errors name the remedy.

The tests put the checksums of small arrays into the catalogue.
"""

from io import BytesIO
from urllib.error import URLError

import numpy as np
import pytest

from widemargin.datasets import (
    downloads,
    fetch_connect4,
    fetch_forest,
    fetch_kin,
    fetch_mnist,
    fetch_sunspots,
    make_artificial,
    sources,
)

# ---- environment, cache, download


def test_checksum_covers_dtype_shape_and_content():
    a = np.arange(6, dtype="<i2")
    variants = [a, a.astype("<i4"), a.reshape(2, 3), a[::-1]]
    assert len({sources.checksum(v) for v in variants}) == len(variants)
    fortran = np.asfortranarray(a.reshape(2, 3))
    assert sources.checksum(fortran) == sources.checksum(a.reshape(2, 3))


def test_a_download_is_cached(kin, no_data, serve_openml):
    openml = serve_openml(data=kin["X"], target=kin["y"])
    first = fetch_kin(variant="8nm")
    assert (no_data / "sklearn" / "widemargin" / "kin8nm" / "kin8nm.npz").is_file()
    second = fetch_kin(variant="8nm", download_if_missing=False)
    assert openml.calls == [189]
    np.testing.assert_array_equal(first.data, kin["X"])
    np.testing.assert_array_equal(second.data, kin["X"])
    np.testing.assert_array_equal(second.target, kin["y"])


def test_downloads_are_kept_in_data_home(kin, no_data, serve_openml):
    serve_openml(data=kin["X"], target=kin["y"])
    fetch_kin(variant="8nm", data_home=no_data / "mine")
    assert [p.name for p in (no_data / "mine" / "kin8nm").iterdir()] == ["kin8nm.npz"]
    assert not (no_data / "sklearn").exists()


def test_the_folder_of_the_environment_comes_first(monkeypatch, kin, no_data, store):
    store(no_data / "data", "kin8nm", X=np.asfortranarray(kin["X"]), y=kin["y"])
    monkeypatch.setenv("WIDEMARGIN_DATA", str(no_data / "data"))
    monkeypatch.setattr(downloads, "fetch_openml", None)  # a call would fail
    np.testing.assert_array_equal(fetch_kin(variant="8nm").data, kin["X"])
    assert not (no_data / "sklearn").exists()


def test_unwritable_cache_gives_the_data_and_a_warning(kin, no_data, serve_openml):
    serve_openml(data=kin["X"], target=kin["y"])
    blocker = no_data / "file"
    blocker.write_text("not a folder")
    with pytest.warns(UserWarning, match="not cached"):
        data = fetch_kin(variant="8nm", data_home=blocker).data
    np.testing.assert_array_equal(data, kin["X"])


def test_corrupted_download_is_rejected_and_not_stored(kin, no_data, serve_openml):
    wrong = kin["X"].copy()
    wrong[4000, 3] += 1e-9
    serve_openml(data=wrong, target=kin["y"])
    with pytest.raises(OSError, match=r"'kin8nm' was rejected.*'X' differs.*nothing was stored"):
        fetch_kin(variant="8nm", data_home=no_data)
    assert list(no_data.rglob("*.npz")) == []


def test_failed_download_names_data_set_folder_and_remedy(monkeypatch, no_data):
    def offline(**options):
        raise URLError("no network")

    monkeypatch.setattr(downloads, "fetch_openml", offline)
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


def test_broken_files_are_refused_by_name(kin, no_data, store):
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
def test_corrupt_archives_are_refused_by_name(kin, no_data, damage, store):
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


def test_values_that_do_not_fit_are_refused(monkeypatch, no_data, expect):
    arrays = expect("covtype", X=np.arange(20).reshape(10, 2), y=np.ones(10))
    for bad in (0.5, np.nan, 70_000):
        X = arrays["X"].astype(float)
        X[3, 1] = bad
        monkeypatch.setattr(downloads, "fetch_covtype", lambda X=X, **_: (X, arrays["y"]))
        with pytest.raises(OSError, match="do not fit dtype <i2"):
            fetch_forest(data_home=no_data)


# ---- the downloads of each data set


def test_forest_download_through_sklearn(monkeypatch, no_data, expect):
    rng = np.random.default_rng(1)
    arrays = expect("covtype", X=rng.integers(-9, 99, (50, 54)), y=rng.integers(1, 8, 50))

    def covtype(*, data_home, shuffle, return_X_y):
        assert return_X_y
        assert not shuffle
        return arrays["X"].astype(np.float64), arrays["y"].astype(np.int32)

    monkeypatch.setattr(downloads, "fetch_covtype", covtype)
    X, y = fetch_forest(return_X_y=True, data_home=no_data)
    assert X.dtype == np.float32
    np.testing.assert_array_equal(X, arrays["X"])
    np.testing.assert_array_equal(y, np.where(arrays["y"] == 2, 1, -1))


LETTERS = {"squares": np.array(["b", "x", "o"]), "outcomes": np.array(["win", "loss", "draw"])}
NUMBERS = {"squares": np.array(["0", "2", "1"]), "outcomes": np.array(["2", "1", "0"])}


QUOTED = {key: np.char.add(np.char.add("'", names), "'") for key, names in LETTERS.items()}
INTEGERS = {key: names.astype(int) for key, names in NUMBERS.items()}


@pytest.mark.parametrize("names", [LETTERS, NUMBERS, QUOTED, INTEGERS])
def test_connect4_codes_are_recognised_by_any_name(no_data, boards, names, serve_openml):
    openml = serve_openml(
        data=names["squares"][boards["X"]].astype(object),
        target=names["outcomes"][boards["y"]].astype(object),
    )
    bunch = fetch_connect4(target="outcome", data_home=no_data)
    np.testing.assert_array_equal(bunch.target, boards["y"])
    np.testing.assert_array_equal(bunch.data[:, 2::3], boards["X"] == 1)
    assert openml.calls == [40668]


def test_connect4_from_positions_in_lists_of_categories(no_data, boards, serve_openml):
    """The parser without pandas returns each value as its position in the list of its column."""
    lists = [["b", "x", "o"], ["o", "b", "x"]]
    positions = [np.array([0, 1, 2]), np.array([1, 2, 0])]
    names = [f"s{j}" for j in range(42)]
    serve_openml(
        data=np.column_stack([positions[j % 2][boards["X"][:, j]] for j in range(42)]) * 1.0,
        target=LETTERS["outcomes"][boards["y"]],
        feature_names=names,
        categories={name: lists[j % 2] for j, name in enumerate(names)},
    )
    bunch = fetch_connect4(data_home=no_data)
    np.testing.assert_array_equal(bunch.data[:, 1::3], boards["X"] == 2)


def test_connect4_with_other_content_is_rejected(no_data, boards, serve_openml):
    other, outcomes = np.roll(boards["X"], 1, axis=0), LETTERS["outcomes"][boards["y"]]
    serve_openml(data=LETTERS["squares"][other], target=outcomes)
    with pytest.raises(OSError, match="'connect-4' was rejected: the content of array 'X' differs"):
        fetch_connect4(data_home=no_data)
    serve_openml(data=LETTERS["squares"][boards["X"] % 2], target=outcomes)
    with pytest.raises(OSError, match="expected three distinct values, found 2"):
        fetch_connect4(data_home=no_data)


@pytest.mark.slow
def test_mnist_download_splits_at_60000(monkeypatch, no_data, serve_openml, expect):
    digits = np.arange(60_020) * 7 % 10
    images = np.zeros((60_020, 784), dtype=np.uint8)
    images[np.arange(60_020), digits] = 255
    expect(
        "mnist",
        x_train=images[:60_000].reshape(-1, 28, 28),
        y_train=digits[:60_000],
        x_test=images[60_000:].reshape(-1, 28, 28),
        y_test=digits[60_000:],
    )
    openml = serve_openml(data=images, target=digits.astype(str).astype(object))
    bunch = fetch_mnist(split="standard", digits=(7, 2), data_home=no_data)
    assert openml.calls == [554]
    assert set(bunch.y_train) == set(bunch.y_test) == {2, 7}
    assert len(bunch.y_test) == np.isin(digits[60_000:], [2, 7]).sum()
    np.testing.assert_array_equal(bunch.X_train.argmax(axis=1), bunch.y_train)
    assert bunch.target_names == ["2", "7"]


def serve_csv(monkeypatch, ymd, ssn):
    lines = [
        f"{y};{m:02d};{d:02d};0;{s:4d}; -1.0; 0;1" for (y, m, d), s in zip(ymd, ssn, strict=True)
    ]
    text = "\n".join(lines).encode()
    monkeypatch.setattr(downloads, "urlopen", lambda url, timeout: BytesIO(text))


@pytest.mark.slow
def test_sunspots_may_grow_but_past_values_must_not_change(
    monkeypatch, no_data, expect, daily_series
):
    ymd, ssn = daily_series(75_240 + 40)
    ssn[10] = -1
    expect("sunspots_daily", ymd=ymd, ssn=ssn)
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
    monkeypatch.setattr(downloads, "urlopen", lambda url, timeout: BytesIO(b"<html>sorry"))
    with pytest.raises(OSError, match=r"'sunspots_daily'.*download failed"):
        fetch_sunspots(data_home=no_data / "b")
