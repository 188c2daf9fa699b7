"""Lines about perceptrons: separation, updates, norms and margins (Novikoff, Theorems 8.1-8.3)."""

from typing import Any

import numpy as np

from widemargin._typing import FloatArray
from widemargin.analysis.hyperplane import Hyperplane
from widemargin.analysis.report import Outcome, check, decided, holds, inapplicable, number
from widemargin.analysis.subject import Subject
from widemargin.perceptrons import (
    SGDSVC,
    KernelPerceptron,
    KernelSGDSVC,
    MarginPerceptron,
    Perceptron,
)
from widemargin.perceptrons.linear_classifier import LinearClassifier
from widemargin.theory import margin_bound, novikoff_bound, separable_updates_bound

PLAIN = (Perceptron, MarginPerceptron, KernelPerceptron)
ROUNDING = 1e-6


def _radius(subject: Subject) -> float:
    assert subject.space is not None
    return subject.space.largest_norm()


def _steps(model: Any) -> float:
    """λ of the largest step."""
    return float(model.eta0 if isinstance(model, Perceptron) else model.learning_rate_)


def _largest_weight(subject: Subject) -> float:
    return 1.0 if subject.weights is None else float(np.max(subject.weights))


def _augmented(subject: Subject, plane: Hyperplane) -> tuple[float, float]:
    """‖(w, b)‖ and the largest ‖(Φ(x), 1)‖; with a bias step K², as ‖(w, b/K)‖ and (Φ(x), K)."""
    R, unit = _radius(subject), 1.0
    if isinstance(subject.model, KernelPerceptron):
        unit = float(subject.model.radius_)
    if not subject.model.fit_intercept or unit == 0:
        return plane.norm, R
    return float(np.hypot(plane.norm, plane.intercept / unit)), float(np.hypot(R, unit))


@check("separation", "Algorithms 3.1, 8.1", PLAIN)
def separation(subject: Subject) -> Outcome:
    """An epoch without an update means that every row is beyond β."""
    model = subject.model
    if not model.converged_:
        return inapplicable(
            f"training stopped before an epoch without an update "
            f"(stop_reason_={model.stop_reason_!r})"
        )
    if getattr(model, "average", False):
        return inapplicable("average=True returns the mean of the weights, which was not tested")
    if model.early_stopping:
        return inapplicable("early stopping held out some of the rows, which are not known here")
    least = min(float((plane.y * plane.f).min()) for plane in subject.planes)
    unit = subject.planes[0].unit
    good = least > unit * (1.0 - ROUNDING) if unit else least > 0
    inside = sum(int(np.sum(plane.y * plane.f <= unit)) for plane in subject.planes)
    text = f"every row has y f(x) > {number(unit)}; the smallest is {number(least)}"
    if not good:
        text = f"converged_ is True, but {number(inside)} rows have y f(x) ≤ {number(unit)}"
    return decided(good, text, smallest=least, n_inside=inside)


@check("updates", "Novikoff; (8.23)", PLAIN)
def updates(subject: Subject) -> Outcome:
    """The bound 4R²/ρ² on the mistakes, with ρ of the hyperplane that was found."""
    model, t = subject.model, int(subject.model.n_updates_)
    why = _not_plain(subject)
    if why is not None:
        return inapplicable(f"{why} ({number(t)} updates were made)", updates=t)
    total = 0.0
    for plane in subject.planes:
        norm, R = _augmented(subject, plane)
        rho = 2.0 * float((plane.y * plane.f).min()) / norm
        if isinstance(model, MarginPerceptron):
            total += separable_updates_bound(R, rho, _steps(model), beta=plane.unit)
        else:
            total += novikoff_bound(R, rho)
    text = f"{number(t)} updates, at most 4R²/ρ² = {number(total)} on separable rows"
    if isinstance(model, MarginPerceptron):
        text = f"{number(t)} updates, at most {number(total)} on separable rows"
    return decided(t <= total * (1.0 + ROUNDING), text, updates=t, bound=total)


@check("updates", "Novikoff; (8.23)", lambda model: hasattr(model, "n_updates_"))
def other_updates(subject: Subject) -> Outcome:
    """Of models that the bounds are not about."""
    t = int(subject.model.n_updates_)
    return inapplicable(f"it is about perceptrons ({number(t)} updates were made)", updates=t)


