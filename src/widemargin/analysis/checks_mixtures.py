"""Lines about mixtures, ensembles of tables, metrics and encoders."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from widemargin.analysis.report import (
    Certificate,
    Outcome,
    check,
    decided,
    inapplicable,
    number,
)
from widemargin.analysis.subject import Subject
from widemargin.metrics import GradientMetric
from widemargin.mixtures.hard.model import HardMixture
from widemargin.mixtures.soft.model import SoftMixtureModel
from widemargin.mlp import HatEncoder
from widemargin.training.certified import CertifiedMachine

ROUNDING = 1e-6


@check("gates", "(3.19)", (HardMixture, SoftMixtureModel))
def gates(subject: Subject) -> Outcome:
    """Gates are not negative and add up to one."""
    found = np.asarray(subject.model.gates(subject.some_X))
    apart, least = float(np.abs(found.sum(axis=1) - 1).max()), float(found.min())
    share = float(found.max(axis=1).mean())
    text = f"gates of {found.shape[1]} experts are >= 0 and sum to 1; the largest is "
    text += f"{number(share)} on average"
    if apart > ROUNDING or least < -ROUNDING:
        text = f"sums of gates are off by {number(apart)}, the smallest gate is {number(least)}"
    return decided(apart <= ROUNDING and least >= -ROUNDING, text, sums=apart, smallest=least)


@check("experts", "Algorithms 6.1, 6.2", HardMixture)
def experts(subject: Subject) -> Outcome:
    """Each expert has the certificate of its own machine, on the rows of its subset."""
    model, X = subject.model, subject.model._check_X(subject.X)
    if len(model.partition_) != subject.count:
        return inapplicable("X does not have the rows that the mixture was trained on")
    if getattr(model.gater_, "overlap", 0):
        return inapplicable("cells that overlap share rows, which the partition does not show")
    labels: Any = subject.y
    if subject.classification:
        labels = np.searchsorted(model.classes_, labels)
    checked, broken = 0, []
    for k, expert in enumerate(model.experts_):
        rows = np.flatnonzero(model.partition_ == k)
        found = _of_expert(subject, expert, X, labels, rows)
        if found is not None:
            checked += 1
            broken += [f"expert {k}: {name}" for name in found.broken]
    if not checked:
        return inapplicable("no expert is an exact machine trained on its subset of these rows")
    text = f"{checked} of {len(model.experts_)} experts are exact machines whose lines all hold"
    if broken:
        text = f"{len(broken)} lines of experts do not hold: {'; '.join(broken[:5])}"
    return decided(not broken, text, n_checked=checked, n_broken=len(broken))


def _of_expert(subject: Subject, expert: Any, X: Any, labels: Any, rows: Any) -> Certificate | None:
    from widemargin.analysis.certificate import certificate  # which imports this file

    expert = getattr(expert, "expert", expert)  # in a PlattExpert
    if not isinstance(expert, CertifiedMachine) or not len(rows):
        return None
    weights = None if subject.weights is None else subject.weights[rows]
    targets = np.asarray(labels)[rows]
    if not is_classifier(expert):
        targets = targets.astype(np.float64)
    if getattr(expert, "shape_fit_", (len(rows),))[0] != len(rows):
        return None  # an earlier expert was kept
    inputs = subject.model._scaled(X[rows])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return certificate(
            expert, inputs, targets, sample_weight=weights, max_rows=subject.max_rows
        )


# -------------------------------------------------------------------------------- of tables


def _is_table_model(model: Any) -> bool:
    return hasattr(model, "members_") and hasattr(model, "baseline_loss_")


@check("ensemble", "Jensen's inequality", _is_table_model)
def ensemble(subject: Subject) -> Outcome:
    """Weights of members are not negative and add up to one, as of a mean."""
    weights = np.array([member["weight"] for member in subject.model.members_])
    apart = abs(float(weights.sum()) - 1.0)
    good = apart <= ROUNDING and bool(np.all(weights >= 0))
    text = (
        f"the weights of {len(weights)} members are >= 0 and sum to 1, so the loss of their mean "
    )
    text += "is at most the mean of their losses"
    text = text if good else f"the weights of the members sum to {number(weights.sum())}"
    return decided(good, text, n_members=len(weights), sum=float(weights.sum()))


@check("recorded error", "loss_, of cross-validation", _is_table_model)
def table_loss(subject: Subject) -> Outcome:
    """The loss on training rows is not above that on rows left out."""
    model = subject.model
    if model.scoring is not None:
        return inapplicable(f"the loss is that of scoring={model.scoring!r}")
    each = _table_losses(subject)
    found, noted = float(np.average(each, weights=subject.some_weights)), float(model.loss_)
    spread = 5.0 * float(each.std()) / np.sqrt(len(each))
    text = f"loss {number(found)} on the training rows, {number(noted)} in cross-validation, "
    text += f"{number(model.baseline_loss_)} of a constant"
    good = found <= noted + spread
    return decided(good, text, loss=found, recorded=noted, baseline=float(model.baseline_loss_))


def _table_losses(subject: Subject) -> Any:
    model = subject.model
    if subject.classification:
        p = np.asarray(model._predictions(subject.some_X))
        codes = np.searchsorted(model.classes_, subject.some_y)
        return -np.log(np.maximum(p[np.arange(len(p)), codes], 1e-15))
    y = np.asarray(subject.some_y, dtype=np.float64)
    target = model._target
    return ((subject.predictions - y) / target.deviation) ** 2


# ------------------------------------------------------------------------------- transformers


@check("importances", "mean squared derivatives", GradientMetric)
def importances(subject: Subject) -> Outcome:
    """Importances are fractions, and inputs that were dropped have a scale of 0."""
    values = np.asarray(subject.model.feature_importances_)
    apart = abs(float(values.sum()) - 1.0)
    kept, dropped = subject.model.get_support(), np.flatnonzero(values == 0)
    good = apart <= ROUNDING and bool(np.all(values >= 0)) and not np.any(kept[dropped])
    text = f"importances of {len(values)} inputs sum to 1; {int(kept.sum())} inputs are kept"
    text = text if good else f"the importances sum to {number(values.sum())}"
    return decided(good, text, sum=float(values.sum()), n_kept=int(kept.sum()))


@check("metric", "symmetric, positive semi-definite", GradientMetric)
def metric(subject: Subject) -> Outcome:
    """The map of scaled inputs is a root of a mean outer product: it has no negative scale."""
    model, scale = subject.model, np.asarray(subject.model.scale_)
    if scale.ndim == 1:
        least = float(scale.min())
        text = f"the smallest scale of an input is {number(least)}"
        return decided(least >= 0 and np.all(np.isfinite(scale)), text, smallest=least)
    squares = scale @ scale.T
    values = np.linalg.eigvalsh(0.5 * (squares + squares.T))
    least = float(values[0] / max(float(values[-1]), 1e-300))
    text = f"rank {int(np.linalg.matrix_rank(scale))} of {model.n_features_in_} inputs"
    return decided(bool(np.all(np.isfinite(scale))) and least >= -1e-9, text, smallest=least)


@check("hats", "a partition of unity", HatEncoder)
def hats(subject: Subject) -> Outcome:
    """Knots ascend, and the hats of an input sum to 1 (to less where one value is all zeros)."""
    model, found = subject.model, subject.model.transform(subject.some_X)
    knots, first, apart = model.knots_, 0, 0.0
    ascending = not np.any(np.diff(knots, axis=1) <= 0)  # NaN, which has no order, is no knot
    for row, base in zip(knots, model.base_, strict=True):
        count = int(np.sum(~np.isnan(row) & (row != base)))
        sums = np.asarray(found[:, first + 1 : first + 1 + count].sum(axis=1)).ravel()
        if count:
            off = np.abs(sums - 1.0) if np.isnan(base) else np.maximum(sums - 1.0, -sums)
            apart = max(apart, float(off.max()))
        first += 1 + count
    good = ascending and apart <= ROUNDING and first == found.shape[1]
    text = f"{len(knots)} inputs become {found.shape[1]} columns; hats sum to 1"
    if not good:
        text = "knots do not ascend" if not ascending else f"hats do not sum to 1: {number(apart)}"
    return decided(good, text, n_columns=int(found.shape[1]), difference=apart)
