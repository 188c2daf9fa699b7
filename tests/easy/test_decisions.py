"""What is decided from the data: the task, the metric, the rows that are held out, the time."""

import gzip

import numpy as np
import pytest

from widemargin.easy.clock import Clock
from widemargin.easy.memory import available_bytes, check_readable, largest_rows, readable_rows
from widemargin.easy.metric import choose_metric
from widemargin.easy.split import make_split
from widemargin.easy.task import decide_task, prepared

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (np.array(["a", "b"] * 20), "classification"),
        (np.array([True, False] * 20), "classification"),
        (np.arange(40) % 3, "classification"),
        (np.arange(40) % 3 + 0.0, "classification"),
        (np.repeat(np.arange(1, 27), 30), "classification"),  # letters
        (RNG.normal(size=40), "regression"),
        (RNG.integers(18, 90, 3000), "regression"),  # ages
        (RNG.poisson(30, 3000), "regression"),  # counts
        (np.arange(10), "regression"),  # as many values as rows
        (np.array([0.5, 1.0] * 20), "regression"),
    ],
)
def test_the_task(y, task):
    decision = decide_task(y, None)
    assert decision.value.startswith(task)
    other = {"classification": "regression", "regression": "classification"}[task]
    assert decision.override == ("" if y.dtype.kind == "U" else f"--task {other}")


def test_tasks_that_are_given():
    assert decide_task(np.arange(40) % 3, "regression").value == "regression"
    assert decide_task(np.array([0.5, 1.0] * 20), "classification").value.endswith("2 classes")
    with pytest.raises(ValueError, match="task='regression': the target holds text, such as 'a'"):
        decide_task(np.array(["a", "b"]), "regression")
    with pytest.raises(ValueError, match="task='ranking'; use classification or regression"):
        decide_task(np.array(["a", "b"]), "ranking")
    with pytest.raises(ValueError, match="a single value, a, so there is nothing to learn"):
        decide_task(np.array(["a", "a"]), None)
    with pytest.raises(ValueError, match="3 different values in 3 rows, so no class"):
        decide_task(np.array(["a", "b", "c"]), None)


def test_amounts_as_text_are_no_classes():
    """A thousand classes of one row each would take a search far beyond its time limit."""
    sales = np.array([f"{1 + k % 9},{k % 70:03d}" for k in range(100)])
    with pytest.raises(ValueError, match="if values such as '1,000' are numbers, write them plain"):
        decide_task(sales, None)
    decide_task(np.array(["K1", "K2"] * 2), None)


def test_targets_as_models_take_them():
    assert prepared(np.array([1.0, 2.0]), "classification").dtype.kind == "i"
    assert prepared(np.array([1.5, 2.0]), "classification").tolist() == ["1.5", "2.0"]
    assert prepared(np.array([True, False]), "classification").tolist() == ["True", "False"]
    assert prepared(np.array([1, 2]), "regression").dtype == np.float64


@pytest.mark.parametrize(
    ("wanted", "y", "name"),
    [
        ("auc", np.arange(30) % 2, "roc_auc"),
        ("auc", np.arange(30) % 3, "roc_auc_ovr"),
        ("f1", np.arange(30) % 2, "f1"),
        ("f1", np.array(["a", "b"] * 15), "f1_macro"),
        ("error", np.array(["a", "b"] * 15), "accuracy"),
        ("log_loss", np.array(["a", "b"] * 15), "neg_log_loss"),
    ],
)
def test_metrics_of_classes(wanted, y, name):
    assert choose_metric(wanted, "classification", y)[0] == name


def test_metrics_of_values():
    assert choose_metric("rmse", "regression", RNG.normal(size=30))[0] == (
        "neg_root_mean_squared_error"
    )
    with pytest.raises(ValueError, match="metric='auc' does not suit regression"):
        choose_metric("auc", "regression", RNG.normal(size=30))


# ------------------------------------------------------------------------------------------ rows


def test_classes_keep_their_proportions():
    y = np.array([0] * 90 + [1] * 10)
    split = make_split(y, "classification", 0.2)
    assert sorted([*split.train, *split.test]) == list(range(100))
    assert y[split.test].sum() == 2
    assert split.folds(80, 0.2, hurried=False) is None


def test_a_class_with_one_row_is_trained_on():
    y = np.array([0] * 50 + [1] * 40 + [2])
    split = make_split(y, "classification", 0.2)
    assert set(y[split.train]) == {0, 1, 2}
    assert len(split.test) == 18


def test_the_last_rows_in_time_are_held_out():
    times = RNG.permutation(100).astype(float)
    split = make_split(RNG.normal(size=100), "regression", 0.2, times=times)
    assert times[split.test].min() > times[split.train].max()
    assert np.all(np.diff(times[split.train]) > 0)
    assert times[split.sample(10)].min() == times[split.train].max() - 9
    ((train, test),) = split.folds(80, 0.25, hurried=False)
    assert train.max() < test.min()


def test_groups_stay_together():
    groups = np.arange(100) // 5
    split = make_split(RNG.normal(size=100), "regression", 0.2, groups=groups)
    assert not set(groups[split.train]) & set(groups[split.test])
    with pytest.raises(ValueError, match="holds 1 group; at least 3"):
        make_split(RNG.normal(size=100), "regression", 0.2, groups=np.zeros(100))


def test_few_rows():
    with pytest.raises(ValueError, match="the table has 1 row with a target; at least 10"):
        make_split(np.zeros(1), "regression", 0.2)


# ----------------------------------------------------------------------------- time and memory


def test_the_clock_divides_its_limit():
    clock = Clock(100.0)
    assert 0 < clock.for_baseline() <= 10
    assert 60 < clock.for_search() < 100 - clock.reserve
    assert clock.rows(10) < clock.rows(10) * 2 == Clock(200.0).rows(10)
    assert Clock(1.0, started=clock.started - 10).for_search() == 0
    assert Clock(None).for_search() is None
    assert Clock(None).rows(10) == np.inf
    with clock.stage("reading"):
        pass
    with clock.stage("reading"):
        pass
    assert list(clock.seconds) == ["reading"]


def test_files_larger_than_memory_are_read_in_part(tmp_path, monkeypatch):
    path = tmp_path / "d.csv"
    path.write_text("1,2\n" * 100_000)
    assert readable_rows(path) is None
    monkeypatch.setattr("widemargin.easy.memory.available_bytes", lambda: 100_000.0)
    assert 1_000 <= readable_rows(path) < 10_000
    with pytest.raises(MemoryError, match=r"d\.csv: needs about 0\.0 GiB .* --stream and --model"):
        check_readable(path, "parquet")
    assert largest_rows(10) == pytest.approx(100_000 * 0.5 / (8 * 8 * 10))
    # Rows are counted in the text, not in the bytes of a compressed file.
    with gzip.open(tmp_path / "d.csv.gz", "wb") as stream:
        stream.writelines(RNG.bytes(5_000).hex().encode() + b"\n" for _ in range(100))
    monkeypatch.setattr("widemargin.easy.memory.available_bytes", lambda: 1e7)
    assert readable_rows(tmp_path / "d.csv.gz") == 1_000


def test_the_system_tells_its_memory():
    assert available_bytes() > 2**20