def _not_plain(subject: Subject) -> str | None:
    """Why a bound for separable rows does not apply."""
    model = subject.model
    if not all(plane.separates for plane in subject.planes):
        return "the bound is for rows that a hyperplane separates, and this one does not"
    if subject.weights is not None:
        return "weights make the steps of the examples differ"
    if getattr(model, "average", False):
        return "average=True returns a mean, whose number of updates is not that of the bound"
    if model.early_stopping:
        return "early stopping held out some of the rows, which are not known here"
    if getattr(model, "penalty", None) is not None:
        return "weight decay changes the weights at every example"
    if isinstance(model, MarginPerceptron) and model.schedule != "constant":
        return f"schedule={model.schedule!r}: (8.23) has a constant step"
    if isinstance(model, MarginPerceptron) and not model.converged_:
        return "the margin perceptron did not converge"
    if subject.sampled:
        return subject.all_rows
    return None


@check("norm after t updates", "(8.21)", Perceptron)
def norm(subject: Subject) -> Outcome:
    """‖(w, b)‖ ≤ λ √t ‖(x, 1)‖, because an update never lengthens w by more."""
    if subject.sampled:
        return inapplicable(subject.all_rows)
    t = int(subject.model.n_updates_)
    step = _steps(subject.model) * _largest_weight(subject)
    found = [_augmented(subject, plane) for plane in subject.planes]
    length, R = max(pair[0] for pair in found), found[0][1]
    most = step * np.sqrt(t) * R
    text = f"‖(w, b)‖ = {number(length)}, at most {number(most)} after {number(t)} updates"
    return decided(length <= most * (1.0 + ROUNDING), text, norm=length, bound=float(most))


@check("margin after t updates", "Theorem 8.3", MarginPerceptron)
def margin_after_updates(subject: Subject) -> Outcome:
    """ρ ≥ (2β/λ)/√(t (2β/λ + R² + 1)), on any data."""
    if subject.sampled:
        return inapplicable(subject.all_rows)
    model, t = subject.model, int(subject.model.n_updates_)
    step = _steps(model) * _largest_weight(subject)
    least = margin_bound(
        t, _radius(subject), step, beta=float(model.margin), bias=bool(model.fit_intercept)
    )
    found = [_augmented(subject, plane)[0] for plane in subject.planes]
    rho = 2.0 * float(model.margin) / max(found) if max(found) > 0 else np.inf
    text = f"2β/‖(w, b)‖ = {number(rho)}, at least {number(least)} after {number(t)} updates"
    return decided(rho >= least * (1.0 - ROUNDING), text, rho=rho, bound=least)


@check("recorded margin", "geometric_margin_, (3.22)", (MarginPerceptron, SGDSVC, KernelSGDSVC))
def recorded_margin(subject: Subject) -> Outcome:
    """`geometric_margin_` is 2β/‖w‖ of the stored weights."""
    noted = float(subject.model.geometric_margin_)
    rho = min(plane.margin for plane in subject.planes)
    if isinstance(subject.model, KernelSGDSVC):  # of all outputs together
        rho = 2.0 / max(np.sqrt(sum(plane.norm**2 for plane in subject.planes)), 1e-300)
    if np.isnan(rho):
        return inapplicable(f"there are more than max_rows={subject.max_rows} support vectors")
    same = abs(noted - rho) <= ROUNDING * abs(noted) or noted == rho
    text = f"geometric_margin_ {number(noted)}, recomputed {number(rho)}"
    return decided(same, text, recorded=noted, rho=rho)


@check("recorded weights", "the state that training left", LinearClassifier)
def recorded_weights(subject: Subject) -> Outcome:
    """`coef_` and `intercept_` are the weights, or their mean, from which training resumes."""
    model, state = subject.model, subject.model._state
    w, c = np.asarray(state["w"]), np.asarray(state["c"])
    if model.average and state["sum_w"] is not None and state["steps"]:
        w, c = w - state["sum_w"] / state["steps"], c - state["sum_c"] / state["steps"]
    scale = model.feature_scale_
    size = float(np.abs(w * scale).max() + np.abs(c).max()) + 1e-300
    apart = max(np.abs((w - model.coef_) * scale).max(), np.abs(c - model.intercept_).max())
    text = f"coef_ and intercept_ differ from the trained weights by {number(apart / size)}"
    return decided(apart <= 1e-9 * size, text, difference=float(apart / size))


