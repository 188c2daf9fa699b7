"""Mixtures of Gaussians with diagonal covariances: training and densities."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits

from widemargin._typing import FloatArray, IntArray

__all__ = ["Components", "fit_components", "log_sums"]


class Components(NamedTuple):
    """Gaussians of one density, or of several; one row per Gaussian."""

    weights: FloatArray
    means: FloatArray
    variances: FloatArray

    def log_joint(self) -> Callable[[FloatArray], FloatArray]:
        r"""The function log P(n) N(x; μ, v) of rows x, one column per Gaussian.

        It takes two matrix products:

        .. math:: c_n + x \cdot (\mu_n / v_n) - \tfrac12 x^2 \cdot (1 / v_n)
        """
        precisions = 1.0 / self.variances
        linear, square = (self.means * precisions).T, -0.5 * precisions.T
        logs = np.log(2 * np.pi * self.variances) + self.means**2 * precisions
        constant = np.log(self.weights) - 0.5 * logs.sum(1)
        return lambda x: x @ linear + x**2 @ square + constant


def log_sums(joint: FloatArray, sizes: IntArray) -> FloatArray:
    """log Σ exp over groups of consecutive columns of the given sizes; overwrites `joint`.

    Examples
    --------
    >>> np.exp(log_sums(np.log([[0.1, 0.2, 0.4]]), np.array([2, 0, 1]))).round(2)
    array([[0.3, 0. , 0.4]])
    """
    out = np.full((len(joint), len(sizes)), -np.inf)
    some = np.flatnonzero(sizes)
    firsts = (np.cumsum(sizes) - sizes)[some]
    top = np.maximum.reduceat(joint, firsts, axis=1)
    joint -= np.repeat(top, sizes[some], axis=1)
    out[:, some] = top + np.log(np.add.reduceat(np.exp(joint, out=joint), firsts, axis=1))
    return out


def fit_components(
    X: FloatArray, start: Components | None, spread: FloatArray, options: dict[str, Any]
) -> Components:
    """A density by EM, starting from `start` if it has the right number of Gaussians.

    There are at most as many Gaussians as examples. A single example gets the variances `spread`.
    """
    count = min(options["n_components"], len(X))
    if len(X) <= 1:
        return Components(np.ones(count), X, np.tile(spread, (count, 1)))
    if start is not None and len(start.weights) == count:
        spherical = options["covariance_type"] == "spherical"
        options = options | {
            "weights_init": start.weights / start.weights.sum(),
            "means_init": start.means,
            "precisions_init": 1.0 / (start.variances[:, 0] if spherical else start.variances),
        }
    model = GaussianMixture(**options | {"n_components": count})
    with threadpool_limits(1, user_api="openmp"):  # other densities use the other CPUs
        model.fit(X)
    variances = np.broadcast_to(model.covariances_.reshape(count, -1), model.means_.shape)
    return Components(model.weights_, model.means_, np.ascontiguousarray(variances))
