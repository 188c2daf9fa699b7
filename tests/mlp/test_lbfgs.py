"""Networks trained by L-BFGS: scikit-learn's objective and iterations, stopping, resuming."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.neural_network
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from helpers.networks import CRITERIA
from helpers.stopping import Recorder
from widemargin import MLPClassifier, MLPRegressor, load, save
from widemargin.mlp import lbfgs as _lbfgs
from widemargin.reference.mlp import Network, gradients

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 4)) * [1, 10, 0.1, 1] + [0, 5, 0, -2]
TWO = np.where(X[:, 0] * X[:, 3] > -X[:, 0], "out", "in")
THREE = np.digitize(X[:, 0] * (X[:, 3] + 2), [-0.3, 0.3])
VALUES = np.column_stack([100 * np.sin(X[:, 0]), X[:, 1] * X[:, 2]])
WEIGHTS = rng.uniform(0, 3, 300) * (rng.random(300) < 0.8)
TARGETS = {"two classes": TWO, "three classes": THREE, "values": VALUES}
every_target = pytest.mark.parametrize("target", TARGETS)
every_loss = pytest.mark.parametrize(
    ("target", "loss", "q"),
    [
        ("two classes", "log_loss", "cross_entropy"),
        ("three classes", "log_loss", "cross_entropy"),
        ("three classes", "squared_error", "mse"),
        ("two classes", "tanh_squared_error", "tanh_mse"),
        ("values", "squared_error", "mse"),
    ],
)


def network(target, **options):
    options = {"hidden_layer_sizes": (7, 5), "activation": "tanh", "random_state": 0} | options
    options = {"solver": "lbfgs", "dtype": "float64", "alpha": 2.0, "tol": 1e-6} | options
    if target == "values":
        return MLPRegressor(**options)
    return MLPClassifier(**{"weight_decay": 0.0} | options)


def encoded(target):
    """Targets as the reference wants them."""
    y = TARGETS[target]
    if target == "values":
        return (y - y.mean(0)) / y.std(0)
    return np.where(y == "out", 1.0, -1.0)[:, None] if target == "two classes" else y.astype(float)


def quietly(model, *arguments, **options):
    """Fits without the warning of a fit that was not to converge."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*arguments, **options)


def objectives(model):
    return np.array([record["objective"] for record in model.history_])


# ------------------------------------------------------------------------------ the objective


@every_loss
@pytest.mark.parametrize("decays", [(2.0, None), (0.0, 3.0)], ids=["all layers", "output layer"])
def test_iterations_are_those_on_the_gradient_of_the_reference(target, loss, q, decays):
    options = {"alpha": decays[0], "output_alpha": decays[1], "loss": loss, "warm_start": True}
    model = quietly(network(target, **options, max_iter=1), X, TARGETS[target])
    start = model._parameters.copy()
    shapes = [(W.shape, b.shape) for W, b in zip(model.coefs_, model.intercepts_, strict=True)]
    scaled, y = (X - X.mean(0)) / X.std(0), encoded(target)
    mu, nu = (decays[0] if decays[1] is None else decays[1]) / 300, decays[0] / 300

    def objective(theta):
        parts, first = [], 0
        for shape in (shape for pair in shapes for shape in pair):
            parts.append(theta[first : first + np.prod(shape)].reshape(shape))
            first += np.prod(shape)
        J, slopes = gradients(
            Network(parts[::2], parts[1::2], "tanh"), scaled, y, CRITERIA[q], mu=mu, nu=nu
        )
        return J, np.concatenate([slope.ravel() for slope in slopes])

    expected = []
    minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        callback=lambda theta: expected.append(objective(theta)[0]),
        options={"maxiter": 15, "gtol": 1e-6},
    )
    quietly(model.set_params(max_iter=15), X, TARGETS[target])
    assert_allclose(objectives(model)[1:], expected, rtol=1e-6)


@every_target
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
def test_iterations_are_those_of_scikit_learn(target, weights):
    """From the same weights, with the same restart, both take the same way down."""
    y = TARGETS[target]
    scaled = (X - X.mean(0)) / X.std(0)
    if target == "values":
        y = encoded(target)[:, 0]  # of several, scikit-learn's loss is another than its gradient's
    model = network(target, scaling=None, max_iter=1, warm_start=True)
    quietly(model, scaled, y, sample_weight=weights)
    theirs = getattr(sklearn.neural_network, type(model).__name__)(
        hidden_layer_sizes=(7, 5), activation="tanh", solver="lbfgs", alpha=2.0, tol=1e-6
    )
    quietly(theirs.set_params(max_iter=1, warm_start=True), scaled, y, sample_weight=weights)
    theirs.coefs_ = [W.copy() for W in model.coefs_]
    theirs.intercepts_ = [b.copy() for b in model.intercepts_]
    quietly(theirs.set_params(max_iter=12), scaled, y, sample_weight=weights)
    quietly(model.set_params(max_iter=12), scaled, y, sample_weight=weights)
    assert model.history_[-1]["objective"] == pytest.approx(theirs.loss_, rel=1e-6)
    for ours, other in zip(model.coefs_, theirs.coefs_, strict=True):
        assert_allclose(ours, other, rtol=1e-3, atol=1e-4)


