r"""The hyperplanes of fitted classifiers: norm, margin, distances, slack (thesis, 3.6.1).

Every machine here is :math:`f(x) = w \cdot \Phi(x) + b` (8.1), with Φ the identity, a feature map,
or what a kernel defines. Lengths are those of the space that the model works in: scaled inputs, if
it scales them. :math:`\|w\|^2 = \sum_{lm} \beta_l \beta_m k(x_l, x_m)` is computed from the
coefficients :math:`\beta_l = y_l \alpha_l` where w itself is not known.
"""

from typing import Any

from widemargin._typing import ArrayLike
from widemargin.analysis.feature_space import (
    Definiteness,
    kernel_is_positive_definite,
    quadratic_map,
)
from widemargin.analysis.hyperplane import Hyperplane
from widemargin.analysis.planes import hyperplanes_of

__all__ = [
    "Definiteness",
    "Hyperplane",
    "hyperplanes",
    "kernel_is_positive_definite",
    "quadratic_map",
]


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
        Weights, as given to `fit`; dual variables have bounds C times the weight, and rows of
        weight 0 are left out.
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
    return hyperplanes_of(model, X, y, sample_weight=sample_weight, X_train=X_train)
