"""Linear machines for many C: the optimum at each, for fewer passes; and the choice of one."""

import os
import pickle
import signal
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, PredefinedSplit, StratifiedKFold

import widemargin
from helpers.stopping import Recorder
from widemargin import SVC, LinearSVC, LinearSVCCV, LinearSVR, Perceptron
from widemargin.linear_svm import linear_svm_path

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 6)) * np.where(rng.random((300, 6)) < 0.5, 1.0, 0.0)
SCORE = X[:, 0] + X[:, 1] - X[:, 2] + 0.7 * rng.normal(size=300) + 0.3
Y2 = np.where(SCORE > 0, "yes", "no")
Y3 = np.digitize(SCORE, [-0.5, 0.5])
WEIGHTS = rng.choice([0.0, 0.5, 2.0], size=300)
CS = np.logspace(-3, 1, 10)
TOL = 1e-4


# ------------------------------------------------------------------------------- linear_svm_path


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weighted"])
@pytest.mark.parametrize("dual", ["auto", True, False])
@pytest.mark.parametrize(
    ("estimator", "y"),
    [
        (LinearSVC(), Y2),
        (LinearSVC(loss="hinge"), Y2),
        (LinearSVC(loss="hinge", scaling="standard"), Y3),
        (LinearSVC(loss="hinge", intercept_scaling=1.0), Y2),
        (LinearSVC(loss="hinge", fit_intercept=False), Y2),
        (LinearSVR(epsilon=0.1), SCORE),
        (LinearSVR(loss="squared_epsilon_insensitive"), SCORE),
    ],
    ids=["squared", "hinge", "three", "penalised", "no intercept", "regression", "squared tube"],
)
def test_the_optimum_at_every_C(estimator, y, dual, weights):
    options = {"dual": dual, "tol": TOL, "random_state": 0, "max_iter": 100_000}
    path = linear_svm_path(X, y, CS, estimator=estimator, sample_weight=weights, **options)
    assert_array_equal(path.Cs, CS)
    for C, model, primal in zip(CS, path.models, path.primal_objective, strict=True):
        alone = clone(estimator).set_params(**options, C=C).fit(X, y, weights)
        assert model.get_params() == alone.get_params()
        assert model.converged_
        assert_allclose(primal, alone.primal_objective_, rtol=1.01 * TOL)
    assert np.all(path.duality_gap >= 0)
    assert np.all(path.duality_gap <= TOL * path.primal_objective)
    assert len(path.seconds) == len(path.n_iter) == len(path.dual_objective) == len(CS)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("dual", [True, False])
def test_fewer_passes_than_fits_that_start_anew(loss, dual):
    examples = load_digits(n_class=4, return_X_y=True)
    options = {"loss": loss, "dual": dual, "random_state": 0, "scaling": "standard"}
    path = linear_svm_path(*examples, CS, **options, max_iter=100_000)
    alone = [LinearSVC(C=C, **options, max_iter=100_000).fit(*examples).n_iter_ for C in CS]
    assert path.n_iter.sum() < 0.7 * sum(alone)


def test_the_solver_of_the_last_C_is_kept():
    solvers = [model.solver_ for model in linear_svm_path(X, Y2, CS, loss="hinge").models]
    assert solvers == sorted(solvers)  # "dual", then "interior"


def test_nothing_to_do_where_the_last_model_is_good_enough():
    path = linear_svm_path(X, Y2, [1.0, 1.0, 1.000001], random_state=0)
    assert_array_equal(path.n_iter[1:], [0, 0])
    assert all(model.converged_ and len(model.history_) for model in path.models)


def test_values_in_any_order():
    up = linear_svm_path(X, Y2, [0.1, 1.0, 10.0], random_state=0)
    mixed = linear_svm_path(X, Y2, [1.0, 10.0, 0.1], random_state=0)
    assert_array_equal(mixed.primal_objective, up.primal_objective[[1, 2, 0]])
    assert [model.C for model in mixed.models] == [1.0, 10.0, 0.1]


def test_sparse():
    dense = linear_svm_path(X, Y3, CS, scaling="standard")
    csr = linear_svm_path(sp.csr_array(X), Y3, CS, scaling="standard")
    assert_allclose(csr.primal_objective, dense.primal_objective, rtol=1.01 * TOL)
    assert dense.primal_objective.shape == (10, 3)


def test_models_of_a_path_are_independent(tmp_path):
    path = linear_svm_path(X, Y2, [0.1, 10.0], dual=False)
    first, second = path.models
    private = {name for name in vars(first) if name.startswith("_")}
    assert private <= {name for name in vars(LinearSVC().fit(X, Y2)) if name.startswith("_")}
    assert first.history_[-1]["iteration"] == first.n_iter_
    assert second.history_[-1]["iteration"] == second.n_iter_
    before = first.coef_.copy()
    second.fit(X[:50], Y2[:50])
    assert_array_equal(first.coef_, before)

    widemargin.save(first, tmp_path / "model.safetensors")
    for again in (
        widemargin.load(tmp_path / "model.safetensors"),
        pickle.loads(pickle.dumps(first)),
    ):
        assert_array_equal(again.decision_function(X), first.decision_function(X))


