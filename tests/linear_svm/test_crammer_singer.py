"""Crammer and Singer's machine: the optimum of the reference and of LIBLINEAR, certified."""

import os
import warnings
from functools import lru_cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from widemargin import LinearSVC, LinearSVCCV
from widemargin.linear_svm import linear_svm_path
from widemargin.linear_svm.inputs import LinearInputs
from widemargin.linear_svm.multiclass_problem import MulticlassProblem
from widemargin.reference.crammer_singer import (
    CrammerSingerProblem,
    crammer_singer_primal,
    solve_crammer_singer,
)

TOL = 1e-6
# how intercepts are asked for, and the s of the reference
INTERCEPTS = {
    "none": ({"fit_intercept": False}, 0.0),
    "free": ({"intercept_scaling": None}, np.inf),
    "penalised": ({"intercept_scaling": 2.0}, 2.0),
}
NAMES = np.array(["d", "b", "a", "c"])
CLASS_WEIGHT = {"a": 0.5, "b": 2.0, "c": 1.5, "d": 1.0}
every_intercept = pytest.mark.parametrize("intercept", INTERCEPTS)
every_format = pytest.mark.parametrize(
    ("container", "dtype"), list(product((np.asarray, csr_array), (np.float64, np.float32)))
)


@lru_cache
def data(n=50, seed=0):
    """Four classes, a third of zeros, columns of several scales; float32 holds every value."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)) * np.array([1.0, 2.0, 0.5, 1.0, 1.0]) + np.array([1, 0, 0, -1, 0])
    X = np.where(rng.random(X.shape) < 0.3, 0.0, X).astype(np.float32).astype(np.float64)
    f = X @ np.random.default_rng(1).normal(size=(5, 4)) + rng.normal(size=(n, 4))
    return X, NAMES[np.argmax(f, axis=1)]


def codes(y):
    return np.searchsorted(np.sort(NAMES), y)


def machine(**options):
    defaults = {"multi_class": "crammer_singer", "tol": TOL, "max_iter": 100_000}
    return LinearSVC(**{**defaults, "random_state": 0, **options})


def weighing(weights, y):
    """What goes to the estimator, what goes to its fit, and each example's weight."""
    sample = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], size=len(y))
    of_class = np.array([CLASS_WEIGHT[k] for k in y])
    return {
        "none": ({}, {}, np.ones(len(y))),
        "sample_weight": ({}, {"sample_weight": sample}, sample),
        "class_weight": ({"class_weight": CLASS_WEIGHT}, {}, of_class),
        "both": ({"class_weight": CLASS_WEIGHT}, {"sample_weight": sample}, of_class * sample),
    }[weights]


@lru_cache
def optimum(weights, s, C, scaling=None):
    X, y = data()
    weight = weighing(weights, y)[2]
    X = StandardScaler().fit(X, sample_weight=weight).transform(X) if scaling else X
    problem = CrammerSingerProblem(X, codes(y), C * weight, 4, s)
    return problem, solve_crammer_singer(problem)


def assert_certified(model, best, tol=TOL):
    cost, bound = model.primal_objective_, model.dual_objective_
    assert model.converged_
    assert model.stop_reason_ == "tol"
    assert model.solver_ == "dual"
    assert model.duality_gap_ == pytest.approx(cost - bound, abs=1e-12 * cost)
    assert model.duality_gap_ <= tol * cost
    assert cost >= best.certificate.dual * (1 - 1e-9)
    assert bound <= best.certificate.primal * (1 + 1e-9)


