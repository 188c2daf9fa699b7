"""The reference of the exact support vector machine: optimal, certified, and LIBSVM's optimum."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics.pairwise import laplacian_kernel, linear_kernel, rbf_kernel
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from widemargin.reference.svm import certificate, decomposition, machine, svm_problem

KINDS = ["c_svc", "nu_svc", "epsilon_svr", "nu_svr", "one_class"]
TIGHT = 1e-8
PROPERTY = settings(deadline=None, max_examples=40)
on_every_kind = pytest.mark.parametrize("kind", KINDS)


def noisy(kind, n=50, seed=0):
    """Inputs away from the origin, classes that overlap; labels ±1 or real targets."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    target = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n)
    return X + 1.0, (target if kind.endswith("svr") else np.where(target > 0, 1.0, -1.0))


def some_weights(n, seed=0):
    return np.random.default_rng(seed).choice([0.5, 1.0, 3.0], size=n)


def libsvm(kind, K, problem, y, weights, C, nu, epsilon):
    """The same problem by LIBSVM: its β, and its decision on the training examples."""
    shared = {"kernel": "precomputed", "tol": 1e-6}  # its kernel values are float32
    model = {
        "c_svc": lambda: SVC(C=C, **shared),
        "nu_svc": lambda: NuSVC(nu=nu, **shared),
        "epsilon_svr": lambda: SVR(C=C, epsilon=epsilon, **shared),
        "nu_svr": lambda: NuSVR(C=C, nu=nu, **shared),
        "one_class": lambda: OneClassSVM(nu=nu, **shared),
    }[kind]()
    model.fit(K, y, sample_weight=weights)
    coef = np.zeros(len(K))
    coef[model.support_] = model.dual_coef_[0]
    if kind == "nu_svc":  # LIBSVM has divided by ρ; before that Σ|β| = ν W
        coef *= np.abs(problem.sums).sum() / np.abs(coef).sum()
    beta = np.concatenate([coef, coef]) if kind.endswith("svr") else coef
    output = model.predict if kind.endswith("svr") else model.decision_function
    return np.clip(beta, problem.low, problem.high), output(K)


def assert_feasible(problem, beta):
    assert np.all(beta >= problem.low)
    assert np.all(beta <= problem.high)
    sums = np.bincount(problem.group, weights=beta, minlength=len(problem.sums))
    scale = 1 + problem.upper.sum()
    np.testing.assert_allclose(sums, problem.sums, rtol=0, atol=1e-12 * scale)


def assert_certified(problem, proof):
    """0 <= P + J <= violation · Σ U: each variable adds at most its bound times the violation."""
    gap, total = proof.primal - proof.dual, problem.upper.sum()
    rounding = 1e-12 * (1 + total + abs(proof.primal) + abs(proof.dual))
    assert -rounding <= gap <= proof.violation * total + rounding


# -------------------------------------------------------------------------------- against LIBSVM


@on_every_kind
@pytest.mark.parametrize("kernel", [linear_kernel, rbf_kernel, laplacian_kernel])
@pytest.mark.parametrize("weighted", [False, True])
def test_reaches_the_optimum_of_libsvm(kind, kernel, weighted):
    X, y = noisy(kind)
    K, weights = kernel(X), some_weights(len(y)) if weighted else None
    options = {"C": 2.0, "nu": 0.7, "epsilon": 0.2}
    problem = svm_problem(kind, y, weights, **options)
    ours = decomposition(K, problem, tol=1e-7)
    beta, outputs = libsvm(kind, K, problem, y, weights, **options)
    theirs = certificate(K, problem, beta)

    assert ours.violation <= 1.01e-7
    assert ours.dual == pytest.approx(theirs.dual, rel=1e-6)
    assert ours.primal == pytest.approx(ours.dual, rel=1e-6)
    assert_feasible(problem, ours.beta)
    assert_certified(problem, ours)
    coef, intercept = machine(problem, ours)
    np.testing.assert_allclose(K @ coef + intercept, outputs, atol=2e-4)


