"""Theorems about perceptrons hold on every run, and not once their assumption is broken."""

import warnings

import numpy as np
import pytest

from widemargin import SGDSVC, KernelPerceptron, MarginPerceptron, Perceptron
from widemargin.analysis import certificate
from widemargin.theory import margin_bound, novikoff_bound


def problem(seed, separable=True):
    random = np.random.default_rng(seed)
    X = random.normal(size=(80, 3)) + random.normal(size=3)
    w = random.normal(size=3)
    score = (X - X.mean(axis=0)) @ w
    if separable:
        keep = np.abs(score) > 0.3
        return X[keep], score[keep] > 0
    return X, score + random.normal(size=80) > 0


def fitted(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(
    "model",
    [
        Perceptron(tol=None),
        Perceptron(scaling="standard", fit_intercept=False, eta0=0.1, max_iter=3000, tol=None),
        MarginPerceptron(schedule="constant", max_iter=3000, tol=None),
        MarginPerceptron(margin=0.5, schedule="constant", max_iter=3000, tol=None, scaling=None),
        KernelPerceptron(kernel="linear", max_iter=2000, tol=None),
        KernelPerceptron(max_iter=500, tol=None),
    ],
    ids=repr,
)
def test_updates_obey_the_bound_on_separable_rows(model, seed):
    X, y = problem(seed)
    if not model.fit_intercept:
        X = X - X.mean(axis=0)
    model = fitted(model.set_params(random_state=seed), X, y)
    found = certificate(model, X, y)
    assert found.holds, str(found)
    if model.converged_:
        line = found["updates"]
        assert line.status == "holds"
        assert line.values["updates"] == model.n_updates_ <= line.values["bound"]
        assert found["separation"].status == "holds"


def test_the_bound_is_that_of_novikoff():
    X, y = problem(3)
    model = fitted(Perceptron(tol=None), X, y)
    rows = np.column_stack([X, np.ones(len(X))])
    v = np.append(model.coef_[0], model.intercept_)
    rho = 2 * np.min(np.where(y, 1, -1) * (rows @ v)) / np.linalg.norm(v)
    expected = novikoff_bound(np.linalg.norm(X, axis=1).max(), rho, bias=True)
    assert certificate(model, X, y)["updates"].values["bound"] == pytest.approx(expected)


def test_too_many_updates_break_the_bound():
    X, y = problem(0)
    model = fitted(Perceptron(tol=None), X, y)
    model.n_updates_ = 10 * int(certificate(model, X, y)["updates"].values["bound"])
    assert certificate(model, X, y).broken == ("updates",)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weighted", [False, True])
def test_theorem_8_3_holds_on_any_rows(seed, weighted):
    X, y = problem(seed, separable=False)
    weights = np.random.default_rng(seed).uniform(0.5, 3.0, size=len(X)) if weighted else None
    model = MarginPerceptron(max_iter=20, random_state=seed, tol=None)
    model.fit(X, y, sample_weight=weights)
    found = certificate(model, X, y, sample_weight=weights)
    assert found.holds, str(found)
    values = found["margin after t updates"].values
    scaled = (X - model.feature_offset_) / model.feature_scale_
    radius, largest = np.linalg.norm(scaled, axis=1).max(), 1.0 if weights is None else max(weights)
    step = model.learning_rate_ * largest
    assert values["bound"] == pytest.approx(margin_bound(model.n_updates_, radius, step))
    longer = 1.01 * values["rho"] / values["bound"]  # than the bound allows
    model.coef_, model.intercept_ = longer * model.coef_, longer * model.intercept_
    assert "margin after t updates" in certificate(model, X, y, sample_weight=weights).broken


def test_longer_weights_than_mistakes_can_make():
    X, y = problem(1, separable=False)
    model = fitted(Perceptron(tol=None, max_iter=5), X, y)
    assert certificate(model, X, y)["norm after t updates"].status == "holds"
    model.coef_ = 100.0 * model.coef_
    assert "norm after t updates" in certificate(model, X, y).broken


def test_theorem_8_1_wants_more_epochs():
    X, y = problem(0, separable=False)
    few = fitted(SGDSVC(max_iter=3, random_state=0), X, y)
    assert "epochs" in certificate(few, X, y).broken
    enough = fitted(SGDSVC(random_state=0), X, y)
    assert certificate(enough, X, y)["epochs"].status == "holds"


def test_the_stochastic_machine_is_compared_with_the_optimum():
    X, y = problem(0, separable=False)
    model = fitted(SGDSVC(random_state=0), X, y)
    line = certificate(model, X, y)["primal and dual"]
    assert line.values["dual"] <= line.values["primal"]
    assert line.values["primal"] == pytest.approx(model.primal_objective_)
    assert line.values["gap"] <= 0.01 * line.values["primal"]


@pytest.mark.parametrize(
    ("attribute", "change", "line"),
    [
        ("dual_coef_", lambda a: a + np.sign(a), "α counts mistakes"),
        ("intercept_", lambda b: b + 1.0, "bias"),
        ("support_vectors_", lambda v: 1.01 * v, "w is an expansion"),
    ],
)
def test_the_dual_perceptron_names_what_was_changed(attribute, change, line):
    X, y = problem(2, separable=False)
    model = fitted(KernelPerceptron(random_state=0), X, y)
    assert certificate(model, X, y).holds
    setattr(model, attribute, change(getattr(model, attribute)))
    assert line in certificate(model, X, y).broken


def test_why_a_bound_does_not_apply():
    X, y = problem(0)
    decaying = fitted(MarginPerceptron(tol=None, max_iter=3000, random_state=0), X, y)
    assert "schedule='decay'" in certificate(decaying, X, y)["updates"].text
    averaged = fitted(Perceptron(average=True, tol=None), X, y)
    assert "average" in certificate(averaged, X, y)["separation"].text
    noise, labels = problem(0, separable=False)
    stopped = fitted(Perceptron(), noise, labels)
    assert "separates" in certificate(stopped, noise, labels)["updates"].text
