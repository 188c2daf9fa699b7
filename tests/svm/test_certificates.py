"""What an exact kernel machine certifies holds for the exact kernel of its rows."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from tools import kernel_certificates as certificates
from widemargin import SVC, SVR, NuSVC, OneClassSVM
from widemargin.reference import svm as reference
from widemargin.svm.kernel_source import KernelSource
from widemargin.svm.problem import certify, doubtful, svm_problem
from widemargin.svm.rounding import KernelRounding
from widemargin.svm.verification import Verifier

KERNELS = ("linear", "poly", "rbf", "sigmoid", "exponential", "laplacian")


def rows(seed=0, n=40, d=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)


def problem_of(kind="c_svc", seed=0, **parameters):
    """A problem that the checks of tools/kernel_certificates.py can be made of."""
    X, y = rows(seed)
    return certificates.Case(kind, parameters, X, y, None)


@pytest.mark.parametrize("seed", range(0, 60, 10))
def test_random_problems_have_true_certificates(seed):
    for number in range(seed, seed + 10):
        verdict = certificates.check(certificates.draw(number))
        assert verdict.faults == [], f"seed {number}"


@pytest.mark.parametrize("kernel", ["exponential", "laplacian"])
def test_random_problems_with_roots_of_distances(kernel):
    for number in range(40):
        verdict = certificates.check(certificates.draw(number, [kernel]))
        assert verdict.faults == [], f"seed {number}"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1600, 100))
def test_more_random_problems_have_true_certificates(seed):
    assert certificates.main(["--count", "100", "--seed", str(seed)]) == 0


@pytest.mark.parametrize("scale", [1e-25, 1e-20, 1e20, 1e25])
@pytest.mark.parametrize("dtype", ["auto", "float32", "float64"])
def test_inputs_that_float32_does_not_represent(scale, dtype):
    case = problem_of(gamma=0.2 / scale / scale, dtype=dtype)
    case = replace(case, X=scale * case.X)
    verdict = certificates.check(case)
    assert verdict.faults == []
    assert verdict.outcome == ("rounding" if dtype == "float32" else "tol")


def test_a_column_whose_products_cancel():
    """f of examples with 1e9 is of the order of 1e18, that of the others is of the order of 1."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.choice([0.0, 1e9], size=60), rng.normal(size=(60, 3))])
    case = certificates.Case("one_class", {"kernel": "linear", "nu": 0.1}, X, np.ones(60), None)
    assert certificates.check(case).faults == []


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(5))
def test_a_kernel_that_is_the_identity(seed, dtype):
    X, y = rows(seed)
    case = certificates.Case("nu_svc", {"nu": 0.1, "gamma": 1e3, "dtype": dtype}, X, y, None)
    assert certificates.check(case).faults == []


def test_no_margin_to_divide_by():
    """Equal rows of both classes: w = 0, and ρ is whatever rounding leaves of it."""
    for seed in range(5):
        X, y = rows(seed)
        X[20:], y[20:] = X[:20], -y[:20]
        case = certificates.Case("nu_svc", {"nu": 0.1, "gamma": 1e3}, 1e8 * X, y, None)
        assert certificates.check(case).faults == []


@pytest.mark.parametrize("machine", [SVC, SVR, NuSVC, OneClassSVM])
def test_a_tol_below_rounding_ends_the_fit_at_once(machine):
    """Not by patience: where a step would follow noise, no step is made."""
    X, y = rows()
    with pytest.warns(ConvergenceWarning, match=r"rounding .*violation .*raise tol"):
        fitted = machine(tol=1e-16).fit(X, y)
    assert fitted.stop_reason_ == "rounding"
    assert np.max(fitted.n_iter_) < 10_000
    assert fitted.kkt_violation_ < 1e-11


def test_float32_reaches_a_small_tol_by_refinement():
    """Each round starts from f in float64, so that float32 spoils only the change since."""
    case = problem_of(tol=1e-9, C=100.0, dtype="float32")
    assert certificates.check(case) == ("tol", [])


def test_many_duplicates_of_one_row():
    """Their rounding errors are all the same, so that they add up."""
    X, y = rows(n=20)
    case = problem_of(dtype="float32", tol=1e-6, C=10.0)
    assert certificates.check(replace(case, X=np.repeat(X, 30, 0), y=np.repeat(y, 30))).faults == []


