"""The core of multi-layer perceptrons does what the reference does, to rounding."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from helpers.covering import every_pair
from helpers.networks import (
    CRITERIA,
    flat,
    learner,
    plain_training,
    random_network,
    random_targets,
)
from widemargin.criteria import Margin
from widemargin.mlp import network as _network
from widemargin.mlp.network import Steps
from widemargin.reference.committees import Committee
from widemargin.reference.mlp import TRANSFERS, Network, outputs

KINDS = ["one output", "classes", "values"]
STEPS = {
    "sgd": Steps("sgd", 7),
    "momentum": Steps("sgd", 7, momentum=0.9, mu=0.02, nu=0.01),
    "nesterov": Steps("sgd", 7, momentum=0.8, nesterov=True, nu=0.01),
    "adam": Steps("adam", 7, mu=0.02, nu=0.01),
    "adamw": Steps("adamw", 7, mu=0.2, nu=0.1, beta_1=0.8, beta_2=0.95),
    "one example": Steps("sgd", 1, mu=0.02, nu=0.01),
    "one example with momentum": Steps("sgd", 1, momentum=0.5),
    "all examples": Steps("adam", 50),
    "dropout": Steps("adam", 7, nu=0.01, dropout=0.3, seed=5),
    "one example with dropout": Steps("sgd", 1, dropout=0.5, seed=2**31),
}
RATES = {"sgd": 0.1, "adam": 0.01, "adamw": 0.01}
every_step = pytest.mark.parametrize("how", STEPS)
rng = np.random.default_rng(0)
X = rng.normal(size=(50, 5)) * (rng.random((50, 5)) < 0.6)
ORDER = rng.permutation(50)
WEIGHTS = rng.uniform(0, 2, 50)


def problem(kind, hidden=(6, 5), transfer="tanh", inputs=5):
    seeded = np.random.default_rng([len(kind), len(hidden)])
    network = random_network(seeded, inputs, hidden, 1 if kind == "one output" else 3, transfer)
    return network, random_targets(seeded, 50, kind)


def both(network, X, y, q, steps, **options):
    rate = RATES[steps.solver]
    trained = learner(network, X, y, q, steps, **options)
    tally = trained.visit(ORDER, rate)
    plain = X.toarray() if sp.issparse(X) else X
    expected, total = plain_training(
        network, plain, y, q, steps, ORDER, rate, options.get("weights")
    )
    return trained.state.parameters, expected, tally, total


@every_pair(transfer=TRANSFERS, hidden=[(), (7,), (6, 5), (5, 4, 3)], name=CRITERIA, kind=KINDS)
def test_criteria_transfers_and_depths(transfer, hidden, name, kind):
    network, y = problem(kind, hidden, transfer)
    for how in ("adam", "one example"):
        found, expected, tally, total = both(network, X, y, CRITERIA[name], STEPS[how])
        assert_allclose(found, expected, rtol=1e-8, atol=1e-10)
        assert tally.criterion == pytest.approx(total)


@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("units", [1, 3, 21])
def test_hard_tanh_has_a_slope_at_its_kinks(batch, dtype, units):
    """h'(±1) = 1 (8.5.2), and 0 beyond: a step is that of Algorithm 8.2 on the same units."""
    rng = np.random.default_rng(units)
    v = rng.choice([-2.0, -1.0, -0.5, 0.5, 1.0, 2.0], size=(units, 1))  # sums are exact
    v[0] = 1.0
    network = Network([v.T, np.ones((units, 1))], [np.zeros(units), np.zeros(1)], "hard_tanh")
    x, y = np.ones((1, 1)), np.ones((1, 1))
    q = Margin(100.0)
    steps = Steps("sgd", batch)
    trained = learner(network, x, y, q, steps, dtype=dtype)
    trained.visit(np.zeros(1, dtype=int), 0.25)
    committee = Committee(v, np.zeros(units)).learnt(x[0], 0.25)
    found = trained.state.parameters
    assert_array_equal(found[:units], committee.v[:, 0])
    assert_array_equal(found[units : 2 * units], committee.a)
    assert found[0] == 1.25
    expected, _ = plain_training(network, x, y, q, steps, [0], 0.25)
    assert_array_equal(found, expected)


@every_step
@pytest.mark.parametrize("kind", KINDS)
def test_updates(how, kind):
    network, y = problem(kind)
    found, expected, *_ = both(network, X, y, CRITERIA["cross_entropy"], STEPS[how])
    assert_allclose(found, expected, rtol=1e-8, atol=1e-10)
    assert np.abs(found - flat(network)).max() > 1e-3


@every_step
@pytest.mark.parametrize("kind", KINDS)
def test_weights_of_examples(how, kind):
    network, y = problem(kind)
    q = CRITERIA["mse"]
    found, expected, tally, total = both(network, X, y, q, STEPS[how], weights=WEIGHTS)
    assert_allclose(found, expected, rtol=1e-8, atol=1e-10)
    assert tally.criterion == pytest.approx(total)
    assert tally.weight == pytest.approx(WEIGHTS.sum())