@pytest.mark.parametrize("weights", ["none", "sample_weight", "class_weight", "both"])
@pytest.mark.parametrize("scaling", [None, "standard"])
@every_intercept
@every_format
def test_is_the_optimum_of_the_reference(weights, scaling, intercept, container, dtype):
    (X, y), (options, s) = data(), INTERCEPTS[intercept]
    parameters, told, weight = weighing(weights, y)
    model = machine(C=0.5, scaling=scaling, **options, **parameters)
    model.fit(container(X.astype(dtype)), y, **told)
    problem, best = optimum(weights, s, 0.5, scaling)
    assert_certified(model, best)
    w, b = model.coef_, model.intercept_
    if scaling:
        scaler = StandardScaler().fit(X, sample_weight=weight)
        w, b = w * scaler.scale_, b + w @ scaler.mean_
        b = b if s else np.zeros(4)
    value = crammer_singer_primal(problem, w, b)
    assert value == pytest.approx(model.primal_objective_, rel=1e-5 if scaling else 1e-9)
    X_test = data(2000, seed=5)[0]
    f = model.decision_function(container(X_test.astype(dtype)))
    assert_allclose(f, X_test @ model.coef_.T + model.intercept_, atol=1e-4)
    assert_array_equal(model.predict(X_test), np.sort(NAMES)[np.argmax(f, axis=1)])


@pytest.mark.parametrize("C", [1e-4, 1e-2, 20.0])
@every_intercept
def test_small_and_large_C(C, intercept):
    (X, y), (options, s) = data(), INTERCEPTS[intercept]
    model = machine(C=C, tol=1e-4, **options).fit(X, y)
    assert_certified(model, optimum("none", s, C)[1], tol=1e-4)


@pytest.mark.parametrize("K", [2, 3, 4])
@pytest.mark.parametrize("scaling", [1.0, 5.0, None])
def test_is_what_scikit_learn_finds(K, scaling):
    """coef_ has one row for two classes; the loss has no effect."""
    X, y = data()
    X, y = X[codes(y) < K], y[codes(y) < K]
    options = {"intercept_scaling": scaling} if scaling else {"fit_intercept": False}
    ours = machine(C=0.5, tol=1e-8, **options).fit(X, y)
    theirs = svm.LinearSVC(
        C=0.5, multi_class="crammer_singer", tol=1e-9, max_iter=10**6, random_state=0, **options
    ).fit(X, y)
    assert ours.coef_.shape == theirs.coef_.shape
    assert_allclose(ours.coef_, theirs.coef_, atol=2e-3)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=5e-3)
    assert np.mean(ours.predict(X) == theirs.predict(X)) >= 0.98
    assert ours.decision_function(X).shape == theirs.decision_function(X).shape
    hinge = machine(C=0.5, tol=1e-8, loss="hinge", **options).fit(X, y)
    assert_array_equal(hinge.coef_, ours.coef_)


# ------------------------------------------------------------------------------------ properties