@every_target
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_objective_falls_to_a_minimum(target, dtype):
    tol = 1e-3 if dtype == "float32" else 1e-5
    model = network(target, dtype=dtype, tol=tol, max_iter=2000).fit(X, TARGETS[target])
    assert model.converged_
    assert model.stop_reason_ == "tol"
    assert np.all(np.diff(objectives(model)) <= 1e-7)
    assert objectives(model)[-1] < 0.8 * objectives(model)[0]
    assert model.n_iter_ == len(model.history_) < 2000
    assert model.loss_ == model.history_[-1]["criterion"]
    assert {W.dtype for W in model.coefs_} == {np.dtype(dtype)}


def test_margins_are_reached():
    clf = network("two classes", loss="margin", margin=0.5, alpha=0.01, max_iter=300)
    quietly(clf, X, TWO)
    assert clf.score(X, TWO) > 0.98


# ------------------------------------------------------------------------------------- weights


@every_target
def test_a_weight_of_two_is_the_example_twice(target):
    y, repeated = TARGETS[target], np.r_[np.arange(300), np.arange(100)]
    weights = np.where(np.arange(300) < 100, 2.0, 1.0)
    options = {"max_iter": 10, "scaling": "standard"}
    one = quietly(network(target, **options), X, y, sample_weight=weights)
    two = quietly(network(target, **options), X[repeated], y[repeated])
    assert_allclose(objectives(one), objectives(two), rtol=1e-6)


def test_class_weights_are_weights():
    by_class = quietly(network("two classes", class_weight={"in": 3.0}, max_iter=5), X, TWO)
    weights = np.where(TWO == "in", 3.0, 1.0)
    by_example = quietly(network("two classes", max_iter=5), X, TWO, sample_weight=weights)
    assert_array_equal(by_class._parameters, by_example._parameters)


def test_csr_is_dense():
    thin = X * (np.abs(X) > 1)
    dense = quietly(network("three classes", max_iter=8), thin, THREE)
    sparse = quietly(network("three classes", max_iter=8), sp.csr_array(thin), THREE)
    assert_allclose(objectives(sparse), objectives(dense), rtol=1e-7)


def test_the_order_of_calls_changes_rounding_alone(monkeypatch):
    whole = quietly(network("values", max_iter=8), X, VALUES)
    monkeypatch.setattr(_lbfgs, "OPERATIONS_PER_CALL", 5000)
    parts = quietly(network("values", max_iter=8), X, VALUES)
    assert_allclose(objectives(parts), objectives(whole), rtol=1e-8)


# ---------------------------------------------------------------------------- stopping, resuming


def test_max_fun_stops():
    model = network("three classes", max_fun=20, tol=0.0)
    with pytest.warns(ConvergenceWarning, match=r"max_fun=20 times; raise max_fun or tol"):
        model.fit(X, THREE)
    assert model.stop_reason_ == "max_fun"
    assert not model.converged_
    assert 5 < model.n_iter_ <= 20


def test_max_iter_stops():
    model = network("three classes", max_iter=7)
    with pytest.warns(ConvergenceWarning, match="reached max_iter=7"):
        model.fit(X, THREE)
    assert (model.n_iter_, model.stop_reason_) == (7, "max_iter")


@pytest.mark.filterwarnings("error")
def test_without_tol_it_runs_to_max_iter_or_to_the_precision():
    model = network("values", tol=None, max_iter=5).fit(X, VALUES)
    assert (model.n_iter_, model.stop_reason_) == (5, "max_iter")
    model = network("values", tol=None, max_iter=10**5, dtype="float32").fit(X, VALUES)
    assert model.stop_reason_ == "precision"
    assert not model.converged_


def test_a_line_search_that_fails_is_reported(monkeypatch):
    """The gradient of another objective: no step along it is downhill."""
    penalised = _lbfgs.LBFGSLearner._penalised

    def wrong(self, *arguments):
        value, gradient = penalised(self, *arguments)
        return value, -gradient

    monkeypatch.setattr(_lbfgs.LBFGSLearner, "_penalised", wrong)
    model = network("values")
    with pytest.warns(ConvergenceWarning, match=r"no lower objective.*dtype='float64'"):
        model.fit(X, VALUES)
    assert (model.n_iter_, model.stop_reason_) == (1, "precision")
    assert not model.converged_


def test_warm_start_resumes_the_descent():
    model = network("values", max_iter=10, warm_start=True)
    quietly(model, X, VALUES)
    before = objectives(model)[-1]
    quietly(model, X, VALUES)
    assert len(model.history_) == 20
    assert objectives(model)[10] < before
    assert np.all(np.diff(objectives(model)) < 0)


