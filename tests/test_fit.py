"""The training loop: when it stops, what it keeps, and how it is interrupted and resumed."""

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import widemargin
from widemargin import KernelPerceptron, MarginPerceptron, Perceptron, _linear

MODELS = {
    "Perceptron": Perceptron(max_iter=4, tol=None, random_state=0),
    "Perceptron-average": Perceptron(max_iter=4, tol=None, average=True, random_state=0),
    "MarginPerceptron": MarginPerceptron(max_iter=4, tol=None, random_state=0),
    "MarginPerceptron-unshuffled": MarginPerceptron(max_iter=4, tol=None, shuffle=False),
    "KernelPerceptron": KernelPerceptron(max_iter=4, tol=None, random_state=0),
}
every_model = pytest.mark.parametrize("name", MODELS)
rng = np.random.default_rng(0)
X, NOISE = rng.normal(size=(150, 5)), rng.normal(size=150)
SEPARABLE = np.where(X[:, 0] > 0, "yes", "no")
NOISY = np.where(X[:, 0] + NOISE > 0, "yes", "no")
CLASSES = np.digitize(X[:, 0] + 0.3 * NOISE, [-0.5, 0.5])


def model(name, **options):
    return clone_of(MODELS[name]).set_params(**options)


def clone_of(estimator):
    return type(estimator)(**estimator.get_params(deep=False))


class Recorder:
    """A callback that notes the epochs and may do something at the end of one."""

    def __init__(self, action=lambda estimator, epoch: None):
        self.action, self.epochs, self.torn_down = action, 0, 0
        self.fitted, self.X, self.metadata = [], [], []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        self.torn_down += 1

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, X, y, metadata, fitted_estimator):
        if context.task_name != "epoch":
            return None
        self.epochs += 1
        self.fitted.append(fitted_estimator)
        self.X.append(X)
        self.metadata.append(metadata)
        return self.action(estimator, self.epochs)


