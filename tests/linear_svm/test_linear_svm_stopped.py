"""Linear SVMs: stopped early, watched, resumed, stored and loaded."""

import io
import os
import pickle
import re
import signal
from contextlib import redirect_stdout

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.exceptions import ConvergenceWarning

from helpers.stopping import Recorder, seconds_after_ctrl_c
from widemargin import LinearSVC, LinearSVR, load, save

MODELS = {
    "LinearSVC": LinearSVC(loss="hinge", max_iter=20_000, random_state=0),
    "LinearSVR": LinearSVR(epsilon=0.1, max_iter=20_000, random_state=0),
}
every_model = pytest.mark.parametrize("name", MODELS)
every_solver = pytest.mark.parametrize("dual", [True, False])
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 8)) + 0.5
SCORE = X @ rng.normal(size=8) + 0.5 * rng.normal(size=300) + 2.0
CLASSES = np.digitize(SCORE, [2.0, 5.0])


def model(name, **options):
    return type(MODELS[name])(**{**MODELS[name].get_params(), **options})


def targets(name):
    return CLASSES if name == "LinearSVC" else SCORE


def output(fitted, X):
    return getattr(fitted, "decision_function", fitted.predict)(X)


def cost(fitted):
    return np.sum(fitted.primal_objective_)


# -------------------------------------------------------------------------------- early stops


@every_model
@every_solver
def test_max_iter_warns_of_the_gap_and_warm_start_resumes(name, dual):
    y = targets(name)
    fitted = model(name, dual=dual, max_iter=3, warm_start=True)
    with pytest.warns(
        ConvergenceWarning, match=r"max_iter=3: a relative duality gap of [\d.e+-]+ \(tol=0.0001\)"
    ) as caught:
        fitted.fit(X, y)
    assert caught[0].filename == __file__
    assert re.search(r"raise max_iter.*warm_start=True resumes", str(caught[0].message))
    assert fitted.stop_reason_ == "max_iter"
    assert not fitted.converged_
    assert fitted.n_iter_ == 3
    assert fitted.score(X, y) > 0.6  # it is usable
    assert np.any(fitted.duality_gap_ > 1e-4 * np.asarray(fitted.primal_objective_))
    before = cost(fitted)
    fitted.set_params(max_iter=20_000).fit(X, y)
    assert fitted.converged_
    assert cost(fitted) < before
    assert cost(fitted) == pytest.approx(cost(model(name, dual=dual).fit(X, y)), rel=1e-4)


@every_model
@every_solver
def test_a_warm_start_at_the_optimum_stays_there(name, dual):
    y = targets(name)
    fitted = model(name, dual=dual, scaling="standard", warm_start=True).fit(X, y)
    before, steps, records = output(fitted, X), fitted.n_iter_, len(fitted.history_)
    fitted.fit(X, y)
    assert fitted.converged_
    assert fitted.n_iter_ <= steps
    assert len(fitted.history_) >= records
    assert_allclose(output(fitted, X), before, atol=0.05)


def test_warm_start_on_other_data_starts_afresh():
    fitted = LinearSVC(warm_start=True, random_state=0).fit(X, CLASSES)
    fitted.fit(X[:100], CLASSES[:100] > 0)
    fresh = LinearSVC(random_state=0).fit(X[:100], CLASSES[:100] > 0)
    assert_array_equal(fitted.coef_, fresh.coef_)
    fitted.fit(X[:100, :2], CLASSES[:100] > 0)  # as many examples, fewer columns
    fresh = LinearSVC(random_state=0).fit(X[:100, :2], CLASSES[:100] > 0)
    assert_array_equal(fitted.coef_, fresh.coef_)


@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
def test_warm_start_without_the_intercept_of_before(multi_class):
    options = {"multi_class": multi_class, "C": 0.01, "tol": 1e-3, "random_state": 0}
    fitted = LinearSVC(**options, warm_start=True).fit(X, CLASSES)
    fitted.set_params(fit_intercept=False).fit(X, CLASSES)
    fresh = LinearSVC(**options, fit_intercept=False).fit(X, CLASSES)
    assert_array_equal(fitted.intercept_, np.zeros(len(fitted.intercept_)))
    assert_allclose(fitted.primal_objective_, fresh.primal_objective_, rtol=2e-3)


def slow():
    """A problem that takes coordinate descent minutes."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(50_000, 40))
    return X, generator.integers(0, 2, size=len(X))


@every_solver
def test_time_limit(dual):
    data = slow()
    with pytest.warns(ConvergenceWarning, match=r"time_limit=0\.05 s: .*warm_start=True resumes"):
        fitted = LinearSVC(C=100.0, loss="hinge", dual=dual, time_limit=0.05).fit(*data)
    assert fitted.stop_reason_ == "time_limit"
    assert fitted.history_
    assert 0 < fitted.duality_gap_ < 100.0 * 50_000  # something was done
    assert fitted.predict(data[0][:10]).shape == (10,)


PROGRAM = """
import signal, sys, time, warnings
import numpy as np
from widemargin import LinearSVC

