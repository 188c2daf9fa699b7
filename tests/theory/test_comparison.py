"""Tests of two models: against SciPy, and the claims of the documents."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, ttest_rel

from widemargin import theory


def predictions(b, c, both=3, right=10):
    """True classes and two predictions with these numbers of errors."""
    y = np.zeros(b + c + both + right)
    first, second = y.copy(), y.copy()
    first[:b] = second[b : b + c] = 1
    first[b + c : b + c + both] = second[b + c : b + c + both] = 1
    return y, first, second


def test_paired_losses_are_students_test():
    rng = np.random.default_rng(0)
    first, second = rng.exponential(size=(2, 40))
    found, expected = theory.paired_losses(first, second), ttest_rel(first, second)
    interval = expected.confidence_interval(0.95)
    assert found.p_value == pytest.approx(expected.pvalue)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert found.better == ("first" if first.mean() < second.mean() else "second")
    assert theory.paired_losses(first, first).better == "neither"
    assert theory.paired_losses(first, first).p_value == 1.0
    assert theory.paired_losses(first + 1.0, first).p_value < 1e-6
    with pytest.raises(ValueError, match="1 examples have losses"):
        theory.paired_losses([1.0], [2.0])


@given(b=st.integers(0, 60), c=st.integers(0, 60))
def test_the_exact_test_is_binomial(b, c):
    found = theory.mcnemar(*predictions(b, c))
    assert (found.only_first, found.only_second) == (b, c)
    expected = binomtest(b, b + c, 0.5).pvalue if b + c else 1.0
    assert found.p_value == pytest.approx(expected)
    assert found.better == ("neither" if b == c else "first" if b < c else "second")


def test_methods_agree_for_many_errors():
    exact, corrected, plain = (
        theory.mcnemar(*predictions(400, 480), method=m).p_value
        for m in ("exact", "corrected", "chi2")
    )
    assert corrected == pytest.approx(exact, rel=0.01)
    assert plain < exact
    assert plain == pytest.approx(exact, rel=0.1)


@pytest.mark.parametrize("method", ["exact", "corrected"])
def test_equal_models_differ_as_rarely_as_promised(method):
    random = np.random.default_rng(0)
    y = np.zeros(400)
    rejected = [
        theory.mcnemar(
            y, random.random(400) < 0.2, random.random(400) < 0.2, method=method
        ).p_value < 0.05
        for _ in range(1000)
    ]  # fmt: skip
    assert 0.01 < np.mean(rejected) < 0.07


def test_equal_proportions_differ_as_rarely_as_promised():
    errors = np.random.default_rng(0).binomial(1000, 0.1, size=(1000, 2))
    rejected = [theory.two_proportions(a, b, 1000).p_value < 0.05 for a, b in errors]
    assert 0.03 < np.mean(rejected) < 0.075
    assert theory.two_proportions(0, 0, 10).p_value == 1.0
    assert theory.two_proportions(10, 20, 100, 200).statistic == 0.0


# Test errors of the Simple MLP and of another model, as printed, and the number of test examples.
CLAIMS_OF_99_PER_CENT = {
    "thesis, Table 8.1, Forest, SVM": (7.3, 10.5, 50_000),
    "thesis, Table 8.1, Forest, MLP": (7.3, 8.9, 50_000),
    "thesis, Table 8.1, Connect-4, SVM and MLP": (10.1, 11.4, 10_000),
    "report, Table 1, Forest, SVM": (8.5, 10.5, 50_000),
    "report, Table 1, Forest, MLP": (8.5, 11.1, 50_000),
    "report, Table 1, Connect-4, SVM and MLP": (10.3, 11.4, 10_000),
}


@pytest.mark.parametrize("claim", CLAIMS_OF_99_PER_CENT)
def test_the_claims_of_99_per_cent(claim):
    found = theory.published_rates(*CLAIMS_OF_99_PER_CENT[claim])
    assert found.lowest < found.p_value < found.highest
    if claim == "report, Table 1, Connect-4, SVM and MLP":
        assert found.p_value == pytest.approx(0.0124, abs=5e-5)  # not 99 %, on two sides
        assert found.lowest < 0.01 < found.highest  # rounding can decide it
        assert found.common_errors == 190  # and so can McNemar's test
    else:
        assert found.highest < 0.01
        assert found.common_errors == 0


@given(first=st.integers(1, 60), more=st.integers(1, 60))
def test_common_errors_that_mcnemar_needs(first, more):
    """Against the test itself, on predictions with these errors in common."""
    n = 1000
    found = theory.published_rates(first / 10, (first + more) / 10, n, level=0.05)

    def p_value(common):
        y, one, two = predictions(first - common, first + more - common, both=common)
        return theory.mcnemar(y, one, two).p_value

    if found.common_errors is None:
        assert p_value(first) >= 0.05
    else:
        assert p_value(found.common_errors) < 0.05
        assert found.common_errors == 0 or p_value(found.common_errors - 1) >= 0.05
    swapped = theory.published_rates((first + more) / 10, first / 10, n, level=0.05)
    assert swapped == found


def test_bad_input():
    with pytest.raises(ValueError, match="same examples"):
        theory.mcnemar([0, 1], [0, 1], [0])
    with pytest.raises(ValueError, match="must be 'exact'"):
        theory.mcnemar([0, 1], [0, 1], [0, 0], method="guess")
