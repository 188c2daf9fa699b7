"""TabularClassifier and TabularRegressor: raw tables in, calibrated predictions out."""

import os
import pickle
import signal
import threading
import time
import warnings

import numpy as np
import polars
import pyarrow
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold, KFold, TimeSeriesSplit

import widemargin
from helpers.raw_tables import QUICK, table, values
from widemargin import TabularClassifier, TabularRegressor
from widemargin.tabular.calibration import log_loss

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _no_warning_of_constants():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="columns left out")
        yield


@pytest.fixture(scope="module")
def classifier():
    frame, y = table()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return TabularClassifier(**QUICK).fit(frame, y)


@pytest.fixture(scope="module")
def regressor():
    X, y = values()
    return TabularRegressor(**QUICK).fit(X, y)


def test_a_raw_table(classifier):
    frame, y = table(400, seed=1)
    assert classifier.score(frame, y) > 0.93
    p = classifier.predict_proba(frame)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert p.min() > 0.0
    assert log_loss(p, (y == "yes").astype(int)) < 0.25
    importances = dict(zip(frame.columns, classifier.feature_importances_, strict=True))
    assert sorted(importances, key=importances.get)[-2:] in (["town", "age"], ["age", "town"])
    assert sum(importances.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("convert", [polars.from_pandas, pyarrow.Table.from_pandas])
def test_frames_of_other_libraries(classifier, convert):
    frame, _ = table(50, seed=2)
    expected = classifier.predict_proba(frame)
    np.testing.assert_allclose(classifier.predict_proba(convert(frame)), expected, atol=1e-12)


def test_columns_by_name_whatever_their_order(classifier):
    frame, _ = table(20, seed=3)
    expected = classifier.predict_proba(frame)
    other = frame[frame.columns[::-1]].assign(extra=1)
    np.testing.assert_array_equal(classifier.predict_proba(other), expected)
    with pytest.raises(ValueError, match="town"):
        classifier.predict(frame.drop(columns="town"))


def test_unseen_categories_and_missing_values(classifier):
    frame, _ = table(6, seed=4)
    frame.loc[0, "town"] = "Chur"
    frame.loc[1, "town"] = None
    frame.loc[2, "age"] = np.nan
    assert np.all(np.isfinite(classifier.predict_proba(frame)))


def test_values_and_intervals(regressor):
    X, y = values(1000, seed=1)
    assert regressor.score(X, y) > 0.85
    ends = regressor.predict_interval(X, coverage=0.8)
    inside = np.mean((ends[:, 0] <= y) & (y <= ends[:, 1]))
    assert 0.74 < inside < 0.88
    wide = regressor.predict_interval(X[:5], coverage=0.95)
    assert np.all(np.diff(wide, axis=1) > np.diff(ends[:5], axis=1))
    assert np.all(np.isinf(regressor.predict_interval(X[:1], coverage=0.9999)))
    with pytest.raises(ValueError, match="between 0 and 1"):
        regressor.predict_interval(X, coverage=1.5)


def test_intervals_cover_over_many_draws():
    inside = []
    for seed in range(8):
        X, y = values(150, seed)
        model = TabularRegressor(effort=0.05).fit(X, y)
        new, truth = values(200, seed + 100)
        ends = model.predict_interval(new, coverage=0.9)
        inside.append(np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1])))
    assert 0.86 < np.mean(inside) < 0.96


def test_many_classes():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 3))
    y = np.digitize(X[:, 0] + X[:, 1], [-1.0, 0.0, 1.0])
    model = TabularClassifier(**QUICK).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.8
    assert model.predict_proba(X).shape == (300, 4)


def test_sparse_equals_dense():
    random = np.random.default_rng(0)
    X = random.normal(size=(150, 6)) * (random.random((150, 6)) < 0.4)
    y = X[:, 0] > X[:, 1]
    dense = TabularClassifier(**QUICK).fit(X, y)
    sparse = TabularClassifier(**QUICK).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.predict_proba(sp.csr_array(X)), dense.predict_proba(X))


def test_large_sparse_tables_stay_sparse_whatever_is_predicted(monkeypatch):
    random = np.random.default_rng(0)
    X = random.normal(size=(150, 6)) * (random.random((150, 6)) < 0.4)
    y = X[:, 0] > X[:, 1]
    dense = TabularClassifier(**QUICK).fit(sp.csr_array(X), y)
    monkeypatch.setattr("widemargin.tabular.model.MOST_DENSE_NUMBERS", 600)
    sparse = TabularClassifier(**QUICK).fit(sp.csr_array(X), y)
    assert (dense.sparse_inputs_, sparse.sparse_inputs_) == (False, True)
    for model in (dense, sparse):
        few, many = (model.predict_proba(sp.csr_array(part)) for part in (X[:2], X))
        np.testing.assert_allclose(few, many[:2])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_same_model_twice_and_for_any_number_of_threads(n_jobs):
    X, y = values(200)
    first = TabularRegressor(**QUICK, n_jobs=1).fit(X, y)
    second = TabularRegressor(**QUICK, n_jobs=n_jobs).fit(X, y)
    np.testing.assert_array_equal(first.predict(X), second.predict(X))


