"""`LinearSVC(C=inf)`: the widest margin without an example inside it, or an error."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from helpers.hyperplanes import hyperplane, separable
from widemargin import SVC, LinearSVC, LinearSVCCV, LinearSVR
from widemargin.linear_svm import linear_svm_path
from widemargin.persistence import load, save

INTERCEPTS = {
    "none": {"fit_intercept": False},
    "free": {"intercept_scaling": None},
    "penalised": {"intercept_scaling": 2.0},
}


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("dual", ["auto", True, False])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("seed", range(2))
def test_every_condition_holds(seed, loss, dual, intercept):
    X, y = hyperplane(seed, offset=0.0 if intercept == "none" else 0.3)
    options = INTERCEPTS[intercept] | {"loss": loss, "dual": dual, "max_iter": 10**6}
    model = LinearSVC(C=np.inf, **options).fit(csr_array(X) if seed else X, y)
    assert model.converged_
    sign = np.where(y, 1.0, -1.0)
    margin = sign * model.decision_function(X)
    assert margin.min() == pytest.approx(1.0, abs=1e-9)
    w, b, beta = model.coef_[0], float(np.ravel(model.intercept_)[0]), model.dual_coef_[0]
    away = 0.5 * np.sum((beta @ X[model.support_] - w) ** 2)  # stationarity
    alpha = sign[model.support_] * beta
    assert np.all(alpha > 0.0)
    slack = alpha @ (margin[model.support_] - 1.0)  # complementary slackness
    square = {"none": 0.0, "free": np.inf, "penalised": 4.0}[intercept]
    if 0.0 < square < np.inf:
        away += 0.5 / square * (b - square * beta.sum()) ** 2
    assert slack >= -1e-9
    assert slack + away <= 1.01e-4 * model.primal_objective_  # together they are the gap
    cost = 0.5 * w @ w + (0.5 * b**2 / square if 0.0 < square < np.inf else 0.0)
    assert model.primal_objective_ == pytest.approx(cost)
    assert model.geometric_margin_ == pytest.approx(2.0 / np.linalg.norm(w))
    if intercept == "free":
        assert abs(beta.sum()) <= 1e-9 * alpha.sum()
        kernel = SVC(C=np.inf, kernel="linear", tol=1e-6).fit(X, y)
        assert model.geometric_margin_ == pytest.approx(kernel.geometric_margin_, rel=1e-4)


def test_scaled_inputs():
    """The margin is measured where the machine was trained."""
    X, y = hyperplane(2)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    model = LinearSVC(C=np.inf, scaling="standard", intercept_scaling=None).fit(5.0 * X + 100.0, y)
    same = LinearSVC(C=np.inf, intercept_scaling=None).fit(scaled, y)
    assert model.geometric_margin_ == pytest.approx(same.geometric_margin_, rel=1e-4)


@pytest.mark.parametrize("dual", ["auto", False])
@pytest.mark.parametrize("seed", range(12))
def test_decides_as_linear_programming_does(seed, dual):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(6, 2)), np.arange(6) % 2 == 0
    model = LinearSVC(C=np.inf, intercept_scaling=None, dual=dual)
    if separable(X, y):
        assert model.fit(X, y).score(X, y) == 1.0
        assert model.converged_
    else:
        with pytest.raises(ValueError, match="False and True cannot be separated by a hyperplane"):
            model.fit(X, y)


def test_both_outcomes_occur():
    """The test above is about both."""
    found = set()
    for seed in range(12):
        X = np.random.default_rng(seed).normal(size=(6, 2))
        try:
            LinearSVC(C=np.inf, intercept_scaling=None, dual=False).fit(X, np.arange(6) % 2)
        except ValueError:
            found.add("not separable")
        else:
            found.add("separable")
    assert found == {"separable", "not separable"}


def test_many_classes():
    rng = np.random.default_rng(0)
    angles = 2 * np.pi * np.arange(5) / 5
    centres = 10.0 * np.column_stack([np.cos(angles), np.sin(angles)])
    X, y = np.repeat(centres, 10, axis=0) + rng.normal(size=(50, 2)), np.repeat(list("abcde"), 10)
    model = LinearSVC(C=np.inf, loss="hinge").fit(X, y)
    assert model.converged_
    assert model.score(X, y) == 1.0
    assert model.dual_coef_.shape == (5, len(model.support_))
    y[0] = "c"
    with pytest.raises(ValueError, match="and the other classes cannot be separated"):
        LinearSVC(C=np.inf, loss="hinge").fit(X, y)


def test_weights_decide_only_whether_an_example_counts():
    X, y = hyperplane(6)
    wrong = y.copy()
    wrong[:3] = ~wrong[:3]
    weights = np.random.default_rng(0).choice([0.5, 3.0], size=len(y))
    weights[:3] = 0.0
    model = LinearSVC(C=np.inf).fit(X, wrong, sample_weight=weights)
    assert_allclose(model.coef_, LinearSVC(C=np.inf).fit(X[3:], y[3:]).coef_, rtol=1e-3)
    assert model.support_.min() >= 3


def test_paths_searches_files_and_warm_starts(tmp_path):
    X, y = hyperplane(8)
    path = linear_svm_path(X, y, [np.inf, 0.1, 10.0], loss="hinge")
    alone = LinearSVC(C=np.inf).fit(X, y)
    assert path.models[0].geometric_margin_ == pytest.approx(alone.geometric_margin_, rel=1e-3)
    widths = [path.models[k].geometric_margin_ for k in (1, 2, 0)]
    assert widths[0] > widths[1] > widths[2] * (1.0 - 1e-3)
    chosen = LinearSVCCV(Cs=[0.01, np.inf], cv=3).fit(X, y)
    assert chosen.C_ in (0.01, np.inf)
    assert np.all(np.isfinite(chosen.scores_))
    save(alone, tmp_path / "model")
    assert np.isposinf(load(tmp_path / "model").C)
    assert_array_equal(load(tmp_path / "model").coef_, alone.coef_)
    again = LinearSVC(C=np.inf, dual=False, warm_start=True).fit(X, y)
    assert again.fit(X, y).converged_
    soft = again.set_params(C=1.0).fit(X, y)
    assert_allclose(soft.coef_, LinearSVC().fit(X, y).coef_, rtol=0.02, atol=0.01)


def test_early_stop():
    X, y = hyperplane(10)
    y[0] = ~y[0]
    with pytest.warns(ConvergenceWarning, match="the classes are not separated yet"):
        model = LinearSVC(C=np.inf, dual=True, max_iter=3).fit(X, y)
    assert model.stop_reason_ == "max_iter"
    assert not model.converged_
    assert model.primal_objective_ == np.inf


def test_machines_without_a_hard_margin():
    X, y = hyperplane(11)
    with pytest.raises(ValueError, match="multi_class='crammer_singer' has no hard margin"):
        LinearSVC(C=np.inf, multi_class="crammer_singer").fit(X, y)
    with pytest.raises(ValueError, match="The 'C' parameter of LinearSVR"):
        LinearSVR(C=np.inf).fit(X, y)
