"""Machines for many C: the optimum at each, for fewer steps; and the choice of one."""

import os
import signal
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, PredefinedSplit, StratifiedKFold

import widemargin
from widemargin import SVC, SVCCV, SVR, NuSVR, Perceptron
from widemargin.svm import svm_path

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 4))
SCORE = X[:, 0] + X[:, 1] * X[:, 2] + 0.4 * rng.normal(size=300)
Y2 = np.where(SCORE > 0, "yes", "no")
Y3 = np.digitize(SCORE, [-0.5, 0.5])
WEIGHTS = rng.choice([0.0, 0.5, 2.0], size=300)
CS = np.logspace(-2, 3, 10)


# --------------------------------------------------------------------------------------- svm_path


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weighted"])
@pytest.mark.parametrize(
    ("estimator", "y"),
    [(SVC(), Y2), (SVC(), Y3), (SVC(multi_class="ovr"), Y3), (SVR(), SCORE), (NuSVR(), SCORE)],
    ids=["SVC", "SVC three", "SVC one against rest", "SVR", "NuSVR"],
)
def test_the_optimum_at_every_C(estimator, y, weights):
    path = svm_path(X, y, CS, estimator=estimator, sample_weight=weights, gamma=0.3, tol=1e-4)
    assert_array_equal(path.Cs, CS)
    for C, model, objective in zip(CS, path.models, path.dual_objective, strict=True):
        alone = clone(estimator).set_params(gamma=0.3, tol=1e-4, C=C).fit(X, y, weights)
        assert model.get_params() == alone.get_params()
        assert_allclose(objective, alone.dual_objective_, rtol=1e-4)
        assert_allclose(model._outputs(X), alone._outputs(X), atol=0.02)
    assert np.all(path.kkt_violation <= 1e-4)
    assert np.all(path.duality_gap >= 0)
    assert len(path.seconds) == len(path.n_iter) == len(path.primal_objective) == len(CS)


@pytest.mark.parametrize(("gamma", "Cs"), [(0.02, np.logspace(-3, 1, 10)), (5.0, CS)])
def test_fewer_steps_than_fits_that_start_anew(gamma, Cs):
    """Most coefficients at bounds, or most of them free."""
    path = svm_path(X, Y2, Cs, gamma=gamma)
    alone = [SVC(C=C, gamma=gamma).fit(X, Y2) for C in Cs]
    assert path.n_iter.sum() < 0.7 * sum(model.n_iter_[0] for model in alone)


def test_models_of_a_path_are_independent():
    path = svm_path(X, Y2, [1.0, 10.0], gamma=0.3)
    first, second = path.models
    assert len(first.support_) != len(second.support_)
    assert not first.warm_start
    assert first.history_[0]["steps"] == second.history_[0]["steps"] == 0
    assert first.history_[-1]["steps"] == first.n_iter_[0]
    before = first.dual_coef_.copy()
    second.fit(X[:50], Y2[:50])
    assert_array_equal(first.dual_coef_, before)


def test_values_in_any_order():
    up, mixed = svm_path(X, Y2, [0.1, 1.0, 10.0]), svm_path(X, Y2, [1.0, 10.0, 0.1])
    assert_array_equal(mixed.dual_objective, up.dual_objective[[1, 2, 0]])
    assert [model.C for model in mixed.models] == [1.0, 10.0, 0.1]


def test_sparse_and_precomputed():
    dense = svm_path(X, Y2, CS[:5], gamma=0.3)
    csr = svm_path(sp.csr_array(X), Y2, CS[:5], gamma=0.3)
    given = svm_path(rbf_kernel(X, gamma=0.3), Y2, CS[:5], kernel="precomputed")
    assert_allclose(csr.dual_objective, dense.dual_objective, rtol=1e-4)
    assert_allclose(given.dual_objective, dense.dual_objective, rtol=1e-4)


