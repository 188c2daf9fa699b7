"""The general problem of the kernel machines beside that of the reference: two implementations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from widemargin.reference import svm as reference
from widemargin.svm import problem as production

KINDS = ["c_svc", "nu_svc", "epsilon_svr", "nu_svr", "one_class"]
PROPERTY = settings(deadline=None, max_examples=60)


@st.composite
def both(draw):
    """The same problem by both, and a kernel matrix for it."""
    kind, n = draw(st.sampled_from(KINDS)), draw(st.integers(2, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y = rng.choice([-1.0, 1.0], size=n)
    y[:2] = -1.0, 1.0
    weights = rng.choice([0.5, 1.0, 3.0], size=n) if draw(st.booleans()) else None
    w = np.ones(n) if weights is None else weights
    largest = 2 * min(w[y > 0].sum(), w[y < 0].sum()) / w.sum() if kind == "nu_svc" else 1.0
    if kind.endswith("svr"):
        y = y + rng.normal(size=n)
    numbers = {
        "C": draw(st.sampled_from([0.1, 1.0, 20.0])),
        "nu": draw(st.floats(0.05, 1.0)) * largest,
        "epsilon": draw(st.sampled_from([0.0, 0.1, 1.0])),
    }
    root = rng.normal(size=(n, 3))
    ours, theirs = (
        module.svm_problem(kind, y, weights, **numbers) for module in (production, reference)
    )
    return ours, theirs, root @ root.T


@PROPERTY
@given(drawn=both())
def test_the_same_constants_and_a_feasible_start(drawn):
    ours, theirs, _ = drawn
    for name in ("z", "s", "upper", "low", "high", "sums"):
        assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-15)
    assert_array_equal(ours.group, theirs.group)
    assert_array_equal(ours.example, theirs.example)
    assert_allclose(ours.initial, theirs.initial, atol=1e-12 * ours.upper.sum())


@PROPERTY
@given(drawn=both(), seed=st.integers(0, 2**31 - 1))
def test_the_same_certificate_of_any_feasible_point(drawn, seed):
    """The one has a general formula for the primal, the other one formula per model."""
    ours, theirs, K = drawn
    beta, rng = ours.initial.copy(), np.random.default_rng(seed)
    for _ in range(10):
        i, j = rng.integers(len(beta), size=2)
        if ours.group[i] == ours.group[j] and i != j:
            delta = min(ours.high[i] - beta[i], beta[j] - ours.low[j]) * rng.random()
            beta[i], beta[j] = beta[i] + delta, beta[j] - delta
    found = production.certify(ours, beta, K @ ours.coefficients(beta))
    expected = reference.certificate(K, theirs, beta)
    scale = 1e-12 * (1 + ours.upper.sum()) * (1 + np.abs(K).sum())
    for name in ("violation", "biases", "primal", "dual"):
        assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9, atol=scale)


@PROPERTY
@given(drawn=both())
def test_the_same_machine(drawn):
    ours, theirs, K = drawn
    solution = reference.decomposition(K, theirs)
    coef, intercept = production.machine(ours, solution.beta, solution.biases)
    expected, its_intercept = reference.machine(theirs, solution)
    assert_allclose(coef, expected, rtol=1e-12, atol=1e-15)
    assert_allclose(intercept, its_intercept, rtol=1e-12)


def test_what_no_problem_has():
    with pytest.raises(ValueError, match=r"nu makes the sum 1\.8 where the bounds allow 1"):
        production.svm_problem("nu_svc", np.array([1.0, -1.0, -1.0, -1.0]), nu=0.9)
    with pytest.raises(ValueError, match="kind='svc'; use c_svc"):
        production.svm_problem("svc", np.ones(2))