signal.signal(signal.SIGINT, signal.default_int_handler)
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(50_000, 40))
y = rng.integers(0, int(sys.argv[1]), len(X))
LinearSVC().fit(X[:100], y[:100])
clf = LinearSVC(C=100.0, loss="hinge", dual=True, max_iter=10**6, warm_start=True, n_jobs=2)
print("started", flush=True)
clf.fit(X, y)
print(time.time(), flush=True)
assert clf.stop_reason_ == "interrupted", clf.stop_reason_
assert clf.predict(X[:100]).shape == (100,)
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
clf.set_params(time_limit=0.3).fit(X, y)
assert clf.stop_reason_ == "time_limit"
print("resumed", flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
@pytest.mark.parametrize("n_classes", [2, 5])
def test_ctrl_c_stops_a_long_fit(n_classes):
    seconds_after_ctrl_c(PROGRAM, n_classes, wait=0.5)  # it waits for a minute, the fit takes more


def test_ctrl_c_says_what_is_left(ctrl_c):
    data = slow()
    clf = LinearSVC(C=100.0, loss="hinge", dual=True).set_callbacks(Recorder(lambda *_: ctrl_c()))
    with pytest.warns(ConvergenceWarning, match=r"was interrupted after .* s: a relative duality"):
        clf.fit(*data)
    assert clf.stop_reason_ == "interrupted"


def test_rounding_ends_the_fit():
    fitted = LinearSVR(dual=False, tol=1e-17)
    with pytest.warns(ConvergenceWarning, match=r"rounding .*raise tol"):
        fitted.fit(X, SCORE)
    assert fitted.stop_reason_ == "rounding"
    assert fitted.duality_gap_ <= 1e-9 * fitted.primal_objective_


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("size", [1e-9, 1e9])
def test_targets_of_any_size(loss, size):
    """The same problem in other units; where the cost grows linearly, C has a unit too."""
    C = 1.0 if loss.startswith("squared") else size
    fitted = LinearSVR(C=C, loss=loss, dual=False).fit(X, size * SCORE)
    plain = LinearSVR(loss=loss, dual=False).fit(X, SCORE)
    assert abs(fitted.n_iter_ - plain.n_iter_) <= 2
    assert_allclose(fitted.coef_ / size, plain.coef_, atol=0.02)


# ------------------------------------------------------------------------ history and progress


@every_model
@every_solver
def test_history_and_the_lines_of_verbose(name, dual):
    with redirect_stdout(io.StringIO()) as printed:
        fitted = model(name, dual=dual, verbose=1).fit(X, targets(name))
    lines = printed.getvalue().splitlines()
    assert len(lines) == len(fitted.history_)
    for line, record in zip(lines, fitted.history_, strict=True):
        assert re.match(rf"\[{name}\] problem {record['problem']}  iteration +\d+  primal ", line)
        assert f"relative gap {record['gap']:8.2e}" in line
    for number in range(3 if name == "LinearSVC" else 1):
        records = [record for record in fitted.history_ if record["problem"] == number]
        for key, sign in (("primal_objective", -1), ("dual_objective", 1), ("gap", -1)):
            assert np.all(sign * np.diff([record[key] for record in records]) >= 0)
        assert records[-1]["gap"] <= 1e-4


# ------------------------------------------------------------------------------------ callbacks


@every_model
@every_solver
def test_callback_stops_the_fit_and_sees_a_model_that_predicts(name, dual):
    recorder = Recorder(lambda estimator, slices: True)
    fitted = model(name, dual=dual, n_jobs=1).set_callbacks(recorder).fit(X, targets(name))
    assert fitted.stop_reason_ == "callback"
    assert recorder.torn_down == 1
    assert 1 <= recorder.count <= 3
    for seen in recorder.fitted:
        assert np.all(np.isfinite(output(seen, X)))


def test_callbacks_watch_every_iteration_of_the_interior_point_method():
    recorder = Recorder()
    fitted = LinearSVC(dual=False).set_callbacks(recorder).fit(X, CLASSES > 0)
    assert recorder.count == fitted.n_iter_ == len(fitted.history_)
    gaps = [record["gap"] for record in fitted.history_]
    assert gaps == sorted(gaps, reverse=True)
    assert fitted.converged_


def test_a_callback_that_fails_leaves_the_last_model():
    fitted = LinearSVC().fit(X, CLASSES)
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

    fitted = LinearSVC().fit(X, CLASSES)
    before = fitted.decision_function(X)
    with pytest.raises(KeyboardInterrupt):
        fitted.set_callbacks(Recorder(twice)).fit(X, CLASSES > 0)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert_array_equal(fitted.decision_function(X), before)


def test_scikit_learn_callbacks():
    monitor = ScoringMonitor(scoring="accuracy")
    LinearSVC().set_callbacks(monitor).fit(X, CLASSES, sample_weight=np.ones(len(X)))
    assert len(monitor.get_logs().data) > 0
    pytest.importorskip("rich", reason="rich is not installed")
    assert LinearSVC().set_callbacks(ProgressBar()).fit(X, CLASSES).converged_


# ------------------------------------------------------------------------- storing, other tools


@every_model
def test_stored_models_predict_the_same(name, tmp_path):
    fitted = model(name, warm_start=True).fit(X, targets(name))
    save(fitted, tmp_path / "model")
    for again in (pickle.loads(pickle.dumps(fitted)), load(tmp_path / "model")):
        assert_array_equal(output(again, X), output(fitted, X))
        assert_array_equal(output(again, csr_array(X)), output(fitted, csr_array(X)))
        assert_array_equal(again.duality_gap_, fitted.duality_gap_)
        assert again.solver_ == fitted.solver_
        assert again.history_ == fitted.history_
        again.fit(X, targets(name))  # resumes
        assert again.n_iter_ <= fitted.n_iter_
        assert_allclose(output(again, X), output(fitted, X), atol=0.05)


@every_model
def test_frames_keep_their_names(name):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame(X, columns=list("abcdefgh"))
    fitted = model(name).fit(frame, pandas.Series(targets(name)))
    assert list(fitted.feature_names_in_) == list("abcdefgh")
    assert_array_equal(fitted.predict(frame), model(name).fit(X, targets(name)).predict(X))
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame.rename(columns={"a": "z"}))
