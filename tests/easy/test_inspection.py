"""What is found in tables: identifiers, leakage, order in time, odd values."""

import numpy as np
import pytest

from widemargin.easy.data import read
from widemargin.easy.inspection import inspect
from widemargin.easy.options import Options

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
RNG = np.random.default_rng(0)
N = 200
X = RNG.normal(size=N)
CLASSES = np.where(X + RNG.normal(size=N) > 0, "yes", "no")


def looked(frame, tmp_path, task="classification", **options):
    path = tmp_path / "d.csv"
    frame.to_csv(path, index=False)
    data = read(Options(path, tmp_path / "m", target="y", **options))
    return data, inspect(data, task)


def kinds(found):
    return {(finding.kind, *finding.columns) for finding in found.findings}


@pytest.mark.parametrize(
    ("values", "is_id"),
    [
        (np.arange(N) + 1000, True),  # in order
        ([f"K{i}" for i in RNG.permutation(N)], True),
        (RNG.permutation(N * 50)[:N], False),  # such as a population
        (RNG.normal(size=N), False),
        (np.arange(N) // 2, False),
    ],
)
def test_identifiers(values, is_id, tmp_path):
    _, found = looked(pd.DataFrame({"v": values, "x": X, "y": CLASSES}), tmp_path)
    assert (("id", "v") in kinds(found)) == is_id
    assert found.left_out == (["v"] if is_id else [])


def test_a_number_called_id_is_one(tmp_path):
    values = RNG.permutation(N * 50)[:N]
    frame = pd.DataFrame({"customer_id": values, "x": X, "y": CLASSES})
    data, found = looked(frame, tmp_path)
    assert found.left_out == ["customer_id"]
    kept = inspect(data, "classification", keep=["customer_id"])
    assert kept.left_out == []


def test_leakage(tmp_path):
    amount = np.where(CLASSES == "yes", RNG.uniform(5, 9, N), 0.0)
    frame = pd.DataFrame({"x": X, "refund": amount, "state": CLASSES, "y": CLASSES})
    _, found = looked(frame, tmp_path)
    leaks = {name for kind, *names in kinds(found) if kind == "leakage" for name in names}
    assert leaks == {"refund", "state"}
    frame = pd.DataFrame({"x": X, "cents": 300 * X, "noise": RNG.normal(size=N), "y": 3 * X})
    _, found = looked(frame, tmp_path, "regression")
    leaks = {name for kind, *names in kinds(found) if kind == "leakage" for name in names}
    assert leaks == {"x", "cents"}
    frame = pd.DataFrame({"two words": X, "x": RNG.normal(size=N), "y": 3 * X})
    _, found = looked(frame, tmp_path, "regression")
    (finding,) = [finding for finding in found.findings if finding.kind == "leakage"]
    assert finding.advice.endswith("--drop 'two words'")


def test_rows_in_the_order_of_time(tmp_path):
    days = np.datetime64("2020-01-01") + np.arange(N)
    frame = pd.DataFrame({"day": days, "x": X, "y": CLASSES})
    _, found = looked(frame, tmp_path)
    (finding,) = [finding for finding in found.findings if finding.kind == "time order"]
    assert finding.level == "warning"
    assert finding.advice.endswith("--time-column day")
    _, found = looked(frame.sample(frac=1, random_state=0), tmp_path)
    (finding,) = [finding for finding in found.findings if finding.kind == "time order"]
    assert finding.level == "note"
    _, found = looked(frame, tmp_path, time_column="day")
    assert "time order" not in {finding.kind for finding in found.findings}


def test_dates_that_a_parquet_file_holds_as_text(tmp_path):
    days = np.datetime64("2020-01-01") + np.arange(N)
    path = tmp_path / "d.parquet"
    pd.DataFrame({"day": days.astype(str), "x": X, "y": CLASSES}).to_parquet(path)
    data = read(Options(path, tmp_path / "m", target="y"))
    assert ("time order", "day") in kinds(inspect(data, "classification"))
    data = read(Options(path, tmp_path / "m", target="y", time_column="day"))
    assert np.all(np.diff(data.role("time")) > 0)


def test_other_findings(tmp_path):
    frame = pd.DataFrame({"x": X, "c": 1, "y": np.where(np.arange(N) % 20 == 0, "rare", "usual")})
    frame["gaps"] = np.where(np.arange(N) % 4 == 0, X, np.nan)
    frame["when"] = [f"{1 + i % 12:02d}/{1 + i % 28:02d}/2020" for i in range(N)]
    frame["words"] = [f"text {i // 2 if i > 100 else i}" for i in range(N)]
    _, found = looked(frame, tmp_path)
    assert kinds(found) >= {
        ("constant", "c"),
        ("imbalance", "y"),
        ("missing", "gaps"),
        ("dates", "when"),
        ("text", "words"),
    }
    levels = [finding.level for finding in found.findings]
    assert levels == sorted(levels, reverse=True)  # warnings before notes


def test_dates_in_either_order_are_no_identifiers(tmp_path):
    """A day per row is another value in each row, and yet what a user has to rewrite."""
    days = pd.date_range("2020-01-01", periods=N).strftime("%d/%m/%Y")
    _, found = looked(pd.DataFrame({"day": days, "x": X, "y": CLASSES}), tmp_path)
    assert ("dates", "day") in kinds(found)
    assert ("id", "day") not in kinds(found)
    assert found.left_out == ["day"]


def test_duplicates(tmp_path):
    frame = pd.DataFrame({"x": np.repeat(X[:50], 4), "y": CLASSES})
    _, found = looked(frame, tmp_path)
    (finding,) = [finding for finding in found.findings if finding.kind == "duplicates"]
    assert finding.text.startswith("75.0% of the rows have the same inputs")


def test_many_findings_of_a_kind_are_one(tmp_path):
    frame = pd.DataFrame({f"c{i}": np.ones(N) for i in range(10)}).assign(x=X, y=CLASSES)
    _, found = looked(frame, tmp_path)
    (finding,) = [finding for finding in found.findings if finding.kind == "constant"]
    assert finding.text == "10 columns hold a single value: c0, c1, c2, ..."
    assert len(finding.columns) == 10


def test_numbers_with_odd_values(tmp_path):
    values = X.round(3).astype(str).astype(object)
    values[[3, 50]] = "unknown"
    frame = pd.DataFrame({"v": values, "y": CLASSES})
    data, found = looked(frame, tmp_path)
    assert ("mixed types", "v") in kinds(found)
    assert "2 other values such as 'unknown'" in found.findings[0].text
    assert data.take(np.array([3]))["v"].isna().all()
    _, found = looked(frame.drop(index=3), tmp_path)
    assert "1 other value such as 'unknown'" in found.findings[0].text
    data, _ = looked(frame, tmp_path, text=("v",))
    assert data.take(np.array([3]))["v"].tolist() == ["unknown"]


def test_codes_are_categories_if_asked(tmp_path):
    frame = pd.DataFrame({"code": np.arange(N) % 7, "x": X, "y": CLASSES})
    _, found = looked(frame, tmp_path)
    assert found.columns[0].kind == "number"
    _, found = looked(frame, tmp_path, text=("code",))
    assert (found.columns[0].kind, found.columns[0].levels) == ("category", 7)


def test_rows_without_a_target_are_left_out(tmp_path):
    y = CLASSES.astype(object)
    y[:10] = None
    data, found = looked(pd.DataFrame({"x": X, "y": y}), tmp_path)
    assert data.rows == N - 10
    assert ("missing target", "y") in kinds(found)
    np.testing.assert_allclose(data.take(np.arange(3))["x"], X[10:13])


BAD = [
    ("", "empty"),
    ("x,y\n", "no rows"),
    ("x,z\n1,2\n3,4\n", "no column 'y'; closest: 'x', 'z'"),
    ("x,y\n1,\n2,\n3,NA\n", "the target 'y' is missing in all rows"),
    ("y\na\nb\n", "no column besides the target"),
    ("x,y\n1,2020-01-01\n2,2020-01-02\n", "the target 'y' holds dates"),
    ("x,x,y\n1,2,a\n3,4,b\n", "more than one column is called 'x'"),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_bad_files(text, message, tmp_path):
    (tmp_path / "d.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        read(Options(tmp_path / "d.csv", tmp_path / "m", target="y"))


def test_a_target_that_is_not_named(tmp_path):
    (tmp_path / "d.csv").write_text("x,Label,z\n1,a,2\n3,b,4\n")
    with pytest.raises(ValueError, match="name it with target=, for example 'Label'"):
        read(Options(tmp_path / "d.csv", tmp_path / "m"))
    data = read(Options(tmp_path / "d.csv", tmp_path / "m"), need_target=False)
    assert data.names == ["x", "Label", "z"]


def test_missing_values_are_those_of_the_rows_that_are_used(tmp_path):
    """Rows without a target neither count nor make a share larger than the whole."""
    y = CLASSES.astype(object)
    y[: N // 2] = None
    gaps = np.where(np.arange(N) % 4 == 0, X, np.nan)
    full = np.where(np.arange(N) < N // 2, np.nan, 7.0)
    _, found = looked(pd.DataFrame({"gaps": gaps, "full": full, "y": y}), tmp_path)
    columns = {column.name: column for column in found.columns}
    assert columns["gaps"].missing == 75
    assert columns["full"].kind == "constant"
    (finding,) = [finding for finding in found.findings if finding.kind == "missing"]
    assert finding.text == "gaps is missing in 75% of the rows"


def test_duplicates_of_a_sample_are_called_so(tmp_path):
    rows = 30_000
    frame = pd.DataFrame({"x": np.arange(rows) % 100, "y": np.arange(rows) % 2})
    _, found = looked(frame, tmp_path)
    (finding,) = [finding for finding in found.findings if finding.kind == "duplicates"]
    assert "of a sample of 20,000 rows have the same inputs" in finding.text


def test_columns_without_names_are_not_left_out(tmp_path):
    """A model of a matrix takes all of its columns, so a report must not say otherwise."""
    np.savez(tmp_path / "d.npz", X=np.c_[np.arange(N), X], y=np.arange(N) % 2)
    found = inspect(read(Options(tmp_path / "d.npz", tmp_path / "m")), "classification")
    assert [column.role for column in found.columns] == ["input", "input"]
    assert found.left_out == []


def test_amounts_that_are_text(tmp_path):
    prices = [f"$1,{i % 90:03d}.50" for i in range(N)]
    _, found = looked(pd.DataFrame({"price": prices, "x": X, "y": CLASSES}), tmp_path)
    (finding,) = [finding for finding in found.findings if finding.kind == "numbers as text"]
    assert "such as '$1,000.50', which may be numbers" in finding.text


def test_classes_are_written_as_models_know_them(tmp_path):
    """Integers that a file has as 1.0 and 2.0 are the classes 1 and 2."""
    y = np.where(np.arange(N) % 100 == 0, 2.0, 1.0)
    _, found = looked(pd.DataFrame({"x": X, "y": y}), tmp_path)
    (finding,) = [finding for finding in found.findings if finding.kind == "rare classes"]
    assert finding.text == "1 of 2 classes have fewer than 5 rows: 2"


def test_fractions_as_classes(tmp_path):
    frame = pd.DataFrame({"x": X, "y": np.repeat([0.5, 1.5], N // 2)})
    _, found = looked(frame, tmp_path)  # a tree of scikit-learn refuses classes that are fractions
    assert "leakage" not in {finding.kind for finding in found.findings}


@pytest.mark.parametrize(
    ("rare", "scorers"), [("yes", "f1 or average_precision"), ("a", "or f1_macro")]
)
def test_the_advice_for_a_rare_class_is_about_that_class(rare, scorers, tmp_path):
    y = np.where(np.arange(N) % 20 == 0, rare, "no")
    _, found = looked(pd.DataFrame({"x": X, "y": y}), tmp_path)
    (finding,) = [finding for finding in found.findings if finding.kind == "imbalance"]
    assert f"{scorers} chooses" in finding.advice