@pytest.mark.slow
@on_every_kind
@pytest.mark.parametrize(("C", "nu"), [(0.01, 0.9), (100.0, 0.05)])
def test_reaches_the_optimum_of_libsvm_at_the_ends(kind, C, nu):
    X, y = noisy(kind, n=30, seed=1)
    if kind == "nu_svc":
        y[:] = np.where(np.arange(30) % 2, 1.0, -1.0)  # balanced, for the large ν
    options = {"C": C, "nu": nu, "epsilon": 0.0}
    K, problem = rbf_kernel(X), svm_problem(kind, y, **options)
    ours = decomposition(K, problem, tol=1e-7)
    beta, _ = libsvm(kind, K, problem, y, None, **options)
    assert ours.dual == pytest.approx(certificate(K, problem, beta).dual, rel=1e-6)
    assert ours.violation <= 1.01e-7
    assert_certified(problem, ours)


# --------------------------------------------------------------------------------------- by hand


def test_two_points():
    """x = ±1: the margin is the distance, α = 1/2 each (or C, when that is less)."""
    K, y = np.array([[1.0, -1.0], [-1.0, 1.0]]), np.array([1.0, -1.0])
    for C, alpha in ((10.0, 0.5), (0.25, 0.25)):
        solution = decomposition(K, svm_problem("c_svc", y, C=C))
        np.testing.assert_allclose(solution.beta, [alpha, -alpha])
        np.testing.assert_allclose(solution.f, [2 * alpha, -2 * alpha])
        assert solution.biases == pytest.approx([0.0])
        assert solution.primal == pytest.approx(solution.dual) == 2 * alpha * (1 - alpha)
        assert solution.iterations == 1


def test_one_place_with_both_labels():
    """ρ = 0: both variables go to the bound, nothing is learnt, the loss is C each."""
    problem = svm_problem("c_svc", np.array([1.0, -1.0]), C=3.0)
    solution = decomposition(np.ones((2, 2)), problem)
    np.testing.assert_array_equal(solution.beta, [3.0, -3.0])
    np.testing.assert_array_equal(solution.f, [0.0, 0.0])
    assert solution.primal == solution.dual == 6.0


def test_duplicates_with_opposite_labels():
    """Among others too: each such pair stays opposed, and LIBSVM finds the same optimum."""
    X, y = noisy("c_svc", n=24)
    X, y = np.vstack([X, X[:8]]), np.concatenate([y, -y[:8]])
    K, problem = rbf_kernel(X), svm_problem("c_svc", y, C=5.0)
    ours = decomposition(K, problem, tol=TIGHT)
    beta, _ = libsvm("c_svc", K, problem, y, None, C=5.0, nu=0.5, epsilon=0.1)
    assert ours.dual == pytest.approx(certificate(K, problem, beta).dual, rel=1e-6)
    assert_certified(problem, ours)
    assert ours.violation <= 1.01 * TIGHT


def test_first_pair_is_the_best_partner():
    """From β = 0 all v are ±1: the nearest of the other class gains most, (v_i − v_j)²/2ρ = 2/ρ."""
    X, y = noisy("c_svc")
    K, i = rbf_kernel(X), int(np.argmax(y))
    rho = (K[i, i] - 2 * K[i] + np.diag(K))[y < 0]
    solution = decomposition(K, svm_problem("c_svc", y, C=1e3), max_iter=1)
    assert np.count_nonzero(solution.beta) == 2
    assert solution.dual == pytest.approx(2 / rho.min())


@pytest.mark.parametrize("kind", ["c_svc", "epsilon_svr"])
def test_constant_targets_need_no_support_vector(kind):
    K, problem = np.eye(4), svm_problem(kind, np.ones(4), epsilon=0.25)
    solution = decomposition(K, problem)
    np.testing.assert_array_equal(solution.beta, 0.0)
    assert solution.iterations == 0
    assert np.all(np.isfinite(solution.biases))
    assert solution.primal == solution.dual == 0.0


def test_one_class_of_everything():
    """ν = 1 leaves one feasible point; the bias is the largest that keeps all errors."""
    X, y = noisy("one_class", n=12)
    K, problem = rbf_kernel(X), svm_problem("one_class", y, nu=1.0)
    solution = decomposition(K, problem)
    np.testing.assert_array_equal(solution.beta, 1.0)
    assert solution.biases == pytest.approx([-K.sum(axis=0).max()])
    assert solution.primal == pytest.approx(solution.dual)


def test_no_weight_at_all():
    solution = decomposition(np.eye(3), svm_problem("c_svc", np.ones(3), np.zeros(3)))
    assert solution.biases == [0.0]
    assert solution.violation == solution.primal == solution.dual == solution.iterations == 0


