"""Ctrl-C and callbacks: how a fit is stopped from outside, and resumed."""

import os
import signal
import threading
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers.stopping import Recorder, seconds_after_ctrl_c
from widemargin import SGDSVC, KernelPerceptron, MarginPerceptron, Perceptron
from widemargin.perceptrons import linear_learner as _linear

MODELS = {
    "Perceptron": Perceptron(max_iter=4, tol=None, random_state=0),
    "Perceptron-average": Perceptron(max_iter=4, tol=None, average=True, random_state=0),
    "MarginPerceptron": MarginPerceptron(max_iter=4, tol=None, random_state=0),
    "MarginPerceptron-unshuffled": MarginPerceptron(max_iter=4, tol=None, shuffle=False),
    "KernelPerceptron": KernelPerceptron(max_iter=4, tol=None, random_state=0),
    "SGDSVC": SGDSVC(max_iter=4, tol=None, mu=0.5, random_state=0),
}
every_model = pytest.mark.parametrize("name", MODELS)
rng = np.random.default_rng(0)
X, NOISE = rng.normal(size=(150, 5)), rng.normal(size=150)
NOISY = np.where(X[:, 0] + NOISE > 0, "yes", "no")
CLASSES = np.digitize(X[:, 0] + 0.3 * NOISE, [-0.5, 0.5])


def model(name, **options):
    return type(MODELS[name])(**{**MODELS[name].get_params(), **options})


# ------------------------------------------------------------------------------------ Ctrl-C


