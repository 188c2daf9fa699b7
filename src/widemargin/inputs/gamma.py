"""γ of a kernel from the inputs."""

from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import gen_batches

from widemargin import _core
from widemargin._typing import ArrayLike
from widemargin.inputs.rows import as_rows, canonical
from widemargin.inputs.scaling import Scaling
from widemargin.kernels import DISTANCE_KERNELS

__all__ = ["resolve_gamma"]

ROWS_AT_ONCE = 4096  # whose deviations are in memory


def resolve_gamma(
    gamma: float | str,
    X: ArrayLike,
    scaling: Scaling | None = None,
    kernel: Any = "rbf",
    exponent: float = 1.0,
) -> float:
    """γ as scikit-learn defines it: "scale" is 1/(n_features · variance of X), "auto" 1/n_features.

    For "exponential" and "laplacian" it is r^−q, so that γ r^q = 1 at a typical distance r of an
    example from the mean: for "scale" the root of the mean ‖x − mean‖₂², or the mean of
    ‖x − mean‖₁; for "auto" what these are if every input has mean deviation 1.

    Parameters
    ----------
    gamma : {"scale", "auto"} or float
        The parameter of the model.
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        Validated inputs.
    scaling : Scaling, optional
        What is applied to X first; its statistics then give the variance.
    kernel : str or callable, default="rbf"
        The kernel.
    exponent : float, default=1.0
        q of "exponential" and "laplacian".

    Returns
    -------
    float
        γ; 1 for "scale" if X is constant.

    Examples
    --------
    >>> resolve_gamma("scale", np.array([[0.0, 2.0], [2.0, 0.0]]))
    0.5
    >>> resolve_gamma("scale", np.array([[0.0, 2.0], [2.0, 0.0]]), kernel="laplacian")
    0.5
    """
    if gamma in ("scale", "auto") and kernel in ("exponential", "laplacian"):
        norm = DISTANCE_KERNELS[kernel]
        if gamma == "auto":
            return float(X.shape[1] ** (-exponent / norm))
        with np.errstate(over="ignore", invalid="ignore"):
            distance = _typical_distance(X, scaling, norm)
        _require_finite(distance)
        return float(distance**-exponent) if distance > 0 else 1.0
    if gamma == "auto":
        return float(1.0 / X.shape[1])
    if gamma == "scale":
        with np.errstate(over="ignore", invalid="ignore"):
            variance = _variance(X) if scaling is None else scaling.variance_of_entries()
        _require_finite(variance)
        return float(1.0 / (X.shape[1] * variance)) if variance > 0 else 1.0
    assert isinstance(gamma, Real)
    return float(gamma)


def _require_finite(spread: float) -> None:
    if not np.isfinite(spread):
        raise ValueError(
            "gamma='scale' needs the variance of X, whose squares overflow; scale the inputs"
        )


def _typical_distance(X: ArrayLike, scaling: Scaling | None, norm: int) -> float:
    """How far scaled examples are from their mean."""
    every, width = np.arange(X.shape[0]), X.shape[1]
    scale = np.ones(width) if scaling is None else scaling.scale
    if scaling is None or scaling.kind is None:
        mean, variance = np.empty(width), np.empty(width)
        _core.moments(as_rows(X), every, None, mean, variance)
    else:
        mean, variance = scaling.mean, scaling.variance
    if norm == 2:
        return float(np.sqrt(np.sum(variance / scale**2)))
    if not sp.issparse(X):
        batches = gen_batches(len(every), ROWS_AT_ONCE)
        deviations = np.sum([np.abs(X[rows] - mean).sum(axis=0) for rows in batches], axis=0)
    else:
        X = canonical(X)
        away = np.abs(X.data - mean[X.indices]) - np.abs(mean)[X.indices]
        deviations = np.bincount(X.indices, away, minlength=width) + len(every) * np.abs(mean)
    return float(np.sum(deviations / scale) / len(every))


def _variance(X: ArrayLike) -> float:
    """The variance of all entries, from their deviations, so that a large mean does not cancel."""
    if not sp.issparse(X):
        return float(X.var(dtype=np.float64))
    stored, size = canonical(X).data.astype(np.float64), X.shape[0] * X.shape[1]
    mean = stored.sum() / size
    deviations = stored - mean
    return float((deviations @ deviations + (size - len(stored)) * mean**2) / size)