def test_saved_pickled_and_cloned(classifier, regressor, tmp_path):
    frame, _ = table(30, seed=5)
    X, _ = values(30, seed=5)
    for model, rows in ((classifier, frame), (regressor, X)):
        expected = model.predict(rows)
        widemargin.save(model, tmp_path / "model")
        loaded = widemargin.load(tmp_path / "model")
        np.testing.assert_array_equal(loaded.predict(rows), expected)
        assert loaded.report() == model.report()
        assert len(loaded.leaderboard_) == len(model.leaderboard_)
        copied = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(copied.predict(rows), expected)
        assert clone(model).get_params() == model.get_params()


def test_the_report_and_the_leaderboard(classifier):
    text = classifier.report()
    for word in ("age", "town", "category", "missing", "weight", "log loss", "constant"):
        assert word in text
    board = classifier.leaderboard_
    assert {
        "model",
        "rows",
        "loss",
        "spread",
        "seconds",
        "predict_ms",
        "vectors",
        "kkt_violation",
    } <= {*board}
    assert len(board) == len(classifier.trials_)
    assert classifier.best_["model"] == board["model"][0]
    assert classifier.best_["loss"] == board["loss"][0]
    assert classifier.loss_ <= board["loss"].min() + 1e-12


def test_one_machine_instead_of_several():
    X, y = values(200)
    model = TabularRegressor(**QUICK, ensemble=False).fit(X, y)
    assert len(model.members_) == 1
    assert model.loss_ == pytest.approx(model.leaderboard_["loss"].min())


def test_predictions_may_be_bounded():
    X, y = values(300)
    with pytest.warns(UserWarning, match="max_predict_ms"):
        model = TabularRegressor(effort=0.5, max_predict_ms=1e-9).fit(X, y)
    assert len(model.members_) == 1
    board = model.leaderboard_
    (chosen,) = board.index[board["model"] == model.members_[0]["description"]]
    assert board["predict_ms"][chosen] == board["predict_ms"].min()


@pytest.mark.parametrize("scoring", ["accuracy", "roc_auc", "f1_macro"])
def test_any_scorer_chooses(scoring):
    frame, y = table(150)
    model = TabularClassifier(**QUICK, scoring=scoring).fit(frame, y)
    assert -1.0 <= model.loss_ <= 1.0
    assert "negative score" in model.report()


def test_a_scorer_of_values():
    X, y = values(150)
    model = TabularRegressor(**QUICK, scoring="neg_mean_absolute_error").fit(X, y)
    assert 0.0 < model.loss_ < 10.0


@pytest.mark.parametrize("cv", [3, TimeSeriesSplit(3)])
def test_any_splitter(cv):
    X, y = values(150)
    model = TabularRegressor(**QUICK, cv=cv).fit(X, y)
    assert model.trials_[0]["folds"] == 3


@pytest.mark.parametrize("late", [1, 2])
def test_classes_that_the_first_folds_lack(late):
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3))
    y = np.digitize(X[:, 0], [-0.7, 0.0, 0.7])
    y[:120] = np.minimum(y[:120], 3 - late)  # classes that begin in row 120
    model = TabularClassifier(effort=0.4, cv=TimeSeriesSplit(4)).fit(X, y)
    assert model.predict_proba(X).shape == (200, 4)
    assert model.score(X[120:], y[120:]) > 0.5


def test_groups_are_not_divided():
    X, y = values(240)
    groups = np.repeat(np.arange(12), 20)
    y = y + np.random.default_rng(0).normal(size=12)[groups] * 100.0  # predictable only by group
    X = np.column_stack([X, groups])
    divided = TabularRegressor(**QUICK, cv=KFold(4, shuffle=True, random_state=0)).fit(X, y).loss_
    kept = TabularRegressor(**QUICK, cv=GroupKFold(4)).fit(X, y, groups=groups).loss_
    assert kept > divided + 0.2
    assert TabularRegressor(**QUICK).fit(X, y, groups=groups).loss_ > divided + 0.2


def test_rows_of_weight_zero_are_left_out():
    X, y = values(200)
    weights = (np.arange(200) % 4 > 0).astype(float)
    wrong = np.where(weights > 0, y, 1e6)
    weighted = TabularRegressor(**QUICK).fit(X, wrong, sample_weight=weights)
    left_out = TabularRegressor(**QUICK).fit(X[weights > 0], y[weights > 0])
    np.testing.assert_allclose(weighted.predict(X), left_out.predict(X), rtol=1e-9)


