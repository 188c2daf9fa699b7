"""Linear machines for many C: the optimum at each, for fewer passes."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

import widemargin
from helpers.covering import every_pair
from helpers.stopping import Recorder
from widemargin import SVC, LinearSVC, LinearSVCCV, LinearSVR, Perceptron
from widemargin.linear_svm import linear_svm_path
from widemargin.linear_svm.inputs import LinearInputs
from widemargin.linear_svm.interior_point import PathPoint, interior_point
from widemargin.linear_svm.problem import LinearProblem

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 6)) * np.where(rng.random((300, 6)) < 0.5, 1.0, 0.0)
SCORE = X[:, 0] + X[:, 1] - X[:, 2] + 0.7 * rng.normal(size=300) + 0.3
Y2 = np.where(SCORE > 0, "yes", "no")
Y3 = np.digitize(SCORE, [-0.5, 0.5])
WEIGHTS = rng.choice([0.0, 0.5, 2.0], size=300)
CS = np.logspace(-3, 1, 10)
TOL = 1e-4


MACHINES = {
    "squared": (LinearSVC(), Y2),
    "hinge": (LinearSVC(loss="hinge"), Y2),
    "three": (LinearSVC(loss="hinge", scaling="standard"), Y3),
    "penalised": (LinearSVC(loss="hinge", intercept_scaling=1.0), Y2),
    "no intercept": (LinearSVC(loss="hinge", fit_intercept=False), Y2),
    "regression": (LinearSVR(epsilon=0.1), SCORE),
    "squared tube": (LinearSVR(loss="squared_epsilon_insensitive"), SCORE),
}


@pytest.mark.slow
@every_pair(machine=MACHINES, dual=["auto", True, False], weighted=[False, True])
def test_the_optimum_at_every_C(machine, dual, weighted):
    (estimator, y), weights = MACHINES[machine], WEIGHTS if weighted else None
    options = {"dual": dual, "tol": TOL, "random_state": 0, "max_iter": 100_000}
    path = linear_svm_path(X, y, CS, estimator=estimator, sample_weight=weights, **options)
    assert_array_equal(path.Cs, CS)
    assert all(model.converged_ for model in path.models)
    for k in (0, 3, 6, 9):
        model = path.models[k]
        alone = clone(estimator).set_params(**options, C=CS[k]).fit(X, y, weights)
        assert model.get_params() == alone.get_params()
        assert_allclose(path.primal_objective[k], alone.primal_objective_, rtol=1.01 * TOL)
    assert np.all(path.duality_gap >= 0)
    assert np.all(path.duality_gap <= TOL * path.primal_objective)
    assert len(path.seconds) == len(path.n_iter) == len(path.dual_objective) == len(CS)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("dual", [True, False])
@pytest.mark.parametrize(("intercept", "share"), [(None, 0.7), (1.0, 1.0)])
def test_fewer_passes_than_fits_that_start_afresh(loss, dual, intercept, share):
    examples = load_digits(n_class=4, return_X_y=True)
    options = {"loss": loss, "dual": dual, "random_state": 0, "scaling": "standard"}
    options["intercept_scaling"] = intercept
    path = linear_svm_path(*examples, CS, **options, max_iter=100_000)
    alone = [LinearSVC(C=C, **options, max_iter=100_000).fit(*examples).n_iter_ for C in CS]
    assert path.n_iter.sum() < share * sum(alone)


@pytest.mark.parametrize("machine", MACHINES)
def test_no_more_iterations_of_the_interior_point_method_than_afresh(machine):
    """Of a small problem an iteration may come so near to the bounds that the next C is far."""
    estimator, y = MACHINES[machine]
    path = linear_svm_path(X, y, CS, estimator=estimator, dual=False, tol=TOL)
    alone = [clone(estimator).set_params(C=C, dual=False, tol=TOL).fit(X, y).n_iter_ for C in CS]
    assert path.n_iter.sum() < 0.9 * sum(alone)


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


def test_models_that_resume():
    """With warm_start, a model of a path resumes from the solution of its own C."""
    options = {"loss": "hinge", "intercept_scaling": None, "random_state": 0}
    path = linear_svm_path(X, Y2, [0.1, 1.0], warm_start=True, **options)
    for model in path.models:
        assert model.fit(X, Y2).n_iter_ == 0
        model.set_params(C=1.05 * model.C, dual=True).fit(X, Y2)
        alone = LinearSVC(C=model.C, dual=True, **options).fit(X, Y2)
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


@pytest.mark.parametrize("dual", [True, False])
def test_interrupted(dual, ctrl_c):
    """Ctrl-C ends the path with the C being fitted; that model is usable and tells its gap."""
    recorder = Recorder(lambda estimator, count: ctrl_c() if estimator.C == 1e3 else None)
    estimator = LinearSVC(loss="hinge", dual=dual, tol=1e-9).set_callbacks(recorder)
    with pytest.warns(ConvergenceWarning, match="was interrupted after"):
        path = linear_svm_path(X, Y2, [1e-3, 1e3, 1e6], estimator=estimator)
    assert [model.C for model in path.models] == [1e-3, 1e3]
    assert path.models[-1].stop_reason_ == "interrupted"
    assert set(path.models[-1].predict(X[:10])) <= {"no", "yes"}


@pytest.mark.parametrize("Cs", [[], [0.0], [-1.0, 1.0], [-np.inf], [np.nan], 1.0, [[1.0]]])
def test_bad_values_of_C(Cs):
    with pytest.raises(ValueError, match=r"Cs=.* positive numbers"):
        linear_svm_path(X, Y2, Cs)


@pytest.mark.parametrize("estimator", [Perceptron(), SVC(), LinearSVCCV()])
def test_other_estimators(estimator):
    with pytest.raises(TypeError, match="no C to vary; use LinearSVC or LinearSVR"):
        linear_svm_path(X, Y2, [1.0], estimator=estimator)


def test_the_nearer_the_next_C_the_nearer_to_the_optimum_is_its_start():
    rng = np.random.default_rng(0)
    X, t = rng.normal(size=(60, 3)), np.where(np.arange(60) % 2, 1.0, -1.0)
    problem = LinearProblem(LinearInputs(X), t, np.full(60, 1e-2), 0.0, True, False, np.inf)

    def products(ratio):
        point = PathPoint(next_ratio=ratio)
        for _ in interior_point(problem, 1e-10, point):
            pass
        _, alpha, s, _ = point.iterate
        return float((alpha * s).sum())

    assert products(1.01) < products(1.5) < products(10.0)
