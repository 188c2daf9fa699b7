"""The bounds of Chapter 2 hold as often as they say, and the printed numbers come out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.probability import DRAWS, violated
from widemargin import theory

SIZES, RATES = st.integers(1, 10**7), st.floats(1e-6, 0.5)


@given(h=st.integers(1, 1000), n=st.integers(1, 10**6), eta=RATES, spread=st.floats(0.1, 10))
def test_confidence_inverts_theorem_2_3(h, n, eta, spread):
    deviation = theory.vc_confidence(h, n, eta, spread=spread)
    found = theory.vc_probability(deviation, h, n, spread=spread)
    assert found == pytest.approx(eta, rel=1e-6)


@given(h=st.integers(1, 50), n=st.integers(1, 500), eta=RATES)
def test_the_confidence_covers_the_growth_function(h, n, eta):
    """L (width − 1/L)² + log(η/4) bounds the log of Sauer's number for 2L, also for h > 2L."""
    width = theory.vc_confidence(h, n, eta) - 1 / n
    log_growth = n * width**2 + np.log(eta / 4)
    assert np.log(float(theory.sauer_bound(h, 2 * n))) <= log_growth * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize("n", [20, 200])
def test_theorems_2_3_and_2_4_on_thresholds(n):
    """Thresholds have h = 1; their deviations are known exactly."""
    eta = 0.1
    found = theory.simulate_thresholds(n, n_samples=DRAWS)
    assert np.mean(found.deviation > theory.vc_confidence(1, n, eta)) <= violated(eta)
    excess = found.expected - found.optimum
    assert np.mean(excess > theory.excess_risk_bound(1, n, eta)) <= violated(2 * eta)


def test_theorem_2_3_as_printed_claims_too_much_for_a_large_spread():
    """Losses of 0 or τ are τ times errors, so the probability must not depend on the unit."""
    h, n, spread = 1, 60, 50.0
    deviation = 0.5

    def printed(deviation, spread):
        exponent = h * (1 + np.log(2 * n / h)) - (deviation - 1 / n) ** 2 * n / spread**2
        found = theory.vc_probability(deviation, h, n, spread=spread, as_printed=True)
        assert found == pytest.approx(4 * np.exp(exponent))
        return found

    same = [theory.vc_probability(s * deviation, h, n, spread=s) for s in (1.0, spread)]
    assert same[0] == pytest.approx(same[1])
    assert printed(deviation, 1.0) == pytest.approx(same[0])
    assert printed(spread * deviation, spread) < printed(deviation, 1.0)


def test_the_lecture_s_logarithm_as_printed_grows_with_delta():
    """A bound that may fail more often must not be wider."""
    bounds = [theory.vc_confidence(3, 1000, eta) for eta in (0.01, 0.1, 0.5)]
    assert np.all(np.diff(bounds) < 0)
    assert np.all(np.diff(np.log(4 * np.array([0.01, 0.1, 0.5]))) > 0)  # log(4δ)


def test_structural_risk_minimisation():
    capacities = [1, 5, 25, 125, 625]
    risks = np.array([0.4, 0.2, 0.12, 0.1, 0.09])
    few = theory.structural_risk(risks, capacities, 5000)
    many = theory.structural_risk(risks, capacities, 10**9)
    assert few.best < many.best == 4
    assert np.all(np.diff(few.confidence) > 0)
    assert np.argmin(few.bound) == few.best
    with pytest.raises(ValueError, match="one of each"):
        theory.structural_risk(risks, capacities[:2], 100)


def test_regularisation_chooses_a_set_of_functions():
    """The minimiser of the regularised risk is the best of those with at most its penalty."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(50, 3)), random.normal(size=50)
    w = np.linalg.solve(X.T @ X / 50 + 0.3 * np.eye(3), X.T @ y / 50)

    def risks(w):
        losses, penalty = (y - X @ w) ** 2, w @ w
        return theory.empirical_risk(losses), theory.regularised_risk(losses, penalty, 0.3)

    others = w + 0.5 * random.normal(size=(DRAWS, 3))
    assert all(risks(other)[1] >= risks(w)[1] for other in others)
    smaller = [other for other in others if other @ other <= w @ w]
    assert smaller
    assert all(risks(other)[0] >= risks(w)[0] for other in smaller)


def test_the_printed_bounds_differ_for_another_spread_only():
    for bound in (theory.vc_confidence, theory.excess_risk_bound):
        assert bound(3, 100, 0.1, as_printed=True) == bound(3, 100, 0.1)
        right, printed = (bound(3, 100, 0.1, spread=5.0, as_printed=p) for p in (False, True))
        assert right == pytest.approx(5 * bound(3, 100, 0.1))  # another unit of the loss
        assert right - printed == pytest.approx(4 / 100)


@given(h=st.integers(1, 100), n=st.integers(1, 10**6), delta=RATES, risk=st.floats(0, 1))
def test_the_bound_of_the_lecture(h, n, delta, risk):
    """With C = 1 it is (2.12) without 1/L; as printed, it falls with confidence."""
    found = theory.lecture_risk_bound(risk, h, n, delta)
    assert found == pytest.approx(risk + theory.vc_confidence(h, n, delta) - 1 / n)
    wider = theory.lecture_risk_bound(risk, h, n, delta, constant=2.0)
    assert wider - risk == pytest.approx(2 * (found - risk))


def test_the_bound_of_the_lecture_as_printed():
    deltas = np.array([0.01, 0.05, 0.1])
    right, printed = (
        [theory.lecture_risk_bound(0.1, 3, 1000, d, as_printed=p) for d in deltas]
        for p in (False, True)
    )
    assert np.all(np.diff(right) < 0)
    assert np.all(np.diff(printed) > 0)


@pytest.mark.parametrize("mu", [0.0, 0.01, 1.0])
def test_a_change_of_the_data_changes_the_solution_by_at_most_the_sensitivity(mu):
    random = np.random.default_rng(0)
    A = random.normal(size=(6, 3)) * [1.0, 0.1, 0.01]
    left, values, _ = np.linalg.svd(A, full_matrices=False)

    def solution(b):
        return np.linalg.solve(A.T @ A + mu * np.eye(3), A.T @ b)

    bound, b = theory.sensitivity(A, mu), random.normal(size=6)
    for _ in range(100):
        change = random.normal(size=6)
        moved = np.linalg.norm(solution(b + change) - solution(b))
        assert moved <= bound * np.linalg.norm(change) * (1 + 1e-9)
    worst = left[:, np.argmax(values / (values**2 + mu))]
    assert np.linalg.norm(solution(b + worst) - solution(b)) == pytest.approx(bound)
    if mu:
        assert bound <= 0.5 / np.sqrt(mu)


def test_problems_without_a_unique_solution():
    assert theory.sensitivity([[1.0, 1.0], [1.0, 1.0]]) == np.inf
    assert theory.sensitivity([[1.0, 1.0]]) == np.inf
    assert theory.sensitivity([[1.0, 1.0], [1.0, 1.0]], mu=1.0) == pytest.approx(2 / 5)