def test_interrupted(ctrl_c):
    """Ctrl-C ends the path with the C at hand, a usable model that says what is left."""
    many = np.random.default_rng(0)
    hard, labels = many.normal(size=(20_000, 20)), many.integers(0, 2, size=20_000)
    timer = threading.Timer(2.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.warns(ConvergenceWarning, match="was interrupted after"):
        path = svm_path(hard, labels, [1e-3, 1e3, 1e4], gamma=0.3)
    timer.join()
    assert 1 <= len(path.models) < 3
    assert path.models[-1].stop_reason_ == "interrupted"
    assert set(path.models[-1].predict(hard[:10])) <= {0, 1}


def test_the_estimator_is_left_alone():
    estimator = SVC(C=7.0)
    svm_path(X, Y2, [1.0], estimator=estimator, gamma=0.5)
    assert estimator.C == 7.0
    assert estimator.gamma == "scale"
    assert not hasattr(estimator, "dual_coef_")


@pytest.mark.parametrize("Cs", [[], [0.0], [-1.0, 1.0], [np.inf], [np.nan], 1.0, [[1.0]]])
def test_bad_values_of_C(Cs):
    with pytest.raises(ValueError, match=r"Cs=.* positive numbers"):
        svm_path(X, Y2, Cs)
    if not np.isscalar(Cs):
        with pytest.raises(ValueError, match=r"Cs=.* positive numbers"):
            SVCCV(Cs=Cs).fit(X, Y2)


@pytest.mark.parametrize("estimator", [Perceptron(), widemargin.OneClassSVM(), SVCCV()])
def test_estimators_without_C(estimator):
    with pytest.raises(TypeError, match="no C to vary"):
        svm_path(X, Y2, [1.0], estimator=estimator)


# ------------------------------------------------------------------------------------------ SVCCV


@pytest.mark.parametrize("y", [Y2, Y3], ids=["two", "three"])
def test_the_choice_of_a_grid_search(y):
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    gammas = [0.05, 0.3, 2.0]
    ours = SVCCV(Cs=CS[::-1], gamma=gammas, cv=folds).fit(X, y)
    grid = {"gamma": gammas, "C": CS}
    search = GridSearchCV(SVC(), grid, cv=folds).fit(X, y)
    splits = [search.cv_results_[f"split{k}_test_score"] for k in range(3)]
    order = [(p["gamma"], p["C"]) for p in search.cv_results_["params"]]
    theirs = np.array(
        [[splits[k][order.index((g, C))] for k in range(3)] for g in gammas for C in CS]
    )
    assert_allclose(ours.scores_.reshape(-1, 3), theirs, atol=0.02)  # within tol of the optimum
    assert_array_equal(ours.Cs_, CS)
    mean = ours.scores_.mean(axis=2)
    assert ours.best_score_ == mean.max()
    assert mean[list(ours.gammas_).index(ours.gamma_), list(ours.Cs_).index(ours.C_)] == mean.max()

    refitted = SVC(C=ours.C_, gamma=ours.gamma_).fit(X, y)
    assert_array_equal(ours.predict(X), refitted.predict(X))
    assert_array_equal(ours.dual_coef_, refitted.dual_coef_)
    assert ours.kkt_violation_ is not None


def test_a_validation_set():
    fold = np.where(np.arange(300) < 200, -1, 0)
    ours = SVCCV(Cs=CS, cv=PredefinedSplit(fold)).fit(X, Y2)
    assert ours.scores_.shape == (1, 10, 1)
    pair = SVCCV(Cs=CS, cv=[(np.arange(200), np.arange(200, 300))]).fit(X, Y2)
    assert_array_equal(pair.scores_, ours.scores_)
    alone = SVC(C=CS[3], gamma=ours.gamma_).fit(X[:200], Y2[:200]).score(X[200:], Y2[200:])
    assert_allclose(ours.scores_[0, 3, 0], alone, atol=0.02)


def test_weights_count_in_training_and_in_scores():
    kept = WEIGHTS > 0
    weighted = SVCCV(Cs=CS[:5], gamma=0.3, cv=3).fit(X, Y2, WEIGHTS)
    without = SVCCV(Cs=CS[:5], gamma=0.3, cv=3).fit(X[kept], Y2[kept], WEIGHTS[kept])
    assert_array_equal(weighted.scores_, without.scores_)
    assert np.any(weighted.scores_ != SVCCV(Cs=CS[:5], gamma=0.3, cv=3).fit(X, Y2).scores_)


def test_pairs_number_all_rows_whatever_their_weights():
    pair = [(np.arange(200), np.arange(200, 300))]
    ours = SVCCV(Cs=[1.0], gamma=0.3, cv=pair, tol=1e-6).fit(X, Y2, WEIGHTS)
    alone = SVC(gamma=0.3, tol=1e-6).fit(X[:200], Y2[:200], WEIGHTS[:200])
    assert_allclose(ours.best_score_, alone.score(X[200:], Y2[200:], WEIGHTS[200:]))


def test_scoring():
    by_name = SVCCV(Cs=CS[:4], scoring="balanced_accuracy").fit(X, Y3)
    by_call = SVCCV(Cs=CS[:4], scoring=lambda model, X, y: -model.C).fit(X, Y3)
    assert by_name.best_score_ < 1
    assert by_call.Cs_[0] == by_call.C_
    loss = SVCCV(Cs=[0.1, 1.0], cv=2, scoring="neg_log_loss", probability=True, random_state=0)
    assert loss.fit(X, Y2).best_score_ < 0
    assert loss.predict_proba(X).shape == (300, 2)


def test_kernels_without_gamma():
    K = rbf_kernel(X, gamma=0.3)
    named = SVCCV(Cs=CS[:5], gamma=0.3).fit(X, Y2)
    for kernel, inputs in (("precomputed", K), (lambda a, b: rbf_kernel(a, b, gamma=0.3), X)):
        other = SVCCV(Cs=CS[:5], kernel=kernel).fit(inputs, Y2)
        assert_allclose(other.scores_, named.scores_, atol=0.02)
        assert_array_equal(other.gammas_, [0.0])
    linear = SVCCV(Cs=CS[:5], kernel="linear").fit(X, Y2)
    assert linear.coef_.shape == (1, 4)


@pytest.mark.parametrize("gamma", [[0.1, 0.0], [0.1, -1.0], ["scale", "auto", "best"], [], [[1.0]]])
def test_bad_gamma(gamma):
    with pytest.raises(ValueError, match="gamma="):
        SVCCV(gamma=gamma).fit(X, Y2)


def test_saved(tmp_path):
    clf = SVCCV(Cs=[0.1, 1.0], gamma=["scale", 0.5], cv=2).fit(sp.csr_array(X), Y2)
    widemargin.save(clf, tmp_path / "clf.safetensors")
    loaded = widemargin.load(tmp_path / "clf.safetensors")
    assert_array_equal(loaded.decision_function(X), clf.decision_function(X))
    assert_array_equal(loaded.scores_, clf.scores_)
    assert loaded.C_ == clf.C_