@check("epochs", "Theorem 8.1", (SGDSVC, KernelSGDSVC))
def epochs(subject: Subject) -> Outcome:
    """Weight decay needs on the order of 1/(Lλμ) epochs to reach the solution."""
    model = subject.model
    done = int(getattr(model, "_epochs_done", model.n_iter_))
    needed = float(model.theorem_epochs_)
    text = f"{number(done)} epochs, at least {number(needed)} to reach the solution"
    return decided(done >= needed, text, epochs=done, needed=needed)


# ------------------------------------------------------------------------------------ dual


@check("α counts mistakes", "Yuille 2.5", KernelPerceptron)
def mistakes(subject: Subject) -> Outcome:
    """Each mistake adds 1 to its α, so Σ α is the number of updates."""
    model = subject.model
    if subject.weights is not None:
        return inapplicable("a mistake adds the weight of its example to α")
    total, t = float(np.abs(model.dual_coef_).sum()), int(model.n_updates_)
    fractions = float(np.abs(model.dual_coef_ - np.round(model.dual_coef_)).max(initial=0.0))
    good = abs(total - t) <= ROUNDING * max(t, 1) and fractions <= ROUNDING
    return decided(good, f"Σ α = {number(total)}, {number(t)} updates", sum=total, updates=t)


@check("bias", "Yuille 2.5", KernelPerceptron)
def bias(subject: Subject) -> Outcome:
    """b = K² Σ α y: each mistake adds y K² to it."""
    model = subject.model
    step = model.radius_**2 if model.fit_intercept else 0.0
    expected: FloatArray = step * model.dual_coef_.sum(axis=1)
    size = step * np.abs(model.dual_coef_).sum() + 1e-300
    apart = float(np.abs(expected - model.intercept_).max())
    place = int(np.argmax(np.abs(expected - model.intercept_)))
    text = f"b = {number(model.intercept_[place])}, K² Σ α y = {number(expected[place])}"
    return decided(apart <= ROUNDING * size, text, difference=apart)


@check("support vectors", "Yuille 2.5", KernelPerceptron)
def support_vectors(subject: Subject) -> Outcome:
    """Examples with α > 0; α has no bound."""
    count = len(subject.model.support_)
    return inapplicable(f"α of a perceptron has no bound; {number(count)} rows have α > 0")


@check("primal and dual", "(8.15)", KernelSGDSVC)
def recorded_objective(subject: Subject) -> Outcome:
    """(8.15) at the stored coefficients is what `fit` noted down."""
    model = subject.model
    if subject.sampled:
        return inapplicable(subject.all_rows)
    if model.early_stopping:
        return inapplicable("early stopping held out some of the rows, which are not known here")
    planes, every = subject.planes, subject.weights
    rows = planes[0].rows
    weights = np.ones(len(rows)) if every is None else every[rows]
    C = 1.0 / (model.mu * len(rows))
    primal = sum(0.5 * plane.norm**2 + C * float(weights @ plane.slack) for plane in planes)
    noted = float(model.primal_objective_)
    same = abs(noted - primal) <= ROUNDING * max(abs(noted), 1e-300)
    text = f"P = {number(primal)}, primal_objective_ {number(noted)}; `SVC` solves the dual"
    return decided(same, text, primal=primal, recorded=noted)


@check("KKT conditions", "(3.27)-(3.29)", KernelSGDSVC)
def decaying_kkt(subject: Subject) -> Outcome:
    return inapplicable("coefficients that decay (8.17) reach the conditions in the limit only")


@check("support vectors", "(8.17)", KernelSGDSVC)
def decaying_support(subject: Subject) -> Outcome:
    """An example that was once inside the margin keeps a coefficient."""
    count = len(subject.model.support_)
    return holds(f"{number(count)} rows were inside the margin at some visit", n_support=count)
