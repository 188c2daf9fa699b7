"""Committees that are stopped and resumed: validation, limits, Ctrl-C, online learning."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from helpers.committees import MODELS, X, Y, assert_same_model, model, rings, simple
from helpers.stopping import Recorder
from widemargin import HatEncoder
from widemargin.mlp import committee as _committee

every_model = pytest.mark.parametrize("name", MODELS)


# -------------------------------------------------------------------------- stopping, resuming


def test_early_stopping_returns_the_best_epoch():
    X, y = rings(400, seed=1)
    y = np.where(np.random.default_rng(2).random(400) < 0.2, 1 - y, y)
    clf = simple(n_units=200, margin=0.1, schedule="constant", early_stopping=True, max_iter=30)
    clf.fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:])
    errors = [record["validation_error"] for record in clf.history_]
    assert clf.best_iter_ == np.argmin(errors) + 1 < 30
    assert 1 - clf.score(X[200:], y[200:]) == pytest.approx(min(errors))
    assert min(errors) < errors[-1]


def test_early_stopping_holds_examples_out_and_stops():
    options = {"early_stopping": True, "tol": 1e-4, "n_iter_no_change": 3, "max_iter": 200}
    clf = simple(**options).fit(X, Y)
    assert clf.stop_reason_ == "early_stopping"
    assert clf.history_[0]["rows"] == 270


@every_model
def test_a_time_limit_keeps_the_model(name, monkeypatch):
    monkeypatch.setattr(_committee, "OPERATIONS_PER_CALL", 20_000)
    clf = model(name, time_limit=1e-9, warm_start=True, max_iter=100)
    with pytest.warns(ConvergenceWarning, match=r"time_limit=1e-09 s.*warm_start"):
        clf.fit(X, Y)
    assert clf.stop_reason_ == "time_limit"
    assert 0 < clf.history_[0]["rows"] < len(X)
    assert clf.predict(X).shape == Y.shape
    clf.set_params(time_limit=None, max_iter=5).fit(X, Y)
    assert_same_model(clf, model(name).fit(X, Y))


@every_model
def test_warm_start_after_an_interrupt_between_epochs(name, ctrl_c):
    recorder = Recorder(lambda estimator, epoch: ctrl_c() if epoch == 2 else None)
    clf = model(name, warm_start=True).set_callbacks(recorder)
    with pytest.warns(ConvergenceWarning, match=r"interrupted after 2 epochs.*warm_start"):
        clf.fit(X, Y)
    assert clf.n_iter_ == 2
    assert clf.predict(X).shape == Y.shape
    clf.set_callbacks().set_params(max_iter=3).fit(X, Y)
    assert_same_model(clf, model(name).fit(X, Y))


@every_model
def test_warm_start_after_an_interrupt_within_an_epoch(name, ctrl_c, monkeypatch):
    monkeypatch.setattr(_committee, "OPERATIONS_PER_CALL", 20_000)
    calls, visit = [], _committee.CommitteeLearner.visit

    def interrupted_visit(self, order, rate):
        calls.append(len(order))
        if sum(calls) > 1.3 * len(X):
            ctrl_c()
        return visit(self, order, rate)

    clf = model(name, warm_start=True)
    with monkeypatch.context() as patch:
        patch.setattr(_committee.CommitteeLearner, "visit", interrupted_visit)
        with pytest.warns(ConvergenceWarning, match="interrupted"):
            clf.fit(X, Y)
    assert 0 < clf.history_[-1]["rows"] < len(X)
    clf.set_params(max_iter=5 - clf.n_iter_).fit(X, Y)
    assert_same_model(clf, model(name).fit(X, Y))


@every_model
def test_callbacks_get_a_model_that_predicts(name):
    recorder = Recorder()
    model(name).set_callbacks(recorder).fit(X, Y)
    for epochs, fitted in enumerate(recorder.fitted, start=1):
        short = model(name, max_iter=epochs).fit(X, Y)
        assert_array_equal(fitted.decision_function(X), short.decision_function(X))


@pytest.mark.parametrize(("parameter", "value"), [("n_units", 50), ("encoding", None)])
def test_what_the_weights_belong_to_cannot_change(parameter, value):
    clf = simple(warm_start=True).fit(X, Y)
    with pytest.raises(ValueError, match=f"{parameter}=.*differs"):
        clf.set_params(**{parameter: value}).fit(X, Y)


# ------------------------------------------------------------------------------- partial_fit


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix], ids=["dense", "CSR"])
@pytest.mark.parametrize("units", ["simple", "Nilsson"])
def test_partial_fit_in_pieces_is_one_pass(kind, units):
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)  # first weights depend on the mean of ‖x‖²
    options = {"scaling": None, "encoding": None, "shuffle": False, "learning_rate": 0.05}
    options["margin"] = 5.0 if units == "simple" else 0.0  # "auto" depends on all the examples
    whole = model(units, max_iter=1, **options).fit(kind(unit), Y)
    pieces = model(units, **options)
    for part in np.split(np.arange(300), [10, 150, 151]):
        pieces.partial_fit(kind(unit[part]), Y[part], classes=[0, 1])
    assert_allclose(
        pieces.decision_function(unit), whole.decision_function(unit), rtol=1e-6, atol=1e-6
    )
    assert pieces.n_updates_ == whole.n_updates_


@pytest.mark.parametrize("encoding", [None, "hat"])
@pytest.mark.parametrize("average", [False, True])
def test_statistics_that_move_change_nothing(encoding, average):
    clf = simple(encoding=encoding, average=average, schedule="constant")
    first = np.c_[X, np.ones(len(X))]  # the last column is constant at first
    clf.partial_fit(first, Y)
    before = clf.decision_function(first)
    mean = clf._state["scaling"]["mean"].copy()
    other = 3.0 * np.c_[X, X[:, 0]] + 2.0
    clf.set_params(learning_rate=1e-30).partial_fit(other, Y)
    assert not np.allclose(clf._state["scaling"]["mean"], mean)
    assert_allclose(clf.decision_function(first), before, rtol=1e-4, atol=1e-4)


def test_partial_fit_learns_from_a_stream():
    X, y = rings(3000)
    clf = simple(n_units=100)
    for part in np.array_split(np.arange(3000), 10):
        clf.partial_fit(X[part], y[part], classes=[0, 1])
    assert clf.score(X, y) > 0.9
    assert len(clf.history_) == 10


def encoding(monkeypatch, signals):
    """Encoding inputs for the first time sends so many signals."""
    transform, waiting = HatEncoder.transform_validated, list(signals)

    def interrupted_transform(self, X):
        while waiting:
            waiting.pop()()
        return transform(self, X)

    monkeypatch.setattr(HatEncoder, "transform_validated", interrupted_transform)


def test_an_interrupt_while_inputs_are_encoded_keeps_a_model(ctrl_c, monkeypatch):
    monkeypatch.setattr(_committee, "OPERATIONS_PER_CALL", 20_000)
    clf = simple(encoding="hat", max_iter=50)
    with monkeypatch.context() as patch:
        encoding(patch, [ctrl_c])
        with pytest.warns(ConvergenceWarning, match="interrupted"):
            clf.fit(X, Y)
    assert clf.stop_reason_ == "interrupted"
    assert 0 < clf.history_[0]["rows"] < len(X)
    assert clf.score(X, Y) > 0.5


def test_a_second_interrupt_while_inputs_are_encoded_keeps_the_last_model(ctrl_c, monkeypatch):
    fresh, clf = simple(encoding="hat"), simple(encoding="hat").fit(X, Y)
    expected = clf.decision_function(X)
    for committee in (fresh, clf):
        with monkeypatch.context() as patch:
            encoding(patch, [ctrl_c, ctrl_c])
            with pytest.raises(KeyboardInterrupt):
                committee.fit(X[:50], Y[:50])
    assert not hasattr(fresh, "classes_")
    assert_array_equal(clf.decision_function(X), expected)
