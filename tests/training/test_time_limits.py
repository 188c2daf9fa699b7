"""Time limits hold for every estimator that has one, and leave a model that can be used."""

import threading
import time
import warnings
from importlib import import_module

import numpy as np
import pytest
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from widemargin import (
    SVC,
    SVCCV,
    SVR,
    HardMixtureClassifier,
    KernelPerceptron,
    LinearSVC,
    LinearSVCCV,
    MarginPerceptron,
    MixtureOfExpertsClassifier,
    MLPClassifier,
    NuSVC,
)
from widemargin.kernels import Kernel
from widemargin.linear_svm import solve as linear_solve
from widemargin.svm import solve as kernel_solve
from widemargin.training import time_limit as clock
from widemargin.training.control import Control, in_rounds
from widemargin.training.report import worse_than_constant
from widemargin.training.time_limit import (
    Shares,
    TimeLimit,
    current_limit,
    fixed_shares,
    limited,
    share_of_time,
)

LIMIT = 0.4  # seconds of CPU time
PLACES = ("widemargin", "widemargin.mixtures")


def with_a_limit():
    """All estimators of the package that have a `time_limit`, by name."""
    found = {}
    for place in PLACES:
        module = import_module(place)
        for name in module.__all__:
            cls = getattr(module, name)
            if (
                isinstance(cls, type)
                and issubclass(cls, BaseEstimator)
                and "time_limit" in cls._get_param_names()
            ):
                found[name] = cls
    return found


ESTIMATORS = with_a_limit()
FOR_EVER = {"max_iter": 10**6, "tol": None}
PRECISE = {"max_iter": 10**6, "tol": 1e-10, "dual": True}

#: Options with which a fit takes ten times as long as the limit; for others FOR_EVER.
SLOW = {
    **{name: {"C": 100.0} for name in ("SVC", "SVR", "NuSVR")},
    "NuSVC": {"nu": 0.2},
    "SVCCV": {},
    "SVRCV": {},
    "OneClassSVM": {"gamma": 1.0, "tol": 1e-9},
    "GradientMetric": {"tol": 1e-6},
    "TabularClassifier": {},
    "TabularRegressor": {},
    "LinearSVC": {"C": 100.0, "loss": "hinge", **PRECISE},
    "LinearSVR": {"C": 100.0, **PRECISE},
    "LinearSVCCV": {"loss": "hinge", **PRECISE},
    "LinearSVRCV": PRECISE,
    "HardMixtureClassifier": {"expert": SVC(C=100.0)},
    "HardMixtureRegressor": {},
}
VARIANTS = {
    "SVC-probability": (SVC, {"C": 100.0, "probability": True}),
    "SVC-one against the rest": (SVC, {"C": 100.0, "multi_class": "ovr"}),
    "MLPClassifier-lbfgs": (MLPClassifier, {"solver": "lbfgs", **FOR_EVER}),
    "MixtureOfExpertsClassifier-em": (MixtureOfExpertsClassifier, {"solver": "em", **FOR_EVER}),
    "HardMixtureClassifier-local": (HardMixtureClassifier, {"gater": "local"}),
    "HardMixtureClassifier-tuned": (HardMixtureClassifier, {"tune": "validation"}),
}
CASES = {name: (cls, SLOW.get(name, FOR_EVER)) for name, cls in ESTIMATORS.items()} | VARIANTS


