"""Hard mixtures: resuming, early stopping, time limits, Ctrl-C, callbacks, workers, files."""

import os
import pickle
import warnings

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import widemargin
from helpers.mixtures import LOGISTIC, X, Y, assert_same_mixture, quick, wedge
from helpers.stopping import Recorder, seconds_after_ctrl_c
from widemargin import (
    SVC,
    SVR,
    HardMixtureClassifier,
    HardMixtureRegressor,
    LinearSVC,
    MLPClassifier,
    MLPRegressor,
    SimpleMLPClassifier,
)
from widemargin.mixtures import GaussianGater, MLPGater
from widemargin.mixtures.hard.experts import ConstantExpert, PlattExpert

ignore_convergence = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
VALUES = np.column_stack([np.abs(X[:, 0]), X[:, 1]])
NETWORK = MLPClassifier((8,), max_iter=4, tol=None, learning_rate_init=0.05)

MODELS = {
    "SVC, mlp": quick(SVC(C=10), MLPGater((5,))),
    "SVC, local": quick(SVC(C=10), GaussianGater(2)),
    "SVC, uniform": quick(SVC(C=10), "uniform"),
    "network, mlp": quick(NETWORK),
    "network, local": quick(NETWORK, "local"),
    "committee": quick(SimpleMLPClassifier(n_units=10, max_iter=3)),
    "few rows": quick(SVC(), gater_rows=150),
    "logistic, tree": quick(LOGISTIC, DecisionTreeClassifier(max_depth=3)),
    "SVR": quick(SVR(), MLPGater((5,)), HardMixtureRegressor),
    "SVR, local": quick(SVR(), "local", HardMixtureRegressor),
    "network of values": quick(
        MLPRegressor(hidden_layer_sizes=(5,), max_iter=4), "mlp", HardMixtureRegressor
    ),
}
every_model = pytest.mark.parametrize("name", MODELS)


def model(name, **options):
    return clone(MODELS[name]).set_params(**options)


def targets(name):
    if not isinstance(MODELS[name], HardMixtureRegressor):
        return Y
    return VALUES if name == "SVR" else VALUES[:, 0]


# ------------------------------------------------------------------------------------ resuming


@ignore_convergence
@pytest.mark.parametrize("name", [name for name in MODELS if name != "SVC, uniform"])  # stops
def test_two_fits_of_two_iterations_equal_one_of_four(name):
    y = targets(name)
    whole = model(name, max_iter=4).fit(X, y)
    parts = model(name, max_iter=2, warm_start=True).fit(X, y).fit(X, y)
    assert_same_mixture(parts, whole)
    assert [record["epoch"] for record in parts.history_] == list(range(len(whole.history_)))
    for one, other in zip(parts.history_, whole.history_, strict=True):
        assert one["criterion"] == pytest.approx(other["criterion"])


def test_resuming_needs_the_same_examples_and_parts():
    fitted = quick(warm_start=True).fit(X, Y)
    before = fitted.predict(X)
    with pytest.raises(ValueError, match="partition of 400 training examples, but there are 300"):
        fitted.fit(X[:300], Y[:300])
    with pytest.raises(ValueError, match=r"expert=.*fit without warm_start"):
        fitted.set_params(expert=SVC()).fit(X, Y)
    assert_array_equal(fitted.predict(X), before)


def test_a_failed_fit_leaves_the_model_as_it_was():
    fitted = quick().fit(X, Y)
    before = fitted.predict(X)
    with pytest.raises(ValueError, match="n_experts=500"):
        fitted.set_params(n_experts=500).fit(X, Y)
    assert_array_equal(fitted.predict(X), before)
    assert fitted.n_experts_ == 3


# ------------------------------------------------------------------------------- early stopping


@pytest.mark.parametrize("given", [True, False], ids=["X_val", "held out"])
def test_early_stopping_keeps_the_best_iteration(given):
    rng = np.random.default_rng(0)
    noisy = np.where(rng.random(len(X)) < 0.2, 1 - Y, Y)
    x_val, y_val = wedge(300, seed=5)
    stopping = quick(DecisionTreeClassifier(), n_experts=5, max_iter=8, early_stopping=True)
    validation = {"X_val": x_val, "y_val": y_val} if given else {}
    stopping.set_params(tol=0.0, n_iter_no_change=3).fit(X, noisy, **validation)
    errors = [record["validation_error"] for record in stopping.history_]
    assert stopping.best_iter_ == np.argmin(errors) + 1 < len(errors)
    if given:
        assert 1 - stopping.score(x_val, y_val) == pytest.approx(min(errors))
        assert stopping.partition_.min() == 0
        short = quick(DecisionTreeClassifier(), n_experts=5, max_iter=stopping.best_iter_)
        assert_same_mixture(stopping, short.fit(X, noisy))
    else:
        held = stopping.partition_ == -1
        assert held.sum() == len(X) // 10
        assert 1 - stopping.score(X[held], noisy[held]) == pytest.approx(min(errors))


