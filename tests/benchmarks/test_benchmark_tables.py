"""The benchmark of tables keeps to its protocol; times are not tested."""

import json
import math

import numpy as np
import pytest
from benchmarks._choice import choose
from benchmarks._lines import Entry
from benchmarks._splits import Split, problems, seventy_thirty, suite
from benchmarks.adapters._tables import Standardised, TableLibrary
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks import _splits, tables


def table(rows, seed=0):
    """Inputs that are row numbers in the first column, and two noisy classes."""
    random = np.random.default_rng(seed)
    X = np.column_stack([np.arange(rows), random.normal(size=(rows, 3))])
    return X, np.where(X[:, 1] + 0.3 * random.normal(size=rows) > 0.4, 7, 3)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A suite of a small table of classes and a small one of values."""
    monkeypatch.setenv("WIDEMARGIN_DATA", str(tmp_path))
    (tmp_path / "tables").mkdir()
    X, y = table(120)
    np.savez(tmp_path / "tables" / "Classes.npz", X=X, y=y, task="classification")
    np.savez(tmp_path / "tables" / "values.npz", X=X, y=X[:, 1] + X[:, 2], task="regression")
    return tmp_path / "tables"


class Neighbours(TableLibrary):
    """Nearest neighbours, whose number is chosen."""

    name = title = "neighbours"
    module = "sklearn"
    tasks = ("classification",)

    def model(self, split, threads):
        return make_pipeline(StandardScaler(), KNeighborsClassifier())

    def stages(self, split):
        return ({"n_neighbors": (1, 5)},)


# ------------------------------------------------------------------------------------ splits


@pytest.mark.parametrize("seed", [0, 2])
def test_seventy_thirty(seed):
    X, y = table(501)
    split = seventy_thirty("classification", X, y, seed)
    train, test = train_test_split(np.arange(501), test_size=0.3, random_state=seed, stratify=y)
    np.testing.assert_array_equal(split.X[:, 0], train)
    np.testing.assert_array_equal(split.X_test[:, 0], test)
    np.testing.assert_array_equal(split.y, y[train] == 7)


def test_large_tables_are_cut(monkeypatch):
    monkeypatch.setattr(_splits, "TRAIN_ROWS", 100)
    monkeypatch.setattr(_splits, "TEST_ROWS", 50)
    X, y = table(1000)
    split = seventy_thirty("classification", X, y, 0)
    assert (len(split.y), len(split.y_test)) == (100, 50)
    assert not set(split.X[:, 0]) & set(split.X_test[:, 0])
    assert abs(split.y.mean() - (y == 7).mean()) < 0.01


def test_small_tables_have_three_splits(folder, monkeypatch):
    assert len(suite(folder / "Classes.npz")) == 3
    monkeypatch.setattr(_splits, "FEW_ROWS", 120)
    assert len(suite(folder / "Classes.npz")) == 1


def test_values_are_standardised_by_training_rows(folder):
    split = suite(folder / "values.npz")[0]
    assert split.y.mean() == pytest.approx(0, abs=1e-9)
    assert split.y.std() == pytest.approx(1)
    assert abs(split.y_test.mean()) > 1e-6


def test_all_of_forest_and_seven_classes(monkeypatch):
    X, y = table(70)
    kinds = np.arange(70) % 7 + 1

    def fetch(target="binary", return_X_y=True):
        return X, y if target == "binary" else kinds

    monkeypatch.setattr(_splits, "fetch_forest", fetch)
    monkeypatch.setattr(_splits, "ALL_TEST", 14)
    monkeypatch.setattr(_splits, "SEVEN_CLASSES", (30, 10, 10))
    order = np.random.RandomState(0).permutation(70)
    whole = _splits.FOREST["forest-all"]()
    np.testing.assert_array_equal(whole.X[:, 0], order[:56])
    np.testing.assert_array_equal(whole.X_test[:, 0], order[56:])
    assert whole.X_valid is None
    seven = _splits.FOREST["forest-seven-classes"]()
    parts = seven.X, seven.X_valid, seven.X_test
    for part, rows in zip(parts, np.split(order[:50], [30, 40]), strict=True):
        np.testing.assert_array_equal(part[:, 0], rows)
    np.testing.assert_array_equal(seven.y_valid, kinds[order[30:40]] - 1)


@pytest.mark.data
def test_sizes_of_real_tables():
    assert len(list(problems(group="tables"))) == 21
    assert len(list(problems(group="suite"))) == 28
    thesis, fewer, boards = (
        problem.load()[0] for problem in problems(["forest-100000", "forest-20000", "connect-4"])
    )
    assert (len(thesis.y), len(thesis.y_valid), len(thesis.y_test)) == (100_000, 10_000, 50_000)
    np.testing.assert_array_equal(fewer.X, thesis.X[:20_000])
    np.testing.assert_array_equal(fewer.X_test, thesis.X_test)
    assert (len(boards.y), len(boards.y_valid), len(boards.y_test)) == (50_000, 7_500, 10_000)
    assert set(np.unique(boards.X)) == {0, 1}
    assert boards.X.shape[1] == 126


def test_errors_in_per_cent():
    X = np.zeros((4, 1))
    classes = Split("classification", X, X[:, 0], X, np.array([0, 1, 1, 2]))
    assert classes.error(np.array([0, 1, 1, 1])) == 25
    values = Split("regression", X, X[:, 0], X, np.array([0.0, 2.0, 0.0, 2.0]))
    assert values.error(np.ones((4, 1))) == 100  # R² = 0
    assert values.error(values.y_test) == 0


def test_unknown_tables_are_named(folder):
    assert [problem.name for problem in problems(["classes"])] == ["Classes"]
    with pytest.raises(ValueError, match="no table is called 'iris'"):
        next(problems(["iris"]))


# ------------------------------------------------------------------------------------ choice


def test_choices_never_see_test_rows():
    X, y = table(200)
    split = seventy_thirty("classification", X, y, 0)
    part = split.for_choice(1000)
    assert (len(part.y), len(part.y_test)) == (112, 28)
    assert sorted([*part.X[:, 0], *part.X_test[:, 0]]) == sorted(split.X[:, 0])
    assert len(split.for_choice(20).y) == 20


def test_given_validation_rows_are_used():
    X, y = table(100)
    codes = (y == 7) * 1
    split = Split("classification", X[:60], codes[:60], X[60:80], codes[60:80], X[80:], codes[80:])
    part = split.for_choice(1000)
    np.testing.assert_array_equal(part.X, split.X)
    np.testing.assert_array_equal(part.X_test, split.X_valid)


def test_the_least_validation_error_is_chosen():
    X, y = table(400)
    part = seventy_thirty("classification", X, y, 0).for_choice(1000)
    model, grid = Neighbours().model(part, 1), {"n_neighbors": (1, 5, 100)}
    errors = [
        part.error(
            model.set_params(kneighborsclassifier__n_neighbors=n)
            .fit(part.X, part.y)
            .predict(part.X_test)
        )
        for n in grid["n_neighbors"]
    ]
    found = choose(model, (grid, {"leaf_size": (10, 30)}), part)
    assert found.valid_error == min(errors)
    assert found.setting["n_neighbors"] == grid["n_neighbors"][int(np.argmin(errors))]


def test_indicators_stay_zero_and_one():
    random = np.random.default_rng(0)
    X = np.column_stack(
        [random.normal(5, 3, 200), random.integers(0, 2, 200) * 4 - 2, np.ones(200)]
    )
    Z = Standardised().fit_transform(X)
    assert set(Z[:, 1]) == {0, 1}
    assert set(Z[:, 2]) == {0}
    assert Z[:, 0].std() == pytest.approx(1, abs=1e-5)
    unit = Standardised(unit_distance=True).fit_transform(X)
    distances = np.linalg.norm(unit[:, None] - unit[None], axis=2)[np.triu_indices(200, 1)]
    assert np.median(distances) == pytest.approx(1, abs=1e-4)


# --------------------------------------------------------------------------------- the report


class Absent(Neighbours):
    name = title = "absent"
    module = "no_such_library"


class Broken(Neighbours):
    name = title = "broken"

    def model(self, split, threads):
        raise MemoryError("too large")


class Base(Neighbours):
    name = title = "base"


def run(monkeypatch, models, *arguments):
    saved = {}
    monkeypatch.setattr(tables, "MODELS", models)
    monkeypatch.setattr(tables, "BASELINE", "base")
    monkeypatch.setattr(
        tables, "save", lambda name, results, **rest: saved.update(rest, **{name: results}) or name
    )
    tables.main([*arguments, "--threads", "1"])
    return json.loads(json.dumps(saved))


@pytest.mark.slow
def test_a_run_goes_on_after_the_last_table(folder, monkeypatch):
    X, y = table(90, seed=1)
    np.savez(folder / "Later.npz", X=X, y=y, task="classification")
    arguments = ("--tables", "Classes", "Later")
    whole = run(monkeypatch, (Base(),), *arguments)["tables"]
    done = [{**one, "error": 12.5} for one in whole if one["table"] == "Classes"]
    monkeypatch.setattr(tables, "saved", lambda name: done)
    resumed = run(monkeypatch, (Base(),), *arguments, "--resume")["tables"]
    assert [one["table"] for one in resumed] == ["Classes", "Later"]
    assert resumed[0]["error"] == 12.5  # as it was kept
    assert resumed[1]["error"] == pytest.approx(whole[1]["error"])


@pytest.mark.slow
def test_what_cannot_take_part_is_left_out(folder, monkeypatch, capsys):
    models = (Neighbours(), Absent(), Broken(), Base())
    saved = run(monkeypatch, models, "--data", "tables")
    assert [(one["table"], one["model"]) for one in saved["tables"]] == [
        ("Classes", "neighbours"),
        ("Classes", "base"),
    ]
    reasons = {(one["table"], one["model"]): one["reason"] for one in saved["left_out"]}
    assert reasons["values", "neighbours"] == "no regression"
    assert "MemoryError: too large" in reasons["Classes", "broken"]
    output = capsys.readouterr().out
    assert "absent left out: No module named 'no_such_library'" in output
    assert "Classes: broken left out" in output


@pytest.mark.slow
def test_ratios_and_means(folder, monkeypatch):
    other, base = run(monkeypatch, (Neighbours(), Base()), "--tables", "classes")["tables"]
    assert base["ratio"] == 1
    assert other["ratio"] == pytest.approx(other["seconds"] / base["seconds"])
    assert len(other["errors"]) == len(other["settings"]) == 3
    assert other["error"] == pytest.approx(np.mean(other["errors"]))
    (alone,) = run(monkeypatch, (Neighbours(),), "--tables", "classes")["tables"]
    assert alone["ratio"] is None


@pytest.mark.slow
def test_slow_models_are_for_few_rows(folder, monkeypatch):
    monkeypatch.setattr(Neighbours, "most_rows", 50)
    saved = run(monkeypatch, (Neighbours(),), "--tables", "classes")
    assert saved["tables"] == []
    assert saved["left_out"][0]["reason"].startswith("more than 50 rows")
    assert len(run(monkeypatch, (Neighbours(),), "--tables", "classes", "--slow")["tables"]) == 1
    assert (
        len(run(monkeypatch, (Neighbours(),), "--tables", "classes", "--rows", "40")["tables"]) == 1
    )


class Reference(Base):
    name = title = "tabular"


class Limited(Neighbours):
    """Remembers in its setting the seconds that it was given."""

    name = title = "limited"
    time_of = "tabular"

    def stages(self, split):
        return ()

    def model(self, split, threads):
        class Remembers(KNeighborsClassifier):
            def __init__(self, time_limit=None):
                super().__init__()
                self.time_limit = time_limit

            @property
            def setting_(self):
                return str(self.time_limit)

        return Remembers()


def test_a_budget_is_the_seconds_of_another_model_on_the_same_split(folder, monkeypatch):
    models = (Reference(), Limited())
    first, limited = run(monkeypatch, models, "--tables", "classes")["tables"]
    given = [float(seconds) for seconds in limited["settings"]]
    assert len(set(given)) == 3
    assert np.mean(given) == pytest.approx(first["seconds"])
    (alone,) = run(monkeypatch, (Limited(),), "--tables", "classes")["tables"]
    assert set(alone["settings"]) == {"None"}


def test_the_reference_is_compared_with_the_others(folder, monkeypatch, capsys):
    saved = run(monkeypatch, (Base(), Reference()), "--data", "tables")
    reference, base = saved["summary"]
    assert (reference["model"], reference["error"]) == ("tabular", None)
    assert base["model"] == "base"
    assert base["error"]["ties"] == base["log_loss"]["ties"] == 1
    assert base["error"]["geometric_mean"] == pytest.approx(1)
    assert "tabular against others" in capsys.readouterr().out
    assert run(monkeypatch, (Base(),), "--data", "tables")["summary"] == []


@pytest.mark.slow
@pytest.mark.parametrize("model", tables.MODELS, ids=lambda model: model.name)
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_every_model_learns(model, task):
    if (reason := model.missing()) is not None or task not in model.tasks:
        pytest.skip(f"no {task} of {model.name} here: {reason}")
    X, y = table(300)
    X[:, 0] = 0
    split = seventy_thirty(task, X, y if task == "classification" else X[:, 1] + X[:, 2], 0)
    for name in ("n_estimators", "max_iter"):
        if name in getattr(model, "parameters", {}):
            model = type(model)(20, 15)
    entry = Entry(model, time_limit=1.0 if model.time_of else None)
    options = type("Options", (), {"threads": 1, "choice_rows": 1000})
    entry.choose(split, options)
    entry.fit(split, options)
    assert entry.error < 25
    assert (entry.log_loss or 0.0) < 0.5
    assert math.isfinite(entry.seconds)
    assert math.isfinite(entry.predict_seconds)
