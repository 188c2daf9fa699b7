"""Hard mixtures: any expert, any gater, any number of classes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as SklearnSVC
from sklearn.svm import LinearSVC as SklearnLinearSVC
from sklearn.tree import DecisionTreeClassifier

from helpers.mixtures import LOGISTIC, X, Y, assert_same_mixture, by_definition, quick, wedge
from widemargin import (
    SVC,
    HardMixtureClassifier,
    LinearSVC,
    MLPClassifier,
    NilssonMLPClassifier,
    NuSVC,
    SimpleMLPClassifier,
)
from widemargin.mixtures import GaussianGater, MLPGater
from widemargin.mixtures.hard.experts import ConstantExpert, PlattExpert, expert_outputs
from widemargin.mixtures.hard.targets import Targets

ignore_convergence = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

EXPERTS = {
    "SVC": SVC(C=10),
    "LinearSVC": LinearSVC(),
    "MLP": MLPClassifier((10,), max_iter=30, learning_rate_init=0.05),
    "SimpleMLP": SimpleMLPClassifier(n_units=20, max_iter=5),
    "scikit-learn's SVC": SklearnSVC(),
    "scikit-learn's LinearSVC": SklearnLinearSVC(),
    "logistic": LOGISTIC,
    "ridge": RidgeClassifier(),
    "forest": RandomForestClassifier(10),
    "tree": DecisionTreeClassifier(),
    "neighbours": KNeighborsClassifier(3),
    "pipeline": make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss")),
}
GATERS = {
    "mlp": "mlp",
    "local": "local",
    "uniform": "uniform",
    "density": GaussianGater(2),
    "tree": DecisionTreeClassifier(max_depth=3),
    "logistic": LogisticRegression(),
}

# ---------------------------------------------------------------------------------- experts


@ignore_convergence
@pytest.mark.parametrize("name", EXPERTS)
def test_any_classifier_is_an_expert(name):
    model = quick(EXPERTS[name]).fit(X, Y)
    assert model.score(X, Y) > 0.85
    assert [type(expert) for expert in model.experts_] == [type(EXPERTS[name])] * 3
    kind = "predict_proba" if hasattr(EXPERTS[name], "predict_proba") else "margins"
    assert hasattr(model, "predict_proba") == (kind == "predict_proba")


@ignore_convergence
@pytest.mark.parametrize("name", [name for name in EXPERTS if name != "SimpleMLP"])
@pytest.mark.parametrize("criterion", ["tanh_mse", "likelihood"])
def test_both_criteria(name, criterion):
    expert = EXPERTS[name]
    if criterion == "tanh_mse" and not hasattr(expert, "decision_function"):
        with pytest.raises(TypeError, match=r"decision_function.*choose another"):
            quick(expert, criterion=criterion).fit(X, Y)
        return
    model = quick(expert, criterion=criterion, max_iter=2).fit(X, Y)
    assert model.score(X, Y) > 0.8
    assert hasattr(model, "predict_proba") == (criterion == "likelihood")
    platt = criterion == "likelihood" and not hasattr(expert, "predict_proba")
    assert isinstance(model.experts_[0], PlattExpert) == platt


@ignore_convergence
@pytest.mark.parametrize("name", GATERS)
@pytest.mark.parametrize("expert", ["SVC", "logistic"])
def test_any_gater(name, expert):
    model = quick(EXPERTS[expert], GATERS[name]).fit(X, Y)
    assert model.score(X, Y) > (0.6 if name in ("uniform", "local") else 0.8)
    assert_allclose(model.gates(X).sum(1), 1)
    assert model.gates(X).shape == (len(X), 3)


def test_platt_experts_return_sigmoids_of_margins():
    model = quick(SVC(C=10), "local").fit(X, Y)
    expert = model.experts_[0]
    f, (A, B) = expert.expert.decision_function(X), expert.sigmoids_[0]
    assert_allclose(expert.predict_proba(X)[:, 1], 1 / (1 + np.exp(A * f + B)), rtol=1e-6)
    expected = by_definition(model, X, lambda one: one.predict_proba(X))
    assert_allclose(model.predict_proba(X), expected, atol=2e-3)


def test_margins_are_in_units_of_the_margin():
    """The margin β of a committee is large, and tanh expects ±1 there."""
    expert = SimpleMLPClassifier(n_units=20, margin=5.0, max_iter=5, random_state=0).fit(X, Y)
    outputs = expert_outputs(expert, X, "margin", np.arange(2))
    assert_allclose(outputs[:, 0], expert.decision_function(X) / 5, rtol=1e-5)


@ignore_convergence
def test_networks_resume_from_the_last_iteration_and_machines_start_from_scratch():
    seen = {}
    for n_iter in (1, 3):
        network = MLPClassifier((10,), max_iter=4, tol=None)
        model = quick(network, n_experts=2, max_iter=n_iter).fit(X, Y)
        seen[n_iter] = [len(expert.history_) for expert in model.experts_]
    assert seen == {1: [4, 4], 3: [12, 12]}
    assert network.get_params()["warm_start"] is False
    machine = quick(SVC(), max_iter=3).fit(X, Y).experts_[0]
    rows = np.flatnonzero(quick(SVC(), max_iter=3).fit(X, Y).partition_ == 0)
    assert_array_equal(
        machine.decision_function(X), SVC().fit(X[rows], Y[rows]).decision_function(X)
    )


def test_default_experts_and_their_number():
    x, y = wedge(5000)
    model = HardMixtureClassifier(max_iter=1, random_state=0).fit(x, y)
    assert (model.n_experts_, len(model.experts_)) == (2, 2)
    assert isinstance(model.experts_[0], SVC)
    assert isinstance(model.gater_, MLPGater)
    assert model.score(x, y) > 0.9
    assert HardMixtureClassifier(max_iter=1).fit(X, Y).n_experts_ == 1


def test_first_partitions():
    random, clusters = (
        quick(n_experts=4, max_iter=1, first_partition=name).fit(X, Y)
        for name in ("random", "kmeans")
    )

    def spread(model):
        return sum(X[model.partition_ == k].var(0).sum() for k in range(4))

    assert spread(clusters) < 0.5 * spread(random)
    assert np.bincount(clusters.partition_).max() <= len(X) // 4 + 1


def test_few_rows_for_the_gater():
    few, all_of = quick(gater_rows=100).fit(X, Y), quick().fit(X, Y)
    assert few.score(X, Y) > 0.8
    assert not np.array_equal(few.gates(X), all_of.gates(X))
    assert_same_mixture(quick(gater_rows=10**6).fit(X, Y), all_of)


# ---------------------------------------------------------------------------------- classes


@pytest.fixture(scope="module")
def digits():
    x, y = load_digits(return_X_y=True)
    return x[:900] / 16, y[:900], x[900:] / 16, y[900:]


MANY = {
    "default": None,
    "SVC": SVC(C=10, multi_class="ovr"),
    "one against one": SVC(C=10),
    "MLP": MLPClassifier((30,), max_iter=20, learning_rate_init=0.01),
    "logistic": LogisticRegression(),
    "forest": RandomForestClassifier(20),
    "scikit-learn's LinearSVC": SklearnLinearSVC(),
}


@pytest.mark.slow
@ignore_convergence
@pytest.mark.parametrize("gater", ["mlp", "local"])
@pytest.mark.parametrize("name", MANY)
def test_ten_digits(name, gater, digits):
    x, y, x_test, y_test = digits
    model = HardMixtureClassifier(MANY[name], gater, n_experts=3, max_iter=2, random_state=0)
    assert model.fit(x, y).score(x_test, y_test) > 0.85
    assert model.decision_function(x_test).shape == (len(x_test), 10)
    if hasattr(model, "predict_proba"):
        assert_array_equal(model.predict_proba(x_test).argmax(1), model.predict(x_test))


@pytest.mark.slow
def test_classes_that_an_expert_has_not_seen():
    x, y = wedge(300, classes=4)
    for options in ({"expert": SVC(multi_class="ovr")}, {}, {"gater": "local"}):
        model = quick(n_experts=12, balance=1.5, max_iter=3, **options).fit(x, y)
        known = {len(expert.classes_) for expert in model.experts_}
        assert known & {1, 2, 3}
        assert model.score(x, y) > 0.7


def test_an_expert_with_one_class_is_constant():
    x = np.linspace(-1, 1, 60)[:, None]
    y = np.where(x[:, 0] > 0, "yes", "no")
    for options in ({"expert": SVC()}, {"gater": "local"}, {"expert": SVC(), "gater": "local"}):
        model = quick(n_experts=4, first_partition="kmeans", max_iter=1, **options).fit(x, y)
        constant = [expert for expert in model.experts_ if isinstance(expert, ConstantExpert)]
        assert len(constant) > 1
        assert {int(expert.predict(x)[0]) for expert in constant} == {0, 1}
        assert model.score(x, y) > 0.8


def test_predictions_are_labels_of_the_user():
    names = np.where(Y == 1, "above", "below")
    one, other = quick().fit(X, names), quick().fit(X, 1 - Y)
    assert list(one.classes_) == ["above", "below"]
    assert_array_equal(one.predict(X), np.where(other.predict(X) == 0, "above", "below"))


def test_a_class_that_all_experts_exclude_has_a_finite_criterion():
    """Trees predict probabilities of 0 and 1, and all those used for an example may be wrong."""
    targets = Targets("probability", 2, np.array([1.0, -1.0]))
    values, errors = targets.criterion_and_errors(np.array([[1.0, 0.0], [1.0, 0.0]]))
    assert np.all(np.isfinite(values))
    assert list(errors) == [1, 0]
    tree = DecisionTreeClassifier(max_depth=3)
    model = quick(tree, "local", n_experts=10, max_iter=5, gate_tolerance=0.2).fit(X, Y)
    assert np.isfinite([record["criterion"] for record in model.history_]).all()


# ------------------------------------------------------------------------------------- tuning


def test_tuning_skips_experts_without_a_path_of_C():
    for expert in (NuSVC(nu=0.1), MLPClassifier((5,), max_iter=2, tol=None)):
        model = HardMixtureClassifier(expert, n_experts=2, max_iter=1, tune="validation")
        model.set_params(random_state=0).fit(X, Y)
        assert {trial["part"] for trial in model.tuning_} == {"gater"}
        assert model.best_params_["expert"] is expert


def test_tuning_gives_the_mixture_with_the_parameters_it_chose():
    tuned = HardMixtureClassifier(n_experts=2, max_iter=2, tune="validation", random_state=0)
    chosen = HardMixtureClassifier(**tuned.fit(X, Y).best_params_, n_experts=2, max_iter=2)
    chosen.set_params(early_stopping=True, random_state=0).fit(X, Y)
    assert_array_equal(tuned.decision_function(X), chosen.decision_function(X))


def test_experts_that_vote_without_a_margin():
    expert = NilssonMLPClassifier(n_units=5, max_iter=5)
    assert np.all(np.isfinite(quick(expert).fit(X, Y).decision_function(X)))
