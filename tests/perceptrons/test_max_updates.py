"""Training stops at a number of updates, exactly, and could as well have been the textbook's."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from widemargin import KernelPerceptron, MarginPerceptron, Perceptron, theory
from widemargin.training import loop
from widemargin.training.learner import Tally

PUBLISHED = {"tol": None, "scaling": None, "shuffle": False}
CLASSES = [Perceptron, MarginPerceptron, KernelPerceptron]


def noisy(seed=0, rows=400, width=3):
    """Classes that overlap, so that updates never end."""
    random = np.random.default_rng(seed)
    y = random.choice([-1.0, 1.0], size=rows)
    return random.normal(size=(rows, width)) + 0.5 * y[:, None], y


def margin_perceptron(X, y, updates, rate):
    """Algorithm 8.1 until there were so many updates, and the number of visits."""
    w, b, t, visits = np.zeros(X.shape[1]), 0.0, 0, 0
    while t < updates:
        l = visits % len(y)
        if y[l] * (w @ X[l] + b) <= 1:
            w, b, t = w + rate * y[l] * X[l], b + rate * y[l], t + 1
        visits += 1
    return w, b, visits


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("updates", [1, 2, 10, 60, 399, 1000])
def test_weights_are_those_after_so_many_updates(updates, layout):
    X, y = noisy()
    options = {"learning_rate": 0.1, "schedule": "constant", "max_updates": updates}
    clf = MarginPerceptron(**options, **PUBLISHED).fit(layout(X), y)
    w, b, visits = margin_perceptron(X, y, updates, 0.1)
    np.testing.assert_allclose(clf.coef_[0], w, rtol=1e-10, atol=1e-12)
    assert clf.intercept_[0] == pytest.approx(b)
    assert clf.n_updates_ == updates
    assert clf.stop_reason_ == "max_updates"
    assert not clf.converged_
    assert sum(record["rows"] for record in clf.history_) == visits


@pytest.mark.parametrize("cls", CLASSES)
@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 1000), updates=st.integers(1, 200))
def test_the_count_is_exact(cls, seed, updates):
    X, y = noisy(seed, rows=60)
    clf = cls(**PUBLISHED, max_updates=updates, max_iter=10_000).fit(X, y)
    if clf.stop_reason_ == "max_updates":
        assert clf.n_updates_ == updates
    else:
        assert clf.stop_reason_ == "no_update"
        assert clf.n_updates_ < updates


@pytest.mark.parametrize("cls", CLASSES)
def test_a_number_that_is_never_reached_changes_nothing(cls):
    X, y = noisy()
    with_rule, without = (
        cls(**PUBLISHED, max_iter=5, max_updates=most).fit(X, y) for most in (10**9, None)
    )
    assert with_rule.stop_reason_ == without.stop_reason_ == "max_iter"
    np.testing.assert_array_equal(with_rule.decision_function(X), without.decision_function(X))


@pytest.mark.parametrize("cls", CLASSES)
def test_training_resumes_within_the_epoch(cls):
    X, y = noisy(rows=90)
    parts = cls(**PUBLISHED, max_updates=20, warm_start=True).fit(X, y).fit(X, y)
    whole = cls(**PUBLISHED, max_updates=40).fit(X, y)
    assert parts.n_updates_ == whole.n_updates_ == 40
    np.testing.assert_allclose(
        parts.decision_function(X), whole.decision_function(X), rtol=1e-9, atol=1e-9
    )


def test_with_several_classes_the_last_example_may_add_some():
    X, _ = noisy()
    y = np.arange(len(X)) % 4
    clf = Perceptron(**PUBLISHED, max_updates=50).fit(X, y)
    assert clf.stop_reason_ == "max_updates"
    assert 50 <= clf.n_updates_ < 50 + 4


def test_the_pocket_returns_weights_of_no_more_updates():
    X, y = noisy()
    clf = Perceptron(max_updates=300, max_iter=50).fit(X, y)
    assert clf.stop_reason_ == "max_updates"
    assert 0 < clf.n_updates_ <= 300


def test_the_margin_falls_with_the_updates_as_theorem_8_3_allows():
    """Figure 8.2 (c): the bound holds for every number of updates."""
    X, y = noisy()
    R, margins = theory.radius(X), []
    for updates in (1, 10, 40, 120, 500, 2000):
        options = {"learning_rate": 0.1, "schedule": "constant", "max_updates": updates}
        clf = MarginPerceptron(**options, **PUBLISHED, max_iter=1000).fit(X, y)
        assert clf.n_updates_ == updates
        margins.append(clf.geometric_margin_)
        assert margins[-1] >= theory.margin_bound(updates, R, 0.1)
    assert margins[0] > margins[-1]


class Counting:
    """A learner that updates at given examples; its calls may be long."""

    rows_per_call = 64

    def __init__(self, updates_at):
        self.updates_at, self.state, self.work = set(updates_at), [], 0

    def visit(self, order, rate):
        self.work += len(order)
        made = [int(l) for l in order if int(l) in self.updates_at]
        self.state.extend(made)
        return Tally(len(made), 0.0, 0.0, float(len(order)))


@given(updates_at=st.sets(st.integers(0, 199)), most=st.integers(1, 50), rows=st.integers(1, 200))
def test_calls_that_go_too_far_are_undone(updates_at, most, rows):
    learner = Counting(updates_at)
    tally, visited = loop.run_updates(
        learner, np.arange(rows), lambda visited: 1.0, lambda: False, most
    )
    expected = sorted(l for l in updates_at if l < rows)[:most]
    assert learner.state == expected
    assert tally.updates == len(expected)
    assert tally.weight == visited
    assert len(expected) == most or visited == rows
    assert learner.work <= visited + 2 * learner.rows_per_call