def test_a_time_limit_leaves_a_model():
    random = np.random.default_rng(0)
    X = random.normal(size=(20_000, 10))
    y = X[:, 0] * X[:, 1] + random.normal(size=20_000) > 0
    begun = time.perf_counter()
    with pytest.warns(UserWarning, match="time_limit"):
        model = TabularClassifier(time_limit=3.0).fit(X, y)
    assert model.stop_reason_ == "time_limit"
    assert model.trials_
    assert model.score(X, y) > 0.6
    assert time.perf_counter() - begun < 30.0  # a busy machine; `tools.time_limits` is strict


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT to itself")
def test_ctrl_c_leaves_a_model(ctrl_c):
    X, y = values(5000)
    timer = threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        model = TabularRegressor().fit(X, y)
    finally:
        timer.cancel()
    assert model.stop_reason_ == "interrupted"
    assert np.all(np.isfinite(model.predict(X)))


def test_bad_input():
    X, y = values(50)
    with pytest.raises(NotFittedError):
        TabularRegressor().predict(X)
    with pytest.raises(ValueError, match="inconsistent"):
        TabularRegressor(**QUICK).fit(X, y[:-1])
    with pytest.raises(ValueError, match="NaN or infinity"):
        TabularRegressor(**QUICK).fit(X, np.where(y == y[0], np.nan, y))
    with pytest.raises(ValueError, match="class"):
        TabularClassifier(**QUICK).fit(X, np.zeros(50))


def test_rows_of_weight_zero_say_nothing_about_columns_either():
    frame, y = table(120)
    frame["rare"] = np.where(np.arange(120) < 60, "a", "b")
    frame.loc[:59, "age"] = np.nan
    weights = (np.arange(120) >= 60).astype(float)
    kept = weights > 0
    with pytest.warns(UserWarning, match="'rare'"):
        weighted = TabularClassifier(effort=0.05).fit(frame, y, sample_weight=weights)
    left_out = TabularClassifier(effort=0.05).fit(frame[kept], y[kept])
    assert weighted.encoder_.columns_ == left_out.encoder_.columns_
    np.testing.assert_array_equal(weighted.predict_proba(frame), left_out.predict_proba(frame))
    for convert in (polars.from_pandas, pyarrow.Table.from_pandas):
        other = TabularClassifier(effort=0.05).fit(convert(frame), y, sample_weight=weights)
        np.testing.assert_allclose(other.predict_proba(frame), left_out.predict_proba(frame))


def test_only_ratios_of_weights_matter():
    X, y = values(120)
    weights = np.random.default_rng(0).integers(1, 5, 120).astype(float)
    expected = TabularRegressor(**QUICK).fit(X, y, sample_weight=weights).predict(X)
    survey = TabularRegressor(**QUICK).fit(X, y, sample_weight=2.0**17 * weights)
    np.testing.assert_allclose(survey.predict(X), expected, rtol=1e-9)
    survey = TabularRegressor(**QUICK).fit(X, y, sample_weight=2.0**1020 * weights)
    np.testing.assert_allclose(survey.predict(X), expected, rtol=1e-9)


def test_many_rows_are_predicted_part_by_part(classifier, monkeypatch):
    frame, _ = table(50, seed=6)
    expected = classifier.predict_proba(frame)
    monkeypatch.setattr("widemargin.tabular.model.CHUNK_ROWS", 7)
    np.testing.assert_allclose(classifier.predict_proba(frame), expected, rtol=1e-12)


def test_no_rows_to_predict(regressor):
    with pytest.raises(ValueError, match="0 sample"):
        regressor.predict(np.empty((0, 4)))


def test_a_scorer_that_cannot_judge_stops_at_once():
    frame, y = table(60)
    with pytest.raises(ValueError, match=r"scoring does not suit.*pos_label.*'f1_macro'"):
        TabularClassifier(**QUICK, scoring="f1").fit(frame, y)
    with pytest.raises(ValueError, match="'roc_auc_ovr'"):
        TabularClassifier(**QUICK, scoring="roc_auc").fit(frame, frame["town"])
    with pytest.raises(ValueError, match="'r2'"):
        TabularRegressor(**QUICK, scoring="accuracy").fit(frame, frame["age"] / 7.0)


def test_a_scorer_that_refuses_some_predictions():
    X, y = values(120)
    model = TabularRegressor(**QUICK, scoring="neg_mean_squared_log_error")
    y = np.maximum(y - 90.0, 0.01)  # so that machines predict less than zero
    assert np.isfinite(model.fit(X, y).loss_)
