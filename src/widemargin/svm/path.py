"""Kernel machines for many C: each starts from the previous one."""

from dataclasses import dataclass
from typing import Any

from widemargin._typing import ArrayLike, FloatArray
from widemargin.svm.machine import KernelMachine
from widemargin.svm.svc import SVC
from widemargin.training.path import Path, unfitted

__all__ = ["SVMPath", "svm_path"]


@dataclass(frozen=True, eq=False)
class SVMPath(Path):
    """The models of `svm_path`, one per C; arrays have one row per C."""

    kkt_violation: FloatArray


def svm_path(
    X: ArrayLike,
    y: ArrayLike,
    Cs: ArrayLike,
    *,
    estimator: Any = None,
    sample_weight: ArrayLike = None,
    **parameters: Any,
) -> SVMPath:
    """Fit a kernel machine for each of many C in ascending order, each from the previous one.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The examples; kernel values of shape (n_samples, n_samples) for a precomputed kernel.
    y : array-like of shape (n_samples,)
        Their targets.
    Cs : array-like of shape (n_Cs,)
        The values of C, in any order.
    estimator : estimator, optional
        An `SVC`, `SVR` or `NuSVR`, which is copied; None means ``SVC()``.
    sample_weight : array-like of shape (n_samples,), optional
        Weights ≥ 0, as in `SVC.fit`.
    **parameters
        Other parameters of the estimator: ``gamma=0.1``.

    Returns
    -------
    SVMPath
        `Cs`, and in their order the fitted `models`, `primal_objective`, `dual_objective`,
        `duality_gap`, `kkt_violation`, `n_iter` (one value per C, or per C and problem) and
        `seconds`. Each model is what `fit` alone would give: the optimum, within `tol`. Ctrl-C
        ends the path with the C being fitted; larger ones are left out.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from widemargin.svm import svm_path
    >>> X, y = make_circles(200, factor=0.6, noise=0.2, random_state=0)
    >>> path = svm_path(X, y, [0.1, 1.0, 10.0], gamma=2.0)
    >>> path.dual_objective.round(1)
    array([ 14.5,  93.5, 775.5])
    >>> path.models[1].C
    1.0
    """
    model = unfitted(estimator, SVC(), parameters, KernelMachine, "SVC, SVR or NuSVR")
    return SVMPath.of(model, X, y, Cs, sample_weight)
