"""A certificate: what the theorems of the documents say about one fitted model and its rows."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _num_samples, check_consistent_length, check_is_fitted

from widemargin._typing import ArrayLike
from widemargin.analysis import (  # noqa: F401  which register their lines
    checks_kernel,
    checks_linear,
    checks_mixtures,
    checks_networks,
    checks_perceptrons,
    checks_risk,
)
from widemargin.analysis.report import CHECKS, Certificate, Check, Line, fails, inapplicable
from widemargin.analysis.subject import Subject

__all__ = ["certificate"]

ALWAYS_NAMED = {
    "margin": ("(3.22)", "it is about the hyperplane of a classifier"),
    "radius": ("smallest ball", "the model has no single feature space"),
    "updates": ("Novikoff; (8.23)", "it bounds the updates of perceptrons"),
    "primal and dual": ("(3.25), (3.30)", "the model does not minimise a convex cost with a dual"),
    "KKT conditions": (
        "(3.27)-(3.29)",
        "they belong to the convex problem of a support vector machine",
    ),
    "support vectors": ("(3.31)", "the model has no dual variables"),
    "capacity": ("(2.12)", "it is about functions of two classes"),
    "margin capacity": ("Theorem 3.4", "it is about separating hyperplanes"),
    "validation": ("2.3.2", "no test rows were given (X_test, y_test)"),
}
ORDER = (
    "margin",
    "recorded margin",
    "hinge bounds errors",
    "radius",
    "kernel",
    "separation",
    "updates",
    "norm after t updates",
    "margin after t updates",
    "epochs",
    "recorded weights",
    "α counts mistakes",
    "bias",
    "w is an expansion",
    "dual variables",
    "KKT conditions",
    "primal and dual",
    "recorded optimum",
    "support vectors",
    "nu",
    "votes",
    "output layer is an SVM",
    "gates",
    "experts",
    "ensemble",
    "importances",
    "metric",
    "hats",
    "recorded error",
    "capacity",
    "margin capacity",
    "validation",
)


def certificate(
    model: Any,
    X: ArrayLike,
    y: ArrayLike = None,
    X_test: ArrayLike = None,
    y_test: ArrayLike = None,
    *,
    sample_weight: ArrayLike = None,
    eta: float = 0.05,
    margin: float | None = None,
    n_choices: int = 1,
    max_rows: int = 10_000,
) -> Certificate:
    """What the theory says about a fitted model, checked on its training rows.

    Each line names a theorem or equation and says whether it holds, does not hold, or does not
    apply, and why. Margins, objectives, conditions of optimality and bounds are computed again from
    the rows and the weights or coefficients of the model. Lines called "recorded" compare them with
    what `fit` noted down. So a model that was changed after its fit, or is given with other rows,
    has lines that do not hold.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this package, or a pipeline or search of scikit-learn that ends in
        one.
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The rows that it was trained on.
    y : array-like of shape (n_samples,)
        Their classes or values; None for models without targets.
    X_test, y_test : array-like, optional
        Rows that had no part in training, for the validation interval.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, as given to `fit`.
    eta : float, default=0.05
        The probability with which a bound may fail.
    margin : float, optional
        A width ρ that was fixed before the rows were seen, in the space that the model works in.
        Theorem 3.4 applies to such a margin only.
    n_choices : int, default=1
        The number of models among which this one was chosen on the test rows.
    max_rows : int, default=10_000
        The most rows whose outputs are computed. If there are more, rows are drawn at random, and
        lines that need all of them do not apply. A linear machine of up to `max_rows` rows has its
        dual solved again, which takes as long as its fit.

    Returns
    -------
    Certificate
        Print it, or show it in a notebook. `to_dict` and `to_json` are for programs; `broken`
        names the lines that do not hold.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from widemargin import SVC
    >>> X, y = make_circles(200, factor=0.4, noise=0.1, random_state=0)
    >>> clf = SVC(C=10.0).fit(X, y)
    >>> found = certificate(clf, X, y)
    >>> found.holds, found["KKT conditions"].status, found["margin capacity"].status
    (True, 'holds', 'does not apply')

    A model that was changed after its fit:

    >>> clf.intercept_ = clf.intercept_ + 0.1
    >>> certificate(clf, X, y).broken
    ('KKT conditions', 'primal and dual', 'support vectors')
    """
    check_is_fitted(model)
    _check_options(X, y, sample_weight, X_test, y_test, eta, margin, n_choices, max_rows)
    name, notes = _described(model), []
    model = getattr(model, "best_estimator_", model)  # of a search of scikit-learn
    while isinstance(model, Pipeline):
        if len(model.steps) > 1:
            X, X_test = (None if A is None else model[:-1].transform(A) for A in (X, X_test))
        model = model.steps[-1][1]
    subject = Subject(
        model,
        X,
        y,
        sample_weight,
        X_test=X_test,
        y_test=y_test,
        eta=eta,
        margin=margin,
        n_choices=n_choices,
        max_rows=max_rows,
    )
    if type(model).__module__.split(".")[0] != "widemargin":
        raise TypeError(
            f"{type(model).__name__} is not an estimator of this package; give one, or a pipeline "
            "that ends in one"
        )
    if subject.sampled:
        notes.append(f"{len(subject.rows):,} of {subject.counted:,} rows were drawn (max_rows).")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lines = tuple(_lines(subject))
    return Certificate(name, subject.counted, len(subject.rows), lines, tuple(notes))


def _lines(subject: Subject) -> list[Line]:
    chosen: dict[str, Check] = {}
    for check in CHECKS:
        if check.name not in chosen and check.applies(subject.model):
            chosen[check.name] = check
    found = []
    for name in ORDER:
        if name in chosen:
            theorem = chosen[name].theorem
            try:
                outcome = chosen[name].function(subject)
            except (ValueError, IndexError, ArithmeticError, np.linalg.LinAlgError) as error:
                outcome = fails(f"it could not be computed: {error}")
        elif name in ALWAYS_NAMED:
            theorem, why = ALWAYS_NAMED[name]
            outcome = inapplicable(why)
        else:
            continue
        found.append(Line(name, theorem, outcome.status, outcome.text, outcome.values))
    return found


def _described(model: Any) -> str:
    """The model with the parameters that differ from their defaults, in one line."""
    return " ".join(repr(model).split())


def _check_options(
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike,
    X_test: ArrayLike,
    y_test: ArrayLike,
    eta: float,
    margin: float | None,
    n_choices: int,
    max_rows: int,
) -> None:
    checks: Sequence[tuple[bool, str]] = (
        (0 < eta < 1, f"eta={eta!r} must be between 0 and 1"),
        (margin is None or margin > 0, f"margin={margin!r} must be positive, or None"),
        (n_choices >= 1, f"n_choices={n_choices!r} must be at least 1"),
        (max_rows >= 2, f"max_rows={max_rows!r} must be at least 2"),
        (_num_samples(X) >= 1, "X has no rows"),
        (
            X_test is not None or y_test is None,
            "y_test was given without X_test; give both, or neither",
        ),
    )
    for good, message in checks:
        if not good:
            raise ValueError(message)
    if y is not None:
        check_consistent_length(X, y)
    if sample_weight is not None:
        check_consistent_length(X, sample_weight)
        if not np.any(np.asarray(sample_weight) > 0):
            raise ValueError("sample_weight has no positive weight")
    if y_test is not None:
        check_consistent_length(X_test, y_test)
