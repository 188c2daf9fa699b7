"""Soft mixtures: kinds of data, seeds, stopping, resuming and files."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from helpers.soft_mixtures import (
    QUADRANTS,
    SPARSE,
    VALUES,
    X,
    by_gradient,
    classifier,
    every_solver,
    every_target,
    outputs,
    problem,
    regressor,
)
from helpers.stopping import Recorder
from widemargin import load, save

pytestmark = pytest.mark.filterwarnings("ignore:.*reached max_iter")


# -------------------------------------------------------------------- data, state, determinism


@every_solver
@every_target
def test_csr_gives_the_same_as_dense(solver, target):
    """Up to rounding, which L-BFGS amplifies."""
    model, y = problem(target, solver, dtype="float64")
    one, two = clone(model).fit(SPARSE, y), clone(model).fit(sp.csr_array(SPARSE), y)
    assert_allclose(outputs(one, SPARSE), outputs(two, sp.csr_array(SPARSE)), rtol=1e-3, atol=1e-4)
    assert_allclose(one.gates(X), two.gates(sp.csr_array(X)), rtol=1e-3, atol=1e-4)


@every_solver
@every_target
def test_the_seed_decides(solver, target):
    model, y = problem(target, solver)
    one, two = clone(model).fit(X, y), clone(model).fit(X, y)
    other = clone(model).set_params(random_state=1).fit(X, y)
    assert_array_equal(outputs(one, X), outputs(two, X))
    assert not np.array_equal(outputs(one, X), outputs(other, X))


@every_solver
@every_target
def test_saved_models_predict_the_same_and_resume(solver, target, tmp_path):
    model, y = problem(target, solver, warm_start=True)
    model.fit(X, y)
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert_array_equal(outputs(loaded, X), outputs(model, X))
    assert_array_equal(loaded.gates(X), model.gates(X))
    assert_array_equal(outputs(loaded.fit(X, y), X), outputs(model.fit(X, y), X))


@every_solver
@every_target
def test_two_fits_equal_one_longer_fit(solver, target):
    model, y = problem(target, solver, scaling=None)
    long = clone(model).set_params(max_iter=10).fit(X, y)
    parts = clone(model).set_params(max_iter=4, warm_start=True).fit(X, y)
    parts.set_params(max_iter=6).fit(X, y)
    assert_allclose(outputs(parts, X), outputs(long, X), rtol=1e-5, atol=1e-6)
    assert [h["epoch"] for h in parts.history_] == list(range(10))


@by_gradient
@every_target
def test_partial_fit_on_more_examples(solver, target):
    """`partial_fit` keeps its predictions when more examples change the scaling of the inputs."""
    model, y = problem(target, solver, shuffle=False, dtype="float64")
    model.partial_fit(X[:150], y[:150])
    before = outputs(model, X)
    model.set_params(learning_rate=1e-300).partial_fit(5 * X + 3, y)
    assert_allclose(outputs(model, X), before, rtol=1e-6, atol=1e-8)
    assert not np.allclose(model.feature_offset_, X.mean(0))
    assert len(model.history_) == 2


def test_em_has_no_partial_fit():
    assert not hasattr(classifier("em"), "partial_fit")
    with pytest.raises(AttributeError, match="partial_fit") as caught:
        regressor("em").partial_fit(X, VALUES)
    assert "use solver='gradient'" in str(caught.value.__cause__)


@every_solver
@every_target
def test_early_stopping_keeps_the_best(solver, target):
    model, y = problem(target, solver, early_stopping=True, max_iter=12)
    model.fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:])
    errors = [record["validation_error"] for record in model.history_]
    assert model.best_iter_ == np.argmin(errors) + 1
    if target == "values":
        spread = VALUES[:200].var(0)
        found = np.mean((model.predict(X[200:]) - y[200:]) ** 2 / spread)
    else:
        found = np.mean(model.predict(X[200:]) != y[200:])
    assert found == pytest.approx(min(errors), rel=1e-3)


@every_solver
def test_stopped_from_outside(solver, ctrl_c):
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model = classifier(solver, max_iter=10**6, time_limit=0.05).fit(X, QUADRANTS)
    assert model.stop_reason_ == "time_limit"
    recorder = Recorder(lambda estimator, count: ctrl_c() if count == 3 else None)
    model = classifier(solver, max_iter=50)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model.set_callbacks(recorder).fit(X, QUADRANTS)
    assert model.stop_reason_ == "interrupted"
    assert model.n_iter_ == 3
    assert_array_equal(recorder.fitted[-1].predict(X), model.predict(X))


def test_parameters_changed_after_a_fit_do_not_change_the_model():
    clf = classifier().fit(X, QUADRANTS)
    before = clf.decision_function(X)
    clf.set_params(n_experts=7, n_units=3, n_gater_units=0)
    assert_array_equal(clf.decision_function(X), before)
    with pytest.raises(ValueError, match=r"n_experts=7 differs.*warm_start"):
        clf.set_params(warm_start=True).fit(X, QUADRANTS)
    assert_array_equal(pickle.loads(pickle.dumps(clf)).decision_function(X), before)
