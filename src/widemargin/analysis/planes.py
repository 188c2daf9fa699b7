"""The hyperplanes of each family of classifiers, read from their fitted attributes."""

from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from widemargin._typing import ArrayLike, FloatArray
from widemargin.analysis.hyperplane import Hyperplane
from widemargin.inputs.labels import example_weights
from widemargin.inputs.scaling import Scaling
from widemargin.linear_svm import LinearSVC
from widemargin.perceptrons import KernelSGDSVC
from widemargin.perceptrons.dual_classifier import DualClassifier
from widemargin.perceptrons.linear_classifier import LinearClassifier
from widemargin.svm.classifier import KernelClassifier
from widemargin.training.choice import ChosenMachine

__all__ = ["PLANAR", "chosen_machine", "hyperplanes_of", "nu_factor", "scaled_intercepts"]

#: Classifiers whose outputs are w·Φ(x) + b.
PLANAR = (KernelClassifier, DualClassifier, LinearClassifier, LinearSVC)


def hyperplanes_of(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike = None,
    X_train: ArrayLike = None,
    max_support: float = np.inf,
) -> list[Hyperplane]:
    """`hyperplanes`, with a norm of NaN for machines of more support vectors than this."""
    check_is_fitted(model)
    model, y = chosen_machine(model), np.asarray(y)
    if not isinstance(model, PLANAR):
        raise TypeError(f"{type(model).__name__} is no classifier with a hyperplane w·Φ(x) + b")
    _check_classes(model, y)
    if isinstance(model, KernelClassifier):
        training = X_train is None
        found = _of_kernel_classifier(model, X, y, sample_weight, training, max_support)
    elif isinstance(model, DualClassifier):
        found = _of_dual_classifier(model, X, y, max_support)
    elif isinstance(model, LinearSVC):
        found = _of_linear_svc(model, X, y, sample_weight, X if X_train is None else X_train)
    else:
        found = _of_linear_classifier(model, X, y)
    if sample_weight is None:
        return list(found)
    return [_some(plane, np.asarray(sample_weight)[plane.rows] > 0) for plane in found]


def _some(plane: Hyperplane, chosen: Any) -> Hyperplane:
    """The same plane on fewer rows."""
    return replace(
        plane,
        rows=plane.rows[chosen],
        y=plane.y[chosen],
        f=plane.f[chosen],
        alpha=None if plane.alpha is None else plane.alpha[chosen],
        upper=None if plane.upper is None else plane.upper[chosen],
    )


def chosen_machine(model: Any) -> Any:
    """The machine that a search over C trained, with its C; other models as they are."""
    if not isinstance(model, ChosenMachine):
        return model
    parameters = model.get_params(deep=False)
    for name in model._search_parameters:
        parameters.pop(name)
    machine = model._machine(**parameters, C=model.C_)
    if hasattr(model, "gamma_"):
        machine.gamma = model.gamma_
    machine.__dict__.update({k: v for k, v in vars(model).items() if k not in model.get_params()})
    return machine


def scaled_intercepts(model: Any) -> FloatArray:
    """b of f(x) = w·Φ(x̂) + b, where `intercept_` may be that of inputs as given."""
    b = np.asarray(model.intercept_, dtype=float)
    linear = getattr(model, "kernel", "linear") == "linear"
    if isinstance(model, DualClassifier):
        linear = False  # it keeps the intercept of scaled inputs
    if linear and getattr(model, "feature_offset_", None) is not None:
        return np.asarray(b + np.atleast_2d(model.coef_) @ model.feature_offset_)
    return b


# ------------------------------------------------------------------------------- by family


def _check_classes(model: Any, y: Any) -> None:
    unknown = np.setdiff1d(y, model.classes_)
    if len(unknown):
        raise ValueError(
            f"y has the class {unknown.tolist()[0]!r}, which {type(model).__name__} was not "
            f"trained on; its classes are {model.classes_.tolist()!r}"
        )


def _sides(classes: Any, y: Any) -> Iterator[tuple[str, FloatArray]]:
    """Names and labels ±1 of one machine of two classes, or of one per class."""
    if len(classes) == 2:
        yield f"{classes[1]} against {classes[0]}", np.where(y == classes[1], 1.0, -1.0)
        return
    for name in classes:
        yield f"{name} against the rest", np.where(y == name, 1.0, -1.0)