def examples(count=20_000):
    """Three classes, or a value, that depend on the inputs and on noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(count, 10))
    score = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=count)
    return X, np.digitize(score, [-1.0, 0.5]), score


@pytest.fixture(scope="module")
def data():
    return examples()


@pytest.fixture
def cpu_clock(monkeypatch):
    """The time of this process: other processes do not count, however busy the machine is."""
    monkeypatch.setattr(clock, "_clock", time.process_time)
    with threadpool_limits(1):
        yield


def fitted(model, X, y, score):
    """Fits, and returns the seconds and the warnings."""
    targets = {"y": y if is_classifier(model) else score}
    if not (is_classifier(model) or is_regressor(model)):
        targets = {"OneClassSVM": {}, "GradientMetric": {"y": y}}.get(type(model).__name__)
        targets = gater_task(X, score) if targets is None else targets
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        begun = time.process_time()
        model.fit(X, **targets)
        seconds = time.process_time() - begun
    return seconds, [str(w.message) for w in caught]


def gater_task(X, score):
    return {"outputs": np.stack([X[:, :1], X[:, 1:2]], axis=1), "targets": np.sign(score)[:, None]}


def named(cls, options):
    single = {"n_jobs": 1, "random_state": 0, "time_limit": LIMIT}
    return cls(**{k: v for k, v in single.items() if k in cls._get_param_names()}, **options)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_fit_ends_within_its_limit_and_leaves_a_model(case, data, cpu_clock):
    cls, options = CASES[case]
    X, y, score = data
    fitted(named(cls, options), X[:300], y[:300], score[:300])  # imports, the first calls
    model = named(cls, options)
    seconds, told = fitted(model, X, y, score)
    assert seconds < 1.1 * LIMIT + 0.2
    assert told, "the fit was not cut off: it takes less than the limit"
    assert all("time_limit=0.4 s" in text for text in told), told
    if is_classifier(model):
        error = np.mean(model.predict(X[:1000]) != y[:1000])
        constant = 1 - np.bincount(y).max() / len(y)
        assert error < constant + 0.05 or any("majority class" in text for text in told)
    elif is_regressor(model):
        assert np.all(np.isfinite(model.predict(X[:1000])))


# --------------------------------------------------------------------------- the pairs of an SVC


def test_every_pair_has_a_machine_when_the_time_is_over(cpu_clock):
    """Many pairs, of which the first alone would take longer than the limit."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 5))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=len(X)), [-1.5, -1.0, -0.5, 1.0, 2.0])
    with pytest.warns(ConvergenceWarning, match="of 15 problems.*usable"):
        clf = SVC(C=100.0, time_limit=1.0, n_jobs=1).fit(X, y)
    assert clf.stop_reason_ == "time_limit"
    assert np.all(clf.n_iter_ > 0)
    assert np.mean(clf.predict(X[:1000]) != y[:1000]) < 0.3  # always class 3: 0.53


@pytest.mark.parametrize(("rows", "classes"), [(3000, 3), (8000, 2)])
def test_a_limit_that_is_not_reached_changes_nothing(rows, classes, data):
    X, y = data[0][:rows], np.minimum(data[1][:rows], classes - 1)
    free = SVC(gamma=0.1).fit(X, y)
    within = SVC(gamma=0.1, time_limit=1e6).fit(X, y)
    assert within.converged_
    assert within.stop_reason_ == "tol"
    assert np.array_equal(within.dual_coef_, free.dual_coef_)


@pytest.mark.slow
@pytest.mark.parametrize("machine", [SVC(gamma=0.1), SVR(gamma=0.1), NuSVC(gamma=0.1, nu=0.3)])
def test_a_solution_that_began_with_parts_is_the_optimum(machine, data, monkeypatch):
    X, y = data[0][:4500], data[2][:4500]
    y = y > 0 if is_classifier(machine) else y
    free = machine.fit(X, y)
    monkeypatch.setattr(kernel_solve, "ENOUGH_TIME", 0.0)
    within = type(machine)(**{**machine.get_params(), "time_limit": 1e6}).fit(X, y)
    assert within.converged_
    assert not np.array_equal(within.dual_coef_, free.dual_coef_)
    assert within.dual_objective_ == pytest.approx(free.dual_objective_, rel=1e-3)


