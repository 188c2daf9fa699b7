"""Lines about networks, committees and other models whose optimum no theorem certifies."""

from typing import Any

import numpy as np

from widemargin.analysis.hidden_layer import hidden_layer_svm
from widemargin.analysis.report import Outcome, check, decided, holds, inapplicable, number
from widemargin.analysis.subject import Subject
from widemargin.mixtures import (
    HardMixtureClassifier,
    MixtureOfExpertsClassifier,
)
from widemargin.mlp import MLPClassifier
from widemargin.mlp.committee_classifier import CommitteeClassifier
from widemargin.mlp.model import NetworkModel
from widemargin.perceptrons import SGDSVC, KernelPerceptron, MarginPerceptron, Perceptron

SPREAD = 4.0  # standard errors by which an error may be above the recorded one
ROUNDING = 1e-6
ONLINE = (
    MarginPerceptron,
    SGDSVC,
    NetworkModel,
    CommitteeClassifier,
    MixtureOfExpertsClassifier,
    HardMixtureClassifier,
)


def _best_record(model: Any) -> dict[str, Any]:
    """The record of the epoch whose weights were kept."""
    if not getattr(model, "history_", None):
        return {}
    place = int(getattr(model, "best_iter_", len(model.history_))) or len(model.history_)
    done = len(model.history_) - int(getattr(model, "n_iter_", len(model.history_)))
    record: dict[str, Any] = model.history_[min(max(done, 0) + place, len(model.history_)) - 1]
    return record


@check("margin", "8.6, ρ = 2β/√N", CommitteeClassifier)
def committee_margin(subject: Subject) -> Outcome:
    """In the space of the votes w = 1, so ρ = 2β/√N is fixed before training."""
    model = subject.model
    units = int(model.coefs_[0].shape[-1])
    rho = 2.0 * float(model.margin_) / np.sqrt(units)
    same = abs(rho - float(model.geometric_margin_)) <= ROUNDING * max(rho, 1e-300)
    if not subject.two_classes:
        text = f"ρ = 2β/√N = {number(rho)} in the space of {number(units)} votes"
        return decided(same, text, rho=rho)
    scores = np.asarray(model.decision_function(subject.some_X))
    y = np.where(subject.some_y == model.classes_[1], 1.0, -1.0)
    inside = int(np.sum(y * scores < model.margin_))
    text = f"ρ = 2β/√N = {number(rho)} in the space of {number(units)} votes; "
    text += f"{number(inside)} examples inside it"
    if not same:
        text += f"; geometric_margin_ says {number(model.geometric_margin_)}"
    return decided(same, text, rho=rho, n_inside=inside)


@check(
    "margin", "(8.28), Theorem 8.4", lambda m: isinstance(m, MLPClassifier) and m.loss == "margin"
)
def network_margin(subject: Subject) -> Outcome:
    """ρ = 2β/‖w‖ of the output weights, in the space of the last hidden layer."""
    if not subject.two_classes:
        return inapplicable("the margin of several outputs is that of their differences")
    w = subject.model.coefs_[-1][:, 0].astype(np.float64)
    rho = 2.0 * float(subject.model.margin) / float(np.linalg.norm(w))
    assert subject.space is not None
    f = subject.space.inputs.x @ w + float(subject.model.intercepts_[-1][0])
    y = np.where(subject.some_y == subject.model.classes_[1], 1.0, -1.0)
    inside = int(np.sum(y * f < subject.model.margin))
    return holds(
        f"ρ = 2β/‖w‖ = {number(rho)} in the last hidden layer; {number(inside)} examples inside it",
        rho=rho,
        n_inside=inside,
    )


@check(
    "hinge bounds errors",
    "(3.24), (8.34)",
    lambda m: (
        isinstance(m, CommitteeClassifier) or (isinstance(m, MLPClassifier) and m.loss == "margin")
    ),
)
def hinge(subject: Subject) -> Outcome:
    """The margin criterion over β is at least the 0-1 loss of each example."""
    model = subject.model
    beta = float(model.margin if isinstance(model, MLPClassifier) else model.margin_)
    if not subject.two_classes or beta == 0:
        return inapplicable("shown for two classes and a margin β > 0")
    f = np.asarray(model.decision_function(subject.some_X), dtype=np.float64)
    y = np.where(subject.some_y == model.classes_[1], 1.0, -1.0)
    hinge, errors = np.maximum(0.0, beta - y * f) / beta, (f > 0) != (y > 0)
    text = f"{number(errors.sum())} errors ≤ Σ ξ/β = {number(hinge.sum())}"
    return decided(np.all(hinge >= errors), text, errors=int(errors.sum()), slack=hinge.sum())