def _of_kernel_classifier(
    model: Any,
    X: ArrayLike,
    y: Any,
    sample_weight: ArrayLike,
    training: bool,
    max_support: float,
) -> Iterator[Hyperplane]:
    machine = copy(model)
    machine._double_precision = True
    X = machine._check_inputs(X)
    codes = np.searchsorted(model.classes_, y).astype(np.float64)
    weights = example_weights(X, y, sample_weight, model.class_weight, model.classes_)
    rows = np.arange(len(y)) if weights is None or not training else np.flatnonzero(weights)
    tasks, outputs = machine._tasks(codes, weights, rows), machine._outputs(X)
    training = training and len(y) == model.shape_fit_[0]
    coefs = machine._earlier_coefficients(codes, tasks) if training else [None] * len(tasks)
    norms = kernel_norms(machine, X if training else None, max_support)
    intercepts = scaled_intercepts(model)
    explicit: Any = model.coef_ if model.kernel == "linear" else [None] * len(tasks)
    names = [name for name, _ in _sides(model.classes_, y)]
    if len(model.classes_) > 2 and not model._one_against_rest:
        names = [f"{model.classes_[i]} against {model.classes_[j]}" for i, j in model._pairs]
    scale = 1.0 if model.feature_scale_ is None else model.feature_scale_
    for k, (task, coef) in enumerate(zip(tasks, coefs, strict=True)):
        problem, alpha = task.problem, None if coef is None else np.abs(coef)
        if alpha is not None and problem.kind == "nu_svc":
            alpha = alpha * nu_factor(problem, alpha)
        yield Hyperplane(
            names[k],
            task.ids,
            problem.z,
            outputs[task.ids, k],
            norms[k],
            None if explicit[k] is None else explicit[k] * scale,
            float(intercepts[k]),
            1.0,
            alpha,
            None if alpha is None else problem.upper,
        )


def nu_factor(problem: Any, alpha: FloatArray) -> float:
    r"""ρ by which `NuSVC` has divided its coefficients: :math:`\sum_l \alpha_l = \nu W`."""
    return float(np.abs(problem.sums).sum() / alpha.sum()) if alpha.sum() > 0 else 1.0


def kernel_norms(model: Any, X: ArrayLike, max_support: float) -> list[float]:
    """‖w‖ of each machine of an expansion, from its coefficients and kernel values.

    A precomputed kernel needs X, the kernel values between training rows.
    """
    if len(model.support_) > max_support:
        return [float("nan")] * len(model.intercept_)
    if model.kernel == "precomputed":
        if X is None:
            return [float("nan")] * len(model.intercept_)
        vectors = X[model.support_]
    else:
        vectors = model.support_vectors_
    if not len(model.support_):
        return [0.0] * len(model.intercept_)
    if isinstance(model, DualClassifier):
        sums = model._scores(vectors) - model.intercept_
        return [float(np.sqrt(max(0.0, s))) for s in np.sum(sums * model.dual_coef_.T, axis=0)]
    sums = model._outputs(model._check_inputs(vectors)) - scaled_intercepts(model)
    squares = [
        float(coef @ sums[members, k]) for k, (_, members, coef) in enumerate(model.expansions())
    ]
    return [float(np.sqrt(max(0.0, square))) for square in squares]


def _of_dual_classifier(
    model: Any, X: ArrayLike, y: Any, max_support: float
) -> Iterator[Hyperplane]:
    outputs, rows = model._scores(model._check_X(X)), np.arange(len(y))
    square = X if model.kernel == "precomputed" and X.shape[0] == X.shape[1] else None
    norms = kernel_norms(model, square, max_support)
    unit = 1.0 if isinstance(model, KernelSGDSVC) else 0.0
    for k, (name, labels) in enumerate(_sides(model.classes_, y)):
        b = float(model.intercept_[k])
        yield Hyperplane(name, rows, labels, outputs[:, k], norms[k], None, b, unit)


def _of_linear_classifier(model: Any, X: ArrayLike, y: Any) -> Iterator[Hyperplane]:
    outputs, rows = model._scores(model._check_X(X)), np.arange(len(y))
    weights, b = model.coef_ * model.feature_scale_, scaled_intercepts(model)
    unit = model._criterion().parameter
    for k, (name, labels) in enumerate(_sides(model.classes_, y)):
        w, norm = weights[k], float(np.linalg.norm(weights[k]))
        yield Hyperplane(name, rows, labels, outputs[:, k], norm, w, float(b[k]), unit)


def _of_linear_svc(
    model: Any, X: ArrayLike, y: Any, sample_weight: ArrayLike, X_train: ArrayLike
) -> Iterator[Hyperplane]:
    X, X_train = model._check_inputs(X), model._check_inputs(X_train)
    same = X.shape == X_train.shape
    weights = sample_weight if not same else model._weights(X, y, sample_weight)
    scaling = Scaling.measured(model.scaling, X_train, weights=weights)
    w, f = model.coef_ * scaling.scale, model._outputs(X)
    b, rows = model.intercept_ + model.coef_ @ scaling.offset, np.arange(len(y))
    if len(w) == 1 or model.multi_class == "ovr":
        for k, (name, labels) in enumerate(_sides(model.classes_, y)):
            norm = float(np.linalg.norm(w[k]))
            yield Hyperplane(name, rows, labels, f[:, k], norm, w[k], float(b[k]), 1.0)
        return
    for i, j in combinations(range(len(w)), 2):
        some = np.flatnonzero((y == model.classes_[i]) | (y == model.classes_[j]))
        labels, v = np.where(y[some] == model.classes_[i], 1.0, -1.0), w[i] - w[j]
        name, norm = f"{model.classes_[i]} against {model.classes_[j]}", float(np.linalg.norm(v))
        output, bias = f[some, i] - f[some, j], float(b[i] - b[j])
        yield Hyperplane(name, some, labels, output, norm, v, bias, 1.0)