def test_an_early_stop_reports_an_upper_bound():
    X, y = rows(n=200)
    case = problem_of(C=1e4, max_iter=20, dtype="float32")
    verdict = certificates.check(replace(case, X=X, y=y))
    assert verdict == ("max_iter", [])


@pytest.mark.parametrize("kind", ["c_svc", "epsilon_svr", "one_class", "nu_svc"])
def test_certificates_hold_for_every_f_within_the_bounds(kind):
    rng = np.random.default_rng(0)
    X, y = rows()
    problem, K = svm_problem(kind, y, nu=0.3), rbf_kernel(X, gamma=0.2)
    beta = reference.decomposition(K, reference.svm_problem(kind, y, nu=0.3)).beta
    f, error = K @ problem.coefficients(beta), 10 ** rng.uniform(-3, -0.5, size=len(y))
    plain, most = certify(problem, beta, f), certify(problem, beta, f, error)
    for _ in range(20):
        other = f + rng.uniform(-1.0, 1.0, size=len(f)) * error
        assert certify(problem, beta, other).violation <= most.violation
    assert plain.gap <= most.gap
    certain = ~doubtful(problem, beta, f, error)
    assert 0 < np.count_nonzero(certain) < len(f)
    assert certify(problem, beta, f, np.where(certain, error, 0.0)).gap == plain.gap


@pytest.mark.parametrize(
    ("kernel", "exponent"),
    [(name, 1.0) for name in KERNELS] + [("exponential", 1.75), ("laplacian", 0.5)],
)
@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_bounds_of_kernel_values_hold_and_are_not_wide(kernel, exponent, double, form):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 6)) * (rng.random((50, 6)) < 0.4) + rng.choice([0.0, 3.0])
    source = KernelSource(kernel, 0.2, 0.5, 3, exponent, double)
    packed, _ = source.over(source.inputs(form(X)), np.arange(50))
    model = SVC(kernel=kernel, degree=3, coef0=0.5, exponent=exponent)
    model.gamma_ = 0.2
    K = certificates.exact_kernel(model, X)
    rounding, beta = KernelRounding(source, form(X), not double).of(packed), rng.normal(size=50)
    bounds = rounding.of_sum(beta, 50)
    found = source.expand(form(X), np.arange(50), form(X), beta[None], [slice(0, 50)])[0][:, 0]
    if double:
        assert np.all(np.abs(found - K @ beta) <= bounds)
    unit = 2.0**-53 if double else 2.0**-24
    if exponent < 1 and not double:  # a small distance, once rounded, may have any slope
        unit = unit**exponent
    assert np.all(bounds <= 200 * unit * float(np.abs(K).max()) * np.abs(beta).sum())


def test_every_term_of_a_distance_adds_to_its_rounding():
    """Columns that exclude each other are one term, however many they are."""
    rng = np.random.default_rng(0)

    def bound(categories):
        one_hot = [np.eye(4)[rng.integers(4, size=50)] * rng.uniform(1, 2, 4) for _ in categories]
        X = np.hstack([rng.normal(size=(50, 2)), *one_hot])
        source = KernelSource("rbf", 0.2, 0.0, 3, True)
        packed, _ = source.over(source.inputs(X), np.arange(50))
        assert packed.layout["groups"] == len(categories)
        return KernelRounding(source, X, False).of(packed).of_values(np.ones(50)).max()

    assert bound(range(0)) < bound(range(3)) < bound(range(6))


def test_f_is_recomputed_only_where_the_certificate_depends_on_it():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    X[:, 0] += 3 * y  # far from the margin, but for a few
    counted = []
    verify = Verifier.verify

    def watched(self, *arguments):
        found = verify(self, *arguments)
        counted.append(self.kernel_values)
        return found

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setattr(Verifier, "verify", watched)
        fitted = SVC(C=1.0, gamma=0.5, dtype="float32").fit(X, y)
    assert fitted.converged_
    assert 0 < counted[-1] < 0.5 * len(fitted.support_) * 400
    assert_allclose(fitted.duality_gap_, fitted.primal_objective_ - fitted.dual_objective_)