@check(
    "output layer is an SVM",
    "Theorem 8.4",
    lambda m: isinstance(m, MLPClassifier) and m.loss == "margin" and m.n_layers_ == 3,
)
def output_layer(subject: Subject) -> Outcome:
    """The cost of (w, b) against that of the SVM of the hidden outputs."""
    if not subject.two_classes:
        return inapplicable("it is about one output")
    if subject.sampled:
        return inapplicable(subject.all_rows)
    found = hidden_layer_svm(subject.model, subject.X, subject.y, subject.sample_weight, units=())
    cost, optimum, excess = found.output.cost, found.output.optimum, found.output.excess
    text = f"the output layer costs {number(cost)}, the SVM of the hidden outputs {number(optimum)}"
    values = {"cost": cost, "optimum": optimum, "excess": excess}
    if not found.output_holds:
        return inapplicable(f"{text}: training stopped before a minimum of (8.28)", **values)
    return holds(text, **values)


@check("votes", "(8.33)", CommitteeClassifier)
def votes(subject: Subject) -> Outcome:
    """f(x) = b + Σ h(v·x + a) of the units, summed in float64, is what the model returns."""
    model = subject.model
    if not subject.two_classes or subject.space is None:
        return inapplicable("shown for two classes")
    committees = len(model.coefs_[0])
    sums = subject.space.inputs.x.sum(axis=1) / committees + model.intercepts_[1].mean()
    f = np.asarray(model.decision_function(subject.some_X))
    apart, most = float(np.abs(sums - f).max()), float(np.abs(sums).max())
    size = len(model.coefs_[0][0, 0, 0])
    allowed = 1e-4 * size if model._unit == "hard_tanh" else 2.0 + 1e-3 * size
    text = f"sums of votes up to {number(most)} agree with f(x) within {number(apart)}"
    return decided(apart <= allowed, text, difference=apart)


@check("recorded error", "history_ (the pocket)", (Perceptron, KernelPerceptron))
def pocket(subject: Subject) -> Outcome:
    """The training error of the weights that were kept is what the pocket measured."""
    record = _best_record(subject.model)
    if "training_error" not in record:
        return inapplicable("no training error was measured (tol=None, average or early stopping)")
    if subject.sampled:
        return inapplicable(subject.all_rows)
    noted = float(record["training_error"])
    found = float(np.average(subject.predictions != subject.some_y, weights=_counted(subject)))
    same = abs(found - noted) <= 1.5 / len(subject.rows)  # rounding may decide one example
    text = f"training error {number(found)}, recorded {number(noted)}"
    return decided(same, text, error=found, recorded=noted)


def _counted(subject: Subject) -> Any:
    return None if subject.weights is None else subject.weights[subject.rows]


def _classifies_online(model: Any) -> bool:
    return isinstance(model, ONLINE) and hasattr(model, "classes_")


@check("recorded error", "history_", _classifies_online)
def recorded_error(subject: Subject) -> Outcome:
    """The training error is not above the one of the last epoch by more than chance explains."""
    record = _best_record(subject.model)
    if "error" not in record:
        return inapplicable("no error was recorded")
    noted, count = float(record["error"]), len(subject.rows)
    found = float(np.average(subject.predictions != subject.some_y, weights=_counted(subject)))
    spread = SPREAD * np.sqrt(max(noted * (1.0 - noted), 1.0 / count) / count)
    text = f"training error {number(found)}, recorded {number(noted)} in the epoch that was kept"
    good = found <= noted + spread
    return decided(
        good,
        text if good else text + ", more than chance explains",
        error=found,
        recorded=noted,
        allowed=noted + float(spread),
    )


@check(
    "recorded error",
    "history_",
    lambda m: isinstance(m, NetworkModel) or hasattr(m, "gater_") or hasattr(m, "gates"),
)
def recorded_squares(subject: Subject) -> Outcome:
    """The same for a regression: mean squared errors relative to the variance of the targets."""
    record = _best_record(subject.model)
    if "error" not in record:
        return inapplicable("no error was recorded")
    y = np.asarray(subject.some_y, dtype=np.float64).reshape(len(subject.rows), -1)
    miss = (subject.predictions.reshape(y.shape) - y) ** 2
    variance = np.maximum(np.average((y - y.mean(axis=0)) ** 2, axis=0), 1e-300)
    each = (miss / variance).mean(axis=1)
    weights = _counted(subject)
    found, noted = float(np.average(each, weights=weights)), float(record["error"])
    spread = SPREAD * float(each.std()) / np.sqrt(len(each))
    text = f"squared error {number(found)} of the variance of y, recorded {number(noted)}"
    good = found <= noted + spread + ROUNDING
    return decided(
        good,
        text if good else text + ", more than chance explains",
        error=found,
        recorded=noted,
        allowed=noted + spread,
    )
