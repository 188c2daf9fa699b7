r"""The hyperplanes of fitted classifiers: norm, margin, distances, slack (thesis, 3.6.1).

Every machine here is :math:`f(x) = w \cdot \Phi(x) + b` (8.1), with Φ the identity, a feature map,
or what a kernel defines. Lengths are those of the space that the model works in: scaled inputs, if
it scales them. :math:`\|w\|^2 = \sum_{lm} \beta_l \beta_m k(x_l, x_m)` is computed from the
coefficients :math:`\beta_l = y_l \alpha_l` where w itself is not known.
"""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.inputs.labels import example_weights
from widemargin.inputs.scaling import Scaling
from widemargin.linear_svm import LinearSVC
from widemargin.perceptrons import KernelPerceptron
from widemargin.perceptrons.linear_classifier import LinearClassifier
from widemargin.svm.classifier import KernelClassifier
from widemargin.training.choice import ChosenMachine

__all__ = ["Hyperplane", "chosen_machine", "hyperplanes", "scaled_intercepts"]

AT_BOUND = 1e-9  # relative distance from its bound within which α is at it


@dataclass(frozen=True, eq=False)
class Hyperplane:
    r"""One machine :math:`f(x) = w \cdot \Phi(x) + b` of a classifier, on given rows.

    Attributes
    ----------
    name : str
        Which classes it separates.
    rows : ndarray
        The rows it is about: all, or those of its two classes.
    y : ndarray
        Their labels ±1.
    f : ndarray
        Their outputs f(x).
    norm : float
        ‖w‖ in the space of Φ.
    weights : ndarray or None
        w, of scaled inputs; None for a kernel other than linear.
    intercept : float
        b, of scaled inputs.
    unit : float
        β, the output at which the model asks examples to be: 1 for support vector machines, 0 for
        machines without a margin.
    alpha, upper : ndarray or None
        The dual variables of the rows and their bounds, where the model has them.
    """

    name: str
    rows: IntArray
    y: FloatArray
    f: FloatArray
    norm: float
    weights: FloatArray | None
    intercept: float
    unit: float
    alpha: FloatArray | None = None
    upper: FloatArray | None = None

    @property
    def margin(self) -> float:
        r"""The geometric margin :math:`\rho = 2\beta/\|w\|` (3.22); 0 where β = 0."""
        return 2.0 * self.unit / self.norm if self.norm > 0 else np.inf

    @property
    def distances(self) -> FloatArray:
        r"""Signed distances :math:`f(x)/\|w\|` from the hyperplane, positive on the side of +1."""
        if self.norm == 0:
            raise ValueError("w is 0, so there is no hyperplane to be at a distance from")
        return self.f / self.norm

    @property
    def slack(self) -> FloatArray:
        r"""The slack :math:`\xi_l = |\beta - y_l f(x_l)|_+` of each example (3.24)."""
        return np.maximum(0.0, self.unit - self.y * self.f)

    @property
    def errors(self) -> Any:
        """Which examples are misclassified; sign(0) = −1."""
        return (self.f > 0) != (self.y > 0)

    @property
    def separates(self) -> bool:
        """Whether every example is on its side, none on the hyperplane."""
        return bool(np.all(self.y * self.f > 0))

    @property
    def hinge_bounds_errors(self) -> bool:
        """Whether the hinge ξ/β of each example is at least its 0-1 loss (needs β > 0)."""
        return bool(np.all(self.slack / self.unit >= self.errors))

    @property
    def free(self) -> Any:
        """Which examples are free support vectors, 0 < α < U: they lie on the margin."""
        if self.alpha is None or self.upper is None:
            raise ValueError(f"the machine {self.name!r} has no dual variables")
        return (self.alpha > 0) & ~self.at_bound

    @property
    def at_bound(self) -> Any:
        """Which examples are support vectors at their bound, α = U (3.31)."""
        if self.alpha is None or self.upper is None:
            raise ValueError(f"the machine {self.name!r} has no dual variables")
        return (self.alpha > 0) & (self.alpha >= self.upper * (1.0 - AT_BOUND))

    def canonical(self) -> "Hyperplane":
        r"""The same hyperplane with :math:`\min_l |f(x_l)| = 1` on these rows, and β = 1.

        If it separates the rows, they satisfy (3.21), and `margin` is twice the distance of the
        nearest row. The dual variables belong to the other scale and are left out.
        """
        least = float(np.abs(self.f).min())
        if least == 0:
            raise ValueError("f(x) = 0 for some row, so that no factor makes the smallest |f| 1")
        weights = None if self.weights is None else self.weights / least
        return replace(
            self,
            f=self.f / least,
            norm=self.norm / least,
            weights=weights,
            intercept=self.intercept / least,
            unit=1.0,
            alpha=None,
            upper=None,
        )


