"""Machines with the kernels exp(−γ‖x − x'‖ᵠ): the optimum for the matrix of exact values."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import is_regressor
from sklearn.metrics.pairwise import laplacian_kernel

from widemargin import (
    SVC,
    SVCCV,
    SVR,
    SVRCV,
    HardMixtureClassifier,
    NuSVC,
    NuSVR,
    OneClassSVM,
    load,
    save,
)
from widemargin.persistence import save_libsvm
from widemargin.reference.kernels import distance_kernel
from widemargin.reference.svm import certificate, svm_problem
from widemargin.svm import svm_path

ROWS = 160
KERNELS = [("exponential", q) for q in (1.0, 0.25, 0.7, 1.5, 2.0)]
KERNELS += [("laplacian", q) for q in (1.0, 0.5, 0.7)]
every_kernel = pytest.mark.parametrize(("kernel", "exponent"), KERNELS)
MACHINES = {
    "c_svc": (SVC, {"C": 2.0}),
    "nu_svc": (NuSVC, {"nu": 0.3}),
    "epsilon_svr": (SVR, {"C": 2.0, "epsilon": 0.1}),
    "nu_svr": (NuSVR, {"C": 2.0, "nu": 0.4}),
    "one_class": (OneClassSVM, {"nu": 0.2}),
}
TABLES = ("numbers", "bits", "groups", "sparse")


def table(kind):
    """Inputs that the core stores in each of its layouts; whole multiples of 1/64."""
    rng = np.random.default_rng(0)
    if kind == "numbers":
        X = rng.normal(size=(ROWS, 5))
    elif kind == "bits":
        X = np.column_stack([rng.normal(size=(ROWS, 2)), rng.integers(0, 2, size=(ROWS, 20))])
    elif kind == "groups":
        X = np.column_stack([rng.normal(size=ROWS), np.eye(7)[rng.integers(7, size=ROWS), :6]])
        X[:, 1:] *= np.arange(1, 7)
    else:
        X = rng.normal(size=(ROWS, 300)) * (rng.random((ROWS, 300)) < 0.03)
        X[3] = 0.0
    X[10:15] = X[20:25]  # equal rows
    return np.round(64 * X) / 64


def labels(X):
    score = X[:, 0] + np.sin(3 * X.sum(axis=1))
    return np.where(score > np.median(score), 1.0, -1.0)


X = table("numbers")
Y = labels(X)


def targets(cls, y):
    return y + 0.5 * np.sin(np.arange(len(y))) if is_regressor(cls()) else y


def outputs(model, X):
    return model.predict(X) if is_regressor(model) else model.decision_function(X)


def packed_layout(model, X):
    every = np.arange(X.shape[0])
    return model._kernel.over(model._kernel.inputs(X), every)[0].layout


# -------------------------------------------------------------------- against the exact matrix


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", TABLES)
@every_kernel
def test_the_conditions_hold_for_the_exact_matrix(kernel, exponent, kind, dtype, layout):
    inputs = table(kind)
    y = labels(inputs)
    model = SVC(C=5.0, kernel=kernel, exponent=exponent, gamma=0.3, tol=1e-5, dtype=dtype)
    model.fit(layout(inputs), y)
    assert model.converged_
    K = distance_kernel(kernel, inputs, inputs, 0.3, exponent)
    beta = np.zeros(ROWS)
    beta[model.support_] = model.dual_coef_[0]
    proof = certificate(K, svm_problem("c_svc", y, C=5.0), beta)
    assert proof.violation <= 1.001e-5
    precision = 1e-9 if dtype == "float64" else 1e-6
    assert_allclose(model.dual_objective_, proof.dual, rtol=precision)
    assert_allclose(model.primal_objective_, proof.primal, rtol=1e3 * precision)
    expected = K @ beta + model.intercept_
    assert_allclose(model.decision_function(layout(inputs)), expected, atol=1e-10)
    found = packed_layout(model, layout(inputs))
    assert bool(found["sparse"]) == (kind == "sparse")
    assert (found["words"] > 0) == (kind == "bits")
    assert (found["groups"] > 0) == (kind == "groups")


@pytest.mark.parametrize("kind", MACHINES)
@every_kernel
def test_every_machine_has_the_optimum_of_the_precomputed_matrix(kind, kernel, exponent):
    cls, numbers = MACHINES[kind]
    y = targets(cls, Y)
    named = cls(kernel=kernel, exponent=exponent, gamma=0.4, tol=1e-8, **numbers).fit(X, y)
    K = distance_kernel(kernel, X, X, 0.4, exponent)
    given = cls(kernel="precomputed", tol=1e-8, **numbers).fit(K, y)
    assert named.converged_
    assert_allclose(named.dual_objective_, given.dual_objective_, rtol=1e-7, atol=1e-10)
    new = table("numbers")[::-1] + 0.25
    expected = outputs(given, distance_kernel(kernel, new, X, 0.4, exponent))
    assert_allclose(outputs(named, new), expected, atol=1e-5)


def test_the_laplacian_kernel_is_that_of_scikit_learn():
    named = SVC(kernel="laplacian", gamma=0.4, tol=1e-8).fit(X, Y)
    function = SVC(kernel=lambda a, b: laplacian_kernel(a, b, 0.4), tol=1e-8).fit(X, Y)
    assert_allclose(named.decision_function(X), function.decision_function(X), atol=1e-6)


def test_the_exponent_two_is_the_gaussian_kernel():
    for dtype in ("float32", "float64"):
        options = {"gamma": 0.4, "tol": 1e-6, "dtype": dtype}
        power = SVC(kernel="exponential", exponent=2.0, **options).fit(X, Y)
        assert_array_equal(power.dual_coef_, SVC(**options).fit(X, Y).dual_coef_)


@pytest.mark.parametrize("cls", [SVC, SVR, OneClassSVM])
@pytest.mark.parametrize("kernel", ["exponential", "laplacian"])
def test_other_kernels_do_not_have_an_exponent(cls, kernel):
    y = targets(cls, Y)
    first, second = (cls(exponent=q).fit(X, y).dual_coef_ for q in (1.0, 0.5))
    assert_array_equal(first, second)
    first, second = (cls(kernel=kernel, exponent=q).fit(X, y).dual_coef_ for q in (1.0, 0.5))
    assert first.shape != second.shape or np.any(first != second)


# --------------------------------------------------------------------------------------- gamma


@every_kernel
def test_defaults_do_not_depend_on_the_scale_of_the_inputs(kernel, exponent):
    model = SVC(kernel=kernel, exponent=exponent, tol=1e-8)
    expected = model.fit(X, Y).decision_function(X)
    for scale in (2.0**-40, 2.0**40):
        found = model.fit(scale * X, Y).decision_function(scale * X)
        assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("kernel", ["exponential", "laplacian"])
def test_auto_is_scale_for_inputs_of_unit_deviation(kernel):
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], size=(ROWS // 2, 9))
    balanced = np.concatenate([signs, -signs])
    first, second = (
        SVC(kernel=kernel, exponent=0.5, gamma=gamma).fit(balanced, Y)
        for gamma in ("scale", "auto")
    )
    assert first.gamma_ == pytest.approx(second.gamma_)


@pytest.mark.parametrize("kernel", ["exponential", "laplacian"])
def test_defaults_separate_standardised_inputs(kernel):
    """Training errors say that the kernel is not too wide, those of other rows not too narrow."""
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(1200, 10))
    y = np.where(inputs[:, 0] * inputs[:, 1] + inputs[:, 2] > 0, 1, -1)
    model = SVC(kernel=kernel).fit(inputs[:800], y[:800])
    assert model.score(inputs[:800], y[:800]) > 0.9
    assert model.score(inputs[800:], y[800:]) > 0.75


# ------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize("cls", [SVC, NuSVC, SVR, NuSVR, OneClassSVM, SVCCV, SVRCV])
def test_exponents_that_make_no_kernel_are_refused(cls):
    y = targets(cls, Y)
    for exponent in (0.0, -1.0, 2.5, np.nan, "1"):
        with pytest.raises(ValueError, match="exponent"):
            cls(kernel="exponential", exponent=exponent).fit(X, y)
    message = r"exponent=1.5 makes no positive definite kernel='laplacian'; use 0 < exponent <= 1"
    with pytest.raises(ValueError, match=message):
        cls(kernel="laplacian", exponent=1.5).fit(X, y)


def test_libsvm_has_no_such_kernel(tmp_path):
    for kernel in ("exponential", "laplacian"):
        model = SVC(kernel=kernel).fit(X, Y)
        with pytest.raises(ValueError, match=rf"LIBSVM has no kernel='{kernel}'.*widemargin.save"):
            save_libsvm(model, tmp_path / "model")
        assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("kernel", ["exponential", "laplacian"])
def test_inputs_of_other_units_are_reported(kernel):
    with pytest.warns(UserWarning, match=f"kernel='{kernel}' hardly sees some inputs"):
        SVC(kernel=kernel).fit(X * [1e6, 1, 1, 1, 1], Y)


# ------------------------------------------------------------------------------ around machines


@pytest.mark.parametrize(("kernel", "exponent"), [("exponential", 1.5), ("laplacian", 0.7)])
@pytest.mark.parametrize("cls", [SVC, NuSVC, SVR, NuSVR, OneClassSVM])
def test_files_hold_the_exponent(cls, kernel, exponent, tmp_path):
    model = cls(kernel=kernel, exponent=exponent).fit(X, targets(cls, Y))
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.get_params() == model.get_params()
    assert again.gamma_ == model.gamma_
    assert_array_equal(outputs(again, X), outputs(model, X))


@pytest.mark.parametrize(("kernel", "exponent"), [("exponential", 1.5), ("laplacian", 0.7)])
def test_paths_searches_and_warm_starts(kernel, exponent):
    options = {"kernel": kernel, "exponent": exponent, "tol": 1e-7}
    for fitted in svm_path(X, Y, [0.1, 10.0], **options).models:
        alone = SVC(C=fitted.C, **options).fit(X, Y)
        assert_allclose(fitted.decision_function(X), alone.decision_function(X), atol=1e-4)
    for cls, one in ((SVCCV, SVC), (SVRCV, SVR)):
        y = targets(cls, Y)
        search = cls(Cs=[0.1, 10.0], cv=3, **options).fit(X, y)
        alone = one(C=search.C_, **options).fit(X, y)
        assert search.gamma_ == alone.gamma_
        assert_allclose(outputs(search, X), outputs(alone, X), atol=1e-4)
    resumed = SVC(warm_start=True, max_iter=20, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        resumed.fit(X, Y)
    resumed.set_params(max_iter=-1).fit(X, Y)
    assert_allclose(
        resumed.decision_function(X), SVC(**options).fit(X, Y).decision_function(X), atol=1e-4
    )


@pytest.mark.parametrize("tune", [None, "validation"])
@pytest.mark.parametrize(("kernel", "exponent"), [("exponential", 1.0), ("laplacian", 0.5)])
def test_experts_of_a_mixture(kernel, exponent, tune):
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(600, 2))
    y = np.where(np.sin(3 * inputs[:, 0]) + inputs[:, 1] > 0, "yes", "no")
    expert = SVC(kernel=kernel, exponent=exponent)
    mixture = HardMixtureClassifier(expert, n_experts=2, max_iter=2, random_state=0, tune=tune)
    mixture.fit(inputs[:400], y[:400])
    assert mixture.score(inputs[400:], y[400:]) > 0.9
    if tune:
        gammas = {
            trial["parameters"]["gamma"]
            for trial in mixture.tuning_
            if "gamma" in trial["parameters"]
        }
        assert len(gammas) > 3
        assert mixture.best_params_["expert"].kernel == kernel


def test_one_class_has_the_fraction_nu_outside():
    for kernel in ("exponential", "laplacian"):
        model = OneClassSVM(kernel=kernel, nu=0.2, tol=1e-6).fit(X)
        assert np.mean(model.decision_function(X) < -1e-5) <= 0.2
        assert len(model.support_) >= 0.2 * ROWS
