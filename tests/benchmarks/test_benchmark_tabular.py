"""Tables with text, and LightGBM tuned by Optuna within a budget."""

import importlib.util
import lzma
import time

import numpy as np
import pandas
import pytest
from benchmarks._adult import COLUMNS, ordinal_codes, read_adult
from benchmarks._splits import GROUPS, MORE, problems, seventy_thirty
from benchmarks.adapters import lightgbm_tuned
from benchmarks.adapters.lightgbm_tuned import LightGBMTuned, Trial, Tuned, held_out
from benchmarks.adapters.ours_tables import OursTabular

from benchmarks import tables

ROW = "39, State-gov, 77516, Bachelors, 13, Single, {}, Own, White, Male, 0, 0, 40, Peru, {}\n"


@pytest.fixture
def adult(tmp_path, monkeypatch):
    """Small files in the form of UCI's."""
    monkeypatch.setenv("WIDEMARGIN_DATA", str(tmp_path))
    (tmp_path / "adult").mkdir()
    rows = [("Sales", "<=50K"), ("?", ">50K"), ("Clerk", "<=50K"), ("Sales", ">50K")] * 5
    with lzma.open(tmp_path / "adult" / "adult.data.xz", "wt") as file:
        file.writelines(ROW.format(*row) for row in rows)
    with lzma.open(tmp_path / "adult" / "adult.test.xz", "wt") as file:
        file.write("|1x3 Cross validator\n")
        file.writelines(ROW.format(work, f"{income}.") for work, income in rows)


# -------------------------------------------------------------------------------------- more tables


def test_groups_of_tables(adult):
    assert [problem.name for problem in problems(group="more")] == list(MORE)
    assert set(GROUPS["suite"]) == {"tables", "more"}
    assert len(MORE) == 7


def test_adult_is_a_frame_with_missing_text(adult):
    frame, y = read_adult()
    assert list(frame.columns) == list(COLUMNS)
    assert len(frame) == 40
    assert frame["occupation"].isna().sum() == 10
    np.testing.assert_array_equal(y, [0, 1] * 20)


def test_text_becomes_codes_and_the_frame_stays_beside_them(adult):
    (split,) = next(problems(["adult"])).load()
    codes = {"Clerk": 0, "Sales": 1}
    for X, raw in ((split.X, split.raw), (split.X_test, split.raw_test)):
        expected = [codes.get(work, -1) for work in raw["occupation"]]
        np.testing.assert_array_equal(X[:, 6], expected)
        np.testing.assert_array_equal(X[:, 0], raw["age"])
    short = split.first(3)
    assert [len(part) for part in (*short.inputs(raw=True), short.y, short.y_test)] == [3] * 4
    assert split.inputs(raw=True)[0] is split.raw
    assert split.inputs(raw=False)[0] is split.X


def test_arrays_are_their_own_raw_tables():
    split = seventy_thirty("regression", np.zeros((20, 2)), np.arange(20.0), 0)
    assert split.inputs(raw=True)[0] is split.X


def test_codes_are_in_alphabetical_order():
    frame = pandas.DataFrame({"n": [2.5, 1.0, 0.0], "t": ["b", None, "a"]})
    np.testing.assert_array_equal(ordinal_codes(frame), [[2.5, 1], [1, -1], [0, 0]])


def test_tabular_comes_first_and_reads_raw_tables():
    first = tables.MODELS[0]
    assert isinstance(first, OursTabular)
    assert first.raw
    assert first.name == tables.REFERENCE == LightGBMTuned.time_of


@pytest.mark.data
def test_real_adult():
    (split,) = next(problems(["adult"])).load()
    assert (len(split.y), len(split.y_test)) == (20_000, 10_000)
    assert len(pandas.concat([split.raw, split.raw_test]).drop_duplicates()) > 29_000
    assert split.raw.isna().any().sum() == 3


# --------------------------------------------------------------------------------- a tuned LightGBM


def test_a_fifth_is_held_out_of_every_class():
    y = np.repeat([0, 1, 2], [50, 49, 1])
    train, valid = held_out(y, classes=True)
    np.testing.assert_array_equal(np.sort([*train, *valid]), np.arange(100))
    assert np.bincount(y[valid]).tolist() == [10, 10]
    assert len(held_out(np.linspace(0, 1, 50), classes=False)[1]) == 10


def needs(*modules):
    lacking = [name for name in modules if importlib.util.find_spec(name) is None]
    return pytest.mark.skipif(bool(lacking), reason=f"{', '.join(lacking)} not installed")


class Round:
    """What LightGBM tells after a round."""

    def __init__(self, iteration, loss):
        self.iteration = iteration
        self.evaluation_result_list = [("valid_0", "l2", loss, False)]


def rounds(trial, losses):
    """How many rounds a trial lets pass."""
    from lightgbm import EarlyStopException

    for iteration, loss in enumerate(losses):
        try:
            trial(Round(iteration, loss))
        except EarlyStopException:
            return iteration + 1
    return len(losses)


@needs("lightgbm")
def test_a_trial_ends_without_progress():
    trial = Trial({}, end=np.inf, reserve=0.0)
    assert rounds(trial, [3.0, 1.0, *[2.0] * 100]) == 2 + lightgbm_tuned.PATIENCE
    assert (trial.loss, trial.trees) == (1.0, 2)


@needs("lightgbm")
def test_a_trial_leaves_time_for_the_last_fit(monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(clock)))
    falling = np.linspace(2, 1, 100)
    # One second per round: after r rounds the last fit takes r / 0.8 seconds.
    assert rounds(Trial({}, end=45.0, reserve=0.0), falling) == 20
    clock = iter(range(1000))
    assert rounds(Trial({}, end=45.0, reserve=35.0), falling) == 10  # the best so far needs 35 s


@needs("lightgbm", "optuna")
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_first_trial_has_the_defaults(task, monkeypatch):
    monkeypatch.setattr(lightgbm_tuned, "MOST_TREES", 5)
    X = np.random.default_rng(0).normal(size=(100, 3))
    y = (X[:, 0] > 0) * 1 if task == "classification" else X[:, 0]
    model = Tuned(task, time_limit=1e-3).fit(X, y)
    assert model.setting_.startswith("trials: 1,")
    parameters = model.model_.get_params()
    assert {name: parameters[name] for name in lightgbm_tuned.DEFAULTS} == lightgbm_tuned.DEFAULTS
    assert model.predict(X).shape == (100,)
