"""Multi-layer perceptrons as estimators: what they learn, how they stop and resume."""

import inspect
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.neural_network
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score

from widemargin import MLPClassifier, MLPRegressor, load, save
from widemargin.mlp import network as _network
from widemargin.reference.mlp import Network, outputs

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 4))
RINGS = np.where(np.hypot(X[:, 0], X[:, 1]) > 1.2, "out", "in")
THREE = np.digitize(X[:, 0] * X[:, 1], [-0.3, 0.3])
VALUES = np.column_stack([1e4 * np.sin(X[:, 0]) + 5e4, X[:, 1] * X[:, 2]])
LOSSES = ["log_loss", "squared_error", "tanh_squared_error", "margin"]
OPTIONS = {"hidden_layer_sizes": (20,), "max_iter": 6, "tol": None, "random_state": 0}
SOLVERS = {
    "sgd": {"solver": "sgd", "learning_rate_init": 0.05},
    "adam": {"solver": "adam", "learning_rate_init": 0.01},
    "adamw": {"solver": "adamw", "alpha": 2.0, "learning_rate_init": 0.01},
    "one example": {
        "solver": "sgd",
        "batch_size": 1,
        "momentum": 0.0,
        "learning_rate_init": 0.01,
    },
}
every_solver = pytest.mark.parametrize("solver", SOLVERS)


def classifier(solver="adam", **options):
    return MLPClassifier(**OPTIONS | SOLVERS[solver] | options)


def regressor(solver="adam", **options):
    return MLPRegressor(**OPTIONS | SOLVERS[solver] | options)


def state(model):
    return np.concatenate([model._parameters, model._state["first"], model._state["second"]])


# -------------------------------------------------------------------------------- what is learnt


@every_solver
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("y", [RINGS, THREE], ids=["two classes", "three classes"])
def test_learns_what_no_linear_model_can(solver, loss, y):
    clf = classifier(solver, loss=loss, max_iter=150, hidden_layer_sizes=(30,)).fit(X, y)
    assert clf.score(X, y) > 0.93
    assert clf.history_[-1]["error"] < clf.history_[0]["error"]


@every_solver
@pytest.mark.parametrize("loss", ["squared_error", "epsilon_insensitive"])
def test_learns_values_of_any_unit(solver, loss):
    model = regressor(solver, loss=loss, max_iter=300, hidden_layer_sizes=(40,))
    model.fit(X, VALUES)
    assert r2_score(VALUES, model.predict(X), multioutput="raw_values").min() > 0.9
    assert model.predict(X).shape == VALUES.shape
    assert model.predict(X)[:, 0].mean() == pytest.approx(5e4, rel=0.05)


@pytest.mark.parametrize("activation", ["tanh", "slanted_tanh", "hard_tanh", "logistic", "relu"])
def test_attributes_are_the_network(activation):
    clf = classifier(activation=activation, hidden_layer_sizes=(7, 5), dtype="float64")
    clf.fit(X, THREE)
    assert [W.shape for W in clf.coefs_] == [(4, 7), (7, 5), (5, 3)]
    assert [b.shape for b in clf.intercepts_] == [(7,), (5,), (3,)]
    assert clf.n_layers_ == 4
    name = "sigmoid" if activation == "logistic" else activation
    scaled = (X - clf.feature_offset_) / clf.feature_scale_
    expected = outputs(Network(clf.coefs_, clf.intercepts_, name), scaled)
    assert_allclose(clf.decision_function(X), expected, rtol=1e-9, atol=1e-11)


def test_a_deep_network():
    X, y = make_moons(400, noise=0.1, random_state=0)
    deep = classifier(hidden_layer_sizes=(16,) * 5, max_iter=150).fit(X, y)
    assert deep.score(X, y) > 0.98