def test_models_that_go_on():
    """A model that was asked to goes on from the solution of its own C."""
    path = linear_svm_path(X, Y2, [0.1, 1.0], loss="hinge", warm_start=True, random_state=0)
    for model in path.models:
        assert model.fit(X, Y2).n_iter_ == 0
        model.set_params(C=1.05 * model.C, dual=True).fit(X, Y2)
        alone = LinearSVC(C=model.C, loss="hinge", dual=True, random_state=0).fit(X, Y2)
        assert model.n_iter_ < alone.n_iter_
        assert_allclose(model.primal_objective_, alone.primal_objective_, rtol=1.01 * TOL)


def test_the_estimator_is_left_alone():
    estimator = LinearSVC(C=7.0)
    linear_svm_path(X, Y2, [1.0], estimator=estimator, loss="hinge")
    assert estimator.C == 7.0
    assert estimator.loss == "squared_hinge"
    assert not hasattr(estimator, "coef_")


def test_callbacks_see_every_fit():
    recorder = Recorder()
    path = linear_svm_path(X, Y2, CS, estimator=LinearSVC().set_callbacks(recorder))
    assert len(path.models) == 10
    assert recorder.count >= 10
    assert recorder.torn_down == 10


def test_interrupted(ctrl_c):
    """Ctrl-C ends the path with the C at hand, a usable model that says what is left."""
    many = np.random.default_rng(0)
    hard = many.normal(size=(100_000, 30))
    labels = (hard.sum(axis=1) + 5 * many.normal(size=100_000) > 0).astype(int)
    timer = threading.Timer(2.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.warns(ConvergenceWarning, match="was interrupted after"):
        path = linear_svm_path(
            hard, labels, [1e-3, 1e3, 1e6], loss="hinge", dual=True, tol=1e-9, max_iter=10**9
        )
    timer.join()
    assert 1 <= len(path.models) < 3
    assert path.models[-1].stop_reason_ == "interrupted"
    assert set(path.models[-1].predict(hard[:10])) <= {0, 1}


@pytest.mark.parametrize("Cs", [[], [0.0], [-1.0, 1.0], [np.inf], [np.nan], 1.0, [[1.0]]])
def test_bad_values_of_C(Cs):
    with pytest.raises(ValueError, match=r"Cs=.* positive numbers"):
        linear_svm_path(X, Y2, Cs)
    if not np.isscalar(Cs):
        with pytest.raises(ValueError, match=r"Cs=.* positive numbers"):
            LinearSVCCV(Cs=Cs).fit(X, Y2)


@pytest.mark.parametrize("estimator", [Perceptron(), SVC(), LinearSVCCV()])
def test_other_estimators(estimator):
    with pytest.raises(TypeError, match="no C to vary; use LinearSVC or LinearSVR"):
        linear_svm_path(X, Y2, [1.0], estimator=estimator)


# ------------------------------------------------------------------------------------ LinearSVCCV


@pytest.mark.parametrize("y", [Y2, Y3], ids=["two", "three"])
def test_the_choice_of_a_grid_search(y):
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    ours = LinearSVCCV(Cs=CS[::-1], cv=folds, tol=1e-7, scaling="standard", dual=False).fit(X, y)
    alone = LinearSVC(tol=1e-7, scaling="standard", dual=False)
    search = GridSearchCV(alone, {"C": CS}, cv=folds).fit(X, y)
    theirs = [search.cv_results_[f"split{k}_test_score"] for k in range(3)]
    assert_array_equal(ours.Cs_, CS)
    assert_allclose(ours.scores_, np.transpose(theirs), atol=1e-12)
    assert_allclose(ours.validation_curve_, search.cv_results_["mean_test_score"])
    assert search.best_params_["C"] == ours.C_
    assert ours.best_score_ == ours.validation_curve_.max()
    assert_allclose(ours.coef_, search.best_estimator_.coef_)
    assert ours.converged_


def test_a_validation_set():
    some, others = slice(0, 200), slice(200, 300)
    split = PredefinedSplit(np.where(np.arange(300) < 200, -1, 0))
    options = {"Cs": CS, "tol": 1e-7, "dual": False}
    ours = LinearSVCCV(cv=split, **options).fit(X, Y2)
    assert ours.scores_.shape == (10, 1)
    pair = LinearSVCCV(cv=[(np.arange(200), np.arange(200, 300))], **options).fit(X, Y2)
    given = LinearSVCCV(**options).fit(X[some], Y2[some], X_val=X[others], y_val=Y2[others])
    csr = LinearSVCCV(**options).fit(
        sp.csr_array(X[some]), Y2[some], X_val=X[others], y_val=Y2[others]
    )
    for same in (pair, given, csr):
        assert_array_equal(same.scores_, ours.scores_)
        assert_allclose(same.coef_, ours.coef_, rtol=1e-4)
    alone = LinearSVC(C=CS[3], tol=1e-7, dual=False).fit(X[some], Y2[some])
    assert ours.scores_[3, 0] == alone.score(X[others], Y2[others])
    assert_allclose(ours.coef_, LinearSVC(C=ours.C_).fit(X, Y2).coef_, atol=0.01)


def test_the_validation_set_is_kept_out():
    some, others = slice(0, 200), slice(200, 300)
    ours = LinearSVCCV(Cs=CS, refit=False, tol=1e-7, dual=False)
    ours.fit(X[some], Y2[some], WEIGHTS[some], X_val=X[others], y_val=Y2[others])
    alone = LinearSVC(C=ours.C_, tol=1e-7, dual=False).fit(X[some], Y2[some], WEIGHTS[some])
    assert_allclose(ours.coef_, alone.coef_)
    assert ours.best_score_ == alone.score(X[others], Y2[others])


def test_weights_count_in_training_and_in_scores():
    kept = WEIGHTS > 0
    options = {"Cs": CS[:5], "cv": 3, "random_state": 0}
    weighted = LinearSVCCV(**options).fit(X, Y2, WEIGHTS)
    without = LinearSVCCV(**options).fit(X[kept], Y2[kept], WEIGHTS[kept])
    assert_array_equal(weighted.scores_, without.scores_)
    assert np.any(weighted.scores_ != LinearSVCCV(**options).fit(X, Y2).scores_)


def test_pairs_number_all_rows_whatever_their_weights():
    pair = [(np.arange(200), np.arange(200, 300))]
    ours = LinearSVCCV(Cs=[1.0], cv=pair, tol=1e-7, dual=False).fit(X, Y2, WEIGHTS)
    alone = LinearSVC(tol=1e-7, dual=False).fit(X[:200], Y2[:200], WEIGHTS[:200])
    assert_allclose(ours.best_score_, alone.score(X[200:], Y2[200:], WEIGHTS[200:]))


def test_scoring():
    by_name = LinearSVCCV(Cs=CS[:4], scoring="balanced_accuracy").fit(X, Y3)
    by_call = LinearSVCCV(Cs=CS[:4], scoring=lambda model, X, y: -model.C).fit(X, Y3)
    assert by_name.best_score_ < 1
    assert by_call.Cs_[0] == by_call.C_


def test_callbacks_watch_the_last_fit():
    recorder = Recorder()
    clf = LinearSVCCV(Cs=CS, cv=2).set_callbacks(recorder).fit(X, Y2)
    assert recorder.torn_down == 1
    assert recorder.fitted[-1].coef_.shape == clf.coef_.shape


def test_bad_validation_sets():
    clf = LinearSVCCV(Cs=[1.0])
    with pytest.raises(ValueError, match="X_val and y_val go together"):
        clf.fit(X, Y2, X_val=X)
    with pytest.raises(ValueError, match="y_val has the class 'maybe', which y has not"):
        clf.fit(X, Y2, X_val=X[:2], y_val=["yes", "maybe"])
    with pytest.raises(ValueError, match="5 features"):
        clf.fit(X, Y2, X_val=X[:, :5], y_val=Y2)
    with pytest.raises(ValueError, match=r"refit=False, but cv=5 has 5 folds"):
        clf.set_params(refit=False).fit(X, Y2)
    assert not hasattr(clf, "classes_")


def test_plot(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    clf = LinearSVCCV(Cs=CS, cv=3).fit(X, Y2)
    ax = clf.plot_curve()
    assert ax.get_xscale() == "log"
    assert_allclose(ax.lines[0].get_ydata(), 100 * (1 - clf.validation_curve_))
    assert_array_equal(ax.lines[1].get_xdata(), [clf.C_, clf.C_])
    _, mine = plt.subplots()
    assert clf.plot_curve(mine) is mine
    auc = LinearSVCCV(Cs=CS, cv=2, scoring="roc_auc").fit(X, Y2)
    assert auc.plot_curve().get_ylabel() == "validation score (roc_auc)"
    plt.close("all")


def test_saved(tmp_path):
    clf = LinearSVCCV(Cs=[0.1, 1.0], cv=2).fit(sp.csr_array(X), Y2)
    widemargin.save(clf, tmp_path / "clf.safetensors")
    loaded = widemargin.load(tmp_path / "clf.safetensors")
    assert_array_equal(loaded.decision_function(X), clf.decision_function(X))
    assert_array_equal(loaded.scores_, clf.scores_)
    assert loaded.C_ == clf.C_
