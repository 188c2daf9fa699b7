"""Lines about margin, radius, capacity and risk, for all models."""

from typing import Any

import numpy as np
from scipy.stats import binom

from widemargin.analysis.hyperplane import Hyperplane
from widemargin.analysis.report import (
    Outcome,
    check,
    decided,
    fails,
    holds,
    inapplicable,
    number,
)
from widemargin.analysis.subject import Subject
from widemargin.mlp.committee_classifier import CommitteeClassifier
from widemargin.mlp.model import NetworkModel
from widemargin.svm import OneClassSVM
from widemargin.theory import (
    hyperplane_capacity,
    margin_capacity,
    mlp_capacity,
    validation_interval,
    vc_confidence,
)

NO_NORM = "w is 0, or has more support vectors than max_rows, so that its norm is not known"
ON_THE_MARGIN = 1e-2  # of β: rows with less slack count as on the margin, not inside it
SAME_ROWS = 200  # of the test rows, compared with as many training rows


def _any(model: Any) -> bool:
    return True


def _inside(plane: Hyperplane) -> int:
    """The number of rows inside the margin."""
    return int(np.count_nonzero(plane.slack > ON_THE_MARGIN * plane.unit))


def _classifies(model: Any) -> bool:
    return hasattr(model, "classes_")


# ---------------------------------------------------------------------------- margin, radius


@check("margin", "(3.22)", _classifies)
def margin(subject: Subject) -> Outcome:
    r"""ρ = 2β/‖w‖, and whether the rows are beyond it."""
    planes = subject.planes
    if not planes:
        return inapplicable("f is not of the form w·Φ(x) + b with a margin of its own")
    if any(not plane.norm > 0 for plane in planes):
        return inapplicable(NO_NORM)
    unit = planes[0].unit
    nearest = min(2.0 * float((p.y * p.f).min()) / p.norm for p in planes)
    if unit == 0:
        if nearest <= 0:
            return inapplicable("the machine has no margin β, and the rows are not separated")
        return holds(
            f"no margin β was asked for; the nearest row makes it {number(nearest)} wide",
            rho=nearest,
        )
    narrow = min(planes, key=lambda plane: plane.margin)
    inside = sum(_inside(plane) for plane in planes)
    among = "" if len(planes) == 1 else f", the narrowest of {len(planes)} ({narrow.name})"
    text = f"ρ = 2β/‖w‖ = {number(narrow.margin)}{among}; {number(inside)} examples inside it"
    text += f"; canonical width {number(nearest)}" if nearest > 0 else ", some on the wrong side"
    return holds(text, rho=narrow.margin, norm=narrow.norm, n_inside=inside, nearest=nearest)


@check("hinge bounds errors", "(3.24), (8.18)", _classifies)
def hinge(subject: Subject) -> Outcome:
    """The hinge of each example is at least its 0-1 loss, so Σ ξ/β bounds the errors."""
    planes = [plane for plane in subject.planes if plane.unit > 0]
    if not planes:
        return inapplicable("the machine has no margin β")
    errors = sum(int(np.count_nonzero(plane.errors)) for plane in planes)
    total = sum(float(plane.slack.sum() / plane.unit) for plane in planes)
    bounded = all(plane.hinge_bounds_errors for plane in planes)
    sign = "≤" if bounded else "but not on each example"
    return decided(
        bounded,
        f"{number(errors)} errors {sign} Σ ξ/β = {number(total)}",
        errors=errors,
        slack=total,
    )


@check("radius", "smallest ball (Yuille 2.5)", _any)
def radius(subject: Subject) -> Outcome:
    """The radius of the smallest ball around the rows in feature space."""
    if subject.space is None:
        return inapplicable("the model has no single feature space")
    found, norm = subject.space.radius(), subject.space.largest_norm()
    text = f"a ball of radius {number(found)} holds the rows in {subject.space.name}"
    text += f"; the largest norm is {number(norm)}"
    return holds(text, radius=found, largest_norm=norm, dimension=subject.space.dimension)


# ---------------------------------------------------------------------------------- capacity


@check("capacity", "(2.12)", NetworkModel)
def capacity_of_networks(subject: Subject) -> Outcome:
    """The capacity of networks is known as an order only."""
    return _order(str(subject.model._transfer).replace("_", ""))


@check("capacity", "(2.12)", CommitteeClassifier)
def capacity_of_committees(subject: Subject) -> Outcome:
    return _order("sign" if subject.model._unit == "sign" else "hardtanh")


def _order(transfer: str) -> Outcome:
    known = transfer if transfer in ("hardtanh", "relu", "sign") else "tanh"
    order = mlp_capacity(known)
    return inapplicable(
        f"the VC dimension is known as an order only, from {order.at_least} to {order.at_most} "
        "for W weights and N units",
        order=order.at_most,
    )


@check("capacity", "Theorem 2.3, (2.12)", _classifies)
def capacity(subject: Subject) -> Outcome:
    """Hyperplanes in d dimensions: R ≤ R_L + the VC confidence of h = d + 1."""
    space, why = subject.space, None
    if space is None or not subject.planes:
        why = "no VC dimension of these functions is known here"
    elif not subject.two_classes:
        why = "the VC dimension is that of functions of two classes"
    elif np.isinf(space.dimension):
        why = f"{space.name} has infinitely many dimensions"
    elif np.isnan(space.dimension):
        why = f"the dimension of {space.name} is not known"
    elif not space.fixed:
        why = f"{space.name} was fitted to the rows, so its functions were not fixed before"
    elif subject.sample_weight is not None:
        why = "(2.12) is about the mean over examples of equal weight"
    if why is not None or space is None:
        return inapplicable(str(why))
    h, L = hyperplane_capacity(int(space.dimension)), len(subject.rows)
    empirical = subject.training_error
    bound = empirical + vc_confidence(h, L, subject.eta)
    text = (
        f"h = d + 1 = {number(h)}: R ≤ {number(empirical)} + {number(bound - empirical)} with "
        f"probability {number(1 - subject.eta)}"
    )
    text += ", which says nothing, being over 1" if bound >= 1 else ""
    return holds(text, h=h, empirical=empirical, bound=bound)