PROGRAM = """
import signal, sys, time, warnings
import numpy as np
from widemargin import MarginPerceptron

signal.signal(signal.SIGINT, signal.default_int_handler)
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(200_000, 50)).astype(np.float32)
y = rng.integers(0, int(sys.argv[1]), len(X))


class Started:
    def setup(self, estimator, context): pass
    def teardown(self, estimator, context): pass
    def on_fit_task_begin(self, estimator, context): pass
    def on_fit_task_end(self, estimator, context):
        if context.task_id == 0 and context.task_name == "epoch":
            print("started", flush=True)


clf = MarginPerceptron(max_iter=10**9, tol=None, warm_start=True, random_state=0)
clf.set_callbacks(Started()).fit(X, y)
print(time.time(), flush=True)
assert clf.stop_reason_ == "interrupted", clf.stop_reason_
assert clf.predict(X[:1000]).shape == (1000,)
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
updates = clf.n_updates_
clf.set_callbacks().set_params(max_iter=1).fit(X, y)
assert clf.stop_reason_ == "max_iter" and clf.n_updates_ > updates
print("resumed", flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
@pytest.mark.parametrize("n_classes", [2, 10])
def test_ctrl_c_stops_a_long_fit_at_once(n_classes):
    assert seconds_after_ctrl_c(PROGRAM, n_classes, wait=0.3) < 0.5


def test_second_ctrl_c_raises_and_nothing_is_lost(ctrl_c):
    def twice(estimator, epoch):
        ctrl_c()
        ctrl_c()

    clf = model("Perceptron", warm_start=True).fit(X, NOISY)
    before, recorder = clf.decision_function(X), Recorder(twice)
    with pytest.raises(KeyboardInterrupt):
        clf.set_callbacks(recorder).fit(X, NOISY)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert recorder.torn_down == 1
    assert_array_equal(clf.decision_function(X), before)
    assert len(clf.history_) == 4


def test_a_programs_own_handler_is_left_alone(ctrl_c):
    seen = []

    def own(signum, frame):
        seen.append(signum)

    signal.signal(signal.SIGINT, own)
    clf = model("Perceptron").set_callbacks(Recorder(ctrl_c)).fit(X, NOISY)
    assert seen == [signal.SIGINT] * 4
    assert clf.stop_reason_ == "max_iter"
    assert signal.getsignal(signal.SIGINT) is own


def test_fit_in_a_thread_leaves_the_handler_alone(ctrl_c):
    handlers = []
    clf = model("Perceptron").set_callbacks(
        Recorder(lambda *_: handlers.append(signal.getsignal(signal.SIGINT)))
    )
    thread = threading.Thread(target=clf.fit, args=(X, NOISY))
    thread.start()
    thread.join()
    assert handlers == [signal.default_int_handler] * 4
    assert clf.stop_reason_ == "max_iter"


@pytest.mark.parametrize("failing", [False, True])
def test_the_handler_is_put_back(ctrl_c, failing):
    inside = []

    def action(estimator, epoch):
        inside.append(signal.getsignal(signal.SIGINT))
        if failing:
            raise OSError("the callback failed")

    clf = model("Perceptron").set_callbacks(Recorder(action))
    if failing:
        with pytest.raises(OSError, match="the callback failed"):
            clf.fit(X, NOISY)
    else:
        clf.fit(X, NOISY)
    assert inside[0] is not signal.default_int_handler
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


# --------------------------------------------------------------------- resuming afterwards


def assert_same_model(a, b):
    assert_allclose(a.decision_function(X), b.decision_function(X), rtol=1e-7, atol=1e-9)
    assert a.n_updates_ == b.n_updates_


@every_model
def test_warm_start_after_an_interrupt_between_epochs(name, ctrl_c):
    recorder = Recorder(lambda estimator, epoch: ctrl_c() if epoch == 2 else None)
    clf = model(name, warm_start=True, max_iter=5).set_callbacks(recorder)
    with pytest.warns(ConvergenceWarning, match=r"interrupted after 2 epochs.*warm_start"):
        clf.fit(X, NOISY)
    assert clf.stop_reason_ == "interrupted"
    assert not clf.converged_
    assert clf.n_iter_ == 2
    assert clf.predict(X).shape == (150,)
    clf.set_callbacks().set_params(max_iter=3).fit(X, NOISY)
    assert_same_model(clf, model(name, max_iter=5).fit(X, NOISY))


@pytest.mark.parametrize("name", [name for name in MODELS if not name.startswith("Kernel")])
def test_warm_start_after_an_interrupt_within_an_epoch(name, ctrl_c, monkeypatch):
    monkeypatch.setattr(_linear, "OPERATIONS_PER_CALL", 400)
    calls, visit = [], _linear.LinearLearner.visit

    def interrupted_visit(self, order, rate):
        calls.append(len(order))
        if len(calls) == 9:
            ctrl_c()
        return visit(self, order, rate)

    clf = model(name, warm_start=True, max_iter=5)
    with monkeypatch.context() as patch:
        patch.setattr(_linear.LinearLearner, "visit", interrupted_visit)
        with pytest.warns(ConvergenceWarning, match="interrupted"):
            clf.fit(X, NOISY)
    assert sum(calls) == sum(r["rows"] for r in clf.history_)
    assert 0 < clf.history_[-1]["rows"] < len(X)  # the epoch was left in the middle
    clf.set_params(max_iter=5 - clf.n_iter_).fit(X, NOISY)
    assert_same_model(clf, model(name, max_iter=5).fit(X, NOISY))


# --------------------------------------------------------------------------------- callbacks


@every_model
def test_callback_stops_the_fit(name):
    recorder = Recorder(lambda estimator, epoch: epoch == 2)
    clf = model(name).set_callbacks(recorder).fit(X, NOISY)
    assert clf.stop_reason_ == "callback"
    assert not clf.converged_
    assert clf.n_iter_ == recorder.count == 2
    assert recorder.torn_down == 1


@every_model
@pytest.mark.parametrize("y", [NOISY, CLASSES], ids=["two classes", "three classes"])
def test_callback_gets_a_model_that_predicts(name, y):
    """The one of each epoch, as a fit that ends there gives it."""
    recorder = Recorder()
    weights = np.ones(150)
    model(name).set_callbacks(recorder).fit(X, y, weights)
    assert len(recorder.fitted) == 4
    for epochs, fitted in enumerate(recorder.fitted, start=1):
        short = model(name, max_iter=epochs).fit(X, y, weights)
        assert_array_equal(fitted.decision_function(X), short.decision_function(X))
    assert_array_equal(recorder.X[0], X)
    assert_array_equal(recorder.metadata[0]["sample_weight"], weights)


@every_model
@pytest.mark.parametrize("weights", [None, rng.uniform(0.5, 2.0, 150)], ids=["", "weighted"])
def test_scoring_monitor(name, weights):
    monitor = ScoringMonitor(scoring="accuracy")
    clf = model(name).set_callbacks(monitor)
    clf.fit(X, NOISY, weights)
    rows = [row for row in monitor.get_logs().data if row["task_name"] == "epoch"]
    assert len(rows) == 4
    assert rows[-1]["accuracy"] == pytest.approx(clf.score(X, NOISY, weights))


def test_scoring_monitor_in_a_pipeline():
    monitor = ScoringMonitor(scoring="accuracy")
    pipeline = make_pipeline(StandardScaler(), model("Perceptron").set_callbacks(monitor))
    pipeline.fit(X, NOISY)
    rows = [row for row in monitor.get_logs().data if row["task_name"] == "epoch"]
    assert len(rows) == 4
    assert rows[-1]["accuracy"] == pytest.approx(pipeline.score(X, NOISY))


def test_scoring_monitor_of_a_frame_does_not_complain_of_names():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame(X, columns=list("abcde"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf = model("Perceptron").set_callbacks(ScoringMonitor(scoring="accuracy"))
        clf.fit(frame, NOISY)
    assert list(clf.feature_names_in_) == list("abcde")


@pytest.mark.parametrize(
    "wrap", [lambda clf: clf, lambda clf: make_pipeline(StandardScaler(), clf)]
)
def test_progress_bar(wrap, capsys):
    pytest.importorskip("rich", reason="rich is not installed")
    estimator = wrap(model("MarginPerceptron"))
    estimator.set_callbacks(ProgressBar()).fit(X, NOISY)
    assert "MarginPerceptron - fit" in " ".join(capsys.readouterr().out.split())
    assert estimator.score(X, NOISY) > 0.5