def test_tol_stops_or_warns_at_max_iter():
    with pytest.warns(ConvergenceWarning, match="reached max_iter=2.*raise max_iter or tol"):
        quick(max_iter=2, tol=1e-9, n_iter_no_change=5).fit(X, Y)
    fitted = quick(max_iter=50, tol=10.0, n_iter_no_change=2).fit(X, Y)
    assert (fitted.stop_reason_, fitted.n_iter_) == ("tol", 3)


# ------------------------------------------------------------------------------ limits, Ctrl-C


@every_model
def test_time_limit_keeps_a_usable_model(name):
    y = targets(name)
    stopped = model(name, max_iter=10**6, time_limit=1e-3, warm_start=True)
    with pytest.warns(ConvergenceWarning) as record:
        stopped.fit(X, y)
    assert [w for w in record if "time_limit=0.001 s" in str(w.message)] == list(record)
    if name == "SVC, uniform":
        return  # it stops after one iteration
    assert stopped.stop_reason_ == "time_limit"
    assert np.all(np.isfinite(stopped.predict(X)))
    done = len(stopped.history_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        stopped.set_params(max_iter=2, time_limit=None).fit(X, y)
    assert len(stopped.history_) == done + 2
    assert getattr(stopped.gater_, "time_limit", None) is None


class Interrupting(LogisticRegression):
    """Is interrupted in one of its fits."""

    calls, last, send = 0, 0, None

    def fit(self, X, y, sample_weight=None):
        type(self).calls += 1
        if type(self).calls == type(self).last:
            type(self).send()
        return super().fit(X, y, sample_weight)


@pytest.mark.filterwarnings("ignore:'n_jobs' has no effect")
@pytest.mark.parametrize("call", [1, 2, 5, 6])
@pytest.mark.parametrize("gater", ["mlp", "local"])
def test_ctrl_c_while_experts_are_trained(gater, call, ctrl_c, monkeypatch):
    for name, value in {"calls": 0, "last": call, "send": staticmethod(ctrl_c)}.items():
        monkeypatch.setattr(Interrupting, name, value)
    stopped = quick(Interrupting(C=100), gater, max_iter=10**6, n_jobs=1, warm_start=True)
    with pytest.warns(ConvergenceWarning, match="HardMixtureClassifier was interrupted"):
        stopped.fit(X, Y)
    assert stopped.stop_reason_ == "interrupted"
    assert stopped.n_iter_ == (1 if call <= 3 else 2)
    assert Interrupting.calls == max(call, 3)  # the first experts are always trained
    assert stopped.score(X, Y) > 0.6
    stopped.set_params(max_iter=3).fit(X, Y)
    assert stopped.score(X, Y) > 0.7


def test_ctrl_c_between_iterations_and_resuming(ctrl_c):
    recorder = Recorder(lambda estimator, count: ctrl_c() if count == 2 else None)
    stopped = quick(max_iter=5, warm_start=True).set_callbacks(recorder)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        stopped.fit(X, Y)
    assert stopped.n_iter_ == 2
    stopped.set_callbacks().set_params(max_iter=3).fit(X, Y)
    assert_same_mixture(stopped, quick(max_iter=5).fit(X, Y))


PROGRAM = """
import signal, time, warnings
import numpy as np
from widemargin import SVC, HardMixtureClassifier

signal.signal(signal.SIGINT, signal.default_int_handler)
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(4000, 10))
y = X[:, 0] * X[:, 1] + rng.normal(size=4000) > 0


class Started:
    def setup(self, estimator, context): pass
    def teardown(self, estimator, context): pass
    def on_fit_task_begin(self, estimator, context): pass
    def on_fit_task_end(self, estimator, context):
        if context.task_id == 0 and context.task_name == "epoch":
            print("started", flush=True)


clf = HardMixtureClassifier(SVC(), n_experts=4, max_iter=10**6, n_jobs=2, warm_start=True)
clf.set_callbacks(Started()).fit(X, y)
print(time.time(), flush=True)
assert clf.stop_reason_ == "interrupted", clf.stop_reason_
assert clf.predict(X).shape == (4000,)
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
done = len(clf.history_)
clf.set_callbacks().set_params(max_iter=1).fit(X, y)
assert len(clf.history_) == done + 1
print("resumed", flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_ctrl_c_with_experts_in_threads():
    seconds_after_ctrl_c(PROGRAM, wait=0.3)


# ---------------------------------------------------------------------------------- callbacks


@pytest.mark.parametrize("name", ["SVC, mlp", "SVC, local", "SVR"])
def test_callbacks_get_a_model_that_predicts_and_can_stop(name):
    recorder = Recorder(lambda estimator, count: count == 2)
    y = targets(name)
    fitted = model(name, max_iter=4).set_callbacks(recorder).fit(X, y)
    assert (fitted.stop_reason_, fitted.n_iter_, recorder.count) == ("callback", 2, 2)
    for n_iter, seen in enumerate(recorder.fitted, start=1):
        assert_array_equal(seen.predict(X), model(name, max_iter=n_iter).fit(X, y).predict(X))


def test_callbacks_of_scikit_learn(capsys):
    monitor = ScoringMonitor(scoring="accuracy")
    fitted = quick(max_iter=4).set_callbacks(monitor, ProgressBar()).fit(X, Y)
    rows = [row for row in monitor.get_logs().data if row["task_name"] == "epoch"]
    assert len(rows) == fitted.n_iter_
    assert rows[-1]["accuracy"] == pytest.approx(fitted.score(X, Y))


@pytest.mark.slow
def test_verbose_prints_one_line_per_iteration(capsys):
    quick(verbose=1, max_iter=2).fit(X, Y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("[HardMixtureClassifier] epoch") for line in lines)


def test_history_has_the_seconds_of_each_phase():
    record = quick().fit(X, Y).history_[-1]
    phases = [record[f"{name}_seconds"] for name in ("experts", "outputs", "gater", "assignment")]
    assert min(phases) >= 0
    assert sum(phases) <= record["seconds"]


# ------------------------------------------------------------------------------------ workers


@pytest.mark.slow
@ignore_convergence
@every_model
def test_the_result_does_not_depend_on_the_number_of_threads(name):
    y = targets(name)
    assert_same_mixture(model(name, n_jobs=1).fit(X, y), model(name, n_jobs=3).fit(X, y))


@pytest.mark.slow
@ignore_convergence
@pytest.mark.parametrize("backend", ["threading", "loky"])
@pytest.mark.parametrize("name", ["SVC, mlp", "SVC, local", "network, mlp", "SVR"])
def test_the_result_does_not_depend_on_the_backend(name, backend):
    y = targets(name)
    with joblib.parallel_config(backend, n_jobs=2):
        other = model(name, n_jobs=2).fit(X, y)
        inside = other.predict(X)
    assert_same_mixture(other, model(name, n_jobs=1).fit(X, y))
    assert_array_equal(inside, other.predict(X))


def test_other_seeds_give_other_mixtures():
    one, other = quick().fit(X, Y), quick(random_state=1).fit(X, Y)
    assert not np.array_equal(one.partition_, other.partition_)
    assert_same_mixture(one, quick().fit(X, Y))


# -------------------------------------------------------------------------------------- files


@pytest.mark.slow
@ignore_convergence
@every_model
def test_saved_loaded_pickled(name, tmp_path):
    y = targets(name)
    fitted = model(name, warm_start=True).fit(X, y)
    copy = pickle.loads(pickle.dumps(fitted))
    assert_same_mixture(copy, fitted)
    if name == "logistic, tree":
        return  # of scikit-learn, see below
    widemargin.save(fitted, tmp_path / "mixture.safetensors")
    loaded = widemargin.load(tmp_path / "mixture.safetensors")
    assert_same_mixture(loaded, fitted)
    assert loaded.history_ == fitted.history_
    assert_same_mixture(loaded.fit(X, y), fitted.fit(X, y))


@pytest.mark.slow
def test_experts_that_this_package_makes_are_saved(tmp_path):
    x = np.linspace(-1, 1, 60)[:, None]
    labels = np.where(x[:, 0] > 0.1, "yes", "no")
    fitted = quick(LinearSVC(), "local", n_experts=4, first_partition="kmeans", max_iter=1)
    kinds = {type(expert) for expert in fitted.fit(x, labels).experts_}
    assert kinds == {ConstantExpert, PlattExpert}
    widemargin.save(fitted, tmp_path / "mixture.safetensors")
    loaded = widemargin.load(tmp_path / "mixture.safetensors")
    assert_array_equal(loaded.predict_proba(x), fitted.predict_proba(x))
    assert_array_equal(loaded.predict(x), fitted.predict(x))


@pytest.mark.parametrize("part", ["expert", "gater"])
def test_parts_that_a_file_may_not_hold(part, tmp_path):
    other = LogisticRegression()
    parts = (other, MLPGater()) if part == "expert" else (SVC(), other)
    fitted = quick(*parts).fit(X, Y)
    with pytest.raises(TypeError, match=rf"{part} is a .*LogisticRegression, which is neither"):
        widemargin.save(fitted, tmp_path / "mixture.safetensors")
    assert not list(tmp_path.iterdir())


def test_clones_are_not_fitted():
    fitted = quick(SVC(), MLPGater()).fit(X, Y)
    fresh = clone(fitted)
    assert not hasattr(fresh, "experts_")
    assert_same_mixture(fresh.fit(X, Y), fitted)


def test_prediction_in_chunks(monkeypatch):
    fitted = quick(SVC()).fit(X, Y)
    whole = fitted.decision_function(X)
    monkeypatch.setattr("widemargin.mixtures.hard.model.GATES_PER_CALL", 3 * 37)
    assert_allclose(fitted.decision_function(X), whole, rtol=1e-5, atol=1e-6)
    monkeypatch.setattr("widemargin.mixtures.hard.partition.DISTANCES_PER_CALL", 3 * 37)
    parts = HardMixtureClassifier(n_experts=3, max_iter=1, first_partition="kmeans", random_state=0)
    assert np.bincount(parts.fit(X, Y).partition_).max() <= len(X) // 3 + 1
