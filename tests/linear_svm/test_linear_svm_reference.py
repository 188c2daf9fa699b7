"""`LinearSVC` and `LinearSVR` against the references: the same optimum, by every way to it."""

from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.preprocessing import StandardScaler

from helpers.covering import every_pair
from widemargin import LinearSVC, LinearSVR
from widemargin.reference.linear_svm import LinearProblem, primal, solve

TOL = 1e-6  # of the relative gap
SOLVERS = {  # how each is asked for; coordinate descent needs many epochs for a gap this small
    "auto": {},
    "interior": {"dual": False},
    "dual": {"dual": True, "max_iter": 100_000},
}
# how an intercept is asked for, and the s of the reference
INTERCEPTS = {
    "none": ({"fit_intercept": False}, 0.0),
    "free": ({"intercept_scaling": None}, np.inf),
    "penalised": ({"intercept_scaling": 2.0}, 2.0),
}
CLASS_WEIGHT = {3: 0.5, 7: 2.0, 9: 1.5}
WEIGHTS = ["none", "sample_weight", "class_weight"]
FORMATS = {
    "dense-float64": (np.asarray, np.float64),
    "dense-float32": (np.asarray, np.float32),
    "csr-float64": (csr_array, np.float64),
    "csr-float32": (csr_array, np.float32),
}
CLASSIFICATION = ["hinge", "squared_hinge"]
REGRESSION = ["epsilon_insensitive", "squared_epsilon_insensitive"]


def ways(losses):
    """Every loss by every solver: these two always meet, and each pair of them the other axes."""
    return [Way(*way) for way in product(losses, SOLVERS)]


class Way(NamedTuple):
    """What is minimised, and how."""

    loss: str
    solver: str

    def __str__(self):
        return "-".join(self)

    @property
    def options(self):
        return {"loss": self.loss, **SOLVERS[self.solver]}


@lru_cache
def data(kind, n, seed=0):
    """A third of zeros, columns of several scales; float32 holds every value exactly."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)) * np.array([1.0, 2.0, 0.5, 1.0, 1.0]) + np.array([1, 0, 0, -1, 0])
    X = np.where(rng.random(X.shape) < 0.3, 0.0, X).astype(np.float32).astype(np.float64)
    f = X @ np.array([[1.5, -1.0, 0.5, 0.0, 1.0], [-1.0, 0.5, 1.0, 0.5, 0.0]]).T
    f = f + rng.normal(size=f.shape) * 0.7
    if kind == "regression":
        return X, f[:, 0]
    return X, np.array([3, 7, 9])[1 * (f[:, 0] > 0.5) + (kind == "three") * (f[:, 1] > 0.5)]


def weighing(weights, y):
    """What goes to the estimator, what goes to its fit, and each example's weight."""
    sample = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], size=len(y))
    if weights == "sample_weight":
        return {}, {"sample_weight": sample}, sample
    if weights == "class_weight":
        present = {k: v for k, v in CLASS_WEIGHT.items() if k in y}
        return {"class_weight": present}, {}, np.array([CLASS_WEIGHT[k] for k in y])
    return {}, {}, np.ones(len(y))


@lru_cache
def optimum(kind, loss, weights, s, C, epsilon=0.0, k=7):
    """The reference for one label against the others (or the targets): problem and solution."""
    X, y = data(kind, 90)
    t = y if kind == "regression" else np.where(y == k, 1.0, -1.0)
    problem = LinearProblem(X, t, C * weighing(weights, y)[2], loss, epsilon, s)
    return problem, solve(problem)


def assert_certified(model, tol=TOL):
    """The gap is what it says, and small enough, for each problem that was solved."""
    P, D, gap = (
        np.ravel(getattr(model, name))
        for name in ("primal_objective_", "dual_objective_", "duality_gap_")
    )
    np.testing.assert_allclose(gap, P - D, atol=1e-9 * np.abs(P).max())
    assert np.all(gap <= 1.001 * tol * P + 1e-12)
    assert np.all(gap >= -1e-9 * P)
    assert model.converged_
    assert model.stop_reason_ == "tol"
    assert len(model.history_) > 0


