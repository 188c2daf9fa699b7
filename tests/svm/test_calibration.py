"""Probabilities of kernel machines whose fit is cut off: what they come from."""

import time
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

from helpers.stopping import Recorder
from widemargin import SVC, NuSVC
from widemargin.svm import calibration
from widemargin.training import time_limit as clock
from widemargin.training.probability import fit_sigmoid, sigmoid

rng = np.random.default_rng(0)
X = rng.normal(size=(6000, 6))
SCORE = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=len(X))
TWO, THREE = SCORE > 0, np.digitize(SCORE, [-0.7, 0.7])
TRAIN, TEST = slice(0, 3000), slice(3000, 6000)

#: A machine that knows its training examples by heart.
OVERFITTED = {"C": 100.0, "gamma": 1.0, "probability": True, "n_jobs": 1}


def quality(clf, y):
    return log_loss(y[TEST], clf.predict_proba(X[TEST]))


def by_training_scores(clf, y):
    """The log loss if the sigmoid is fitted to the scores of the training examples."""
    A, B = fit_sigmoid(clf.decision_function(X[TRAIN]), y[TRAIN], intercept=False)
    return log_loss(y[TEST], sigmoid(clf.decision_function(X[TEST]), A, B))


@pytest.fixture(scope="module")
def whole():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return SVC(**OVERFITTED).fit(X[TRAIN], TWO[TRAIN])


def test_all_folds_without_a_limit(whole):
    assert whole.n_calibration_folds_ == 5
    assert whole.stop_reason_ == "tol"
    assert quality(whole, TWO) < by_training_scores(whole, TWO) - 0.1


@pytest.mark.slow
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two classes", "three classes"])
@pytest.mark.parametrize("machine", [SVC(**OVERFITTED), NuSVC(nu=0.3, probability=True, n_jobs=1)])
def test_a_time_limit_leaves_held_out_scores(machine, y, monkeypatch):
    free = quality(machine.fit(X[TRAIN], y[TRAIN]), y)
    monkeypatch.setattr(clock, "_clock", time.process_time)
    limited = type(machine)(**{**machine.get_params(), "time_limit": 0.3})
    with threadpool_limits(1), pytest.warns(ConvergenceWarning, match="folds, with .* held-out"):
        limited.fit(X[TRAIN], y[TRAIN])
    assert 1 <= limited.n_calibration_folds_ <= 5
    assert limited.stop_reason_ == "time_limit"
    assert quality(limited, y) < free + 0.2


def test_ctrl_c_in_the_second_fold_keeps_the_first(whole, ctrl_c, monkeypatch):
    scores = calibration._scores

    def then_stop(*arguments):
        found = scores(*arguments)
        ctrl_c()
        return found

    monkeypatch.setattr(calibration, "_scores", then_stop)
    with pytest.warns(ConvergenceWarning, match="interrupted .* from 1 of 5 folds, with 600"):
        clf = SVC(**OVERFITTED).fit(X[TRAIN], TWO[TRAIN])
    assert (clf.stop_reason_, clf.n_calibration_folds_) == ("interrupted", 1)
    assert clf.converged_  # the machine itself
    assert np.array_equal(clf.dual_coef_, whole.dual_coef_)
    assert quality(clf, TWO) < quality(whole, TWO) + 0.05


def test_ctrl_c_before_the_first_fold_gives_cautious_probabilities(whole, ctrl_c, monkeypatch):
    folds = calibration.folds_of

    def stop_first(*arguments, **options):
        ctrl_c()
        return folds(*arguments, **options)

    monkeypatch.setattr(calibration, "folds_of", stop_first)
    with pytest.warns(ConvergenceWarning, match="no time for the folds .* are cautious"):
        clf = SVC(**OVERFITTED).fit(X[TRAIN], TWO[TRAIN])
    assert (clf.stop_reason_, clf.n_calibration_folds_) == ("interrupted", 0)
    assert quality(clf, TWO) < np.log(2) + 0.01
    assert quality(clf, TWO) < by_training_scores(whole, TWO)


def test_a_callback_that_stops_the_fit_is_told_of_the_probabilities():
    recorder = Recorder(lambda estimator, slices: True)
    clf = SVC(**OVERFITTED).set_callbacks(recorder)
    with pytest.warns(ConvergenceWarning, match="stopped by a callback: .* are cautious"):
        clf.fit(X[TRAIN], TWO[TRAIN])
    assert (clf.stop_reason_, clf.n_calibration_folds_) == ("callback", 0)
    assert clf.predict_proba(X[TEST]).shape == (3000, 2)


def test_a_fold_is_scored_as_far_as_there_is_time(monkeypatch):
    class Control:
        limited, left = True, 0.0

    rows, scores = calibration._scores(lambda rows: rows[:, None] * 1.0, np.arange(5000), Control())
    assert len(rows) == calibration.ROWS_PER_BLOCK
    assert np.array_equal(rows, scores[:, 0])
    Control.left = 1.0
    rows, _ = calibration._scores(lambda rows: rows[:, None] * 1.0, np.arange(5000), Control())
    assert np.array_equal(np.sort(rows), np.arange(5000))


def test_without_probabilities_there_is_nothing_to_calibrate():
    clf = SVC().fit(X[:100], TWO[:100])
    assert clf.n_calibration_folds_ == 0
