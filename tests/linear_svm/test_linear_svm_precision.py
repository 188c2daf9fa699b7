"""Linear SVMs on inputs of any scale and offset: what a certificate says is true."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from tools.exact_gap import ScaledInputs, SingleMachine, fractions
from tools.linear_certificates import complaints, draw
from widemargin import LinearSVC, LinearSVCCV, LinearSVR, LinearSVRCV
from widemargin.inputs.precision import PrecisionWarning
from widemargin.linear_svm import linear_svm_path
from widemargin.linear_svm.inputs import LinearInputs
from widemargin.linear_svm.problem import LinearProblem
from widemargin.linear_svm.sums import EXAMPLES_PER_BLOCK, DoubleSums, LongSums
from widemargin.linear_svm.verification import verified

rng = np.random.default_rng(0)
SIGNAL = rng.normal(size=200)
LABELS = np.where(SIGNAL + 0.1 * rng.normal(size=200) > 0, 1, 0)
FAR = {  # what tables hold beside a signal
    "identifiers": 1e16 + 2.0 * np.arange(200),
    "constant": np.full(200, 1.7e18),
    "hashes": rng.integers(0, 2**63, size=200).astype(float),
    "times": 1.7e18 + 1e9 * rng.random(200),
}
INTERCEPTS = pytest.mark.parametrize("s", [1.0, None], ids=["penalised", "free"])


def quiet(model, X, y, **arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y, **arguments)


# --------------------------------------------------------------------------------- certificates


@pytest.mark.parametrize("seed", [15, 24, 37, 42, 46, 59, 63, 73, 91, 200063, *range(1000, 1040)])
def test_certificates_hold_in_exact_arithmetic(seed):
    """No gap above tol, no bound that is too high, nothing that is not finite, no exception."""
    wrong = [what for _, what in complaints(draw(np.random.default_rng(seed))) if what]
    assert wrong == []


def test_a_large_C_does_not_excuse_a_gap():
    """The gap is relative to P, however small P is beside the cost of w = 0."""
    X, y = load_iris(return_X_y=True)
    model = quiet(LinearSVC(C=1e12, loss="hinge", warm_start=True), X, y)
    assert model.converged_
    for number in range(3):
        one = SingleMachine(
            inputs=ScaledInputs(X, None, None),
            target=np.where(y == number, 1.0, -1.0),
            c=np.full(150, 1e12),
            r=1.0,
            coef=model.coef_[number],
            intercept=model.intercept_[number],
            beta=model._last_solution[1][number],
            tube=None,
            squared=False,
        )
        assert one.primal() - one.dual() <= model.tol * float(one.primal())


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("intercept", [0.0, 1.0, np.inf])
def test_a_wrong_certificate_is_corrected(squared, intercept):
    """P and D are those of (w, b) and β, whatever a solver says of them."""
    X, t = rng.normal(size=(30, 3)), np.where(np.arange(30) % 2, 1.0, -1.0)
    problem = LinearProblem(LinearInputs(X), t, np.ones(30), 0.0, True, squared, intercept)
    beta = problem.feasible(0.1 * t)
    right = problem.certify(beta, problem.inputs.combine(beta), problem.point(np.ones(3), 0.0))
    claimed = right._replace(primal=0.5 * right.primal, dual=0.5 * right.primal)
    found = verified(problem, claimed, 1e-4).certificate
    assert_allclose(found.primal, right.primal, rtol=1e-12)
    assert found.dual <= right.dual
    assert_allclose(found.dual, right.dual, rtol=1e-9)


def test_a_cost_that_only_rounds_to_zero_is_not_zero():
    """In float64 3 · (1/3) is 1, so that this machine seems to cost nothing."""
    inputs, target = LinearInputs(np.array([[3.0], [3.0]])), np.ones(2)
    problem = LinearProblem(inputs, target, np.full(2, 1e30), 0.0, False, False, 0.0)
    claimed = problem.untouched()._replace(w=np.array([1.0 / 3.0]), primal=0.0)
    found = verified(problem, claimed, 1e-4).certificate
    assert found.gap > 1e-4 * found.primal > 0.0


def test_rounding_is_named_with_the_gap_and_the_remedy():
    X = np.c_[FAR["hashes"], SIGNAL]
    with pytest.warns(ConvergenceWarning, match=r'gap of .* remains; .*scaling="standard"'):
        model = LinearSVC().fit(X, LABELS)
    assert model.stop_reason_ == "rounding"
    assert not model.converged_
    assert model.dual_objective_ < model.primal_objective_


# --------------------------------------------------------------------- offsets and large columns


@INTERCEPTS
def test_four_numbers_far_from_the_origin(s):
    """A penalised intercept forbids to use them; a free one separates them."""
    model = LinearSVC(intercept_scaling=s).fit(1e9 + np.arange(4.0)[:, None], [0, 0, 1, 1])
    assert model.converged_
    if s is None:
        near = LinearSVC(intercept_scaling=None).fit(np.arange(4.0)[:, None], [0, 0, 1, 1])
        assert model.primal_objective_ == pytest.approx(near.primal_objective_, rel=1e-4)
        assert model.predict(1e9 + np.arange(4.0)[:, None]).tolist() == [0, 0, 1, 1]
    else:
        assert model.primal_objective_ == pytest.approx(4.0)


@pytest.mark.parametrize("name", FAR)
@INTERCEPTS
@pytest.mark.parametrize("scaling", [None, "standard", "minmax"])
def test_a_far_column_does_not_spoil_the_others(name, s, scaling):
    X = np.c_[FAR[name], SIGNAL]
    model = quiet(LinearSVC(intercept_scaling=s, scaling=scaling), X, LABELS)
    assert model.score(X, LABELS) > 0.95
    assert model.converged_ or model.stop_reason_ == "rounding"
    if scaling is not None:
        assert model.converged_
    sparse = quiet(LinearSVC(intercept_scaling=s, scaling=scaling), csr_array(X), LABELS)
    assert_allclose(sparse.primal_objective_, model.primal_objective_, rtol=2e-4)


@INTERCEPTS
@pytest.mark.parametrize("scaling", [None, "standard"])
def test_regression_beside_a_far_column(s, scaling):
    X = np.c_[1e14 + np.arange(200.0), SIGNAL]
    model = quiet(LinearSVR(intercept_scaling=s, scaling=scaling), X, 3.0 * SIGNAL + 1.0)
    assert model.score(X, 3.0 * SIGNAL + 1.0) > 0.95


@pytest.mark.parametrize("dual", [True, False, "auto"])
def test_a_free_intercept_takes_up_offsets(dual):
    """The inputs may be anywhere: the weights stay, the solver does not slow down."""
    X = np.c_[SIGNAL, rng.normal(size=200)]
    options = {"intercept_scaling": None, "loss": "hinge", "dual": dual, "tol": 1e-6}
    near = LinearSVC(**options).fit(X, LABELS)
    far = LinearSVC(**options).fit(X + np.array([1e6, -1e7]), LABELS)
    assert far.converged_
    assert_allclose(far.coef_, near.coef_, atol=0.01)


def test_sums_of_far_columns_keep_their_digits():
    X = np.c_[FAR["times"], SIGNAL]
    inputs = LinearSVC(scaling="standard")._prepared(X, None, None)
    beta = rng.normal(size=200)
    exact = ScaledInputs(X, inputs.mean, inputs.scale)
    expected = [float(value) for value in exact.combine(fractions(beta))]
    assert_allclose(inputs.combine(beta), expected, rtol=1e-9)


@pytest.mark.parametrize("rows", [7, EXAMPLES_PER_BLOCK + 7])
def test_sizes_of_sums_are_those_of_all_their_terms(rows):
    """Σ |w| a and Σ a² with a = Σ |β| |x|, in long double; float64 has bounds of them."""
    X, beta = rng.normal(size=(rows, 3)), rng.normal(size=rows)
    a, w = np.abs(X).T @ np.abs(beta), X.T @ beta
    exact, bound = (
        sums(LinearInputs(X)).combine(beta.astype(sums.dtype)) for sums in (LongSums, DoubleSums)
    )
    assert_allclose([exact.pull, exact.square], [np.abs(w) @ a, a @ a], rtol=1e-9)
    assert exact.pull <= bound.pull
    assert exact.square <= bound.square


def test_the_triangle_is_a_factor_of_the_matrix():
    design = LinearInputs(rng.normal(size=(50, 3))).design(1.0)
    theta, penalty = rng.random(50), np.array([1.0, 1.0, 1.0, 0.0])
    upper = design.triangle(theta, penalty)
    assert_allclose(upper.T @ upper, design.gram(theta) + np.diag(penalty), atol=1e-12)


# ---------------------------------------------------------------------------------- the warning


@pytest.mark.parametrize("container", [np.asarray, csr_array])
def test_columns_without_information_are_named(container):
    X = np.c_[SIGNAL, FAR["identifiers"], np.ones(200)]
    with pytest.warns(PrecisionWarning, match=r"column 1, counted from 0, .*subtract"):
        LinearSVC(intercept_scaling=None).fit(container(X), LABELS)


def test_columns_of_a_frame_have_names():
    X = pd.DataFrame({"signal": SIGNAL, "row": FAR["identifiers"]})
    with pytest.warns(PrecisionWarning, match="column 'row' has"):
        LinearSVR(intercept_scaling=None).fit(X, SIGNAL)


@pytest.mark.parametrize("column", [np.ones(200), np.full(200, 1.7e18), 1e3 + SIGNAL, SIGNAL])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_other_columns_are_not(column, dtype):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("error", PrecisionWarning)
        LinearSVC().fit(np.c_[SIGNAL, column].astype(dtype), LABELS)


# --------------------------------------------------------------------------------- repeatability


@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(dual=True),
        LinearSVC(multi_class="crammer_singer"),
        LinearSVR(dual=True, epsilon=0.1),
        LinearSVCCV(Cs=3, dual=True),
        LinearSVRCV(Cs=3, dual=True),
    ],
    ids=lambda model: f"{type(model).__name__}-{getattr(model, 'multi_class', '')}",
)
def test_fits_agree_without_a_seed(model):
    X, y = rng.normal(size=(200, 5)), LABELS if "SVC" in type(model).__name__ else SIGNAL
    first = quiet(model, X, y).coef_.copy()
    np.random.random(7)  # noqa: NPY002  the global generator has no say
    assert_allclose(quiet(model, X, y).coef_, first, atol=1e-6)


def test_paths_agree_without_a_seed():
    X = rng.normal(size=(200, 5))
    one, two = (linear_svm_path(X, LABELS, [0.1, 1.0], dual=True) for _ in range(2))
    for a, b in zip(one.models, two.models, strict=True):
        assert_allclose(a.coef_, b.coef_, atol=1e-6)
