"""Linear machines for many C: each starts from the previous one."""

from dataclasses import dataclass
from typing import Any

from widemargin._typing import ArrayLike
from widemargin.linear_svm.estimators import LinearSVC
from widemargin.linear_svm.machine import LinearMachine
from widemargin.training.path import Path, unfitted

__all__ = ["LinearSVMPath", "linear_svm_path"]


@dataclass(frozen=True, eq=False)
class LinearSVMPath(Path):
    """The models of `linear_svm_path`, one per C; arrays have one row per C."""


def linear_svm_path(
    X: ArrayLike,
    y: ArrayLike,
    Cs: ArrayLike,
    *,
    estimator: Any = None,
    sample_weight: ArrayLike = None,
    **parameters: Any,
) -> LinearSVMPath:
    """Fit a linear machine for each of many C in ascending order, each from the previous one.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The examples.
    y : array-like of shape (n_samples,)
        Their targets.
    Cs : array-like of shape (n_Cs,)
        The values of C, in any order.
    estimator : estimator, optional
        A `LinearSVC` or `LinearSVR`, which is copied; None means ``LinearSVC()``.
    sample_weight : array-like of shape (n_samples,), optional
        Weights ≥ 0, as in `LinearSVC.fit`.
    **parameters
        Other parameters of the estimator: ``loss="hinge"``.

    Returns
    -------
    LinearSVMPath
        `Cs`, and in their order the fitted `models`, `primal_objective`, `dual_objective`,
        `duality_gap` (one value per C, or per C and problem), `n_iter` and `seconds`. Each model
        is what `fit` alone would give: the optimum, within `tol`. Where the model of the previous
        C is good enough, `n_iter` is 0. Ctrl-C ends the path with the C being fitted; larger ones
        are left out.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from widemargin.linear_svm import linear_svm_path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> path = linear_svm_path(X, y, [0.01, 0.1, 1.0], loss="hinge", scaling="standard")
    >>> path.primal_objective.round(1)
    array([ 0.9,  4.4, 26.5])
    >>> path.models[1].C
    0.1
    """
    use = "LinearSVC or LinearSVR"
    model = unfitted(estimator, LinearSVC(), parameters, LinearMachine, use)
    return LinearSVMPath.of(model, X, y, Cs, sample_weight)
