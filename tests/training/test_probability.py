"""Platt's sigmoid, pairwise coupling and out-of-fold scores."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.calibration import _sigmoid_calibration
from sklearn.linear_model import LogisticRegression

from widemargin.reference.hard_mixture import fit_logistic
from widemargin.training.probability import couple, fit_sigmoid, out_of_fold, sigmoid

EXTREMES = [0.0, 1e-7, 0.3, 0.5, 1 - 1e-7, 1.0]


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def noisy(n=300, slope=1.5, bias=0.5, seed=0):
    """Scores, and classes drawn with P(positive) = 1 / (1 + exp(−slope f − bias))."""
    rng = np.random.default_rng(seed)
    f = 2 * rng.normal(size=n)
    return f, rng.random(n) < expit(slope * f + bias)


@st.composite
def wild_scores(draw):
    """Scores of any size, repeated or of one sign, with weights of which some are zero."""
    n = draw(st.integers(1, 30))
    size = draw(st.sampled_from([1e-320, 1e-12, 1.0, 1e12, 1e300]))
    element = st.one_of(
        st.sampled_from([-1.0, 0.0, 1.0]), st.floats(-1, 1), st.floats(0.0, 1e-6), st.just(0.5)
    )
    f = size * draw(hnp.arrays(np.float64, n, elements=element))
    y = draw(hnp.arrays(bool, n))
    w = draw(hnp.arrays(np.float64, n, elements=st.sampled_from([0.0, 1e-3, 1.0, 2.0, 50.0])))
    return f, y, w


def slopes(f, y, w, A, B):
    """The derivatives of the mean criterion with respect to A max |f| and B."""
    n_pos, n_neg = w[y].sum(), w[~y].sum()
    t = np.where(y, (n_pos + 1) / (n_pos + 2), 1 / (n_neg + 2))
    with np.errstate(all="ignore"):
        residual = w * (t - expit(-(A * f + B))) / w.sum()
    return residual @ (f / np.abs(f[w > 0]).max()), residual.sum()


# ------------------------------------------------------------------------------------ the sigmoid


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("slope", [-0.7, 0.0, 0.2, 5.0])
def test_sigmoid_is_that_of_scikit_learn(slope, size):
    f, y = noisy(slope=slope)
    A, B = fit_sigmoid(size * f, y, intercept=True)
    expected = _sigmoid_calibration(f, y.astype(float))
    np.testing.assert_allclose((A * size, B), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("slope", [-0.7, 0.0, 0.2, 5.0])
def test_the_plain_fit_is_a_logistic_regression(slope, size):
    """(6.10), with the labels as targets; w and a of the thesis are −A and B."""
    f, y = noisy(slope=slope)
    A, B = fit_sigmoid(size * f, y, intercept=True, smooth=False)
    a, w = fit_logistic(f, np.where(y, 1.0, -1.0))
    np.testing.assert_allclose((A * size, B), (-w, a), rtol=1e-7, atol=1e-9)
    model = LogisticRegression(C=1e10, tol=1e-10, max_iter=1000).fit(f[:, None], y)
    np.testing.assert_allclose((A * size, B), (-model.coef_[0, 0], -model.intercept_[0]), atol=1e-4)


def test_the_plain_fit_without_an_intercept():
    f, y = noisy(bias=0.0)
    A, B = fit_sigmoid(f, y, intercept=False, smooth=False)
    model = LogisticRegression(C=1e10, tol=1e-10, fit_intercept=False).fit(f[:, None], y)
    assert pytest.approx(-model.coef_[0, 0], rel=1e-4) == A
    assert B == 0.0


@pytest.mark.parametrize(
    ("scores", "positive"),
    [
        ([-2, -1, 1, 2], [0, 0, 1, 1]),
        ([-2, -1, 1, 2], [1, 1, 0, 0]),  # the wrong way round
        ([-1, 0, 0, 1], [0, 0, 1, 1]),  # they touch
        ([1, 2, 3], [1, 1, 1]),
    ],
)
def test_the_plain_fit_needs_classes_that_overlap(scores, positive):
    """Otherwise a steeper sigmoid is always better; with smoothed targets it is not."""
    with pytest.raises(ValueError, match=r"separate the classes.*use smooth=True"):
        fit_sigmoid(scores, positive, intercept=True, smooth=False)
    assert np.all(np.isfinite(fit_sigmoid(scores, positive, intercept=True)))


def test_the_plain_fit_of_equal_scores_is_their_frequency():
    A, B = fit_sigmoid([3.0] * 4, [0, 0, 0, 1], intercept=True, smooth=False)
    assert A == 0
    assert sigmoid(3.0, A, B) == pytest.approx(0.25)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("smooth", [True, False])
def test_weight_two_is_an_example_given_twice(intercept, smooth):
    f, y = noisy(60)
    w = np.resize([0.0, 1.0, 2.0, 1.0], len(f))
    w[0], f[0] = 0.0, 1e200
    repeats = np.repeat(np.arange(len(f)), w.astype(int))
    options = {"intercept": intercept, "smooth": smooth}
    expected = fit_sigmoid(f[repeats], y[repeats], **options)
    np.testing.assert_allclose(fit_sigmoid(f, y, w, **options), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(wild_scores())
def test_the_minimum_is_reached_for_any_scores(data):
    f, y, w = data
    A, B = fit_sigmoid(f, y, w, intercept=True)
    assert np.isfinite([A, B]).all()
    if np.abs(f[w > 0]).max(initial=0) > 1e-200:
        # scores that differ in their twelfth digit leave A f + B four
        np.testing.assert_allclose(slopes(f, y, w, A, B), 0, atol=1e-4)
    p = sigmoid(f, A, B)
    assert np.all((p >= 0) & (p <= 1))


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(wild_scores())
def test_without_intercept_the_sign_of_the_score_decides(data):
    f, y, w = data
    A, B = fit_sigmoid(f, y, w, intercept=False)
    assert B == 0
    assert -np.inf < A < 0
    p = sigmoid(f, A, B)
    np.testing.assert_array_equal(p > 0.5, f > 0)
    np.testing.assert_array_equal(p < 0.5, f < 0)
    np.testing.assert_array_equal(np.column_stack([1 - p, p]).argmax(axis=1), f > 0)
    if np.abs(f[w > 0]).max(initial=0) > 1e-200:
        free = A * np.abs(f[w > 0]).max() < -1.001e-6
        slope, _ = slopes(f, y, w, A, 0.0)
        assert abs(slope) < 1e-8 if free else slope < 1e-8  # at the bound, A > 0 is asked for


def test_scores_the_wrong_way_round_tell_nothing():
    f, y = noisy(slope=3.0)
    A, B = fit_sigmoid(-f, y, intercept=False)
    np.testing.assert_allclose(sigmoid(-f, A, B), 0.5, atol=1e-6)
    assert fit_sigmoid(-f, y, intercept=True)[0] > 0


def test_separable_scores_are_not_certain():
    f = np.array([-3.0, -1.0, 1.0, 3.0])
    for intercept in (True, False):
        p = sigmoid(f, *fit_sigmoid(f, f > 0, intercept=intercept))
        assert np.all((p > 0.05) & (p < 0.95))
        np.testing.assert_allclose(p + p[::-1], 1)


@pytest.mark.parametrize("score", [0.0, 0.1, -7.0, 1e300])
def test_constant_scores_give_the_mean_target(score):
    y = np.array([True, False, False, False])
    A, B = fit_sigmoid(np.full(4, score), y, intercept=True)
    assert A == 0
    np.testing.assert_allclose(sigmoid(score, A, B), (2 / 3 + 3 / 5) / 4)


def test_nothing_to_learn_from():
    assert fit_sigmoid([1.0, 2.0], [True, False], [0.0, 0.0], intercept=True) == (0.0, 0.0)
    A, B = fit_sigmoid([], [], intercept=False)
    np.testing.assert_allclose(sigmoid([-3.0, 3.0], A, B), 0.5, atol=1e-5)


def test_sigmoid_of_huge_scores_and_several_columns():
    f = np.array([[-1e308, 1e308], [0.0, 1e-320]])
    p = sigmoid(f, [-1e10, 2.0], [0.0, -1.0])
    np.testing.assert_allclose(p, [[0.0, 0.0], [0.5, expit(1.0)]])


# ------------------------------------------------------------------------------------- coupling


def matrix(row, K):
    """r_ij for all i ≠ j."""
    r = np.zeros((K, K))
    r[np.triu_indices(K, 1)] = np.clip(row, 1e-7, 1 - 1e-7)
    return r + np.tril(1 - r.T, -1)


def objective(p, r):
    return ((r.T * p[:, None] - r * p) ** 2).sum()


@pytest.mark.parametrize("K", [2, 3, 5, 8])
def test_coupling_is_the_minimum_of_the_quadratic_programme(K):
    rows = np.random.default_rng(K).random((8, K * (K - 1) // 2))
    for row, p in zip(rows, couple(rows), strict=True):
        found = minimize(
            objective,
            np.full(K, 1 / K),
            (matrix(row, K),),
            method="SLSQP",
            bounds=[(0, 1)] * K,
            constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
            options={"ftol": 1e-14, "maxiter": 500},
        )
        assert found.success
        np.testing.assert_allclose(p, found.x, atol=1e-5)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.data())
def test_coupling_is_a_distribution_and_optimal(data):
    K = data.draw(st.integers(2, 7))
    element = st.one_of(st.sampled_from(EXTREMES), st.floats(0, 1))
    row = data.draw(hnp.arrays(np.float64, K * (K - 1) // 2, elements=element))
    (p,), r = couple(row[None]), matrix(row, K)
    assert np.all(p > 0)
    assert p.sum() == pytest.approx(1, abs=1e-14)
    Q = np.diag((r**2).sum(axis=0)) - r * r.T
    assert np.ptp(Q @ p) < 1e-13  # the gradient is the same for all classes


@pytest.mark.parametrize("K", [2, 3, 10, 40])
def test_coupling_recovers_consistent_probabilities(K):
    p = np.random.default_rng(K).dirichlet(np.ones(K), size=1000) + 1e-3  # several blocks
    p /= p.sum(axis=1, keepdims=True)
    i, j = np.triu_indices(K, 1)
    np.testing.assert_allclose(couple(p[:, i] / (p[:, i] + p[:, j])), p, rtol=1e-8)


def test_two_classes_keep_the_side_of_their_score():
    p = sigmoid([[-1e-30], [0.0], [1e-30], [1e6]], -1.0, 0.0)
    pair = couple(1 - p)
    np.testing.assert_array_equal(pair.argmax(axis=1), [0, 0, 1, 1])
    np.testing.assert_allclose(pair[3], [1e-7, 1 - 1e-7])


def test_coupling_of_no_examples_and_of_no_pairs():
    assert couple(np.empty((0, 3))).shape == (0, 3)
    for columns in (0, 2, 4):
        with pytest.raises(ValueError, match=f"{columns} columns"):
            couple(np.full((1, columns), 0.5))


# --------------------------------------------------------------------------------- out of fold


def record(y, weights=None, **options):
    """The training and test sets of every fold; the scores are the examples' own numbers."""
    folds = []

    def fit_decision(train, test):
        folds.append((train, test))
        return test

    scores = out_of_fold(fit_decision, y, weights, **options)
    np.testing.assert_array_equal(scores, np.arange(len(y)))
    return folds


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.data())
def test_folds(data):
    y = data.draw(hnp.arrays(np.int64, st.integers(1, 40), elements=st.integers(0, 4)))
    w = data.draw(hnp.arrays(np.float64, len(y), elements=st.sampled_from([0.0, 0.5, 1.0])))
    n_splits = data.draw(st.integers(2, 6))
    folds = record(y, w, n_splits=n_splits, random_state=data.draw(st.integers(0, 3)))
    classes, counts = np.unique(y[w > 0], return_counts=True)
    alone = (w > 0) & np.isin(y, classes[counts == 1])

    assert 1 <= len(folds) <= n_splits
    tested = np.concatenate([test for _, test in folds])
    np.testing.assert_array_equal(np.sort(tested), np.arange(len(y)))  # each example once
    for train, test in folds:
        assert np.all(w[train] > 0)
        np.testing.assert_array_equal(np.unique(y[train]), classes)  # every class is learnt
        assert np.all(alone[np.intersect1d(train, test)])
    dealt = (w > 0) & ~alone
    for code in [None, *classes]:  # evenly, all together and each class
        members = dealt if code is None else dealt & (y == code)
        sizes = [members[test].sum() for _, test in folds]
        assert members.sum() == 0 or max(sizes) == -(-members.sum() // n_splits)


def test_folds_depend_on_the_seed_alone():
    y = np.resize([0, 1, 2, 1], 50)
    first, again, other = record(y), record(y, random_state=0), record(y, random_state=1)
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a[1], b[1])
    assert any(not np.array_equal(a[1], b[1]) for a, b in zip(first, other, strict=True))


def test_weight_zero_is_an_example_left_out():
    rng = np.random.default_rng(0)
    y, w = rng.integers(0, 3, 60), rng.integers(0, 3, 60).astype(float)
    kept = np.flatnonzero(w)
    for (train, _), (expected, _) in zip(record(y, w), record(y[kept]), strict=True):
        np.testing.assert_array_equal(train, kept[expected])


def test_several_outputs_and_too_few_folds():
    y = np.resize([0, 1, 2], 12)
    scores = out_of_fold(lambda train, test: np.column_stack([test, -test]), y, n_splits=3)
    np.testing.assert_array_equal(scores, np.column_stack([np.arange(12), -np.arange(12)]))
    with pytest.raises(ValueError, match="n_splits=1"):
        record(y, n_splits=1)
