"""The training loop: when it stops, what it keeps, and how it is resumed."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning, NotFittedError

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
SEPARABLE = np.where(X[:, 0] > 0, "yes", "no")
NOISY = np.where(X[:, 0] + NOISE > 0, "yes", "no")
CLASSES = np.digitize(X[:, 0] + 0.3 * NOISE, [-0.5, 0.5])


def model(name, **options):
    return clone_of(MODELS[name]).set_params(**options)


def clone_of(estimator):
    return type(estimator)(**estimator.get_params(deep=False))


# ----------------------------------------------------------------------------------- history


@every_model
@pytest.mark.parametrize("y", [NOISY, CLASSES], ids=["two classes", "three classes"])
def test_history_has_one_record_per_epoch(name, y):
    clf = model(name).fit(X, y)
    assert clf.n_iter_ == clf.best_iter_ == len(clf.history_) == 4
    assert [r["epoch"] for r in clf.history_] == [0, 1, 2, 3]
    assert sum(r["updates"] for r in clf.history_) == clf.n_updates_ > 0
    own = {"SGDSVC": {"objective", "geometric_margin"}, "MarginPerceptron": {"geometric_margin"}}
    expected = own.get(name.partition("-")[0], set())
    for record in clf.history_:
        assert set(record) == expected | {
            *("epoch", "rows", "updates", "criterion", "error", "learning_rate", "seconds")
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


def test_partial_fit_counts_as_an_epoch_of_the_schedule():
    clf = MarginPerceptron(learning_rate=0.2, schedule="decay", decay=0.5)
    for batch in (slice(0, 20), slice(20, 23), slice(23, 150)):
        clf.partial_fit(X[batch], NOISY[batch], classes=["no", "yes"])
    assert_allclose([r["learning_rate"] for r in clf.history_], [0.2, 0.2 / 1.5, 0.2 / 2])


def test_verbose_prints_one_line_per_epoch(capsys):
    model("Perceptron", verbose=1).fit(X, NOISY)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert all(line.startswith("[Perceptron] epoch") for line in lines)
    model("Perceptron").fit(X, NOISY)
    assert capsys.readouterr().out == ""


# ------------------------------------------------------------------------------ why it stops


@pytest.mark.parametrize("name", [name for name in MODELS if name != "SGDSVC"])
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
    assert not clf.converged_  # the last epoch made updates
    criterion = [r["criterion"] for r in clf.history_]
    fell = [c < min(criterion[:i]) - 1e-3 for i, c in enumerate(criterion) if i > 0]
    assert not any(fell[-3:])
    assert fell[-4]


def test_stops_early_on_validation_error():
    clf = MarginPerceptron(early_stopping=True, n_iter_no_change=3, random_state=0).fit(X, NOISY)
    assert clf.stop_reason_ == "early_stopping"
    assert not clf.converged_  # the last epoch made updates
    errors = [r["validation_error"] for r in clf.history_]
    assert min(errors[-3:]) >= min(errors[:-3])
    assert clf.best_iter_ == 1 + int(np.argmin(errors))


@pytest.mark.parametrize("early_stopping", [False, True])
def test_with_weight_decay_the_stopping_rule_is_convergence(early_stopping):
    clf = SGDSVC(mu=0.1, early_stopping=early_stopping, tol=1e-2, random_state=0).fit(X, NOISY)
    assert clf.stop_reason_ == ("early_stopping" if early_stopping else "tol")
    assert clf.converged_


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
        clf = Perceptron(**options).fit(X, SEPARABLE)
    assert clf.stop_reason_ in ("max_iter", "tol", "no_update")


@every_model
def test_time_limit_leaves_a_usable_model(name):
    clf = model(name, time_limit=0.05, max_iter=10**6)
    contradictory = np.concatenate([CLASSES, CLASSES[::-1]])  # no end of updates
    with pytest.warns(ConvergenceWarning, match="time_limit=0.05"):
        clf.fit(np.vstack([X, X]), contradictory)
    assert clf.stop_reason_ == "time_limit"
    assert not clf.converged_
    assert 0.0 < clf.fit_time_ < 5
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
        learning_rate=learning_rate, schedule="constant", scaling=None, max_iter=max_iter
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it is said once
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
def test_early_stopping_holds_out_a_stratified_fraction(name):
    y = np.where(np.arange(150) % 5 == 0, "rare", "common")
    weights = rng.uniform(0.5, 2.0, 150)
    clf = model(name, early_stopping=True, validation_fraction=0.2, random_state=3, max_iter=20)
    clf.fit(X, y, weights)
    kept, held_out = clf._split(np.arange(150), y)
    assert_array_equal(np.sort(np.concatenate([kept, held_out])), np.arange(150))
    assert np.mean(y[held_out] == "rare") == pytest.approx(0.2)
    error = held_out_error(clf, X[held_out], y[held_out], weights[held_out])
    assert error == pytest.approx(min(r["validation_error"] for r in clf.history_))


@every_model
def test_validation_examples_may_have_weights(name):
    weights = rng.integers(0, 3, 50).astype(float)
    clf = model(name, early_stopping=True, max_iter=10)
    clf.fit(X[:100], NOISY[:100], None, X[100:], NOISY[100:], weights)  # by their places, too
    error = held_out_error(clf, X[100:], NOISY[100:], weights)
    assert error == pytest.approx(min(r["validation_error"] for r in clf.history_))
    repeated = np.repeat(np.arange(100, 150), weights.astype(int))
    again = model(name, early_stopping=True, max_iter=10)
    again.fit(X[:100], NOISY[:100], X_val=X[repeated], y_val=NOISY[repeated])
    for a, b in zip(clf.history_, again.history_, strict=True):
        assert a["validation_criterion"] == pytest.approx(b["validation_criterion"])


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


# --------------------------------------------------------------------------------- schedules


def rates_of_visits(monkeypatch, **options):
    rates = []
    visit = _linear.LinearLearner.visit
    monkeypatch.setattr(_linear, "OPERATIONS_PER_CALL", 75 * 15)  # 75 rows of 5 inputs per call
    monkeypatch.setattr(
        _linear.LinearLearner,
        "visit",
        lambda self, order, rate: rates.append(rate) or visit(self, order, rate),
    )
    options = {"learning_rate": 1.0, "max_iter": 2, "tol": None, "random_state": 0} | options
    return MarginPerceptron(**options), rates


def test_a_schedule_that_ends_changes_within_an_epoch(monkeypatch):
    clf, rates = rates_of_visits(monkeypatch, schedule="linear")
    clf.fit(X, NOISY)
    assert rates == [1.0, 0.75, 0.5, 0.25]
    assert [record["learning_rate"] for record in clf.history_] == [1.0, 0.5]


def test_other_schedules_keep_their_rate_for_an_epoch(monkeypatch):
    clf, rates = rates_of_visits(monkeypatch, schedule="decay", decay=1.0)
    clf.fit(X, NOISY)
    assert rates == [1.0, 1.0, 0.5, 0.5]


def test_a_warm_start_begins_a_new_cycle(monkeypatch):
    clf, rates = rates_of_visits(monkeypatch, schedule="linear", warm_start=True)
    clf.fit(X, NOISY).fit(X, NOISY)
    assert rates == [1.0, 0.75, 0.5, 0.25] * 2


def test_online_learning_refuses_a_schedule_that_ends():
    with pytest.raises(ValueError, match="'cosine' ends after max_iter epochs"):
        MarginPerceptron(schedule="cosine").partial_fit(X, NOISY)
