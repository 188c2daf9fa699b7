"""Kernel machines for many C: the optimum at each, for fewer steps."""

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


@pytest.mark.slow
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
def test_fewer_steps_than_fits_that_start_afresh(gamma, Cs):
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


@pytest.mark.slow
def test_interrupted(ctrl_c):
    """Ctrl-C ends the path with the C being fitted; that model is usable and tells its gap."""
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


@pytest.mark.parametrize("Cs", [[], [0.0], [-1.0, 1.0], [-np.inf], [np.nan], 1.0, [[1.0]]])
def test_bad_values_of_C(Cs):
    with pytest.raises(ValueError, match=r"Cs=.* positive numbers"):
        svm_path(X, Y2, Cs)


@pytest.mark.parametrize("estimator", [Perceptron(), widemargin.OneClassSVM(), SVCCV()])
def test_estimators_without_C(estimator):
    with pytest.raises(TypeError, match="no C to vary"):
        svm_path(X, Y2, [1.0], estimator=estimator)