# -------------------------------------------------------------------------------------- theorems


@st.composite
def problems(draw, kinds=KINDS):
    """Small integers for inputs: many duplicates, often with opposite labels; weights may be 0."""
    kind, n = draw(st.sampled_from(kinds)), draw(st.integers(2, 12))
    X = draw(hnp.arrays(float, (n, 2), elements=st.integers(-2, 2).map(float)))
    y = draw(hnp.arrays(float, n, elements=st.sampled_from([-1.0, 1.0])))
    weights = draw(hnp.arrays(float, n, elements=st.sampled_from([0.0, 0.5, 1.0, 2.0])))
    y[:2], weights[:2] = (-1, 1), 1.0
    lighter = min(weights[y > 0].sum(), weights[y < 0].sum())
    largest = 2 * lighter / weights.sum() if kind == "nu_svc" else 1.0
    nu = draw(st.floats(0.05, 1.0)) * largest
    if kind.endswith("svr"):
        y = y + draw(hnp.arrays(float, n, elements=st.floats(-2, 2, width=16)))
    C, epsilon = draw(st.sampled_from([0.1, 1.0, 10.0])), draw(st.sampled_from([0.0, 0.1, 1.0]))
    K = draw(st.sampled_from([linear_kernel, rbf_kernel]))(X)
    return K, svm_problem(kind, y, weights, C=C, nu=nu, epsilon=epsilon)


@PROPERTY
@given(drawn=problems(), q=st.sampled_from([2, 4, 6]))
def test_converges_to_a_certified_optimum(drawn, q):
    K, problem = drawn
    solution = decomposition(K, problem, tol=1e-6, q=q)
    assert solution.violation <= 1.01e-6
    assert_feasible(problem, solution.beta)
    assert_certified(problem, solution)


@PROPERTY
@given(drawn=problems(), stops=st.lists(st.integers(0, 15), min_size=2, max_size=4))
def test_every_iteration_is_feasible_and_better(drawn, stops):
    """The certificate bounds the optimum wherever the algorithm is stopped."""
    K, problem = drawn
    best = decomposition(K, problem, tol=1e-6).dual
    duals = []
    for stop in sorted(stops):
        solution = decomposition(K, problem, tol=1e-6, max_iter=stop)
        assert solution.iterations <= stop
        assert_feasible(problem, solution.beta)
        assert_certified(problem, solution)
        duals.append(solution.dual)
        assert solution.primal >= best - 1e-9 * (1 + abs(best))
    assert np.all(np.diff([*duals, best]) >= -1e-9 * (1 + abs(best)))


@PROPERTY
@given(drawn=problems(), seed=st.integers(0, 2**31 - 1))
def test_certificate_of_any_feasible_point(drawn, seed):
    """Also off the algorithm's path: after random moves."""
    K, problem = drawn
    beta, rng = problem.initial.copy(), np.random.default_rng(seed)
    for _ in range(20):
        i, j = rng.integers(len(beta), size=2)
        if problem.group[i] == problem.group[j] and i != j:
            room = min(problem.high[i] - beta[i], beta[j] - problem.low[j])
            delta = room * rng.random()
            beta[i], beta[j] = beta[i] + delta, beta[j] - delta
    assert_feasible(problem, beta)
    assert_certified(problem, certificate(K, problem, beta))


@PROPERTY
@given(drawn=problems(), q=st.sampled_from([4, 8]))
def test_size_of_the_working_set_and_start_do_not_matter(drawn, q):
    K, problem = drawn
    pairs, sets = decomposition(K, problem, tol=1e-6), decomposition(K, problem, tol=1e-6, q=q)
    slack = 2e-6 * problem.upper.sum() + 1e-9
    assert sets.dual == pytest.approx(pairs.dual, abs=slack)
    again = decomposition(K, problem, tol=1.01e-6, initial=pairs.beta)
    assert again.iterations == 0
    np.testing.assert_array_equal(again.beta, pairs.beta)


# ----------------------------------------------------------------------------------- invariances


@on_every_kind
def test_weight_two_is_a_duplicate_and_weight_zero_is_absence(kind):
    X, y = noisy(kind, n=24)
    weights = np.repeat([0.0, 1.0, 2.0], 8)
    index = np.repeat(np.arange(24), weights.astype(int))
    weighted = decomposition(rbf_kernel(X), svm_problem(kind, y, weights), tol=TIGHT)
    copied = decomposition(rbf_kernel(X[index]), svm_problem(kind, y[index]), tol=TIGHT)
    assert weighted.dual == pytest.approx(copied.dual, rel=1e-7)
    np.testing.assert_allclose(weighted.f[index], copied.f, atol=1e-5)
    np.testing.assert_allclose(weighted.biases, copied.biases, atol=1e-5)


