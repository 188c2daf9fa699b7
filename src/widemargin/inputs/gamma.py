"""γ of a kernel from the inputs."""

from numbers import Real

import numpy as np
import scipy.sparse as sp

from widemargin._typing import ArrayLike
from widemargin.inputs.rows import canonical
from widemargin.inputs.scaling import Scaling

__all__ = ["resolve_gamma"]


def resolve_gamma(gamma: float | str, X: ArrayLike, scaling: Scaling | None = None) -> float:
    """γ as scikit-learn defines it: "scale" is 1/(n_features · variance of X), "auto" 1/n_features.

    Parameters
    ----------
    gamma : {"scale", "auto"} or float
        The parameter of the model.
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        Validated inputs.
    scaling : Scaling, optional
        What is applied to X first; its statistics then give the variance.

    Returns
    -------
    float
        γ; 1 for "scale" if X is constant.

    Examples
    --------
    >>> resolve_gamma("scale", np.array([[0.0, 2.0], [2.0, 0.0]]))
    0.5
    """
    if gamma == "auto":
        return float(1.0 / X.shape[1])
    if gamma == "scale":
        with np.errstate(over="ignore", invalid="ignore"):
            variance = _variance(X) if scaling is None else scaling.variance_of_entries()
        if not np.isfinite(variance):
            raise ValueError(
                "gamma='scale' needs the variance of X, whose squares overflow; scale the inputs"
            )
        return float(1.0 / (X.shape[1] * variance)) if variance > 0 else 1.0
    assert isinstance(gamma, Real)
    return float(gamma)


def _variance(X: ArrayLike) -> float:
    """The variance of all entries, from their deviations, so that a large mean does not cancel."""
    if not sp.issparse(X):
        return float(X.var(dtype=np.float64))
    stored, size = canonical(X).data.astype(np.float64), X.shape[0] * X.shape[1]
    mean = stored.sum() / size
    deviations = stored - mean
    return float((deviations @ deviations + (size - len(stored)) * mean**2) / size)