@pytest.fixture
def ctrl_c():
    """Python's own handler, which a test run in the background may lack; sends the signal."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda *_: signal.raise_signal(signal.SIGINT)
    signal.signal(signal.SIGINT, previous)


# ----------------------------------------------------------------------------------- history


@every_model
@pytest.mark.parametrize("y", [NOISY, CLASSES], ids=["two classes", "three classes"])
def test_history_has_a_record_an_epoch(name, y):
    clf = model(name).fit(X, y)
    assert clf.n_iter_ == clf.best_iter_ == len(clf.history_) == 4
    assert [r["epoch"] for r in clf.history_] == [0, 1, 2, 3]
    assert sum(r["updates"] for r in clf.history_) == clf.n_updates_ > 0
    for record in clf.history_:
        assert set(record) == {
            *("epoch", "rows", "updates", "criterion", "error"),
            *("margin", "learning_rate", "seconds"),
        }
        assert record["rows"] == len(X)
        assert record["criterion"] >= 0
        assert 0 <= record["error"] <= 1
    seconds = [0.0, *(r["seconds"] for r in clf.history_), clf.fit_time_]
    assert seconds == sorted(seconds)


@every_model
def test_history_of_validation(name):
    clf = model(name, early_stopping=True).fit(X, NOISY)
    for record in clf.history_:
        assert record["rows"] == 135
        assert record["validation_criterion"] >= 0
        assert round(record["validation_error"] * 15, 9) in range(16)


def test_history_measures_each_example_before_its_own_update():
    clf = Perceptron(max_iter=1, tol=None, shuffle=False).fit([[1.0], [1.0], [-1.0]], [1, 1, 0])
    # f = 0, then 2, then 0 at the last, on the kink of the perceptron: updated, and sign(0) = −1
    record = clf.history_[0]
    assert record["updates"] == 2
    assert record["error"] == pytest.approx(1 / 3)
    assert record["criterion"] == 0.0


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("constant", [0.2, 0.2, 0.2, 0.2]),
        ("decay", [0.2, 0.2 / 1.5, 0.2 / 2, 0.2 / 2.5]),
        ("invscaling", [0.2, 0.2 / 2**0.7, 0.2 / 3**0.7, 0.2 / 4**0.7]),
    ],
)
def test_schedule_reaches_the_history_and_goes_on_with_a_warm_start(schedule, expected):
    clf = MarginPerceptron(
        learning_rate=0.2, schedule=schedule, decay=0.5, power_t=0.7, warm_start=True, tol=None
    )
    clf.set_params(max_iter=3).fit(X, NOISY).set_params(max_iter=1).fit(X, NOISY)
    assert_allclose([r["learning_rate"] for r in clf.history_], expected)


def test_verbose_prints_a_line_an_epoch(capsys):
    model("Perceptron", verbose=1).fit(X, NOISY)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert all(line.startswith("[Perceptron] epoch") for line in lines)
    model("Perceptron").fit(X, NOISY)
    assert capsys.readouterr().out == ""


# ------------------------------------------------------------------------------ why it stops


@every_model
def test_stops_when_nothing_is_updated(name):
    clf = model(name, max_iter=5000)
    if hasattr(clf, "learning_rate"):
        clf.set_params(learning_rate=0.1, schedule="constant")
    clf.fit(X, SEPARABLE)
    assert clf.stop_reason_ == "no_update"
    assert clf.converged_
    assert clf.history_[-1]["updates"] == 0
    assert all(r["updates"] > 0 for r in clf.history_[:-1])
    if not getattr(clf, "average", False):
        assert clf.score(X, SEPARABLE) == 1.0


def test_stops_when_the_criterion_stalls():
    clf = MarginPerceptron(tol=1e-3, n_iter_no_change=3, random_state=0).fit(X, NOISY)
    assert clf.stop_reason_ == "tol"
    assert clf.converged_
    criterion = [r["criterion"] for r in clf.history_]
    fell = [c < min(criterion[:i]) - 1e-3 for i, c in enumerate(criterion) if i > 0]
    assert not any(fell[-3:])
    assert fell[-4]


def test_stops_early_on_validation_error():
    clf = MarginPerceptron(early_stopping=True, n_iter_no_change=3, random_state=0).fit(X, NOISY)
    assert clf.stop_reason_ == "early_stopping"
    assert clf.converged_
    errors = [r["validation_error"] for r in clf.history_]
    assert min(errors[-3:]) >= min(errors[:-3])
    assert clf.best_iter_ == 1 + int(np.argmin(errors))


def test_max_iter_warns_with_what_is_left():
    with pytest.warns(ConvergenceWarning, match="max_iter=2") as caught:
        clf = MarginPerceptron(max_iter=2, random_state=0).fit(X, NOISY)
    assert clf.stop_reason_ == "max_iter"
    assert not clf.converged_
    message = str(caught[0].message)
    assert f"{clf.history_[-1]['updates']} updates" in message
    assert "raise max_iter" in message
    assert caught[0].filename == __file__  # points at the call of fit


@pytest.mark.parametrize(
    "options",
    [{"tol": None, "max_iter": 2}, {"tol": 0.1, "n_iter_no_change": 1}, {"max_iter": 10_000}],
    ids=["no tolerance asked for", "tol", "no update"],
)
def test_no_warning_when_training_ends_as_asked(options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Perceptron(**options).fit(X, SEPARABLE)


@every_model
def test_time_limit_leaves_a_usable_model(name):
    clf = model(name, time_limit=0.05, max_iter=10**6)
    contradictory = np.concatenate([CLASSES, CLASSES[::-1]])  # no end of updates
    with pytest.warns(ConvergenceWarning, match="time_limit=0.05"):
        clf.fit(np.vstack([X, X]), contradictory)
    assert clf.stop_reason_ == "time_limit"
    assert not clf.converged_
    assert 0.05 <= clf.fit_time_ < 5
    assert clf.predict(X).shape == (150,)


def test_time_limit_within_an_epoch(monkeypatch):
    """A limit that is over at once: no epoch is done, and the model still predicts."""
    monkeypatch.setattr(_linear, "OPERATIONS_PER_CALL", 100)
    clf = model("MarginPerceptron", time_limit=1e-9)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        clf.fit(X, NOISY)
    assert clf.n_iter_ == 0
    assert clf.history_[0]["rows"] < len(X)
    assert set(clf.predict(X)) <= {"no", "yes"}


@pytest.mark.parametrize("learning_rate", [1e300, 1e308])
@pytest.mark.parametrize("max_iter", [1, 20])
def test_divergence_is_an_error_that_says_what_to_do(learning_rate, max_iter):
    clf = MarginPerceptron(
        learning_rate=learning_rate, schedule="constant", standardize=False, max_iter=max_iter
    )
    with pytest.raises(ValueError, match=r"diverged.*learning rate"):
        clf.fit(X * 1e12, NOISY)
    with pytest.raises(NotFittedError):
        clf.predict(X)


def test_overflow_in_the_last_step_is_divergence():
    clf = Perceptron(eta0=1e300, max_iter=1, shuffle=False)
    with pytest.raises(ValueError, match="diverged"):
        clf.fit([[1.0], [1e10]], [1, 0])


# ---------------------------------------------------------------------------- early stopping


def held_out_error(clf, X_val, y_val, weights=None):
    return np.average(clf.predict(X_val) != y_val, weights=weights)


@every_model
@pytest.mark.parametrize("y", [NOISY, CLASSES], ids=["two classes", "three classes"])
def test_early_stopping_returns_the_best_epoch(name, y):
    clf = model(name, early_stopping=True, max_iter=30)
    clf.fit(X[:100], y[:100], X_val=X[100:], y_val=y[100:])
    errors = [r["validation_error"] for r in clf.history_]
    assert held_out_error(clf, X[100:], y[100:]) == pytest.approx(min(errors))
    assert clf.best_iter_ == 1 + int(np.argmin(errors))
    assert clf.n_updates_ == sum(r["updates"] for r in clf.history_[: clf.best_iter_])


@every_model
def test_early_stopping_holds_out_a_stratified_part(name):
    y = np.where(np.arange(150) % 5 == 0, "rare", "common")
    weights = rng.uniform(0.5, 2.0, 150)
    clf = model(name, early_stopping=True, validation_fraction=0.2, random_state=3, max_iter=20)
    clf.fit(X, y, weights)
    kept, held_out = clf._split(np.arange(150), y)
    assert_array_equal(np.sort(np.concatenate([kept, held_out])), np.arange(150))
    assert np.mean(y[held_out] == "rare") == pytest.approx(0.2)
    error = held_out_error(clf, X[held_out], y[held_out], weights[held_out])
    assert error == pytest.approx(min(r["validation_error"] for r in clf.history_))


def test_validation_examples_are_not_trained_on():
    """Whatever their labels say, the weights of an epoch are the same."""
    data = {"X_val": X[100:], "y_val": NOISY[100:]}
    lies = {"X_val": X[100:], "y_val": np.where(NOISY[100:] == "yes", "no", "yes")}
    options = {"early_stopping": True, "max_iter": 1, "tol": None, "random_state": 0}
    first = MarginPerceptron(**options).fit(X[:100], NOISY[:100], **data)
    second = MarginPerceptron(**options).fit(X[:100], NOISY[:100], **lies)
    alone = MarginPerceptron(max_iter=1, tol=None, random_state=0).fit(X[:100], NOISY[:100])
    assert_array_equal(first.coef_, second.coef_)
    assert_array_equal(first.coef_, alone.coef_)


# ------------------------------------------------------------------------------- warm starts


def assert_same_model(a, b):
    assert_allclose(a.decision_function(X), b.decision_function(X), rtol=1e-7, atol=1e-9)
    assert a.n_updates_ == b.n_updates_


@every_model
@pytest.mark.parametrize("y", [NOISY, CLASSES], ids=["two classes", "three classes"])
def test_warm_start_goes_on(name, y):
    parts = model(name, warm_start=True, max_iter=3).fit(X, y)
    assert parts.n_iter_ == 3
    parts.set_params(max_iter=2).fit(X, y)
    assert parts.n_iter_ == 2
    whole = model(name, max_iter=5).fit(X, y)
    assert_same_model(parts, whole)
    assert [r["epoch"] for r in parts.history_] == [0, 1, 2, 3, 4]
    assert [r["updates"] for r in parts.history_] == [r["updates"] for r in whole.history_]


@every_model
def test_without_warm_start_fit_starts_again(name):
    clf = model(name).fit(X, NOISY)
    first = clf.decision_function(X)
    clf.fit(X, CLASSES).fit(X, NOISY)
    assert_array_equal(clf.decision_function(X), first)
    assert len(clf.history_) == 4


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


# ------------------------------------------------------------------------------------ Ctrl-C


CHILD = """
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
print("went on", flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
@pytest.mark.parametrize("n_classes", [2, 10])
def test_ctrl_c_stops_a_long_fit_at_once(n_classes):
    environment = dict(os.environ)
    package = str(Path(widemargin.__file__).resolve().parents[1])
    environment["PYTHONPATH"] = os.pathsep.join(
        [package, *filter(None, [environment.get("PYTHONPATH")])]
    )
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, str(n_classes)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        try:
            assert child.stdout.readline() == "started\n", child.stderr.read()
            time.sleep(0.3)  # somewhere in an epoch
            sent = time.time()
            child.send_signal(signal.SIGINT)
            output, errors = child.communicate(timeout=60)
        finally:
            child.kill()
    assert child.returncode == 0, errors
    returned, last = output.splitlines()
    assert last == "went on"
    assert float(returned) - sent < 0.5


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


# --------------------------------------------------------------------------------- callbacks


@every_model
def test_callback_stops_the_fit(name):
    recorder = Recorder(lambda estimator, epoch: epoch == 2)
    clf = model(name).set_callbacks(recorder).fit(X, NOISY)
    assert clf.stop_reason_ == "callback"
    assert not clf.converged_
    assert clf.n_iter_ == recorder.epochs == 2
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
        model("Perceptron").set_callbacks(ScoringMonitor(scoring="accuracy")).fit(frame, NOISY)


@pytest.mark.parametrize(
    "wrap", [lambda clf: clf, lambda clf: make_pipeline(StandardScaler(), clf)]
)
def test_progress_bar(wrap, capsys):
    pytest.importorskip("rich", reason="rich is not installed")
    estimator = wrap(model("MarginPerceptron"))
    estimator.set_callbacks(ProgressBar()).fit(X, NOISY)
    assert "MarginPerceptron - fit" in " ".join(capsys.readouterr().out.split())
    assert estimator.score(X, NOISY) > 0.5