@every_pair(
    how=STEPS, dtype=[np.float32, np.float64], density=[0.05, 0.5], scaling=[None, "standard"]
)
def test_csr_is_dense(how, dtype, density, scaling):
    seeded = np.random.default_rng(1)
    dense = (seeded.normal(1, 1, (50, 40)) * (seeded.random((50, 40)) < density)).astype(dtype)
    network, y = problem("classes", inputs=40)
    q, options = CRITERIA["cross_entropy"], {"scaling": scaling}
    one = learner(network, dense, y, q, STEPS[how], **options)
    other = learner(network, sp.csr_array(dense), y, q, STEPS[how], **options)
    for trained in (one, other):
        trained.visit(ORDER, RATES[STEPS[how].solver])
    assert_allclose(one.state.parameters, other.state.parameters, rtol=1e-7, atol=1e-9)
    assert_allclose(one.scores(dense), other.scores(sp.csr_array(dense)), rtol=1e-7, atol=1e-9)


@every_step
def test_implicit_standardisation_is_standardisation(how):
    network, y = problem("one output")
    data = 100 * X + np.array([0, 5, -300, 0, 1])
    scaled = (data - data.mean(0)) / data.std(0)
    q = CRITERIA["margin"]
    trained = learner(network, data, y, q, STEPS[how], scaling="standard")
    plain = learner(network, scaled, y, q, STEPS[how])
    for one in (trained, plain):
        one.visit(ORDER, RATES[STEPS[how].solver])
    assert_allclose(trained.state.parameters, plain.state.parameters, rtol=1e-6, atol=1e-8)
    assert_allclose(trained.scores(data), plain.scores(scaled), rtol=1e-6, atol=1e-8)


@every_step
@pytest.mark.parametrize("transfer", TRANSFERS)
def test_single_precision(how, transfer):
    network, y = problem("classes", transfer=transfer)
    q = CRITERIA["cross_entropy"]
    trained = learner(network, X, y, q, STEPS[how], dtype=np.float32)
    tally = trained.visit(ORDER, RATES[STEPS[how].solver])
    expected, total = plain_training(network, X, y, q, STEPS[how], ORDER, RATES[STEPS[how].solver])
    assert trained.state.parameters.dtype == np.float32
    assert_allclose(trained.state.parameters, expected, rtol=1e-3, atol=1e-4)
    assert tally.criterion == pytest.approx(total, rel=1e-4)


@pytest.mark.parametrize("batch", [31, 64, 100, 600])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("transfer", ["relu", "slanted_tanh"])
def test_slices_change_rounding_and_threads_change_nothing(batch, kind, transfer, monkeypatch):
    seeded = np.random.default_rng(2)
    many = seeded.normal(size=(1000, 9)) * (seeded.random((1000, 9)) < 0.1)
    network = random_network(seeded, 9, (17, 33), 1 if kind == "one output" else 3, transfer)
    y, q = random_targets(seeded, 1000, kind), CRITERIA["mse"]
    steps, order = Steps("adam", batch, nu=0.01), seeded.permutation(1000)
    expected, _ = plain_training(network, many, y, q, steps, order, 0.01)
    inputs = [many, sp.csr_array(many)]
    for slices, X in product((1, 2, 3, 8), inputs):  # more than a learner would, for so little work
        monkeypatch.setattr(_network.TrainedNetwork, "_slices", lambda *_, slices=slices: slices)
        runs = []
        for threads in (1, 2, 3):
            trained = learner(network, X, y, q, steps, threads=threads)
            trained.visit(order, 0.01)
            assert_allclose(trained.state.parameters, expected, rtol=1e-7, atol=1e-9)
            runs.append(trained.state.parameters)
        assert_array_equal(runs[1], runs[0])
        assert_array_equal(runs[2], runs[0])


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("count", [0, 1, 255, 256, 257, 1000])
def test_outputs_of_many_examples(threads, count, monkeypatch):
    monkeypatch.setattr(_network, "OPERATIONS_PER_THREAD", 1)
    network, y = problem("classes")
    trained = learner(network, X, y, CRITERIA["mse"], STEPS["sgd"], threads=threads)
    many = np.random.default_rng(3).normal(size=(count, 5))
    assert_allclose(trained.scores(many), outputs(network, many), rtol=1e-10, atol=1e-12)


def test_tally_counts_errors_and_updates():
    network, y = problem("classes")
    q = CRITERIA["margin"]
    steps = Steps("sgd", 50)  # one step: all are measured with the first network
    tally = learner(network, X, y, q, steps).visit(ORDER, 0.1)
    f = outputs(network, X)
    right = f[np.arange(50), y.astype(int)]
    best = np.where(np.eye(3)[y.astype(int)] == 1, -np.inf, f).max(1)
    assert tally.errors == np.sum(f.argmax(1) != y)
    assert tally.updates == np.sum(right - best <= q.parameter)


def test_decays_of_one_example_steps_fold_into_the_weights():
    network, y = problem("one output")
    steps = Steps("sgd", 1, mu=2.0, nu=3.0)  # factors fall below 1e-4 several times
    order = np.tile(ORDER, 4)
    trained = learner(network, X, y, CRITERIA["cross_entropy"], steps)
    trained.visit(order, 0.1)
    expected, _ = plain_training(network, X, y, CRITERIA["cross_entropy"], steps, order, 0.1)
    assert_allclose(trained.state.parameters, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("transfer", TRANSFERS)
def test_what_is_not_a_number_stays_so(transfer):
    network, y = problem("one output", transfer=transfer)
    network.weights[0][0, 0] = np.nan
    trained = learner(network, X, y, CRITERIA["margin"], STEPS["sgd"])
    assert np.isnan(trained.visit(ORDER, 0.1).criterion)
