"""With mistakes left, perceptrons return the best weights that training passed (the pocket)."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from helpers.stopping import Recorder
from widemargin import KernelPerceptron, Perceptron, theory
from widemargin.datasets import fetch_connect4, fetch_forest

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 6))
NOISY = (X[:, 0] + rng.normal(size=400) > 0).astype(int)
CLASSES = np.digitize(X[:, 0] + 0.5 * rng.normal(size=400), [-0.5, 0.5])
U = np.arange(1.0, 7.0)
WIDE = X[np.abs(X @ U - 0.3) > 1.0]
WEIGHTS = rng.uniform(0.2, 3.0, 400)
WILD = X * 10.0 ** np.arange(6) + 10.0 ** np.arange(6)  # columns of very different scales


@pytest.fixture(params=["primal", "dual"])
def clf(request):
    return Perceptron() if request.param == "primal" else KernelPerceptron(random_state=0)


def training_errors(clf):
    return [record["training_error"] for record in clf.history_]


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("y", [NOISY, CLASSES], ids=["two classes", "three classes"])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_the_weights_of_the_best_epoch_are_returned(clf, make, y, weights):
    clf.fit(make(X), y, weights)
    errors = training_errors(clf)
    assert clf.score(make(X), y, weights) == pytest.approx(1 - min(errors))
    assert clf.best_iter_ == 1 + int(np.argmin(errors))
    if errors[-1] > min(errors):
        assert clf.best_iter_ < clf.n_iter_


@pytest.mark.parametrize("penalty", [None, "l2"])
@pytest.mark.parametrize("y", [NOISY, CLASSES], ids=["two classes", "three classes"])
def test_mistakes_left_are_not_convergence(penalty, y):
    clf = Perceptron(penalty=penalty).fit(X, y)
    assert clf.stop_reason_ == "tol"
    assert not clf.converged_


@pytest.mark.parametrize("penalty", [None, "l2"])
def test_an_epoch_without_a_mistake_is_convergence(penalty):
    clf = Perceptron(penalty=penalty).fit(WIDE, WIDE @ U > 0.3)
    assert clf.converged_
    assert clf.history_[-1]["updates"] == 0


def test_without_tol_the_last_weights_are_returned():
    """The published algorithm, as the tests against the reference have it."""
    options = {"max_iter": 9, "tol": None, "shuffle": False}
    clf = Perceptron(**options).fit(X, NOISY)
    online = Perceptron()
    for _ in range(9):
        online.partial_fit(X, NOISY)
    assert_allclose(clf.coef_, online.coef_)
    assert clf.best_iter_ == 9
    assert "training_error" not in clf.history_[-1]


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("y", [NOISY, CLASSES], ids=["two classes", "three classes"])
def test_columns_of_very_different_scales(make, y):
    """Steps of 1e5 in one column and of 1 in another would drown the second."""
    reference = Perceptron(scaling="standard").fit(X, y).score(X, y)
    clf = Perceptron().fit(make(WILD), y)
    assert clf.score(make(WILD), y) > reference - 0.05
    assert_allclose(
        make(WILD) @ clf.coef_.T + clf.intercept_, clf.decision_function(WILD).reshape(400, -1)
    )
    assert_allclose(clf.feature_scale_, np.ptp(WILD, axis=0))  # of the run whose weights they are


def test_inputs_are_not_scaled_if_the_caller_chose_how_or_if_it_changes_nothing():
    spans = (X - X.min(0)) / np.ptp(X, axis=0)  # all of [0, 1]
    assert_array_equal(Perceptron().fit(spans, NOISY).feature_scale_, np.ones(6))
    chosen = Perceptron(scaling="standard").fit(WILD, NOISY)
    assert_allclose(chosen.feature_scale_, WILD.std(axis=0))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_separable_classes_are_separated_within_novikoffs_bound(make):
    y = WIDE @ U > 0.3
    clf = Perceptron().fit(make(WIDE), y)
    assert clf.converged_
    assert clf.stop_reason_ == "no_update"
    assert clf.score(make(WIDE), y) == 1.0
    inputs = (WIDE - clf.feature_offset_) / clf.feature_scale_  # as trained on
    u, a = U * clf.feature_scale_, U @ clf.feature_offset_ - 0.3
    rho = 2 * np.abs(inputs @ u + a).min() / np.sqrt(u @ u + a**2)
    assert clf.n_updates_ <= theory.novikoff_bound(theory.radius(inputs), rho, bias=True)


@pytest.mark.parametrize("seed", range(12))
def test_few_separable_examples_are_separated(seed):
    random = np.random.default_rng(seed)
    Z, u = random.normal(size=(60, 4)), random.normal(size=4)
    Z = Z[np.abs(Z @ u) > 0.05]
    clf = Perceptron().fit(Z * [1, 1, 30, 1], Z @ u > 0)
    assert clf.converged_
    assert clf.score(Z * [1, 1, 30, 1], Z @ u > 0) == 1.0


def test_an_interrupted_fit_returns_the_pocket(clf, ctrl_c):
    def interrupt(estimator, epoch):
        return ctrl_c() if epoch == 7 else None

    clf.set_params(tol=0.0, n_iter_no_change=100).set_callbacks(Recorder(interrupt))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf.fit(X, NOISY)
    assert clf.stop_reason_ == "interrupted"
    assert clf.score(X, NOISY) == pytest.approx(1 - min(training_errors(clf)))


def test_a_warm_start_keeps_the_pocket_unless_it_finds_better(clf):
    clf.set_params(warm_start=True, shuffle=False).fit(X, NOISY)
    scores = [clf.score(X, NOISY)]
    for _ in range(4):
        scores.append(clf.fit(X, NOISY).score(X, NOISY))
    assert scores == sorted(scores)


def test_partial_fit_continues_from_the_weights_returned():
    clf = Perceptron().fit(WILD, NOISY)
    before = clf.coef_
    right = WILD[clf.predict(WILD) == NOISY]
    clf.partial_fit(right, clf.predict(right))
    assert_allclose(clf.coef_, before, rtol=1e-9)


@pytest.mark.data
def test_forest_and_connect_4_with_defaults():
    """The thesis has 31.6 and 25.6 % (Table 8.1)."""
    forest, connect4 = fetch_forest(split="thesis"), fetch_connect4(split="thesis")
    for data, error in ((forest, 0.275), (connect4, 0.22)):
        clf = Perceptron().fit(data.X_train, data.y_train)
        assert 1 - clf.score(data.X_test, data.y_test) < error