@pytest.mark.parametrize("kind", ["c_svc", "nu_svc", "epsilon_svr", "nu_svr"])
def test_opposite_targets_give_the_opposite_machine(kind):
    X, y = noisy(kind)
    K = rbf_kernel(X)
    a, b = (svm_problem(kind, sign * y, nu=0.3) for sign in (1, -1))
    coef, intercept = machine(a, decomposition(K, a, tol=TIGHT))
    opposite, minus_intercept = machine(b, decomposition(K, b, tol=TIGHT))
    np.testing.assert_allclose(opposite, -coef, atol=1e-5)
    assert minus_intercept == pytest.approx(-intercept, abs=1e-5)


@pytest.mark.parametrize("kind", ["epsilon_svr", "nu_svr"])
def test_shifted_targets_shift_the_bias_only(kind):
    X, y = noisy(kind)
    K = rbf_kernel(X)
    a, b = svm_problem(kind, y), svm_problem(kind, y + 7.0)
    coef, intercept = machine(a, decomposition(K, a, tol=TIGHT))
    same, shifted = machine(b, decomposition(K, b, tol=TIGHT))
    np.testing.assert_allclose(same, coef, atol=1e-5)
    assert shifted == pytest.approx(intercept + 7.0, abs=1e-5)


# --------------------------------------------------------------------------------- what ν means


@pytest.mark.parametrize("nu", [0.1, 0.3, 0.6])
@pytest.mark.parametrize("kind", ["nu_svc", "nu_svr", "one_class"])
def test_nu_bounds_errors_and_support_vectors(kind, nu):
    """Errors <= ν L <= support vectors (Schölkopf et al., 2000)."""
    X, y = noisy(kind)
    problem = svm_problem(kind, y, C=2.0, nu=nu)
    solution = decomposition(rbf_kernel(X), problem, tol=TIGHT)
    size = np.abs(problem.coefficients(solution.beta))
    top = problem.upper[0]
    assert np.sum(size >= top) <= nu * len(y) + 1e-9
    assert np.sum(size > 0) >= nu * len(y) - 1e-9


def test_nu_classifier_is_a_c_classifier():
    """With C = 1/ρ (Schölkopf et al., 2000)."""
    X, y = noisy("nu_svc")
    K, problem = rbf_kernel(X), svm_problem("nu_svc", y, nu=0.3)
    solution = decomposition(K, problem, tol=TIGHT)
    coef, intercept = machine(problem, solution)
    rho = (solution.biases[1] - solution.biases[0]) / 2
    same = svm_problem("c_svc", y, C=1 / rho)
    c_coef, c_intercept = machine(same, decomposition(K, same, tol=TIGHT))
    np.testing.assert_allclose(coef, c_coef, atol=1e-5)
    assert intercept == pytest.approx(c_intercept, abs=1e-5)


def test_nu_regressor_finds_the_tube():
    """It is the ε-regressor of half the distance between its two biases."""
    X, y = noisy("nu_svr")
    K, problem = rbf_kernel(X), svm_problem("nu_svr", y, nu=0.3)
    solution = decomposition(K, problem, tol=TIGHT)
    coef, intercept = machine(problem, solution)
    epsilon = (solution.biases[0] - solution.biases[1]) / 2
    assert epsilon > 0
    same = svm_problem("epsilon_svr", y, epsilon=epsilon)
    e_coef, e_intercept = machine(same, decomposition(K, same, tol=TIGHT))
    np.testing.assert_allclose(coef, e_coef, atol=1e-5)
    assert intercept == pytest.approx(e_intercept, abs=1e-5)


# ------------------------------------------------------------------------------------- bad input


def test_infeasible_nu_is_refused():
    with pytest.raises(ValueError, match=r"nu makes the sum 1\.8 where the bounds allow 1"):
        svm_problem("nu_svc", np.array([1.0, -1.0, -1.0, -1.0]), nu=0.9)


def test_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="kind='svc'; use c_svc"):
        svm_problem("svc", np.ones(2))
