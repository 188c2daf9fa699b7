"""The core trains a gater on the output of a mixture as the reference does, to rounding."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from helpers.networks import flat, learner, plain_training, random_network
from widemargin.mlp.network import Mixed, Steps, TrainedNetwork
from widemargin.reference.hard_mixture import criterion, log_softmax, mistakes, mixture
from widemargin.reference.mlp import outputs

CRITERIA = ["tanh_mse", "mse", "likelihood"]
every_criterion = pytest.mark.parametrize("name", CRITERIA)
STEPS = {
    "adam": Steps("adam", 7, mu=0.02, nu=0.01),
    "momentum": Steps("sgd", 7, momentum=0.9),
    "one example": Steps("sgd", 1, nu=0.01),
}
RATES = {"sgd": 0.1, "adam": 0.01}
L = 40


class Reference:
    """`reference_mixture.criterion` as `reference_mlp` wants it; y holds the examples' numbers."""

    def __init__(self, name, targets, experts, scale):
        self.given = name, targets, experts.astype(np.float64), scale

    def both(self, y, z):
        name, targets, experts, scale = self.given
        l = y[:, 0].astype(int)
        return criterion(name, targets[l], experts[l], z, scale)

    def value(self, y, z):
        return self.both(y, z)[0][:, None]

    def derivative(self, y, z):
        return self.both(y, z)[1]


class Problem:
    def __init__(self, seed, name, hidden=(6,), K=None, C=None):
        rng = np.random.default_rng(seed)
        K = K or rng.integers(1, 20)
        C = 1 if name == "likelihood" else C or rng.integers(1, 4)
        self.name, self.X, self.order = name, rng.normal(size=(L, 5)), rng.permutation(L)
        self.network = random_network(rng, 5, hidden, K, "tanh")
        said = rng.random((L, K, C)) if name == "likelihood" else 2 * rng.normal(size=(L, K, C))
        self.experts = said.astype(np.float32)
        self.targets = rng.choice([-1.0, 1.0], (L, C))
        self.scale = rng.uniform(0.2, 2, C) if name == "mse" and rng.random() < 0.5 else None
        self.weights = rng.uniform(0, 2, L) if rng.random() < 0.5 else None

    def learner(self, steps, X=None, **options):
        q = Mixed(self.name, self.experts)
        X = self.X if X is None else X
        options = {"error_scale": self.scale, "weights": self.weights} | options
        return learner(self.network, X, self.targets, q, steps, **options)

    def expected(self, steps):
        q = Reference(self.name, self.targets, self.experts, self.scale)
        rate, numbers = RATES[steps.solver], np.arange(L, dtype=float)[:, None]
        given = self.network, self.X, numbers, q, steps, self.order, rate, self.weights
        return plain_training(*given)

    def train(self, steps, **options):
        trained = self.learner(steps, **options)
        return trained.visit(self.order, RATES[steps.solver]), trained.state.parameters


@every_criterion
@pytest.mark.parametrize("how", STEPS)
@given(seed=st.integers(0, 2**32 - 1), hidden=st.sampled_from([(), (6,), (5, 4)]))
@settings(max_examples=15)
def test_core_is_the_reference(name, how, seed, hidden):
    problem = Problem(seed, name, hidden)
    tally, found = problem.train(STEPS[how])
    expected, total = problem.expected(STEPS[how])
    assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
    assert tally.criterion == pytest.approx(total)
    weights = np.ones(L) if problem.weights is None else problem.weights
    assert tally.weight == pytest.approx(weights.sum())


@every_criterion
@pytest.mark.parametrize("how", STEPS)
@pytest.mark.parametrize("seed", range(5))
def test_single_precision(name, how, seed):
    problem = Problem(seed, name)
    tally, found = problem.train(STEPS[how], dtype=np.float32)
    expected, total = problem.expected(STEPS[how])
    assert found.dtype == np.float32
    assert_allclose(found, expected, rtol=1e-3, atol=2e-4)
    assert tally.criterion == pytest.approx(total, rel=1e-4)


