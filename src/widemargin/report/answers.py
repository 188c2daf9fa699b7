"""What a classifier answers for held-out rows: labels, probabilities and scores, all checked."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from widemargin._typing import FloatArray

__all__ = ["Answers", "answers_of", "check_weights", "finite"]

UNSUPPORTED = (AttributeError, NotImplementedError)


@dataclass(frozen=True)
class Answers:
    """The answers as codes and numbers.

    Classes that the model does not know come last; they have a probability of 0.
    """

    classes: list[str]
    known: int  # how many of the classes the model knows
    truth: Any  # the code of each row's class
    predicted: Any  # the code of each row's prediction
    probabilities: FloatArray | None  # of shape (rows, classes)
    scores: FloatArray | None  # of shape (rows,) for two classes, otherwise (rows, known)
    weights: FloatArray
    weighted: bool
    absent: dict[str, str] = field(default_factory=dict)  # why something is missing


def answers_of(
    model: Any, X: Any, y: Any, classes: Sequence[Any] | None, weights: FloatArray | None
) -> Answers:
    """Asks the model; the labels of y may include classes that it does not know."""
    targets = np.asarray(y)
    if targets.ndim == 2 and targets.shape[1] == 1:
        targets = targets[:, 0]
    if targets.ndim != 1 or not len(targets):
        raise ValueError(
            f"y has the shape {targets.shape}; evaluate needs one label per row, at least one row"
        )
    checked = check_weights(weights, len(targets))
    labels = np.asarray(model.predict(X))
    if labels.shape != targets.shape:
        raise ValueError(
            f"predict returned the shape {labels.shape} for y of shape {targets.shape}; give the "
            "rows of X that belong to y"
        )
    known = _known(model, classes, targets, labels)
    codes = {label: code for code, label in enumerate(known)}
    _check_kinds(codes, targets)
    truth, predicted = _codes(targets, codes), _codes(labels, codes)
    found = list(codes)
    absent: dict[str, str] = {}
    probabilities = _probabilities(model, X, len(known), len(found), len(truth), absent)
    scores = _scores(model, X, len(known), len(truth), absent)
    used = checked > 0
    return Answers(
        classes=[str(label) for label in found],
        known=len(known),
        truth=truth[used],
        predicted=predicted[used],
        probabilities=None if probabilities is None else probabilities[used],
        scores=None if scores is None else scores[used],
        weights=checked[used],
        weighted=weights is not None,
        absent=absent,
    )


def check_weights(weights: Any, rows: int) -> FloatArray:
    """Weights of rows, checked; ones if there are none."""
    if weights is None:
        return np.ones(rows)
    found = np.asarray(weights, dtype=np.float64)
    if found.shape != (rows,):
        raise ValueError(
            f"sample_weight has the shape {found.shape} for {rows} rows; give one weight per row"
        )
    if not np.all(np.isfinite(found)) or np.any(found < 0) or not found.sum() > 0:
        raise ValueError(
            "sample_weight must hold finite numbers >= 0 that are not all 0; leave it out for "
            "rows of equal weight"
        )
    return found


def finite(values: Any, name: str) -> FloatArray:
    """The values as float64; not a number and infinity are errors."""
    found = np.asarray(values, dtype=np.float64)
    bad = ~np.isfinite(found)
    if bad.any():
        rows = np.unique(np.nonzero(bad)[0])
        raise ValueError(
            f"{name} returned {found[bad][0]} for {len(rows):,} of {len(found):,} rows, first for "
            f"row {rows[0]}; check these rows for extreme values, and fit the model again"
        )
    return found


def _known(model: Any, classes: Any, targets: Any, labels: Any) -> list[Any]:
    """The labels in the order of the columns of probabilities and scores."""
    found = getattr(model, "classes_", None) if classes is None else classes
    if found is not None and np.ndim(found) == 1 and not isinstance(found, list | tuple):
        found = np.asarray(found).tolist()
    if found is None or (len(found) and isinstance(found[0], list | np.ndarray)):
        both = set(targets.tolist()) | set(labels.tolist())
        try:
            return sorted(both)
        except TypeError:
            return sorted(both, key=str)
    return list(found)


def _check_kinds(codes: dict[Any, int], targets: Any) -> None:
    """Text in y for a model of numbers, or the reverse, is a mistake and not a new class."""
    given = set(targets.tolist())
    if any(label != label for label in given):
        raise ValueError("y holds NaN; leave out the rows without a label")
    if not given.isdisjoint(codes):
        return
    names = {str(label) for label in codes}
    if any(str(label) in names for label in given):
        one = next(label for label in targets.tolist() if str(label) in names)
        known = next(label for label in codes if str(label) == str(one))
        raise ValueError(
            f"y holds {one!r} ({type(one).__name__}) and the model knows {known!r} "
            f"({type(known).__name__}); convert y to the type of the labels of training"
        )


def _codes(labels: Any, codes: dict[Any, int]) -> Any:
    """Each label's code; labels that are new get the next ones."""
    found = [codes.setdefault(label, len(codes)) for label in labels.tolist()]
    return np.array(found, dtype=np.int64)


def _probabilities(
    model: Any, X: Any, known: int, classes: int, rows: int, absent: dict[str, str]
) -> FloatArray | None:
    try:
        values = model.predict_proba(X)
    except UNSUPPORTED:
        absent["probabilities"] = "the model has no predict_proba"
        return None
    found = finite(values, "predict_proba")
    if found.shape != (rows, known):
        raise ValueError(
            f"predict_proba returned the shape {found.shape} for {rows} rows and {known} classes; "
            "give classes= in the order of its columns"
        )
    return np.hstack([found, np.zeros((rows, classes - known))])


def _scores(model: Any, X: Any, known: int, rows: int, absent: dict[str, str]) -> FloatArray | None:
    try:
        values = model.decision_function(X)
    except UNSUPPORTED:
        absent["scores"] = "the model has no decision_function"
        return None
    found = finite(values, "decision_function")
    if found.shape == (rows, 1) and known == 2:
        found = found[:, 0]
    if found.shape == (rows, 2) and known == 2:
        found = found[:, 1] - found[:, 0]
    if found.shape != ((rows,) if known == 2 else (rows, known)):
        absent["scores"] = (
            f"decision_function has the shape {found.shape}, not one column for each of the "
            f"{known} classes"
        )
        return None
    return found
