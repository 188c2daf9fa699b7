"""Crammer and Singer's machine: stopped early, watched, resumed, stored and loaded."""

import io
import os
import pickle
import re
from contextlib import redirect_stdout

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from helpers.stopping import Recorder, seconds_after_ctrl_c
from widemargin import LinearSVC, load, save

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 8)) + 0.5
Y = np.argmax(X @ rng.normal(size=(8, 5)) + rng.normal(size=(300, 5)), axis=1)
SCALINGS = [None, 1.0]
every_intercept = pytest.mark.parametrize("scaling", SCALINGS)


def machine(**options):
    defaults = {"multi_class": "crammer_singer", "max_iter": 20_000, "random_state": 0}
    return LinearSVC(**{**defaults, **options})


def slow():
    """A problem that takes minutes."""
    generator = np.random.default_rng(0)
    return generator.normal(size=(20_000, 40)), generator.integers(0, 6, size=20_000)


@every_intercept
@pytest.mark.parametrize("container", [np.asarray, csr_array])
def test_max_iter_warns_of_the_gap_and_warm_start_resumes(scaling, container):
    fitted = machine(max_iter=3, warm_start=True, intercept_scaling=scaling, scaling="standard")
    with pytest.warns(ConvergenceWarning, match=r"max_iter=3: .*duality gap.*tol=0.0001"):
        fitted.fit(container(X), Y)
    assert fitted.stop_reason_ == "max_iter"
    assert fitted.n_iter_ == 3
    assert not fitted.converged_
    assert fitted.score(X, Y) > 0.6  # it is usable
    before, bound = fitted.primal_objective_, fitted.dual_objective_
    fitted.set_params(max_iter=20_000).fit(container(X), Y)
    assert fitted.converged_
    assert fitted.primal_objective_ < before
    assert fitted.dual_objective_ > bound
    fresh = machine(intercept_scaling=scaling, scaling="standard").fit(container(X), Y)
    assert fitted.primal_objective_ == pytest.approx(fresh.primal_objective_, rel=1e-4)
    weights, outputs = fitted.coef_.copy(), fitted.decision_function(X)
    fitted.fit(container(X), Y)  # it is there: nothing to do
    assert fitted.n_iter_ == 0
    assert_allclose(fitted.decision_function(X), outputs, atol=0.1)
    assert weights.shape == fitted.coef_.shape


def test_warm_start_on_other_classes_or_by_another_way_starts_afresh():
    fitted = machine(warm_start=True).fit(X, Y)
    fitted.fit(X, Y % 3)
    assert_array_equal(fitted.coef_, machine().fit(X, Y % 3).coef_)
    fitted.set_params(multi_class="ovr").fit(X, Y % 3)
    assert_array_equal(fitted.coef_, machine(multi_class="ovr").fit(X, Y % 3).coef_)


def test_time_limit():
    data = slow()
    with pytest.warns(ConvergenceWarning, match=r"time_limit=0\.05 s: .*warm_start=True resumes"):
        fitted = machine(C=100.0, time_limit=0.05).fit(*data)
    assert fitted.stop_reason_ == "time_limit"
    assert fitted.history_
    assert 0 < fitted.duality_gap_ <= 100.0 * 20_000
    assert fitted.predict(data[0][:10]).shape == (10,)


PROGRAM = """
import signal, sys, time, warnings
import numpy as np
from widemargin import LinearSVC

signal.signal(signal.SIGINT, signal.default_int_handler)
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(20_000, 40))
y = rng.integers(0, int(sys.argv[1]), len(X))
clf = LinearSVC(C=100.0, multi_class="crammer_singer", max_iter=10**6, warm_start=True)
print("started", flush=True)
clf.fit(X, y)
print(time.time(), flush=True)
assert clf.stop_reason_ == "interrupted", clf.stop_reason_
assert clf.predict(X[:100]).shape == (100,)
clf.set_params(time_limit=0.3).fit(X, y)
assert clf.stop_reason_ == "time_limit"
print("resumed", flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_ctrl_c_stops_a_long_fit():
    seconds_after_ctrl_c(PROGRAM, 6, wait=0.5)


@every_intercept
def test_history_and_the_lines_of_verbose(scaling):
    with redirect_stdout(io.StringIO()) as printed:
        fitted = machine(verbose=1, intercept_scaling=scaling).fit(X, Y)
    lines = printed.getvalue().splitlines()
    assert len(lines) == len(fitted.history_) > 0
    for line, record in zip(lines, fitted.history_, strict=True):
        assert re.match(r"\[LinearSVC\] problem 0  iteration +\d+  primal ", line)
        assert f"relative gap {record['gap']:8.2e}" in line
    for key, sign in (("primal_objective", -1), ("dual_objective", 1), ("gap", -1)):
        assert np.all(sign * np.diff([record[key] for record in fitted.history_]) >= 0)
    assert fitted.history_[-1]["gap"] <= 1e-4


def test_callback_stops_the_fit_and_sees_a_model_that_predicts():
    recorder = Recorder(lambda estimator, slices: True)
    fitted = machine().set_callbacks(recorder).fit(X, Y)
    assert fitted.stop_reason_ == "callback"
    assert recorder.torn_down == 1
    for seen in recorder.fitted:
        assert seen.decision_function(X).shape == (300, 5)


def test_results_are_repeatable_and_do_not_depend_on_threads():
    one, again, two = (machine(n_jobs=n).fit(X, Y) for n in (1, 1, 2))
    assert_array_equal(one.coef_, again.coef_)
    assert_array_equal(one.coef_, two.coef_)


def test_stored_models_predict_the_same(tmp_path):
    fitted = machine(warm_start=True).fit(X, Y)
    save(fitted, tmp_path / "model")
    for again in (pickle.loads(pickle.dumps(fitted)), load(tmp_path / "model")):
        assert_array_equal(again.decision_function(X), fitted.decision_function(X))
        assert again.duality_gap_ == fitted.duality_gap_
        again.fit(X, Y)  # resumes
        assert again.n_iter_ == 0