@st.composite
def problems(draw):
    """Few examples, some twice, constant columns, C and weights of any size."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, width, K = draw(st.integers(2, 20)), draw(st.integers(1, 4)), draw(st.integers(2, 6))
    X = rng.normal(size=(n + K, width)) * draw(st.sampled_from([0.1, 1.0, 10.0]))
    X[rng.random(X.shape) < draw(st.sampled_from([0.0, 0.5]))] = 0.0
    X[:, rng.random(width) < 0.2] = draw(st.sampled_from([0.0, 1.0, -3.0]))
    X[rng.random(n + K) < draw(st.sampled_from([0.0, 0.3]))] = X[0]
    y = np.concatenate([rng.integers(0, K, n), np.arange(K)])
    c = rng.choice([0.5, 1.0, 4.0], size=n + K) * 10.0 ** draw(st.floats(-4, 3))
    c[:n][rng.random(n) < draw(st.sampled_from([0.0, 0.4]))] = 0.0
    return CrammerSingerProblem(X, y, c, K, draw(st.sampled_from([np.inf, 0.0, 1.0, 10.0])))


def asked(problem):
    s = problem.intercept_scaling
    return {"fit_intercept": s > 0, "intercept_scaling": s if 0 < s < np.inf else None}


@pytest.mark.slow
@given(problem=problems(), container=st.sampled_from([np.asarray, csr_array]))
@settings(deadline=None, max_examples=100)
def test_the_certificate_holds(problem, container):
    model = machine(tol=1e-4, max_iter=2000, **asked(problem))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(container(problem.X), problem.y, sample_weight=problem.c)
    best, scale = solve_crammer_singer(problem).certificate, 1e-9 * (1.0 + problem.c.sum())
    w, b = model.coef_, model.intercept_
    if problem.K == 2:
        w, b = np.vstack([-w / 2, w / 2]), np.concatenate([-b / 2, b / 2])
    value = crammer_singer_primal(problem, w, b)
    assert model.primal_objective_ == pytest.approx(value, rel=1e-7, abs=scale)
    assert model.dual_objective_ <= best.primal + scale
    assert model.primal_objective_ >= best.dual - scale
    if model.converged_:
        assert model.duality_gap_ <= 1e-4 * model.primal_objective_ + scale
    else:
        assert model.stop_reason_ in ("rounding", "max_iter")


@pytest.mark.slow
@given(problem=problems(), seed=st.integers(0, 2**31 - 1))
@settings(deadline=None, max_examples=100)
def test_any_dual_point_becomes_a_bound(problem, seed):
    """The projection keeps all constraints, and D never exceeds the least P."""
    some, rng = problem.c > 0, np.random.default_rng(seed)
    s = problem.intercept_scaling
    ours = MulticlassProblem(
        LinearInputs(problem.X[some]), problem.y[some].astype(np.int32), problem.c[some],
        problem.K, s**2,
    )  # fmt: skip
    size = 10.0 ** rng.integers(-3, 2) * ours.c[:, None]
    beta = ours.feasible(ours.within(size * rng.normal(size=ours.shape)))
    own, rounding = np.eye(problem.K)[ours.y] > 0, 1e-12 * ours.c.sum()
    assert np.all(beta[~own] <= 0)
    assert np.all(beta[own] <= ours.c)
    assert_allclose(beta.sum(axis=1), 0.0, atol=rounding)
    assert s < np.inf or np.abs(beta.sum(axis=0)).max() <= rounding
    bound, best = ours.dual(beta, ours.inputs.combine(beta)), solve_crammer_singer(problem)
    assert bound <= best.certificate.primal + 1e-9 * (1.0 + abs(bound) + ours.c.sum())
    assert ours.feasible(beta) is beta or s == np.inf


@pytest.mark.slow
@every_intercept
def test_an_example_twice_is_one_of_weight_two(intercept):
    (X, y), options = data(), INTERCEPTS[intercept][0]
    twice = np.arange(len(y)) % 3 == 0
    weighted = machine(tol=1e-8, **options).fit(X, y, sample_weight=1.0 + twice)
    repeated = machine(tol=1e-8, **options).fit(
        np.vstack([X, X[twice]]), np.concatenate([y, y[twice]])
    )
    assert weighted.primal_objective_ == pytest.approx(repeated.primal_objective_, rel=1e-7)
    assert_allclose(weighted.coef_, repeated.coef_, atol=2e-3)
    zero = machine(**options).fit(X, y, sample_weight=1.0 * twice)
    assert_array_equal(zero.coef_, machine(**options).fit(X[twice], y[twice]).coef_)


@every_intercept
def test_other_names_permute_the_rows(intercept):
    (X, y), options = data(), INTERCEPTS[intercept][0]
    order = np.array([2, 0, 3, 1])
    first = machine(tol=1e-8, **options).fit(X, codes(y))
    other = machine(tol=1e-8, **options).fit(X, order[codes(y)])
    assert_allclose(other.coef_[order], first.coef_, atol=2e-3)
    assert_allclose(other.intercept_[order], first.intercept_, atol=5e-3)


@pytest.mark.parametrize("value", [0.0, 3.0])
@every_intercept
@every_format
def test_rows_that_are_all_equal(value, intercept, container, dtype):
    options, s = INTERCEPTS[intercept]
    X, y = np.full((9, 3), value), np.array([0, 0, 0, 0, 1, 1, 1, 2, 2])
    model = machine(**options).fit(container(X.astype(dtype)), y)
    best = solve_crammer_singer(CrammerSingerProblem(X, y, np.ones(9), 3, s))
    assert_certified(model, best)


# ----------------------------------------------------------------------------- paths, bad input


def test_a_path_gives_what_single_fits_give():
    X, y = data()
    Cs = [0.01, 0.1, 1.0]
    path = linear_svm_path(X, y, Cs, estimator=machine(tol=1e-4))
    for C, model in zip(Cs, path.models, strict=True):
        alone = machine(tol=1e-4, C=C).fit(X, y)
        assert model.converged_
        assert model.primal_objective_ == pytest.approx(alone.primal_objective_, rel=2e-4)
    again = linear_svm_path(X, y, [1.0, 1.0], estimator=machine(tol=1e-4))
    assert again.n_iter[1] == 0  # it was there
    assert_array_equal(again.duality_gap.shape, [2])


def test_C_is_chosen_on_folds():
    X, y = data(150)
    options = {"multi_class": "crammer_singer", "random_state": 0}
    chosen = LinearSVCCV(Cs=[0.001, 0.1, 1.0], cv=3, **options).fit(X, y)
    assert chosen.scores_.shape == (3, 3)
    alone = LinearSVC(C=chosen.C_, **options).fit(X, y)
    assert_array_equal(chosen.coef_, alone.coef_)


def test_there_is_no_primal_solver():
    X, y = data()
    model = machine().fit(X, y)
    before = model.coef_.copy()
    with pytest.raises(ValueError, match=r"dual=False: .*crammer_singer.* use dual='auto'"):
        model.set_params(dual=False).fit(X, y)
    assert_array_equal(model.coef_, before)
    assert_array_equal(machine(dual=True).fit(X, y).coef_, before)


# ------------------------------------------------------------------------------------- real data


@pytest.mark.data
@pytest.mark.parametrize("name", ["letter", "mnist"])
@pytest.mark.parametrize("container", [np.asarray, csr_array])
@pytest.mark.parametrize("scaling", [1.0, None])
def test_real_data(name, container, scaling):
    """The gap is small, and LIBLINEAR finds no lower cost."""
    file = Path(os.environ["WIDEMARGIN_DATA"]) / name / f"{name}.npz"
    if not file.is_file():
        pytest.skip(f"WIDEMARGIN_DATA names no folder that holds {name}/{name}.npz")
    names = ("X", "y") if name == "letter" else ("x_train", "y_train")
    with np.load(file, allow_pickle=False) as arrays:
        X, y = (arrays[key][:2000] for key in names)
    X, C = X.reshape(len(X), -1).astype(np.float32), 0.1 if name == "mnist" else 1.0
    X = X / 255 if name == "mnist" else StandardScaler().fit_transform(X)
    options = {"C": C, "multi_class": "crammer_singer", "random_state": 0}
    ours = LinearSVC(intercept_scaling=scaling, tol=1e-3, **options).fit(container(X), y)
    assert ours.converged_
    assert ours.duality_gap_ <= 1e-3 * ours.primal_objective_
    if scaling is None:
        return
    X = X.astype(np.float64)
    theirs = svm.LinearSVC(tol=1e-2, max_iter=5000, **options).fit(X, y)
    labels = np.unique(y)
    problem = CrammerSingerProblem(
        X, np.searchsorted(labels, y), np.full(len(y), C), len(labels), scaling
    )
    cost, other = (crammer_singer_primal(problem, m.coef_, m.intercept_) for m in (ours, theirs))
    assert cost == pytest.approx(ours.primal_objective_, rel=1e-6)
    assert ours.dual_objective_ <= other * (1 + 1e-9)
    assert cost <= other * (1 + 1e-3)
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.95