def test_linear_problems_share_the_time(cpu_clock):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 20))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=len(X)), [-1.5, -1.0, -0.5, 1.0, 2.0])
    options = {"C": 100.0, "loss": "hinge", "tol": 1e-10, "max_iter": 10**6, "dual": True}
    with pytest.warns(ConvergenceWarning, match="in 6 of 6 problems"):
        clf = LinearSVC(time_limit=0.3, n_jobs=1, random_state=0, **options).fit(X, y)
    assert np.all(np.abs(clf.coef_).max(axis=1) > 0)


@pytest.mark.parametrize("dual", ["auto", False])
def test_an_iteration_that_would_not_end_in_time_is_not_begun(dual, monkeypatch, cpu_clock):
    """One of the interior-point method takes seconds with many examples and columns."""
    monkeypatch.setattr(linear_solve, "_interior_seconds", lambda problem: 10.0)
    X, y, _ = examples(5000)
    clf = LinearSVC(C=100.0, loss="hinge", tol=1e-12, max_iter=10**6, dual=dual, time_limit=0.2)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        clf.fit(X, y > 0)
    assert clf.solver_ == "dual"
    assert clf.score(X, y > 0) > 0.75


# ------------------------------------------------------------------------------ what is reported


class Constant(BaseEstimator):
    def __init__(self, value, kind="classifier", class_weight=None):
        self.value, self.kind, self.class_weight = value, kind, class_weight

    def predict(self, X):
        return np.full(len(X), self.value)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = self.kind
        return tags


def test_a_model_worse_than_a_constant_is_told():
    X, y = np.zeros((100, 1)), np.repeat(["a", "b"], [70, 30])
    assert worse_than_constant(Constant("a"), X, y) == ""
    told = worse_than_constant(Constant("b"), X, y)
    assert "70.0% wrong, and always predicting 'a' 30.0%" in told
    assert worse_than_constant(Constant("b"), X, y, np.where(y == "b", 9.0, 1.0)) == ""
    assert worse_than_constant(Constant("b", class_weight={"a": 1, "b": 9}), X, y) == ""
    values = np.arange(100.0)
    assert worse_than_constant(Constant(49.5, "regressor"), X, values) == ""
    assert "the mean of the targets" in worse_than_constant(Constant(99, "regressor"), X, values)
    assert worse_than_constant(Constant(1, "clusterer"), X, values) == ""


def test_a_search_says_how_much_of_it_was_cut_off(data, cpu_clock):
    X, y, _ = data
    with pytest.warns(ConvergenceWarning, match=r"SVCCV has time_limit=0\.3 s for 15 fits") as told:
        search = SVCCV(Cs=[0.1, 1.0, 10.0], time_limit=0.3, n_jobs=1).fit(X, y)
    assert len(told) <= 2  # and the last fit
    assert search.C_ in (0.1, 1.0, 10.0)
    assert np.isfinite(search.best_score_)
    assert search.scores_.shape == (1, 3, 5)


def test_a_search_with_enough_time_is_as_without_a_limit(data):
    X, y, _ = data
    options = {"Cs": [0.1, 1.0], "cv": 3, "random_state": 0}
    free = LinearSVCCV(**options).fit(X[:500], y[:500])
    within = LinearSVCCV(**options, time_limit=1e6).fit(X[:500], y[:500])
    assert np.array_equal(free.scores_, within.scores_)
    assert np.array_equal(free.coef_, within.coef_)


# ---------------------------------------------------------------------------- limits and shares


class Limited:
    def __init__(self, time_limit, inside=current_limit):
        self.time_limit, self.inside = time_limit, inside

    @limited
    def fit(self):
        return self.inside()


@pytest.fixture
def still_clock(monkeypatch):
    """A clock that a test moves."""
    hands = [100.0]
    monkeypatch.setattr(clock, "_clock", lambda: hands[0])
    return hands


def test_the_earlier_of_two_deadlines_holds(still_clock):
    assert not current_limit().finite
    assert Limited(None).fit() == TimeLimit()
    assert Limited(5.0).fit() == TimeLimit(105.0, 5.0)
    assert Limited(5.0, Limited(9.0).fit).fit() == TimeLimit(105.0, 5.0)
    assert Limited(5.0, Limited(2.0).fit).fit() == TimeLimit(102.0, 2.0)
    assert not current_limit().finite


