"""Exact kernel machines: stopped early, watched, resumed, stored and loaded."""

import io
import os
import pickle
import re
import signal
import threading
import time
import warnings
from contextlib import redirect_stdout

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers.stopping import Recorder, seconds_after_ctrl_c
from widemargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM, load, save

MODELS = {
    "SVC": SVC(gamma=0.3),
    "NuSVC": NuSVC(gamma=0.3),
    "SVR": SVR(gamma=0.3),
    "NuSVR": NuSVR(gamma=0.3),
    "OneClassSVM": OneClassSVM(gamma=0.3),
}
every_model = pytest.mark.parametrize("name", MODELS)
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 4))
SCORE = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=300)
CLASSES = np.digitize(SCORE, [-0.5, 0.5])


def model(name, **options):
    return type(MODELS[name])(**{**MODELS[name].get_params(), **options})


def targets(name):
    return CLASSES if name.endswith("SVC") else SCORE


def output(fitted, X):
    return getattr(fitted, "decision_function", fitted.predict)(X)


def slow():
    """A problem that takes minutes."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(20_000, 20))
    return X, generator.integers(0, 2, size=20_000)


# -------------------------------------------------------------------------------- early stops


@every_model
def test_max_iter_warns_of_what_is_left_and_warm_start_resumes(name):
    y = targets(name)
    fitted = model(name, max_iter=20, warm_start=True)
    with pytest.warns(
        ConvergenceWarning,
        match=r"max_iter=20: a KKT violation of .* and a duality gap of .*remain",
    ) as caught:
        fitted.fit(X, y)
    assert caught[0].filename == __file__
    assert fitted.stop_reason_ == "max_iter"
    assert not fitted.converged_
    assert fitted.fit_status_ == 1
    assert np.all(fitted.n_iter_ <= 20)
    assert np.all(np.isfinite(output(fitted, X)))
    violation = np.max(fitted.kkt_violation_)
    assert violation > 1e-3
    fitted.set_params(max_iter=-1).fit(X, y)
    assert fitted.converged_
    fresh = model(name).fit(X, y)
    assert_allclose(fitted.dual_objective_, fresh.dual_objective_, rtol=1e-3)
    assert np.abs(output(fitted, X) - output(fresh, X)).max() < 0.02


@every_model
def test_a_warm_start_at_the_optimum_has_nothing_to_do(name):
    y = targets(name)
    fitted = model(name, warm_start=True).fit(X, y)
    before, steps = output(fitted, X), np.sum(fitted.n_iter_)
    fitted.fit(X, y)
    assert np.sum(fitted.n_iter_) <= 0.1 * steps
    assert_allclose(output(fitted, X), before, atol=2e-3)


@pytest.mark.parametrize("name", ["SVC", "SVR", "NuSVR"])
def test_warm_starts_along_c(name):
    """The same optimum as from scratch, after fewer steps."""
    y, Cs = targets(name), 2.0 ** np.arange(-2, 6)
    path = model(name, warm_start=True)
    warm = cold = 0
    for C in Cs:
        path.set_params(C=C).fit(X, y)
        fresh = model(name, C=C).fit(X, y)
        assert path.converged_
        assert_allclose(path.dual_objective_, fresh.dual_objective_, rtol=2e-3)
        warm, cold = warm + np.sum(path.n_iter_), cold + np.sum(fresh.n_iter_)
    assert warm < cold


def test_warm_start_on_other_data_starts_afresh():
    fitted = SVC(warm_start=True).fit(X, CLASSES)
    fitted.fit(X[:100], CLASSES[:100] > 0)
    assert_array_equal(fitted.dual_coef_, SVC().fit(X[:100], CLASSES[:100] > 0).dual_coef_)


def test_time_limit():
    data = slow()
    start = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match=r"time_limit=0\.3 s: .*warm_start=True resumes"):
        fitted = SVC(C=100.0, time_limit=0.3).fit(*data)
    assert time.perf_counter() - start < 5.0
    assert fitted.stop_reason_ == "time_limit"
    assert fitted.predict(data[0][:10]).shape == (10,)
    assert np.isfinite(fitted.dual_objective_)


def test_time_limit_before_all_pairs_have_had_their_turn():
    X, y = slow()
    y = np.random.default_rng(1).integers(0, 4, size=len(X))
    with pytest.warns(ConvergenceWarning, match="no time to measure.* of 6 problems"):
        fitted = SVC(C=100.0, time_limit=0.2, n_jobs=1, probability=True).fit(X, y)
    assert fitted.predict_proba(X[:10]).shape == (10, 4)
    assert np.isinf(fitted.kkt_violation_[-1])


@pytest.mark.parametrize("limit", [1e-9, 0.05, 0.3])
@pytest.mark.parametrize("kind", [SVR, NuSVR])
def test_regression_that_is_cut_off_is_no_worse_than_the_median(kind, limit):
    random = np.random.default_rng(0)
    X = random.normal(size=(4_000, 8))
    y = np.exp(np.sin(2 * X[:, 0]) + X[:, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = kind(C=100.0, time_limit=limit).fit(X, y)
    assert fitted.stop_reason_ == "time_limit"
    error, of_median = np.abs(fitted.predict(X) - y).mean(), np.abs(np.median(y) - y).mean()
    assert error <= 1.05 * of_median


PROGRAM = """
import signal, sys, threading, time, warnings
import numpy as np
from widemargin import SVC