@check("margin capacity", "Theorem 3.4", _classifies)
def capacity_by_margin(subject: Subject) -> Outcome:
    """Theorem 3.4 is about a margin that is fixed before the rows are seen, and no slack."""
    space = subject.space
    if space is None or not subject.planes:
        return inapplicable("it is about separating hyperplanes")
    if not subject.two_classes:
        return inapplicable("it is about functions of two classes")
    (plane,) = subject.planes
    if not plane.norm > 0:
        return inapplicable(NO_NORM)
    nearest, asked = 2.0 * float((plane.y * plane.f).min()) / plane.norm, subject.margin
    R, d = space.radius(), space.dimension if np.isfinite(space.dimension) else np.inf
    if asked is not None:
        h = margin_capacity(R, asked, d)
        text = f"margin={number(asked)}, fixed before: h ≤ min(4R²/ρ², d) + 1 = {number(h)}"
        if nearest < asked * (1.0 - 1e-9):
            return fails(f"the rows are not separated by margin={number(asked)}", nearest=nearest)
        return holds(text, h=h, radius=R, nearest=nearest)
    if plane.unit == 0 and nearest <= 0:
        return inapplicable("the rows are not separated")
    inside = _inside(plane)
    if nearest <= 0 or inside:
        return inapplicable(
            f"the margin is soft: {number(inside)} examples are inside it; the theorem is about "
            "hyperplanes that separate all rows with it"
        )
    h = margin_capacity(R, nearest, d)
    return inapplicable(
        f"the width {number(nearest)} was found from these rows; the theorem is about one that was "
        f"fixed before (it would give h ≤ {number(h)}); give it as margin=...",
        h_if_fixed=h,
        radius=R,
    )


# -------------------------------------------------------------------------------- validation


@check("validation", "2.3.2", _any)
def validation(subject: Subject) -> Outcome:
    """An interval for the expected error, from rows that had no part in training."""
    if subject.X_test is None:
        return inapplicable("no test rows were given (X_test, y_test)")
    if not hasattr(subject.model, "predict"):
        return inapplicable("the model makes no predictions")
    if _same_rows(subject):
        return inapplicable("the test rows are training rows, which the model has seen")
    predicted = np.asarray(subject.model.predict(subject.X_test))
    if isinstance(subject.model, OneClassSVM):
        wrong = predicted < 0 if subject.y_test is None else predicted != subject.y_test
        what = "outliers" if subject.y_test is None else "errors"
        return _interval(subject, wrong, what)
    if subject.y_test is None:
        return inapplicable("y_test was not given")
    if subject.classification:
        return _interval(subject, predicted != subject.y_test, "errors")
    if predicted.ndim > 1:
        return inapplicable("there are several targets, whose errors have no single order")
    return _median(subject, np.abs(predicted - subject.y_test))


def _interval(subject: Subject, wrong: Any, what: str) -> Outcome:
    n, total = int(np.count_nonzero(wrong)), len(wrong)
    options = {"eta": subject.eta, "n_choices": subject.n_choices}
    found = validation_interval(n, total, **options)  # type: ignore[arg-type]
    low, high = 100 * found.low, 100 * found.high
    return holds(
        f"{number(n)} {what} in {number(total)} test rows: with probability "
        f"{number(1 - subject.eta)} the expected rate is in {low:.2f}..{high:.2f} %",
        estimate=found.estimate,
        low=found.low,
        high=found.high,
    )


def _median(subject: Subject, errors: Any) -> Outcome:
    """Order statistics that hold the median error, whatever its distribution is."""
    n, eta = len(errors), subject.eta / subject.n_choices
    below = int(binom.ppf(eta / 2, n, 0.5)) - 1  # P(fewer than `below` + 1 errors are below it)
    values = np.sort(errors)
    if below < 0:
        return inapplicable(
            f"{n} test rows are too few for an interval of the median error; (2.6) does not apply "
            "because the squared error has no bound"
        )
    low, high, middle = values[below], values[n - 1 - below], float(np.median(values))
    return holds(
        f"median |f(x) − y| of {number(n)} test rows {number(middle)}: with probability "
        f"{number(1 - subject.eta)} the median is in {number(low)}..{number(high)}, by order "
        "statistics; (2.6) needs a bounded loss",
        estimate=middle,
        low=float(low),
        high=float(high),
    )


def _same_rows(subject: Subject) -> bool:
    """Whether the first test rows are the first training rows."""
    first, second = subject.X_test, subject.X
    if first is second:
        return True
    try:
        a, b = first[:SAME_ROWS], second[:SAME_ROWS]
        a, b = (part.toarray() if hasattr(part, "toarray") else np.asarray(part) for part in (a, b))
        return bool(a.shape == b.shape and len(a) and np.array_equal(a, b))
    except (TypeError, KeyError, IndexError):
        return False