def test_digits_as_well_as_scikit_learn():
    X, y = load_digits(return_X_y=True)
    train, test = np.arange(1000), np.arange(1000, len(X))
    options = {"max_iter": 40, "random_state": 0}
    ours = MLPClassifier(**options, tol=None).fit(X[train], y[train])
    theirs = sklearn.neural_network.MLPClassifier(**options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs.fit(X[train], y[train])
    assert ours.score(X[test], y[test]) > theirs.score(X[test], y[test]) - 0.02


def test_signatures_begin_with_those_of_scikit_learn():
    for ours, theirs in (
        (MLPClassifier, sklearn.neural_network.MLPClassifier),
        (MLPRegressor, sklearn.neural_network.MLPRegressor),
    ):
        known, found = (
            [(p.name, p.kind, p.default) for p in inspect.signature(cls).parameters.values()]
            for cls in (theirs, ours)
        )
        assert found[: len(known)] == known


# -------------------------------------------------------------------------------- probabilities


@pytest.mark.parametrize("y", [RINGS, THREE], ids=["two classes", "three classes"])
def test_probabilities(y):
    clf = classifier(max_iter=50).fit(X, y)
    p = clf.predict_proba(X)
    assert_allclose(p.sum(1), 1.0)
    assert_array_equal(clf.classes_[p.argmax(1)], clf.predict(X))
    assert_allclose(np.exp(clf.predict_log_proba(X)), p)
    nll = -np.log(p[np.arange(len(y)), np.searchsorted(clf.classes_, y)]).mean()
    assert nll == pytest.approx(clf.loss_, rel=0.1)  # measured during the last epoch


@pytest.mark.parametrize("loss", ["squared_error", "tanh_squared_error", "margin"])
def test_other_losses_have_no_probabilities(loss):
    clf = classifier(loss=loss).fit(X, RINGS)
    assert not hasattr(clf, "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba") as caught:
        clf.predict_proba(X)
    assert "use loss='log_loss'" in str(caught.value.__cause__)


# ------------------------------------------------------------------------------------ weights


@every_solver
def test_a_weight_of_zero_is_absence(solver):
    weights = (np.arange(300) < 200).astype(float)
    one = classifier(solver).fit(X, RINGS, sample_weight=weights)
    other = classifier(solver).fit(X[:200], RINGS[:200], sample_weight=np.ones(200))
    assert_array_equal(one.decision_function(X), other.decision_function(X))


def test_class_weights_are_weights():
    one = classifier(class_weight={"in": 3.0}).fit(X, RINGS)
    other = classifier().fit(X, RINGS, sample_weight=np.where(RINGS == "in", 3.0, 1.0))
    assert_array_equal(one.decision_function(X), other.decision_function(X))


def test_decays_make_weights_small():
    def norms(**decays):
        return [np.linalg.norm(W) for W in classifier(**decays, max_iter=100).fit(X, RINGS).coefs_]

    plain = norms(alpha=0.0)
    assert norms(alpha=0.0, output_alpha=60.0)[1] < 0.5 * plain[1]
    assert norms(alpha=60.0, output_alpha=0.0)[0] < 0.5 * plain[0]
    assert all(np.array(norms(alpha=60.0)) < 0.5 * np.array(plain))


@pytest.mark.parametrize("batch", [30, 300])
@pytest.mark.parametrize("solver", ["sgd", "adamw"])
def test_alpha_is_divided_by_the_batch_as_in_scikit_learn(solver, batch):
    options = {"hidden_layer_sizes": (), "max_iter": 1, "momentum": 0.0, "epsilon": 1e9}
    options |= {"dtype": "float64", "batch_size": batch, "learning_rate_init": 1e-6}
    plain, decayed = (
        classifier(solver, alpha=alpha, **options).fit(X, RINGS).coefs_[0] for alpha in (0.0, 60.0)
    )
    steps = 300 / batch
    assert_allclose(plain - decayed, steps * 1e-6 * 60.0 / batch * plain, rtol=1e-4)


def test_output_alpha_is_alpha_unless_given():
    one = classifier(alpha=3.0).fit(X, RINGS)
    assert_array_equal(
        one._parameters, classifier(alpha=3.0, output_alpha=3.0).fit(X, RINGS)._parameters
    )
    other = classifier(alpha=3.0, output_alpha=0.0).fit(X, RINGS)
    assert np.abs(one._parameters - other._parameters).max() > 1e-3


# ------------------------------------------------------------------------------ the same result


@every_solver
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_seed_and_threads_make_the_result(solver, n_jobs, monkeypatch):
    monkeypatch.setattr(_network, "OPERATIONS_PER_THREAD", 1)
    one, other = (classifier(solver, n_jobs=n_jobs).fit(X, THREE) for _ in range(2))
    assert_array_equal(one._parameters, other._parameters)
    other = classifier(solver, n_jobs=n_jobs, random_state=1).fit(X, THREE)
    assert np.any(one._parameters != other._parameters)


@every_solver
def test_csr_is_dense(solver):
    thin = X * (np.abs(X) > 1)
    options = {"dtype": "float64"}
    dense = classifier(solver, **options).fit(thin, THREE)
    sparse = classifier(solver, **options).fit(sp.csr_array(thin), THREE)
    assert_allclose(
        sparse.decision_function(sp.csr_array(thin)), dense.decision_function(thin), rtol=1e-8
    )


@every_solver
@pytest.mark.parametrize("y", [RINGS, THREE, VALUES], ids=["two classes", "three", "values"])
def test_warm_start_goes_on_exactly(solver, y):
    make = regressor if y is VALUES else classifier
    parts = make(solver, max_iter=3, warm_start=True).fit(X, y).fit(X, y)
    whole = make(solver, max_iter=6).fit(X, y)
    assert_allclose(state(parts), state(whole), rtol=1e-6, atol=1e-7)
    assert [record["epoch"] for record in parts.history_] == list(range(6))


def test_another_solver_may_go_on():
    clf = classifier("adam", warm_start=True, max_iter=20).fit(X, RINGS)
    loss = clf.loss_
    clf.set_params(**SOLVERS["sgd"]).fit(X, RINGS)
    assert clf.loss_ < loss


@pytest.mark.parametrize(
    ("name", "value"),
    [("hidden_layer_sizes", (21,)), ("activation", "tanh"), ("dtype", "float64")],
)
def test_another_network_may_not(name, value):
    clf = classifier(warm_start=True).fit(X, RINGS)
    with pytest.raises(ValueError, match=f"{name}=.*fit without warm_start"):
        clf.set_params(**{name: value}).fit(X, RINGS)


@pytest.mark.slow
@every_solver
def test_online_learning_learns(solver):
    clf, model = classifier(solver), regressor(solver)
    for _ in range(80):
        for part in np.array_split(np.arange(300), 3):
            clf.partial_fit(X[part], RINGS[part], classes=["in", "out"])
            model.partial_fit(X[part], VALUES[part])
    assert clf.score(X, RINGS) > 0.93
    assert model.score(X, VALUES) > 0.8


def test_new_statistics_do_not_change_what_is_computed():
    clf = classifier("sgd", dtype="float64", learning_rate_init=1e-300)
    clf.partial_fit(X[:100], RINGS[:100], classes=["in", "out"])
    before = clf.decision_function(X)
    clf.partial_fit(5 * X[100:] + 3, RINGS[100:])
    assert_allclose(clf.decision_function(X), before, rtol=1e-9)


# ------------------------------------------------------------------------------------ stopping


@pytest.mark.parametrize("y", [RINGS, VALUES], ids=["classes", "values"])
def test_early_stopping_keeps_the_best_epoch(y):
    make = regressor if y is VALUES else classifier
    model = make(early_stopping=True, max_iter=60, learning_rate_init=0.05).fit(X, y)
    errors = [record["validation_error"] for record in model.history_]
    assert model.best_iter_ == np.argmin(errors) + 1
    assert model.loss_ == model.history_[model.best_iter_ - 1]["criterion"]
    again = make(early_stopping=True, max_iter=model.best_iter_, learning_rate_init=0.05)
    assert_array_equal(again.fit(X, y)._parameters, model._parameters)


def test_validation_error_of_values_is_the_unexplained_part():
    model = regressor(early_stopping=True, max_iter=1)
    model.fit(X, VALUES, X_val=X, y_val=VALUES)
    unexplained = 1 - r2_score(VALUES, model.predict(X))
    assert model.history_[0]["validation_error"] == pytest.approx(unexplained, rel=1e-3)


@pytest.mark.parametrize("y", [THREE, VALUES], ids=["classes", "values"])
def test_time_limit_leaves_a_model_that_goes_on(y):
    make = regressor if y is VALUES else classifier
    model = make(time_limit=0.05, max_iter=10**6, warm_start=True)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model.fit(X, y)
    assert model.stop_reason_ == "time_limit"
    epochs = len(model.history_)
    model.set_params(time_limit=None, max_iter=2).fit(X, y)
    assert len(model.history_) >= epochs + 1
    assert np.all(np.isfinite(model._parameters))


def test_tol_stops_when_the_objective_rests():
    clf = classifier(tol=1e-3, max_iter=2000, n_iter_no_change=3).fit(X, RINGS)
    assert clf.stop_reason_ == "tol"
    assert clf.converged_


def test_history_of_an_epoch():
    clf = classifier(loss="margin", output_alpha=20.0, margin=2.0, batch_size=200)
    clf.set_params(weight_decay=0.0).fit(X, RINGS)
    record = clf.history_[-1]
    norm = np.linalg.norm(clf.coefs_[-1])
    assert record["geometric_margin"] == pytest.approx(4.0 / norm, rel=1e-5)
    decayed = 0.5 * 0.1 * norm**2 + 0.5 * 1e-4 / 200 * np.sum(clf.coefs_[0] ** 2)
    assert record["objective"] == pytest.approx(record["criterion"] + decayed, rel=1e-5)
    assert "geometric_margin" not in classifier().fit(X, RINGS).history_[-1]
    assert "geometric_margin" not in regressor().fit(X, VALUES).history_[-1]


# ------------------------------------------------------------------------------ files, bad input


@pytest.mark.parametrize("model", [classifier(), regressor()], ids=["classes", "values"])
def test_saved_models_predict_the_same_and_go_on(model, tmp_path):
    y = VALUES if isinstance(model, MLPRegressor) else THREE
    model = clone(model).set_params(warm_start=True).fit(X, y)
    save(model, tmp_path / "model.safetensors")
    other = load(tmp_path / "model.safetensors")
    assert_array_equal(other.predict(X), model.predict(X))
    assert_array_equal(state(other.fit(X, y)), state(model.fit(X, y)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": "newton"}, "solver"),
        ({"solver": "lbfgs", "batch_size": 20}, "batch_size=20 would have no effect"),
        ({"solver": "lbfgs", "learning_rate": "linear"}, "learning_rate='linear' would have no"),
        ({"max_fun": 0}, "max_fun"),
        ({"output_alpha": -1.0}, "output_alpha"),
        ({"learning_rate": "adaptive"}, "learning_rate"),
        ({"activation": "gelu"}, "activation"),
        ({"loss": "hinge"}, "loss"),
        ({"hidden_layer_sizes": (10, 0)}, "hidden_layer_sizes"),
        ({"hidden_layer_sizes": (2.5,)}, "hidden_layer_sizes"),
        ({"hidden_layer_sizes": [[3], [4]]}, "hidden_layer_sizes"),
        ({"batch_size": 0}, "batch_size"),
        ({"momentum": 1.0}, "momentum"),
        ({"margin": 0.0}, "margin"),
        ({"learning_rate_init": 1.0, "alpha": 200.0}, "1 or more"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        MLPClassifier(**options).fit(X, RINGS)


def test_divergence_is_an_error():
    with pytest.raises(ValueError, match=r"diverged.*learning rate"):
        regressor("sgd", learning_rate_init=1e4, activation="identity").fit(X, VALUES)


def test_targets_of_another_shape_are_refused():
    model = regressor(warm_start=True).fit(X, VALUES)
    with pytest.raises(ValueError, match="y has 1 columns"):
        model.fit(X, VALUES[:, 0])