def test_a_part_is_silent_and_its_whole_is_not(still_clock):
    with share_of_time(3.0):
        assert Limited(None).fit() == TimeLimit(103.0, 3.0, share=True)
        assert Limited(9.0).fit().share
        assert Limited(1.0).fit().share
    with share_of_time(None):
        assert not Limited(1.0).fit().share


def test_a_limit_belongs_to_its_thread(still_clock):
    seen = []
    with share_of_time(3.0):
        thread = threading.Thread(target=lambda: seen.append(current_limit().finite))
        thread.start()
        thread.join()
    assert seen == [False]


def test_what_a_part_leaves_is_for_later_ones(still_clock):
    shares = Shares([1.0, 1.0, 2.0], deadline=108.0)
    assert shares.seconds(0) == 2.0
    assert shares.seconds(1) == pytest.approx(8.0 / 3)  # the first took no time
    still_clock[0] = 107.0
    assert shares.seconds(2) == 1.0
    assert Shares([1.0]).seconds(0) == np.inf


@pytest.mark.parametrize("at_once", [1, 2, 3, 8])
def test_fixed_shares_end_in_time(at_once):
    """Parts that take all of their time, each given to the thread that is free first."""
    weights = np.random.default_rng(at_once).uniform(0.1, 2.0, size=11)
    free = np.zeros(at_once)
    for seconds in fixed_shares(weights, 10.0, at_once):
        free[free.argmin()] += seconds
    assert free.max() <= 10.0 + 1e-9
    assert free.max() > 5.0
    assert fixed_shares([1.0, 2.0], np.inf, at_once) == [np.inf, np.inf]


class Job:
    """A problem that needs some seconds."""

    def __init__(self, needed):
        self.needed, self.reason = needed, "time_limit"

    @property
    def gap(self):
        return self.needed


def test_rounds_give_what_is_left_to_the_problems_that_were_cut_off(still_clock):
    jobs = [Job(9.0), Job(1.0), Job(1.0)]
    control = Control("", threading.Event(), TimeLimit(112.0, 0.0))

    def attempt(number, share):
        spent = min(share.left, jobs[number].needed)
        still_clock[0] += spent
        jobs[number].needed -= spent
        jobs[number].reason = "time_limit" if jobs[number].needed > 0 else "tol"

    in_rounds(attempt, jobs, range(3), [1.0, 1.0, 1.0], control, 1)
    assert [job.reason for job in jobs] == ["tol", "tol", "tol"]
    assert still_clock[0] == 111.0


def test_a_limit_counts_from_the_first_line_of_fit(monkeypatch, still_clock):
    """Checks and packing of the inputs take time too."""
    check = MarginPerceptron._check_X

    def slow_check(self, *arguments, **options):
        still_clock[0] += 10.0
        return check(self, *arguments, **options)

    monkeypatch.setattr(MarginPerceptron, "_check_X", slow_check)
    X, y, _ = examples(50)
    with pytest.warns(ConvergenceWarning, match="time_limit=5 s"):
        clf = MarginPerceptron(time_limit=5.0, max_iter=1000, tol=None).fit(X, y)
    assert clf.n_iter_ == 1


def test_the_radius_of_a_kernel_perceptron_leaves_time_for_epochs(monkeypatch, still_clock):
    """A column of the kernel takes a second here; a limit of 20 s allows a few of them."""
    values = Kernel.__call__

    def slow(self, a, b):
        still_clock[0] += 1.0 if len(b) == 1 else 0.0
        return values(self, a, b)

    monkeypatch.setattr(Kernel, "__call__", slow)
    X, y, _ = examples(300)
    clf = KernelPerceptron(time_limit=20.0, max_iter=3, tol=None, random_state=0).fit(X, y)
    assert clf.n_iter_ == 3
    assert still_clock[0] < 110.0