def assert_near(values, best):
    """Objectives measured here, against those of the reference."""
    np.testing.assert_allclose(values, best, rtol=1e-4)
    assert np.all(np.asarray(values) >= np.asarray(best) * (1 - 1e-9))


def assert_predicts(predicted, f, classes):
    """At least 999 of 1000 predictions are those of the reference; near ties may go either way."""
    f = np.column_stack([-f, f]) if f.ndim == 1 else f
    lead = np.diff(np.sort(f, axis=1)[:, -2:], axis=1)[:, 0]
    sure = lead > 0.01
    assert sure.mean() > 0.9
    assert np.mean((predicted == classes[np.argmax(f, axis=1)])[sure]) >= 0.999


# ---------------------------------------------------------------------------------- two classes


@every_pair(way=ways(CLASSIFICATION), intercept=INTERCEPTS, weights=WEIGHTS, form=FORMATS)
def test_two_classes(way, intercept, weights, form):
    X, y = data("binary", 90)
    options, s = INTERCEPTS[intercept]
    parameters, told, _ = weighing(weights, y)
    container, dtype = FORMATS[form]
    model = LinearSVC(C=0.7, tol=TOL, **way.options, **options, **parameters)
    model.fit(container(X.astype(dtype)), y, **told)
    problem, best = optimum("binary", way.loss, weights, s, 0.7)

    assert model.solver_ == (model.solver_ if way.solver == "auto" else way.solver)
    assert_certified(model)
    value = primal(problem, model.coef_[0], float(np.ravel(model.intercept_)[0]))
    assert_near(value, best.certificate.primal)
    assert np.ravel(model.primal_objective_) == pytest.approx([value], rel=1e-4)
    assert np.all(np.ravel(model.dual_objective_) <= best.certificate.primal * (1 + 1e-9))
    X_test, _ = data("binary", 2000, seed=5)
    predicted = model.predict(container(X_test.astype(dtype)))
    assert_predicts(predicted, X_test @ best.w + best.b, model.classes_)


@every_pair(way=ways(CLASSIFICATION), intercept=INTERCEPTS, C=[1e-4, 1e-2, 100.0])
def test_small_and_large_C(way, intercept, C):
    X, y = data("binary", 90)
    options, s = INTERCEPTS[intercept]
    model = LinearSVC(C=C, tol=TOL, **way.options, **options)
    model.fit(X, y)
    problem, best = optimum("binary", way.loss, "none", s, C)
    assert_certified(model)
    value = primal(problem, model.coef_[0], float(np.ravel(model.intercept_)[0]))
    assert_near(value, best.certificate.primal)


@pytest.mark.parametrize("solver", SOLVERS)
def test_both_weights_multiply(solver):
    X, y = data("binary", 90)
    parameters, _, of_class = weighing("class_weight", y)
    _, told, of_sample = weighing("sample_weight", y)
    options = {"loss": "hinge", "tol": TOL, "intercept_scaling": None, **SOLVERS[solver]}
    model = LinearSVC(**options, **parameters).fit(X, y, **told)
    problem = LinearProblem(X, np.where(y == 7, 1.0, -1.0), of_class * of_sample)
    value = primal(problem, model.coef_[0], float(model.intercept_[0]))
    assert_certified(model)
    assert_near(value, solve(problem).certificate.primal)


@lru_cache
def scaled(loss, s):
    X, y = data("binary", 90)
    X = X * 128.0 + np.array([0.0, 256.0, 0.0, 0.0, 0.0])
    scaler = StandardScaler().fit(X)
    t = np.where(y == 7, 1.0, -1.0)
    problem = LinearProblem(scaler.transform(X), t, np.ones(90), loss, 0.0, s)
    return X, y, scaler, problem, solve(problem)