def hyperplanes(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike = None,
    X_train: ArrayLike = None,
) -> list[Hyperplane]:
    r"""The hyperplanes of a fitted classifier, on given rows.

    Two classes have one. More classes have one per pair of classes (`SVC`, `NuSVC`, and
    `LinearSVC` with "crammer_singer", whose planes are :math:`f_j - f_i`) or one per class.

    Parameters
    ----------
    model : estimator
        `SVC`, `NuSVC`, `LinearSVC`, `Perceptron`, `MarginPerceptron`, `SGDSVC`, `KernelPerceptron`
        or a search over C.
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The rows; kernel values with the training rows for a precomputed kernel.
    y : array-like of shape (n_samples,)
        Their classes.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, as given to `fit`; dual variables have bounds C times the weight.
    X_train : array-like, optional
        The rows that the model was trained on, if X are others. Dual variables are then left out.
        `LinearSVC(scaling=...)` keeps no statistics of its inputs, so they are measured again.

    Returns
    -------
    list of Hyperplane

    Examples
    --------
    >>> from widemargin import SVC
    >>> X, y = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]
    >>> (plane,) = hyperplanes(SVC(kernel="linear", C=10.0, tol=1e-9).fit(X, y), X, y)
    >>> round(plane.margin, 6), plane.distances.round(6).tolist()
    (2.0, [-2.0, -1.0, 1.0, 2.0])
    >>> plane.free.tolist(), plane.slack.round(6).tolist()
    ([False, True, True, False], [0.0, 0.0, 0.0, 0.0])
    """
    check_is_fitted(model)
    model, y = chosen_machine(model), np.asarray(y)
    _check_classes(model, y)
    if isinstance(model, KernelClassifier):
        return list(_of_kernel_classifier(model, X, y, sample_weight, training=X_train is None))
    if isinstance(model, KernelPerceptron):
        return list(_of_kernel_perceptron(model, X, y))
    if isinstance(model, LinearSVC):
        return list(_of_linear_svc(model, X, y, sample_weight, X if X_train is None else X_train))
    if isinstance(model, LinearClassifier):
        return list(_of_linear_classifier(model, X, y))
    raise TypeError(f"{type(model).__name__} is no classifier with a hyperplane w·Φ(x) + b")


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
    linear = not isinstance(model, KernelPerceptron) and getattr(model, "kernel", "linear")
    if linear == "linear" and getattr(model, "feature_offset_", None) is not None:
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
    model: Any, X: ArrayLike, y: Any, sample_weight: ArrayLike, *, training: bool
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
    norms, intercepts = kernel_norms(machine, X if training else None), scaled_intercepts(model)
    explicit = model.coef_ if model.kernel == "linear" else [None] * len(tasks)
    names = [name for name, _ in _sides(model.classes_, y)]
    if len(tasks) != len(names):
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


def kernel_norms(model: Any, X: ArrayLike = None) -> list[float]:
    """‖w‖ of each machine of an expansion, from its coefficients and kernel values.

    A precomputed kernel needs X, the kernel values between training rows.
    """
    if model.kernel == "precomputed":
        if X is None:
            return [float("nan")] * len(model.intercept_)
        vectors = X[model.support_]
    else:
        vectors = model.support_vectors_
    if not len(model.support_):
        return [0.0] * len(model.intercept_)
    if isinstance(model, KernelPerceptron):
        sums = model._scores(vectors) - model.intercept_
        return np.sqrt(np.maximum(0.0, np.sum(sums * model.dual_coef_.T, axis=0))).tolist()
    sums = model._outputs(model._check_inputs(vectors)) - scaled_intercepts(model)
    squares = [
        float(coef @ sums[members, k]) for k, (_, members, coef) in enumerate(model.expansions())
    ]
    return np.sqrt(np.maximum(0.0, squares)).tolist()


def _of_kernel_perceptron(model: Any, X: ArrayLike, y: Any) -> Iterator[Hyperplane]:
    outputs, rows = model._scores(model._check_X(X)), np.arange(len(y))
    square = X if model.kernel == "precomputed" and X.shape[0] == X.shape[1] else None
    norms = kernel_norms(model, square)
    for k, (name, labels) in enumerate(_sides(model.classes_, y)):
        b = float(model.intercept_[k])
        yield Hyperplane(name, rows, labels, outputs[:, k], norms[k], None, b, 0.0)


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
        yield Hyperplane(name, some, labels, f[some, i] - f[some, j], norm, v, float(b[i] - b[j]), 1)
