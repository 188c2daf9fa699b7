"""Soft mixtures as estimators: what they learn, sample weights, and errors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from helpers.soft_mixtures import (
    QUADRANTS,
    THREE,
    X,
    classifier,
    every_solver,
    every_target,
    outputs,
    problem,
    regressor,
)
from widemargin import MixtureOfExpertsClassifier, MLPClassifier, MLPRegressor

pytestmark = pytest.mark.filterwarnings("ignore:.*reached max_iter")


# -------------------------------------------------------------------------------- what is learnt


@pytest.mark.slow
@every_solver
@every_target
def test_learns_what_no_linear_model_can(solver, target):
    model, y = problem(target, solver, n_experts=4, max_iter=60 if "em" in solver else 150)
    assert model.fit(X, y).score(X, y) > 0.93
    assert model.history_[-1]["error"] < model.history_[0]["error"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{"solver": "em"}, {"learning_rate": 0.05, "batch_size": 30, "max_iter": 300}],
    ids=["em", "gradient"],
)
def test_two_linear_experts_and_a_linear_gater(options):
    """Points above a roof: one plane per side, and one between the sides."""
    rng = np.random.default_rng(1)
    points = rng.uniform(-1, 1, size=(400, 2))
    y = points[:, 1] > 1 - 2 * np.abs(points[:, 0])
    linear = {"n_experts": 2, "n_units": 0, "n_gater_units": 0, "tol": None, "random_state": 1}
    mixture = MixtureOfExpertsClassifier(**linear | {"max_iter": 50} | options).fit(points, y)
    assert LogisticRegression().fit(points, y).score(points, y) < 0.8
    assert mixture.score(points, y) > 0.97
    gates = mixture.gates(np.array([[-0.9, 0.0], [0.9, 0.0]]))
    assert set(gates.argmax(1)) == {0, 1}  # one expert per side


@every_solver
@every_target
def test_gates_are_positive_and_sum_to_one(solver, target):
    model, y = problem(target, solver)
    gates = model.fit(X, y).gates(X)
    assert gates.shape == (300, 3)
    assert gates.min() >= 0
    assert_allclose(gates.sum(1), 1)
    assert gates.std(0).min() > 0


@every_solver
@every_target
def test_predictions_are_the_mixture_of_experts(solver, target):
    """Permuting experts, with their gates, changes nothing."""
    model, y = problem(target, solver)
    model.fit(X, y)
    before, gates = outputs(model, X), model.gates(X)
    mixture, order = model._mixture(), np.array([2, 0, 1])
    layout = mixture.layout
    old, new = layout.views(mixture.parameters), layout.views(np.copy(mixture.parameters))
    E = layout.expert_columns
    columns = np.arange(E).reshape(3, -1)[order].ravel()
    for name in ("first", "first_bias"):
        new[name][..., :E] = old[name][..., columns]
        if not layout.gater:
            new[name][..., E:] = old[name][..., E + order]
    for name in ("experts", "experts_bias"):
        if name in new:
            new[name][...] = old[name][order]
    for name in ("gater", "gater_bias"):
        if name in new:
            new[name][...] = old[name][..., order]
    model._parameters = np.concatenate([part.ravel() for part in new.values()])
    assert_allclose(outputs(model, X), before, atol=1e-12)
    assert_allclose(model.gates(X), gates[:, order])


@pytest.mark.parametrize("solver", ["likelihood", "em"])
@pytest.mark.parametrize("y", [QUADRANTS, THREE], ids=["two classes", "three classes"])
def test_probabilities(solver, y):
    clf = classifier(solver, max_iter=30).fit(X, y)
    p = clf.predict_proba(X)
    assert_allclose(p.sum(1), 1.0)
    assert_array_equal(clf.classes_[p.argmax(1)], clf.predict(X))
    assert_allclose(np.exp(clf.predict_log_proba(X)), p)
    nll = -np.log(p[np.arange(len(y)), np.searchsorted(clf.classes_, y)]).mean()
    assert nll == pytest.approx(clf.history_[-1]["criterion"], rel=0.1 if solver != "em" else 1e-9)


def test_squares_have_no_probabilities():
    clf = classifier("mse").fit(X, QUADRANTS)
    assert not hasattr(clf, "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba") as caught:
        clf.predict_proba(X)
    assert "criterion='likelihood'" in str(caught.value.__cause__)


@pytest.mark.parametrize("solver", ["likelihood", "em"])
def test_the_variance_is_that_of_the_noise(solver):
    rng = np.random.default_rng(1)
    noisy = np.abs(X[:, 0]) + 0.1 * rng.normal(size=300)
    model = regressor(solver, n_experts=2, max_iter=200, n_units=0, n_gater_units=0)
    model.fit(X, 1000 * noisy)
    assert np.sqrt(model.variance_[0]) == pytest.approx(100, rel=0.15)
    with pytest.raises(AttributeError, match="learns no variance"):
        _ = regressor("mse").fit(X, noisy).variance_


@pytest.mark.parametrize("solver", ["likelihood", "em"])
def test_an_exact_fit_has_a_positive_variance(solver):
    x = np.linspace(-1, 1, 50)[:, None]
    model = regressor(solver, n_experts=2, max_iter=100).fit(x, 3 * x[:, 0] + 1)
    assert np.all(np.isfinite(model.predict(x)))
    assert model.variance_[0] > 0
    constant = regressor(solver).fit(x, np.full(50, 7.0))
    assert_allclose(constant.predict(x), 7.0, atol=1.0)


# ------------------------------------------------------------------------- one expert, weights


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize(
    ("target", "criterion", "loss"),
    [
        ("two classes", "likelihood", "log_loss"),
        ("three classes", "likelihood", "log_loss"),
        ("two classes", "mse", "squared_error"),
        ("three classes", "mse", "squared_error"),
        ("two classes", "tanh_mse", "tanh_squared_error"),
        ("three classes", "tanh_mse", "tanh_squared_error"),
        ("values", "mse", "squared_error"),
    ],
)
def test_a_single_expert_is_a_multi_layer_perceptron(activation, target, criterion, loss):
    """The same steps from the same weights."""
    options = {"max_iter": 5, "tol": None, "random_state": 3, "shuffle": False}
    options |= {"activation": activation, "batch_size": 50, "dtype": "float64"}
    own = {"n_experts": 1, "n_units": 7, "n_gater_units": 0, "mu": 0.01, "learning_rate": 0.01}
    one, y = problem(target, **own, **options, criterion=criterion)
    model = MLPRegressor if target == "values" else MLPClassifier
    options["alpha"] = 50 * 0.01  # networks divide it by the batch size
    if model is MLPClassifier:
        options |= {"weight_decay": 0.0, "scaling": "standard"}
    network = model(hidden_layer_sizes=(7,), solver="adamw", loss=loss, **options)
    start = clone(one).set_params(max_iter=1, learning_rate=1e-300).fit(X, y)
    network.set_params(max_iter=1, learning_rate_init=1e-300, warm_start=True).fit(X, y)
    weights = start._mixture().layout.views(start._parameters)
    parts = [weights["first"][:, :7], weights["first_bias"][:7], weights["experts"][0]]
    parts.append(weights["experts_bias"][0])
    network._parameters = np.concatenate([part.ravel() for part in parts])
    network._state |= {name: np.zeros_like(network._parameters) for name in ("first", "second")}
    network._state["steps"] = 0
    network.set_params(max_iter=5, learning_rate_init=0.01).fit(X, y)
    one.fit(X, y)
    method = "predict" if target == "values" else "decision_function"
    ours, theirs = (getattr(model, method)(X) for model in (one, network))
    if target == "three classes" and criterion == "likelihood":  # log P(c|x), and the outputs
        theirs = theirs - np.logaddexp.reduce(theirs, axis=1)[:, None]
    assert_allclose(ours, theirs, rtol=1e-6, atol=1e-8)


def test_a_weight_of_two_is_the_example_twice():
    """With steps on all examples; smaller batches would not have the same examples."""
    repeated = np.r_[np.arange(300), np.arange(100)]
    weights = np.where(np.arange(300) < 100, 2.0, 1.0)
    for target in ("two classes", "three classes", "values"):
        options = {"batch_size": 400, "dtype": "float64", "shuffle": False}
        model, y = problem(target, **options)
        one = clone(model).fit(X, y, sample_weight=weights)
        two = clone(model).fit(X[repeated], y[repeated])
        assert_allclose(outputs(one, X), outputs(two, X), rtol=1e-6, atol=1e-9)


@every_solver
def test_weights_in_other_units_and_weights_of_zero(solver):
    weights = (np.arange(300) < 200).astype(float)
    one = classifier(solver).fit(X, QUADRANTS, sample_weight=4 * weights)
    other = classifier(solver).fit(X[:200], QUADRANTS[:200])
    assert_allclose(one.decision_function(X), other.decision_function(X), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("solver", ["likelihood", "em"])
def test_class_weights_move_the_boundary(solver):
    rng = np.random.default_rng(1)
    noisy = np.where(rng.random(300) < 0.3, "other", QUADRANTS)
    plain = classifier(solver).fit(X, noisy)
    moved = classifier(solver, class_weight={"same": 5.0}).fit(X, noisy)
    assert np.mean(moved.predict(X) == "same") > np.mean(plain.predict(X) == "same")


# -------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": "em", "criterion": "mse"}, "criterion='mse' needs solver='gradient'"),
        ({"expert": GaussianNB()}, "expert needs solver='em'"),
        ({"solver": "em", "expert": RidgeClassifier()}, "RidgeClassifier.* has no predict_proba"),
        ({"solver": "em", "expert": KNeighborsClassifier()}, "takes no sample_weight"),
        ({"mu": 1000.0, "learning_rate": 0.01}, "mu=1000 is 1 or more"),
    ],
)
def test_incompatible_parameters(options, message):
    clf = MixtureOfExpertsClassifier(**options)
    with pytest.raises(ValueError, match=message):
        clf.fit(X, QUADRANTS)
    assert not hasattr(clf, "classes_")