@every_pair(way=ways(CLASSIFICATION), intercept=INTERCEPTS, form=FORMATS)
def test_standardised_inputs(way, intercept, form):
    """Without a copy: the objective is that of the scaled inputs, the weights are for the raw."""
    options, s = INTERCEPTS[intercept]
    container, dtype = FORMATS[form]
    X, y, scaler, problem, best = scaled(way.loss, s)
    model = LinearSVC(tol=TOL, scaling="standard", **way.options, **options)
    model.fit(container(X.astype(dtype)), y)
    assert_certified(model)
    w = model.coef_[0] * scaler.scale_
    b = float(np.ravel(model.intercept_)[0] + model.coef_[0] @ scaler.mean_)
    assert_near(primal(problem, w, b if s else 0.0), best.certificate.primal)
    assert np.ravel(model.primal_objective_) == pytest.approx([best.certificate.primal], rel=1e-4)


# ----------------------------------------------------------------------------------- regression


@every_pair(way=ways(REGRESSION), intercept=INTERCEPTS, weights=WEIGHTS[:2], form=FORMATS)
def test_regression(way, intercept, weights, form):
    X, t = data("regression", 90)
    options, s = INTERCEPTS[intercept]
    _, told, _ = weighing(weights, t)
    container, dtype = FORMATS[form]
    model = LinearSVR(C=0.7, epsilon=0.2, tol=TOL, **way.options, **options)
    model.fit(container(X.astype(dtype)), t, **told)
    problem, best = optimum("regression", way.loss, weights, s, 0.7, 0.2)

    assert_certified(model)
    value = primal(problem, np.ravel(model.coef_), float(np.ravel(model.intercept_)[0]))
    assert_near(value, best.certificate.primal)
    assert np.ravel(model.primal_objective_) == pytest.approx([value], rel=1e-4)
    outputs = model.predict(container(X.astype(dtype)))
    near = np.abs(outputs - (X @ best.w + best.b)) <= 0.02 * np.std(t)
    assert np.mean(near) >= 0.999


@every_pair(way=ways(REGRESSION), epsilon=[0.0, 1.0], C=[1e-4, 1e-2, 100.0])
def test_small_and_large_tubes(way, epsilon, C):
    X, t = data("regression", 90)
    free = {"intercept_scaling": None}
    model = LinearSVR(C=C, epsilon=epsilon, tol=TOL, **free, **way.options).fit(X, t)
    problem, best = optimum("regression", way.loss, "none", np.inf, C, epsilon)
    assert_certified(model)
    value = primal(problem, np.ravel(model.coef_), float(np.ravel(model.intercept_)[0]))
    assert_near(value, best.certificate.primal)


# --------------------------------------------------------------------------------- more classes


@every_pair(way=ways(CLASSIFICATION), intercept=INTERCEPTS, weights=WEIGHTS, form=FORMATS)
def test_one_against_the_rest(way, intercept, weights, form):
    """Each class is a problem of its own; class weights are those of the three classes."""
    X, y = data("three", 90)
    options, s = INTERCEPTS[intercept]
    parameters, told, _ = weighing(weights, y)
    container, dtype = FORMATS[form]
    model = LinearSVC(C=0.7, tol=TOL, **way.options, **options, **parameters)
    model.fit(container(X.astype(dtype)), y, **told)
    found = [one_against_the_rest(way.loss, weights, s, k) for k in model.classes_]
    intercepts = np.broadcast_to(np.ravel(model.intercept_), 3)
    values = [
        primal(problem, w, float(b))
        for (problem, _), w, b in zip(found, model.coef_, intercepts, strict=True)
    ]
    assert_certified(model)
    assert_near(values, [best.certificate.primal for _, best in found])
    assert np.sum(model.primal_objective_) == pytest.approx(np.sum(values), rel=1e-4)
    X_test, _ = data("three", 2000, seed=5)
    f = np.column_stack([X_test @ best.w + best.b for _, best in found])
    assert model.decision_function(X_test).shape == f.shape
    predicted = model.predict(container(X_test.astype(dtype)))
    assert_predicts(predicted, f, model.classes_)


def one_against_the_rest(loss, weights, s, k):
    return optimum("three", loss, weights, s, 0.7, 0.0, int(k))
