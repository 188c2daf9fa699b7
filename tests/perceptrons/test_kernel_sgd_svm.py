"""`KernelSGDSVC`: stochastic gradient in the dual (8.17) equals its reference and `SGDSVC`."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris

from helpers.dual_perceptron import alpha_y, noisy
from widemargin import SGDSVC, SVC, KernelSGDSVC, load, save
from widemargin.reference import perceptrons as reference

pytestmark = pytest.mark.filterwarnings("ignore:.*Theorem 8:sklearn.exceptions.ConvergenceWarning")
RATE = 0.0371
PLAIN = {"scaling": None, "gamma": 0.5, "shuffle": False, "tol": None, "learning_rate": RATE}
schedules = pytest.mark.parametrize("schedule", ["inverse", "constant", "decay"])


def rates(schedule, n, epochs, mu, rate=RATE):
    """The step of every example, from its definition."""
    visits = np.arange(n * epochs)
    if schedule == "inverse":
        return 1 / (mu * (visits + 1 / (rate * mu)))
    return rate / (1 + 0.1 * (visits // n)) if schedule == "decay" else np.full(n * epochs, rate)


def gaussian(X, Z=None, gamma=0.5):
    Z = X if Z is None else Z
    return np.exp(-gamma * ((X[:, None] - Z[None]) ** 2).sum(axis=2))


@schedules
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@given(st.integers(0, 10**6), st.sampled_from([1e-3, 0.2, 5.0, 1 / RATE]), st.booleans())
@settings(deadline=None, max_examples=6)
def test_equation_8_17(container, schedule, seed, mu, intercept):
    """Several blocks, of which the last is not full; λμ = 1 forgets everything before."""
    X, y = noisy(n=300, seed=seed)
    epochs = 2
    clf = KernelSGDSVC(
        mu=mu, schedule=schedule, max_iter=epochs, fit_intercept=intercept, **PLAIN
    ).fit(container(X), y)
    K, order = gaussian(X), np.tile(np.arange(len(y)), epochs)
    if intercept:
        alpha, b = reference.dual_sgd_svm(K, y, order, rates(schedule, len(y), epochs, mu), mu)
        assert_allclose(alpha_y(clf, len(y))[:, 0], alpha * y / mu, rtol=1e-9, atol=1e-12)
        assert_allclose(clf.intercept_, [b], rtol=1e-9, atol=1e-12)
    else:
        assert clf.intercept_ == [0.0]
    beta = alpha_y(clf, len(y))[:, 0]
    assert_allclose(clf.geometric_margin_, 2 / np.sqrt(beta @ K @ beta), rtol=1e-7)
    slack = np.maximum(0.0, 1.0 - y * (K @ beta + clf.intercept_))
    cost = 0.5 * beta @ K @ beta + slack.mean() / mu
    assert_allclose(clf.primal_objective_, cost, rtol=1e-9)
    assert_allclose(clf.decision_function(container(X)), K @ beta + clf.intercept_, atol=1e-9)


@schedules
def test_the_linear_kernel_is_sgdsvc(schedule):
    X, y = noisy(n=500)
    options = {"mu": 0.1, "schedule": schedule, "max_iter": 3, "random_state": 0, "tol": None}
    dual = KernelSGDSVC(kernel="linear", learning_rate=RATE, **options).fit(X, y)
    primal = SGDSVC(average=False, learning_rate=RATE, **options).fit(X, y)
    assert_allclose(dual.decision_function(X), primal.decision_function(X), rtol=1e-8, atol=1e-10)
    assert_allclose(dual.primal_objective_, primal.primal_objective_, rtol=1e-8)
    assert dual.n_updates_ == primal.n_updates_


def test_comes_to_the_solution_of_svc():
    X, y = noisy(n=200)
    clf = KernelSGDSVC(mu=0.02, gamma=0.5, scaling=None, max_iter=2000, random_state=0).fit(X, y)
    exact = SVC(C=clf.C_, gamma=0.5).fit(X, y)
    assert clf.converged_
    assert clf.primal_objective_ >= exact.dual_objective_
    assert clf.primal_objective_ == pytest.approx(exact.primal_objective_, rel=0.02)


def test_weights_and_classes():
    X, y = load_iris(return_X_y=True)
    weights = np.where(np.arange(150) % 5 == 0, 0.0, 2.0)
    wrong = np.where(weights == 0.0, (y + 1) % 3, y)
    options = {"mu": 0.01, "max_iter": 30, "tol": None, "random_state": 0}
    clf = KernelSGDSVC(**options).fit(X, wrong, sample_weight=weights)
    assert clf.dual_coef_.shape[0] == 3
    assert np.all(weights[clf.support_] > 0)
    assert clf.score(X[weights > 0], y[weights > 0]) > 0.95


def test_a_weight_multiplies_the_step():
    X, y = noisy(n=60)
    c = np.random.default_rng(0).choice([0.5, 1.0, 3.0], size=60)
    clf = KernelSGDSVC(mu=0.2, schedule="constant", max_iter=1, **PLAIN).fit(X, y, sample_weight=c)
    K, beta, b = gaussian(X), np.zeros(60), 0.0
    for l in range(60):
        inside = y[l] * (beta @ K[:, l] + b) <= 1
        beta = (1 - RATE * 0.2) * beta
        if inside:
            beta[l] += RATE * c[l] * y[l]
            b += RATE * c[l] * y[l]
    assert_allclose(alpha_y(clf, 60)[:, 0], beta, rtol=1e-9, atol=1e-12)


def test_streams_go_on_where_they_were(tmp_path):
    """Chunks are what one pass would be, also of a saved model."""
    X, y = noisy(n=400)
    once = KernelSGDSVC(mu=0.1, max_iter=1, **PLAIN).fit(X, y)
    parts = KernelSGDSVC(mu=0.1, **PLAIN)
    for rows in np.array_split(np.arange(400), 5):
        parts.partial_fit(X[rows], y[rows], classes=[-1.0, 1.0])
        save(parts, tmp_path / "model")
        parts = load(tmp_path / "model")
    assert_allclose(parts.decision_function(X), once.decision_function(X), rtol=1e-8, atol=1e-10)
    assert_allclose(parts.geometric_margin_, once.geometric_margin_, rtol=1e-8)


def test_resumed_training_is_one_training():
    X, y = noisy(n=300)
    options = {"mu": 0.1, "tol": None, "random_state": 0, "gamma": 0.5}
    once = KernelSGDSVC(max_iter=6, **options).fit(X, y)
    twice = KernelSGDSVC(max_iter=3, warm_start=True, **options).fit(X, y).fit(X, y)
    assert_array_equal(once.support_, twice.support_)
    assert_allclose(once.dual_coef_, twice.dual_coef_, rtol=1e-7, atol=1e-12)


def test_early_stopping_returns_the_best_epoch():
    X, y = noisy(n=400)
    clf = KernelSGDSVC(mu=1e-4, max_iter=50, early_stopping=True, gamma=5.0, random_state=0)
    clf.fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:])
    errors = [record["validation_error"] for record in clf.history_]
    assert 1.0 - clf.score(X[300:], y[300:]) == pytest.approx(min(errors))


@pytest.mark.parametrize("kernel", ["precomputed", "callable"])
def test_given_kernels(kernel):
    X, y = noisy(n=100)
    named = KernelSGDSVC(mu=0.1, max_iter=3, **PLAIN).fit(X, y)
    if kernel == "precomputed":
        given = KernelSGDSVC(mu=0.1, max_iter=3, kernel="precomputed", **PLAIN).fit(gaussian(X), y)
        f = given.decision_function(gaussian(X))
    else:
        given = KernelSGDSVC(mu=0.1, max_iter=3, kernel=gaussian, **PLAIN).fit(X, y)
        f = given.decision_function(X)
    assert_allclose(f, named.decision_function(X), rtol=1e-8, atol=1e-10)


def test_a_step_that_is_too_long():
    X, y = noisy(n=50)
    with pytest.raises(ValueError, match="use learning_rate <= 1/mu"):
        KernelSGDSVC(mu=10.0, learning_rate=0.2).fit(X, y)