def test_a_solution_stays_where_it_is():
    model = network("three classes", max_iter=3000, warm_start=True).fit(X, THREE)
    assert model.converged_
    before = model._parameters.copy()
    model.set_params(tol=1e-2).fit(X, THREE)
    assert (model.n_iter_, model.stop_reason_) == (1, "tol")
    assert_allclose(model._parameters, before, rtol=1e-12)


@pytest.mark.parametrize(("first", "second"), [("lbfgs", "adam"), ("adam", "lbfgs")])
def test_another_solver_resumes(first, second):
    model = network("values", solver=first, max_iter=20, warm_start=True, learning_rate_init=1e-3)
    quietly(model, X, VALUES)
    before = model.history_[-1]["criterion"]
    quietly(model.set_params(solver=second), X, VALUES)
    assert len(model.history_) == 40
    assert model.history_[-1]["criterion"] < before


def test_saved_models_resume(tmp_path):
    model = quietly(network("values", max_iter=5, warm_start=True), X, VALUES)
    save(model, tmp_path / "model.safetensors")
    other = load(tmp_path / "model.safetensors")
    assert_array_equal(other.predict(X), model.predict(X))
    assert_array_equal(quietly(other, X, VALUES)._parameters, quietly(model, X, VALUES)._parameters)


def test_early_stopping_returns_the_best_iteration():
    noisy = np.where(rng.random(300) < 0.3, "in", TWO)
    model = network("two classes", alpha=0.0, early_stopping=True, hidden_layer_sizes=(40,))
    model.set_params(max_iter=200, validation_fraction=0.3).fit(X, noisy)
    errors = [record["validation_error"] for record in model.history_]
    assert model.stop_reason_ == "early_stopping"
    assert model.best_iter_ == np.argmin(errors) + 1 < model.n_iter_ < 200


def test_callbacks_see_every_iteration_and_can_stop():
    recorder = Recorder(lambda estimator, count: count == 4)
    model = network("three classes").set_callbacks(recorder).fit(X, THREE)
    assert (model.n_iter_, model.stop_reason_) == (4, "callback")
    short = quietly(network("three classes", max_iter=3), X, THREE)
    assert_array_equal(recorder.fitted[2].decision_function(X), short.decision_function(X))


def test_ctrl_c_between_iterations(ctrl_c):
    recorder = Recorder(lambda estimator, count: ctrl_c() if count == 3 else None)
    model = network("three classes", warm_start=True).set_callbacks(recorder)
    with pytest.warns(ConvergenceWarning, match=r"interrupted after 3 epochs.*warm_start"):
        model.fit(X, THREE)
    short = quietly(network("three classes", max_iter=3), X, THREE)
    assert_array_equal(model._parameters, short._parameters)


@pytest.mark.parametrize("iterations", [0, 3])
def test_a_stop_within_an_evaluation_keeps_the_last_iteration(iterations, ctrl_c, monkeypatch):
    monkeypatch.setattr(_lbfgs, "OPERATIONS_PER_CALL", 5000)
    steps, whole_pass = [], _lbfgs.LBFGSLearner._pass

    def interrupted_pass(self, *arguments):
        steps.append(self.state.steps)
        if self.state.steps == iterations and steps.count(iterations) == 2:
            ctrl_c()
        return whole_pass(self, *arguments)

    model = network("values", warm_start=True)
    with monkeypatch.context() as patch:
        patch.setattr(_lbfgs.LBFGSLearner, "_pass", interrupted_pass)
        with pytest.warns(ConvergenceWarning, match="interrupted"):
            model.fit(X, VALUES)
    assert (model.n_iter_, model.stop_reason_) == (iterations, "interrupted")
    assert 0 < model.history_[-1]["rows"] < 300
    if iterations:
        short = quietly(network("values", max_iter=iterations), X, VALUES)
        assert_array_equal(model._parameters, short._parameters)
    quietly(model.set_params(max_iter=5), X, VALUES)
    assert model.history_[-1]["rows"] == 300
    assert np.all(np.diff(objectives(model)[iterations + 1 :]) < 0)


def test_a_time_limit_keeps_the_model(monkeypatch):
    monkeypatch.setattr(_lbfgs, "OPERATIONS_PER_CALL", 5000)
    model = network("three classes", time_limit=1e-9)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model.fit(X, THREE)
    assert model.stop_reason_ == "time_limit"
    assert model.predict(X).shape == THREE.shape


@every_target
def test_there_is_no_partial_fit(target):
    model = network(target)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError) as caught:
        model.partial_fit(X, TARGETS[target])
    assert "use solver='adam', or fit" in str(caught.value.__cause__)
    assert hasattr(model.set_params(solver="adam"), "partial_fit")
