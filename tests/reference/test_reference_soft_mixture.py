"""Equations of the soft mixture: numeric gradients, the bound of EM, and what models compute."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from helpers import soft_mixtures as make
from widemargin.criteria import MSE, CrossEntropy, TanhMSE
from widemargin.mixtures.soft.inputs import Inputs
from widemargin.reference import mlp as reference_mlp
from widemargin.reference.soft_mixture import (
    Mixture,
    criterion,
    expected,
    gates,
    gradients,
    posteriors,
)

SHAPES = {
    "networks": {"hidden": 4, "gater": 5},
    "linear experts": {"hidden": 0, "gater": 5},
    "linear gater": {"hidden": 4, "gater": 0},
    "all linear": {"hidden": 0, "gater": 0},
}
every_kind = pytest.mark.parametrize("kind", make.KINDS)
every_shape = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
every_criterion = pytest.mark.parametrize("name", ["likelihood", "mse", "tanh_mse"])


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def arrays(mixture):
    networks = [*mixture.experts, mixture.gater]
    return [*(a for network in networks for a in network.parameters()), mixture.log_variance]


def numeric_gradients(mixture, value):
    """Central differences in every parameter."""
    found = []
    for array in arrays(mixture):
        slopes = np.zeros_like(array)
        for place in np.ndindex(array.shape):
            before = array[place]
            array[place] = before + 1e-5
            above = value()
            array[place] = before - 1e-5
            slopes[place] = (above - value()) / 2e-5
            array[place] = before
        found.append(slopes)
    return found


def in_order(found):
    experts, gater, variance = found
    return [*(a for one in experts for a in one), *gater, variance]


@every_kind
@every_shape
@every_criterion
def test_gradients_are_the_slopes_of_the_criterion(kind, shape, name, rng):
    mixture, X = make.random_mixture(rng, kind, **shape), rng.normal(size=(7, 3))
    y, w = make.random_targets(rng, 7, kind), rng.uniform(0.5, 2, 7)
    found = gradients(mixture, X, y, kind, name, sample_weight=w)
    slopes = numeric_gradients(mixture, lambda: criterion(mixture, X, y, kind, name) @ w / 7)
    for ours, numeric in zip(in_order(found), slopes, strict=True):
        assert_allclose(ours, numeric, rtol=1e-6, atol=1e-9)


@every_kind
def test_gradients_of_the_m_step(kind, rng):
    mixture, X = make.random_mixture(rng, kind), rng.normal(size=(7, 3))
    y, h = make.random_targets(rng, 7, kind), rng.dirichlet(np.ones(3), 7)
    slopes = numeric_gradients(mixture, lambda: expected(mixture, X, y, kind, h).mean())
    found = gradients(mixture, X, y, kind, h=h)
    for ours, numeric in zip(in_order(found), slopes, strict=True):
        assert_allclose(ours, numeric, rtol=1e-6, atol=1e-9)


@every_kind
def test_posteriors_are_bayes_rule_and_touch_the_bound(kind, rng):
    """log P ≥ Σ h log (joint/h) for any h, with equality at the posteriors."""
    mixture, X = make.random_mixture(rng, kind), rng.normal(size=(50, 3))
    y = make.random_targets(rng, 50, kind)
    h = posteriors(mixture, X, y, kind)
    assert_allclose(h.sum(1), 1)
    assert_allclose(gates(mixture, X).sum(1), 1)
    Q = criterion(mixture, X, y, kind)
    for other in (h, rng.dirichlet(np.ones(3), 50), gates(mixture, X)):
        bound = expected(mixture, X, y, kind, other) + np.sum(other * np.log(other), axis=1)
        assert np.all(bound >= Q - 1e-12)
    assert_allclose(expected(mixture, X, y, kind, h) + np.sum(h * np.log(h), axis=1), Q)


@pytest.mark.parametrize(
    ("kind", "name", "q"),
    [
        ("logistic", "likelihood", CrossEntropy()),
        ("softmax", "likelihood", CrossEntropy()),
        ("logistic", "tanh_mse", TanhMSE()),
        ("logistic", "mse", MSE()),
        ("gaussian", "mse", MSE()),
    ],
)
def test_a_single_expert_is_a_network(kind, name, q, rng):
    mixture, X = make.random_mixture(rng, kind, experts=1), rng.normal(size=(9, 3))
    y = make.random_targets(rng, 9, kind)
    target = y[:, None] if kind == "logistic" else y
    J, network = reference_mlp.gradients(mixture.experts[0], X, target, q)
    assert criterion(mixture, X, y, kind, name).mean() == pytest.approx(J)
    (ours,), gater, _ = gradients(mixture, X, y, kind, name)
    for one, other in zip(ours, network, strict=True):
        assert_allclose(one, other, atol=1e-14)
    assert all(np.allclose(a, 0) for a in gater)


@every_kind
@every_criterion
def test_the_order_of_experts_does_not_matter(kind, name, rng):
    mixture, X = make.random_mixture(rng, kind), rng.normal(size=(9, 3))
    y, order = make.random_targets(rng, 9, kind), [2, 0, 1]
    last = mixture.gater
    gater = reference_mlp.Network(
        [*last.weights[:-1], last.weights[-1][:, order]],
        [*last.biases[:-1], last.biases[-1][order]],
        last.transfer,
    )
    permuted = Mixture([mixture.experts[k] for k in order], gater, mixture.log_variance)
    assert_allclose(gates(permuted, X), gates(mixture, X)[:, order])
    assert_allclose(
        criterion(permuted, X, y, kind, name),
        criterion(mixture, X, y, kind, name),
    )


# --------------------------------------------------------------------- what the models compute


@every_kind
@every_shape
@every_criterion
@pytest.mark.parametrize("transfer", ["tanh", "relu"])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "CSR"])
def test_layers_in_one_matrix_compute_the_same(kind, shape, name, transfer, sparse, rng):
    mixture = make.random_mixture(rng, kind, transfer=transfer, **shape)
    X = rng.normal(size=(40, 3)) * (rng.random((40, 3)) < (0.1 if sparse else 1.0))
    y, w = make.random_targets(rng, 40, kind), rng.uniform(0.5, 2, 40)
    mean, scale = rng.normal(size=3), rng.uniform(0.5, 2, 3)
    standard = (X - mean) / scale

    layout, parameters = make.layout(mixture), make.parameters(mixture)
    weights, total = layout.views(parameters), np.zeros_like(parameters)
    inputs = Inputs(sp.csr_array(X) if sparse else X, mean, scale, np.float64)
    panel = inputs.take(np.arange(40))
    assert panel.sparse == sparse
    done = layout.forward(weights, panel)
    terms = make.criterion(kind, name).terms(done.logits, done.outputs, y, weights["log_variance"])
    Q = criterion(mixture, standard, y, kind, name)
    assert_allclose(terms.value, Q, rtol=1e-10)

    share, gradient = w / 40, layout.views(total)
    slopes = share[:, None] * terms.logits, share[:, None, None] * terms.outputs
    layout.backward(weights, panel, done, slopes, gradient)
    if name == "likelihood":
        gradient["log_variance"] += share @ terms.log_variance
    found = gradients(mixture, standard, y, kind, name, sample_weight=w)
    assert_allclose(total, make.flat(layout, *found), rtol=1e-9, atol=1e-12)


@every_kind
def test_posteriors_and_m_steps_are_those_of_the_reference(kind, rng):
    mixture, X = make.random_mixture(rng, kind), rng.normal(size=(20, 3))
    y, given = make.random_targets(rng, 20, kind), rng.dirichlet(np.ones(3), 20)
    layout, parameters = make.layout(mixture), make.parameters(mixture)
    weights = layout.views(parameters)
    panel = Inputs(X, np.zeros(3), np.ones(3), np.float64).take(slice(None))
    done = layout.forward(weights, panel)
    state = (done.logits, done.outputs, y, weights["log_variance"])
    model = make.criterion(kind, "likelihood")
    h, total = model.posteriors(*state)
    assert_allclose(h, posteriors(mixture, X, y, kind))
    assert_allclose(total, -criterion(mixture, X, y, kind))
    terms = model.expected(*state, given)
    assert_allclose(terms.value, expected(mixture, X, y, kind, given))
    slopes = terms.logits / 20, terms.outputs / 20
    gradient = np.zeros_like(parameters)
    layout.backward(weights, panel, done, slopes, layout.views(gradient))
    layout.views(gradient)["log_variance"][...] += terms.log_variance.mean(0)
    expected_gradient = make.flat(layout, *gradients(mixture, X, y, kind, h=given))
    assert_allclose(gradient, expected_gradient, rtol=1e-9, atol=1e-12)


@every_kind
def test_extreme_outputs_stay_finite(kind, rng):
    """Soft-max inputs and outputs far from 0 have criteria and slopes that are numbers."""
    y = make.random_targets(rng, 6, kind)
    logits = 1e4 * rng.normal(size=(6, 3))
    f = 1e4 * rng.normal(size=(6, 3, make.KINDS[kind]))
    model = make.criterion(kind, "likelihood")
    terms = model.terms(logits, f, y, np.zeros(2 if kind == "gaussian" else 0))
    for part in (*terms, model.scores(logits, f)):
        assert np.all(np.isfinite(part))
