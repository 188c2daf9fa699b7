"""Hard mixtures against Chapter 6: balance, the bounds and when they fall, equation (6.1)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import SVC as SklearnSVC

from helpers.mixtures import LOGISTIC, X, Y, by_definition, log_probabilities, quick, wedge
from widemargin import SVC, HardMixtureClassifier, HardMixtureRegressor, LinearSVC
from widemargin.datasets import make_toy_mixture
from widemargin.mixtures import GaussianGater, MLPGater
from widemargin.mixtures.hard.partition import assign, subset_limit
from widemargin.reference import hard_mixture as reference

seeds = st.integers(0, 2**32 - 1)
DENSITY = GaussianGater(1, reg_covar=1e-9, tol=1e-9)  # it maximises the likelihood exactly
EXACT = LogisticRegression(C=1e6, tol=1e-8, max_iter=10_000)

# -------------------------------------------------------------------------------- assignment


@given(L=st.integers(1, 80), K=st.integers(1, 9), levels=st.integers(1, 50), seed=seeds)
def test_assignment_is_that_of_the_reference(L, K, levels, seed):
    """Few levels make ties, and most K do not divide L."""
    scores = np.random.default_rng(seed).integers(0, levels, (L, K)) / 7.0
    room = np.full(K, subset_limit(L, K))
    partition = assign(scores, room)
    assert_array_equal(partition, reference.assign(scores))
    assert_array_equal(room, subset_limit(L, K) - np.bincount(partition, minlength=K))


@given(L=st.integers(1, 60), K=st.integers(1, 6), rows=st.integers(1, 20), seed=seeds)
def test_chunks_in_turn_fill_the_same_room(L, K, rows, seed):
    scores = np.random.default_rng(seed).integers(0, 5, (L, K)) / 3.0
    room = np.full(K, subset_limit(L, K))
    parts = [assign(scores[first : first + rows], room) for first in range(0, L, rows)]
    assert_array_equal(np.concatenate(parts), reference.assign(scores))


@pytest.mark.parametrize(("balance", "most"), [(1.0, 34), (1.5, 51), (2.0, 67), (None, 100)])
def test_subset_limit(balance, most):
    assert subset_limit(100, 3, balance) == most
    partition = assign(np.tile([3.0, 2.0, 1.0], (100, 1)), np.full(3, most))
    assert np.bincount(partition, minlength=3).max() == most


def test_too_little_room_and_scores_that_are_not_numbers():
    with pytest.raises(ValueError, match="room for 3 of 4"):
        assign(np.zeros((4, 2)), np.array([1, 2]))
    with pytest.raises(ValueError, match="diverged"):
        assign([[np.nan, 1.0]], np.array([1, 1]))


@pytest.mark.parametrize("gater", ["mlp", "local"])
@pytest.mark.parametrize(("rows", "K"), [(300, 7), (301, 7), (40, 13)])
def test_no_expert_exceeds_its_limit(gater, rows, K):
    x, y = wedge(rows)
    for n_iter in (1, 2, 4):
        model = quick(gater=gater, n_experts=K, max_iter=n_iter).fit(x, y)
        sizes = np.bincount(model.partition_, minlength=K)
        assert sizes.max() <= rows // K + 1
        assert sizes.sum() == rows


def test_examples_are_assigned_by_the_gates_of_the_last_iteration():
    one, two = quick(max_iter=1).fit(X, Y), quick(max_iter=2).fit(X, Y)
    assert_array_equal(two.partition_, reference.assign(one.gates(X)))
    moved = np.count_nonzero(two.partition_ != one.partition_)
    assert one.history_[0]["updates"] == moved


def test_examples_are_assigned_by_the_posteriors():
    options = {"gater": DENSITY, "n_experts": 4}
    one, two = quick(**options, max_iter=1).fit(X, Y), quick(**options, max_iter=2).fit(X, Y)
    log_h = reference.posterior(one.gater_.log_gates(X), log_probabilities(one, X, Y))
    assert_array_equal(two.partition_, reference.assign(log_h))


# ------------------------------------------------------------------------------------ bounds


def records(**options):
    model = quick(**{"n_experts": 4, "max_iter": 8} | options).fit(X, Y)
    J = np.array([record["bound"] for record in model.history_])
    return J, np.array([record["negative_log_likelihood"] for record in model.history_]), model


@pytest.mark.parametrize("balance", [1.0, 1.5, None])
@pytest.mark.parametrize("reassign", ["gates", "posterior"])
@pytest.mark.parametrize("gater", ["mlp", "local", "uniform", LOGISTIC], ids=str)
def test_the_bound_is_above_the_likelihood(gater, reassign, balance):
    J, L, _ = records(
        gater=gater, reassign=reassign, balance=balance, criterion="likelihood", max_iter=3
    )
    assert np.all(L - 1e-9 * np.abs(L) <= J)


@pytest.mark.parametrize("seed", range(4))
def test_the_bound_falls_with_exact_steps(seed):
    """Experts and densities minimise J of (6.6), then the partition does."""
    J, _, _ = records(
        expert=EXACT, gater=DENSITY, balance=None, reassign="posterior", random_state=seed
    )
    assert len(J) > 2
    assert np.diff(J).max() <= 1e-6 * np.abs(J[0])
    assert J[-1] < J[0] - 1


@pytest.mark.parametrize("gater", ["mlp", DENSITY], ids=["6.1", "6.2"])
@pytest.mark.parametrize("n_iter", [1, 2, 3])
def test_a_reassignment_does_not_raise_the_bound(gater, n_iter):
    """For the experts and the gater of an iteration, its partition and the next one."""
    options = {"gater": gater, "balance": None, "reassign": "posterior"}
    _, _, model = records(**options, max_iter=n_iter)
    _, _, following = records(**options, max_iter=n_iter + 1)
    joint = model.gater_.log_joint(X) + log_probabilities(model, X, Y)
    before = reference.hard_criterion(joint, model.partition_)
    after = reference.hard_criterion(joint, following.partition_)
    assert reference.negative_log_likelihood(joint) <= after <= before + 1e-4


@pytest.mark.parametrize("gater", ["mlp", "uniform", DENSITY], ids=["mlp", "uniform", "density"])
def test_history_has_the_criteria_of_the_model(gater):
    J, L, model = records(gater=gater, criterion="likelihood", max_iter=2, gate_tolerance=0)
    log_p = log_probabilities(model, X, Y)
    joint = model.gater_.log_joint(X) + log_p
    assert J[-1] == pytest.approx(reference.hard_criterion(joint, model.partition_), rel=1e-5)
    assert L[-1] == pytest.approx(reference.negative_log_likelihood(joint), rel=1e-5)
    conditional = model.gater_.log_gates(X) + log_p  # log P(y, k | x)
    criterion = reference.negative_log_likelihood(conditional) / len(X)
    assert model.history_[-1]["criterion"] == pytest.approx(criterion, rel=1e-4)
    assert model.history_[-1]["error"] == pytest.approx(1 - model.score(X, Y))


def test_history_has_the_squared_errors_of_margins():
    model = quick(SVC(kernel="linear"), gate_tolerance=0).fit(X, Y)
    f = np.tanh(model.decision_function(X))
    expected = np.mean((np.where(Y == 1, 1, -1) - f) ** 2) / 2
    assert model.history_[-1]["criterion"] == pytest.approx(expected, rel=1e-5)
    assert "bound" not in model.history_[-1]


def test_weights_count_in_the_criteria():
    weights = np.random.default_rng(0).uniform(0.5, 2, len(X))
    model = quick(gater="local", n_experts=2).fit(X, Y, sample_weight=weights)
    joint = model.gater_.log_joint(X) + log_probabilities(model, X, Y)
    own = joint[np.arange(len(X)), model.partition_]
    assert model.history_[-1]["bound"] == pytest.approx(-(weights @ own), rel=1e-5)


def test_regression_with_densities_bounds_its_likelihood():
    y = np.abs(X[:, 0])
    model = quick(LinearRegression(), "local", HardMixtureRegressor, n_experts=2, max_iter=10)
    for record in model.fit(X, y).history_:
        assert record["bound"] >= record["negative_log_likelihood"]
    assert model.history_[-1]["bound"] < model.history_[0]["bound"]


# ----------------------------------------------------------------------------- toy problem


@pytest.fixture(scope="module")
def toy():
    X, y = make_toy_mixture(6000, random_state=1)
    return X[:3000], y[:3000], X[3000:], y[3000:]


def test_two_lines_and_a_linear_gater_separate_what_a_line_cannot(toy):
    """6.5.1"""
    x, y, x_test, y_test = toy
    gater = MLPGater((), learning_rate=0.1)
    model = HardMixtureClassifier(
        SVC(kernel="linear"), gater, n_experts=2, max_iter=10, random_state=0
    )
    assert model.fit(x, y).score(x_test, y_test) >= 0.94
    assert LinearSVC().fit(x, y).score(x_test, y_test) < 0.78
    sides = model.gates(np.array([[-0.8, 0.0], [0.8, 0.0]])).argmax(1)
    assert sides[0] != sides[1]


def test_the_local_gater_and_platts_sigmoid_do_better_than_a_line(toy):
    x, y, x_test, y_test = toy
    model = HardMixtureClassifier(
        SVC(kernel="linear"), GaussianGater(2), n_experts=2, max_iter=10, random_state=0
    )
    assert model.fit(x, y).score(x_test, y_test) >= 0.85
    assert_allclose(model.predict_proba(x_test).sum(1), 1)


# ------------------------------------------------------------------------ the mixture (6.1)


@pytest.mark.parametrize("expert", [SVC(), SklearnSVC()], ids=["ours", "scikit-learn"])
def test_one_expert_is_the_expert_alone(expert):
    model = quick(expert, n_experts=1).fit(X, Y)
    alone = expert.fit(X, Y)
    assert_allclose(model.decision_function(X), alone.decision_function(X), rtol=1e-5, atol=1e-6)
    assert_array_equal(model.predict(X), alone.predict(X))
    assert model.stop_reason_ == "no_update"


def test_the_uniform_mixture_is_the_mean_of_experts():
    model = quick(SVC(), "uniform", n_experts=5).fit(X, Y)
    mean = np.mean([expert.decision_function(X) for expert in model.experts_], axis=0)
    assert_allclose(model.decision_function(X), mean, rtol=1e-4, atol=1e-5)
    assert model.n_iter_ == 1  # no example prefers another expert
    assert np.ptp(np.bincount(model.partition_)) == 0


@pytest.mark.parametrize("gater", ["mlp", "local"])
def test_the_mixture_is_the_sum_of_gates_times_experts(gater):
    model = quick(gater=gater, criterion="likelihood", gate_tolerance=0).fit(X, Y)
    expected = by_definition(model, X, lambda expert: expert.predict_proba(X))
    assert_allclose(model.predict_proba(X), expected, atol=1e-6)
    assert_allclose(model.decision_function(X), expected[:, 1] - expected[:, 0], atol=1e-6)
    assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))


class Counting(LogisticRegression):
    """Counts the rows that it predicts."""

    rows = 0

    def decision_function(self, X):
        type(self).rows += X.shape[0]
        return super().decision_function(X)


@pytest.mark.filterwarnings("ignore:'n_jobs' has no effect")
def test_few_experts_predict_and_the_difference_is_bounded():
    x, y = wedge(2000)
    gater = MLPGater((20,), learning_rate=0.1)
    model = quick(Counting(C=100), gater, n_experts=20, criterion="tanh_mse").fit(x, y)
    model.set_params(gate_tolerance=0)
    Counting.rows = 0
    whole = model.decision_function(x)
    all_experts = Counting.rows / len(x)
    trained = [expert for expert in model.experts_ if isinstance(expert, Counting)]
    outputs = np.abs([expert.decision_function(x) for expert in trained]).max(0).clip(1)
    assert len(trained) > 15
    used = []
    for tolerance in (1e-6, 1e-3, 0.1):
        model.set_params(gate_tolerance=tolerance)
        Counting.rows = 0
        difference = np.abs(model.decision_function(x) - whole)
        used.append(Counting.rows / len(x))
        assert np.all(difference <= tolerance * outputs + 1e-5)
    assert all_experts >= used[0] >= used[1] >= used[2] > 0
    assert used[1] < all_experts / 2
    assert used[2] < all_experts / 4