@every_criterion
@pytest.mark.parametrize("seed", range(10))
def test_mistakes_of_the_mixture_are_counted(name, seed):
    problem = Problem(seed, name)
    tally, _ = problem.train(Steps("sgd", L))  # one step: all are measured with the first network
    g = np.exp(log_softmax(outputs(problem.network, problem.X)))
    m = mixture(g, problem.experts.astype(np.float64))
    wrong = mistakes(name, problem.targets, m, problem.scale)
    weights = np.ones(L) if problem.weights is None else problem.weights
    assert tally.errors == pytest.approx(weights @ wrong)


@every_criterion
def test_csr_is_dense(name):
    problem = Problem(0, name)
    problem.X[np.random.default_rng(1).random(problem.X.shape) < 0.7] = 0
    for how in STEPS.values():
        _, dense = problem.train(how, scaling="standard")
        _, sparse = problem.train(how, X=sp.csr_array(problem.X), scaling="standard")
        assert_allclose(sparse, dense, rtol=1e-7, atol=1e-9)


@every_criterion
def test_threads_change_nothing(name, monkeypatch):
    monkeypatch.setattr(TrainedNetwork, "_slices", lambda *_: 2)  # a learner would not, so small
    problem = Problem(2, name, K=11)
    steps = Steps("adam", L)
    expected, _ = problem.expected(steps)
    runs = []
    for threads in (1, 2):
        trained = problem.learner(steps, threads=threads)
        trained.visit(problem.order, RATES["adam"])
        assert_allclose(trained.state.parameters, expected, rtol=1e-7, atol=1e-9)
        runs.append(trained.state.parameters)
    assert_array_equal(*runs)


@every_criterion
def test_large_scores(name):
    """The soft-max of scores whose exponentials overflow is a choice."""
    problem = Problem(3, name, hidden=(), K=4)
    problem.network.biases[0][:] = [1e4, 0, -1e4, 0]
    problem.scale = problem.weights = None
    tally, found = problem.train(Steps("sgd", L))
    m = problem.experts[:, 0].astype(np.float64)
    y = problem.targets
    if name == "likelihood":
        Q = -np.log(m)
    else:
        Q = (y - (np.tanh(m) if name == "tanh_mse" else m)) ** 2 / 2
    assert tally.criterion == pytest.approx(Q.sum(), rel=1e-6)
    assert_allclose(found, flat(problem.network), atol=1e-12)


def test_what_is_not_a_number_stays_so():
    problem = Problem(0, "tanh_mse")
    problem.network.weights[0][0, 0] = np.nan
    tally, _ = problem.train(STEPS["adam"])
    assert np.isnan(tally.criterion)


BAD = {
    "rows": lambda p: p.experts[1:],
    "experts": lambda p: p.experts[:, 1:],
    "outputs": lambda p: p.experts[:, :, 1:],
    "no outputs": lambda p: p.experts[:, :, :0],
    "float64": lambda p: p.experts.astype(np.float64),
    "order": lambda p: np.asfortranarray(p.experts),
    "two dimensions": lambda p: p.experts[:, :, 0],
}


@pytest.mark.parametrize("bad", BAD)
def test_experts_that_do_not_fit_are_refused(bad):
    problem = Problem(1, "tanh_mse", K=3, C=2)
    problem.scale = None
    before = problem.learner(STEPS["adam"]).state.parameters
    problem.experts = BAD[bad](problem)
    trained = problem.learner(STEPS["adam"])
    with pytest.raises((ValueError, TypeError)):
        trained.visit(problem.order, 0.01)
    assert_array_equal(trained.state.parameters, before)


def test_a_likelihood_has_one_value_per_expert():
    problem = Problem(1, "mse", K=3, C=2)
    problem.name = "likelihood"
    problem.experts = np.abs(problem.experts)
    with pytest.raises(ValueError, match="needs one value"):
        problem.train(STEPS["adam"])


def test_an_unknown_criterion_is_refused():
    problem = Problem(1, "mse")
    problem.name = "margin"
    with pytest.raises(ValueError, match="criterion='margin' is unknown"):
        problem.train(STEPS["adam"])
