"""Dual variables of `LinearSVC`: they meet the conditions of optimality and make its weights."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from helpers.covering import pairwise
from widemargin import SVC, LinearSVC, LinearSVCCV
from widemargin.persistence import load, save
from widemargin.reference.linear_svm import LinearProblem, solve

AXES = {
    "loss": ["hinge", "squared_hinge"],
    "dual": ["auto", True, False],
    "intercept": ["none", "free", "penalised"],
    "C": [0.01, 1.0, 30.0],
    "classes": [2, 3],
    "weights": [False, True],
    "scaling": [None, "standard"],
    "sparse": [False, True],
}
INTERCEPTS = {
    "none": {"fit_intercept": False},
    "free": {"intercept_scaling": None},
    "penalised": {"intercept_scaling": 2.0},
}
SQUARES = {"none": 0.0, "free": np.inf, "penalised": 4.0}  # r of b²/2r


def cases():
    names = list(AXES)
    return [dict(zip(names, case, strict=True)) for case in pairwise(*AXES.values())]


def random_problem(seed, classes=2, rows=60, columns=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns)) * (rng.random((rows, columns)) < 0.8)
    f = X @ rng.normal(size=(columns, classes)) + 0.5 * rng.normal(size=(rows, classes))
    return X, f.argmax(axis=1), rng.choice([0.0, 0.5, 1.0, 2.0], size=rows)


def as_trained(model, X, weights):
    """The inputs that the machine was trained on, and its weights and intercepts for them."""
    if model.scaling is None:
        return X, model.coef_, model.intercept_
    w = np.ones(len(X)) if weights is None else weights
    mean = np.average(X, axis=0, weights=w)
    scale = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=w))
    return (X - mean) / scale, model.coef_ * scale, model.intercept_ + model.coef_ @ mean


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("case", cases(), ids=lambda case: "-".join(map(str, case.values())))
def test_weights_and_conditions(case, seed):
    X, y, weights = random_problem(seed, case["classes"])
    weights = weights if case["weights"] else None
    model = LinearSVC(
        loss=case["loss"],
        dual=case["dual"],
        C=case["C"],
        scaling=case["scaling"],
        tol=1e-6,
        max_iter=100_000,
        **INTERCEPTS[case["intercept"]],
    ).fit(csr_array(X) if case["sparse"] else X, y, sample_weight=weights)
    assert model.converged_
    x, w, b = as_trained(model, X, weights)
    beta = np.zeros((len(w), len(X)))
    beta[:, model.support_] = model.dual_coef_
    assert np.all(np.any(model.dual_coef_ != 0.0, axis=0))  # only support vectors are kept
    gap = np.ravel(model.duality_gap_)
    away = 0.5 * np.sum((beta @ x - w) ** 2, axis=1)  # stationarity: a part of the gap
    square, sums = SQUARES[case["intercept"]], beta.sum(axis=1)
    if square == np.inf:
        assert_allclose(sums, 0.0, atol=1e-9 * np.abs(beta).sum())
    elif square > 0.0:
        away += 0.5 / square * (b - square * sums) ** 2
    assert np.all(away <= 1.001 * gap + 1e-12 * np.ravel(model.primal_objective_))

    signs = np.where(y == np.arange(case["classes"])[:, None], 1.0, -1.0)[-len(w) :]
    c = case["C"] * (np.ones(len(X)) if weights is None else weights)
    alpha, short = signs * beta, 1.0 - signs * (w @ x.T + b[:, None])
    assert np.all(alpha >= 0.0)  # dual feasibility
    xi = np.maximum(0.0, short)
    if case["loss"] == "hinge":
        assert np.all(alpha <= c * (1.0 + 1e-12))
        terms = (c - alpha) * xi + alpha * np.maximum(0.0, -short)  # complementary slackness
    else:
        terms = c * xi**2 + alpha**2 / np.where(c > 0.0, 4.0 * c, 1.0) - alpha * short
    # these are the rest of the duality gap, term by term
    assert np.all(terms.sum(axis=1) + away <= 1.01e-6 * np.ravel(model.primal_objective_))
    assert np.all(terms >= -1e-12 * c)
    cost = c @ (xi if case["loss"] == "hinge" else xi**2).T + 0.5 * np.sum(w**2, axis=1)
    cost += 0.5 * b**2 / square if 0.0 < square < np.inf else 0.0
    assert_allclose(cost, np.ravel(model.primal_objective_), rtol=1e-6)


@pytest.mark.parametrize("dual", [True, False])
def test_support_vectors_of_the_reference(dual):
    """An example is a support vector if the optimum has a dual variable that is clearly not 0."""
    X, y, _ = random_problem(5)
    found = solve(LinearProblem(X, 2.0 * y - 1.0, np.ones(len(X)), "hinge", 0.0, np.inf))
    model = LinearSVC(loss="hinge", dual=dual, intercept_scaling=None, tol=1e-8, max_iter=10**6)
    model.fit(X, y)
    clear = np.flatnonzero(np.abs(found.beta) > 1e-6)
    assert_array_equal(model.support_, clear)
    assert_allclose(model.dual_coef_[0], found.beta[clear], atol=1e-4)


def test_those_of_the_kernel_machine():
    X, y, _ = random_problem(6)
    theirs = SVC(kernel="linear", tol=1e-8).fit(X, y)
    ours = LinearSVC(loss="hinge", intercept_scaling=None, tol=1e-10).fit(X, y)
    assert_array_equal(ours.support_, np.sort(theirs.support_))
    order = np.argsort(theirs.support_)
    assert_allclose(ours.dual_coef_, theirs.dual_coef_[:, order], atol=1e-4)


@pytest.mark.parametrize(("classes", "intercept"), list(product([2, 3], INTERCEPTS)))
def test_all_classes_in_one_problem(classes, intercept):
    """The weights are within √(2 gap) of what the dual variables make, and usually equal to it."""
    X, y, _ = random_problem(7, classes)
    options = {"multi_class": "crammer_singer", "tol": 1e-6, "max_iter": 10**5}
    model = LinearSVC(**options, **INTERCEPTS[intercept]).fit(X, y)
    assert model.dual_coef_.shape == (len(model.coef_), len(model.support_))
    away = model.dual_coef_ @ X[model.support_] - model.coef_
    factor = 2.0 if classes == 2 else 1.0  # one row stands for two
    assert 0.5 * np.sum(away**2) <= factor * model.duality_gap_ + 1e-20


def test_an_early_stop_keeps_its_distance():
    """½ ‖w − Σ β x‖² is a part of the gap, whatever stopped the fit."""
    X, y, _ = random_problem(8)
    model = LinearSVC(loss="hinge", C=100.0, dual=True, max_iter=2, fit_intercept=False)
    with pytest.warns(match="max_iter"):
        model.fit(X, y)
    away = model.dual_coef_ @ X[model.support_] - model.coef_
    assert 0.0 < 0.5 * np.sum(away**2) <= model.duality_gap_


def test_searches_and_files_keep_them(tmp_path):
    X, y, _ = random_problem(9)
    model = LinearSVCCV(Cs=[0.1, 1.0], loss="hinge", fit_intercept=False).fit(X, y)
    assert_allclose(model.dual_coef_ @ X[model.support_], model.coef_, rtol=0.05)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert_array_equal(again.dual_coef_, model.dual_coef_)
    assert_array_equal(again.support_, model.support_)