signal.signal(signal.SIGINT, signal.default_int_handler)
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(20_000, 20))
y = rng.integers(0, int(sys.argv[1]), len(X))
SVC().fit(X[:100], y[:100])
print("started", flush=True)
clf = SVC(C=100.0, warm_start=True).fit(X, y)
print(time.time(), flush=True)
assert clf.stop_reason_ == "interrupted", clf.stop_reason_
assert clf.predict(X[:100]).shape == (100,)
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
dual = np.sum(clf.dual_objective_[np.isfinite(clf.dual_objective_)]) if y.max() > 1 else 0
clf.set_params(time_limit=0.5).fit(X, y)
assert clf.stop_reason_ == "time_limit"
print("resumed", flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
@pytest.mark.parametrize("n_classes", [2, 5])
def test_ctrl_c_stops_a_long_fit_at_once(n_classes):
    # 0.3 s on an idle machine; the fit would take minutes
    assert seconds_after_ctrl_c(PROGRAM, n_classes, wait=0.5) < 2.0


def test_heuristic_shrinking_says_what_it_left():
    """The examples set aside are not checked again, but the violation is measured."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(3000, 5))
    y = X[:, 0] * X[:, 1] + 0.5 * generator.normal(size=3000) > 0
    options = {"gamma": 0.3, "working_set_size": 64}
    exact = SVC(**options).fit(X, y)
    plain = SVC(shrinking=False, **options).fit(X, y)
    assert_allclose(exact.dual_objective_, plain.dual_objective_, rtol=1e-4)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        heuristic = SVC(shrinking="heuristic", **options).fit(X, y)
    assert heuristic.stop_reason_ == ("tol" if heuristic.kkt_violation_ <= 1e-3 else "shrunk")
    assert bool(caught) == (not heuristic.converged_)
    assert_allclose(heuristic.dual_objective_, exact.dual_objective_, rtol=1e-2)


@pytest.mark.parametrize("size", [2, 10, 512, "auto"])
def test_working_sets_of_any_size(size):
    reference = SVC(gamma=0.3, tol=1e-6).fit(X, CLASSES > 0)
    fitted = SVC(gamma=0.3, tol=1e-6, working_set_size=size, cache_size=1).fit(X, CLASSES > 0)
    assert_allclose(fitted.decision_function(X), reference.decision_function(X), atol=1e-5)


@pytest.mark.slow
def test_rounding_that_keeps_the_violation_above_tol_ends_the_fit():
    """Targets near 1e15 are known only to 0.1."""
    with pytest.warns(ConvergenceWarning, match=r"rounding .*raise tol"):
        fitted = SVR(C=1e15, gamma=0.3).fit(X, 1e15 * SCORE)
    assert fitted.stop_reason_ == "rounding"
    small = SVR(C=1.0, epsilon=0.0, gamma=0.3).fit(X, SCORE)
    assert_allclose(fitted.predict(X) / 1e15, small.predict(X), atol=0.01)


# ------------------------------------------------------------------------ history and progress


@every_model
def test_history(name):
    fitted = model(name).fit(X, targets(name))
    numbers = {record["problem"] for record in fitted.history_}
    assert numbers == set(range(3 if name.endswith("SVC") else 1))
    for number in numbers:
        records = [record for record in fitted.history_ if record["problem"] == number]
        dual = [record["dual_objective"] for record in records]
        assert dual[0] <= dual[-1]
        assert records[-1]["violation"] <= 1e-3
        assert records[-1]["seconds"] >= records[0]["seconds"]


def test_progress_on_a_logarithmic_scale():
    with redirect_stdout(io.StringIO()) as printed:
        SVC(verbose=True).fit(X, CLASSES > 0)
    first, *_, last = printed.getvalue().splitlines()
    assert re.match(r"\[SVC\] problem 0 .* violation 2\.00e\+00 \|\.{20}\|", first)
    assert "|####################|" in last


# ------------------------------------------------------------------------------------ callbacks


@every_model
def test_callback_stops_the_fit_and_sees_a_model_that_predicts(name):
    recorder = Recorder(lambda estimator, slices: True)
    fitted = model(name).set_callbacks(recorder).fit(X, targets(name))
    assert fitted.stop_reason_ == "callback"
    assert not fitted.converged_
    assert recorder.torn_down == 1
    for seen in recorder.fitted:
        assert np.all(np.isfinite(output(seen, X)))


def test_a_callback_that_fails_leaves_the_last_model():
    fitted = SVC().fit(X, CLASSES)
    before = fitted.decision_function(X)

    def fail(estimator, slices):
        raise OSError("the callback failed")

    with pytest.raises(OSError, match="the callback failed"):
        fitted.set_callbacks(Recorder(fail)).fit(X, CLASSES > 0)
    assert_array_equal(fitted.decision_function(X), before)


def test_second_ctrl_c_raises_and_nothing_is_lost(ctrl_c):
    def twice(estimator, slices):
        ctrl_c()
        ctrl_c()

    fitted = SVC().fit(X, CLASSES)
    before = fitted.decision_function(X)
    with pytest.raises(KeyboardInterrupt):
        fitted.set_callbacks(Recorder(twice)).fit(X, CLASSES > 0)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert_array_equal(fitted.decision_function(X), before)


def test_scikit_learn_callbacks(capsys):
    monitor = ScoringMonitor(scoring="accuracy")
    fitted = SVC().set_callbacks(monitor).fit(X, CLASSES)
    assert len(monitor.get_logs().data) > 0
    pytest.importorskip("rich", reason="rich is not installed")
    pipeline = make_pipeline(StandardScaler(), SVC()).set_callbacks(ProgressBar())
    pipeline.fit(X, CLASSES)
    assert fitted.converged_


# ------------------------------------------------------------------------- storing, other tools


@every_model
def test_stored_models_predict_the_same(name, tmp_path):
    options = {"probability": True} if name.endswith("SVC") else {}
    fitted = model(name, **options).fit(X, targets(name))
    save(fitted, tmp_path / "model")
    for again in (pickle.loads(pickle.dumps(fitted)), load(tmp_path / "model")):
        assert_array_equal(output(again, X), output(fitted, X))
        assert_array_equal(again.n_support_, fitted.n_support_)
        assert_array_equal(again.kkt_violation_, fitted.kkt_violation_)
        if options:
            assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
        again.set_params(warm_start=True).fit(X, targets(name))  # resumes
        assert np.sum(again.n_iter_) <= 0.1 * np.sum(fitted.n_iter_) + 1


def test_frames_keep_their_names():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    fitted = SVC().fit(frame, pandas.Series(CLASSES))
    assert list(fitted.feature_names_in_) == list("abcd")
    assert_array_equal(fitted.predict(frame), SVC().fit(X, CLASSES).predict(X))


def test_grid_search():
    search = GridSearchCV(SVC(), {"C": [0.1, 1.0, 10.0], "gamma": ["scale", 0.1]}, cv=3)
    assert search.fit(X, CLASSES).best_score_ > 0.5


def test_fits_in_threads():
    """Nothing is shared between fits."""
    found = [None] * 4

    def fit(k):
        found[k] = SVC(gamma=0.3).fit(X, CLASSES).dual_coef_

    threads = [threading.Thread(target=fit, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for coef in found[1:]:
        assert_array_equal(coef, found[0])
