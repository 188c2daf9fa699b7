"""Exact machines: recomputed objectives equal those of other formulas; conditions can fail."""

import numpy as np
import pytest

from widemargin import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM
from widemargin.analysis import certificate

random = np.random.default_rng(2)
X = random.normal(size=(100, 3)) + 2.0
SCORE = X[:, 0] - X[:, 1] * X[:, 2] + 2.0 + 0.3 * random.normal(size=100)
Y, THREE = SCORE > 0, np.digitize(SCORE, [-1.0, 1.0])


def values(model, y, line="primal and dual", **options):
    return certificate(model.fit(X, y), X, y, **options)[line].values


@pytest.mark.parametrize("scaling", [None, "standard"])
def test_the_primal_of_a_kernel_machine(scaling):
    """½‖w‖² + C Σ ξ, and for regression with the tube, from its own predictions."""
    for kernel in ("linear", "rbf"):
        model = SVC(C=3.0, kernel=kernel, scaling=scaling, tol=1e-5)
        found = values(model, Y)
        f = model.decision_function(X) * np.where(Y, 1.0, -1.0)
        norm = values(model, Y, "margin")["norm"]
        expected = 0.5 * norm**2 + 3.0 * np.maximum(0.0, 1.0 - f).sum()
        assert found["primal"] == pytest.approx(expected, rel=1e-6)
        assert found["dual"] == pytest.approx(model.dual_objective_, rel=1e-6)
        assert 0 <= found["gap"] <= 1e-4 * found["primal"]


@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(loss="hinge"),
        LinearSVC(intercept_scaling=None, scaling="standard"),
        LinearSVC(fit_intercept=False),
        LinearSVC(multi_class="crammer_singer", scaling="standard"),
        LinearSVC(class_weight="balanced", C=0.1),
    ],
    ids=repr,
)
@pytest.mark.parametrize("y", [Y, THREE], ids=["two classes", "three classes"])
def test_linear_classifiers(model, y):
    found = certificate(model.fit(X, y), X, y)
    assert found.holds, str(found)
    noted = np.atleast_1d(model.primal_objective_)
    assert np.min(np.abs(noted - found["primal and dual"].values["primal"])) <= 1e-6 * noted.max()


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_linear_regression(loss):
    model = LinearSVR(epsilon=0.2, loss=loss, C=2.0)
    found = certificate(model.fit(X, SCORE), X, SCORE)
    assert found.holds, str(found)
    xi = np.maximum(0.0, np.abs(model.predict(X) - SCORE) - 0.2)
    cost = (xi if loss == "epsilon_insensitive" else xi**2).sum()
    expected = 0.5 * (model.coef_ @ model.coef_ + model.intercept_[0] ** 2) + 2.0 * cost
    assert found["primal and dual"].values["primal"] == pytest.approx(expected, rel=1e-9)


def test_a_linear_machine_with_dual_variables_of_its_own():
    """`support_` and `dual_coef_` are used where a model has them, and a change is noticed."""
    weights = random.integers(0, 3, size=len(X)).astype(float)
    model = LinearSVC(loss="hinge", warm_start=True).fit(X, Y, sample_weight=weights)
    (beta,) = model._last_solution[1]
    rows = np.flatnonzero(weights)
    model.support_ = rows[beta != 0]
    model.dual_coef_ = beta[None, beta != 0]
    found = certificate(model, X, Y, sample_weight=weights)
    assert found.holds, str(found)
    assert "solving" not in found["primal and dual"].text
    model.dual_coef_ = 0.5 * model.dual_coef_
    assert "primal and dual" in certificate(model, X, Y, sample_weight=weights).broken


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("model", [SVC(class_weight="balanced"), NuSVC(nu=0.2)], ids=repr)
def test_the_worst_of_several_problems_is_named(model, multi_class):
    model = model.set_params(multi_class=multi_class).fit(X, THREE)
    found = certificate(model, X, THREE)
    assert found.holds, str(found)
    model.intercept_ = model.intercept_ + np.array([0.0, 0.5, 0.0])
    broken = certificate(model, X, THREE)["KKT conditions"]
    assert broken.status == "does not hold"
    assert ("0 against 2" if multi_class == "ovo" else "1 against the rest") in broken.text


@pytest.mark.parametrize("nu", [0.1, 0.5, 0.95])
def test_nu_of_a_regression_with_and_without_a_tube(nu):
    """With a large ν the tube closes, and α and α* of an example are known up to a common sum."""
    model = NuSVR(nu=nu, C=1.0).fit(X, SCORE)
    found = certificate(model, X, SCORE)
    assert found.holds, str(found)


@pytest.mark.parametrize("model", [NuSVC(nu=0.3), OneClassSVM(nu=0.3)], ids=repr)
def test_nu_bounds_margin_errors_and_support_vectors(model):
    found = certificate(model.fit(X, Y), X, Y)["nu"]
    assert found.values["margin_errors"] <= 0.3 <= found.values["support"]
    model.nu = 0.9  # as if it had been trained with another one
    assert "dual variables" in certificate(model, X, Y).broken


def test_support_vectors_are_counted():
    model = SVR(C=0.5).fit(X, SCORE)
    found = certificate(model, X, SCORE)["support vectors"].values
    alpha = np.abs(model.dual_coef_[0])
    assert found["at_bound"] == np.sum(alpha == 0.5)
    assert found["free"] == np.sum(alpha < 0.5)


def test_a_swapped_support_vector():
    model = SVC().fit(X, Y)
    model.support_ = model.support_[::-1].copy()
    assert "w is an expansion" in certificate(model, X, Y).broken


def test_rows_that_are_fewer_than_those_of_the_fit():
    model = SVC().fit(X, Y)
    found = certificate(model, X[:50], Y[:50])
    assert found["KKT conditions"].status == "does not apply"
    assert "trained on" in found["KKT conditions"].text
