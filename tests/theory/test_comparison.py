"""Tests of two models: against SciPy, and the claims of the documents."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from widemargin import theory


def predictions(b, c, both=3, right=10):
    """True classes and two predictions with these numbers of errors."""
    y = np.zeros(b + c + both + right)
    first, second = y.copy(), y.copy()
    first[:b] = second[b : b + c] = 1
    first[b + c : b + c + both] = second[b + c : b + c + both] = 1
    return y, first, second


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


def test_the_claims_of_99_per_cent():
    """Test errors of Simple MLP, MLP and SVM, as printed; 50,000 and 10,000 test examples."""

    def p(simple, other, n):
        return theory.two_proportions(simple * n / 100, other * n / 100, n).p_value

    # thesis, Table 8.1
    assert p(7.3, 8.9, 50_000) < 0.01
    assert p(7.3, 10.5, 50_000) < 0.01
    assert p(10.1, 11.4, 10_000) < 0.01
    # report, Table 1
    assert p(8.5, 10.5, 50_000) < 0.01


def test_bad_input():
    with pytest.raises(ValueError, match="same examples"):
        theory.mcnemar([0, 1], [0, 1], [0])
    with pytest.raises(ValueError, match="must be 'exact'"):
        theory.mcnemar([0, 1], [0, 1], [0, 0], method="guess")
