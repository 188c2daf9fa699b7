"""Mixtures of Gaussians: training and densities."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits

from widemargin._typing import FloatArray, IntArray

__all__ = ["Components", "fit_components", "log_sums"]


class Components(NamedTuple):
    """Gaussians of one density, or of several; one row per Gaussian."""

    weights: FloatArray  # (N,)
    means: FloatArray  # (N, d)
    variances: FloatArray  # (N, d), or covariance matrices (N, d, d)

    def log_joint(self) -> Callable[[FloatArray], FloatArray]:
        r"""The function log P(n) N(x; μ, v) of rows x, one column per Gaussian.

        With variances v it takes two matrix products:

        .. math:: c_n + x \cdot (\mu_n / v_n) - \tfrac12 x^2 \cdot (1 / v_n)
        """
        if self.variances.ndim == 3:
            return self._log_joint_full()
        precisions = 1.0 / self.variances
        linear, square = (self.means * precisions).T, -0.5 * precisions.T
        logs = np.log(2 * np.pi * self.variances) + self.means**2 * precisions
        constant = np.log(self.weights) - 0.5 * logs.sum(1)
        return lambda x: x @ linear + x**2 @ square + constant

    def _log_joint_full(self) -> Callable[[FloatArray], FloatArray]:
        r"""With :math:`\Sigma_n = C C^T`: :math:`c_n - \tfrac12 \|C^{-1} (x - \mu_n)\|^2`."""
        roots = np.linalg.cholesky(self.variances)
        identity = np.eye(self.means.shape[1])
        inverses = [solve_triangular(C, identity, lower=True).T for C in roots]
        logs = np.log(2 * np.pi) * len(identity) / 2 + np.log(
            np.diagonal(roots, axis1=1, axis2=2)
        ).sum(1)
        constant = np.log(self.weights) - logs

        def log_joint(x: FloatArray) -> FloatArray:
            found = np.empty((len(x), len(constant)))
            for n, (mean, inverse) in enumerate(zip(self.means, inverses, strict=True)):
                found[:, n] = -0.5 * np.sum(((x - mean) @ inverse) ** 2, axis=1)
            return np.asarray(found + constant)

        return log_joint

    def precisions(self, kind: str) -> FloatArray:
        """The inverse variances or covariance matrices, as GaussianMixture starts from them."""
        full = self.variances.ndim == 3
        if kind == "full":
            found = np.linalg.inv(self.variances if full else _matrices(self.variances))
            return np.asarray(found, dtype=np.float64)
        variances = np.diagonal(self.variances, axis1=1, axis2=2) if full else self.variances
        return np.asarray(1.0 / (variances.mean(1) if kind == "spherical" else variances))


def _matrices(variances: FloatArray) -> FloatArray:
    """Diagonal matrices."""
    return np.asarray(variances[:, :, None] * np.eye(variances.shape[1]))


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
    count, kind = min(options["n_components"], len(X)), options["covariance_type"]
    if len(X) <= 1:
        variances = np.tile(spread, (count, 1))
        return Components(np.ones(count), X, _matrices(variances) if kind == "full" else variances)
    if start is not None and len(start.weights) == count:
        options = options | {
            "weights_init": start.weights / start.weights.sum(),
            "means_init": start.means,
            "precisions_init": start.precisions(kind),
        }
    model = GaussianMixture(**options | {"n_components": count})
    with threadpool_limits(1, user_api="openmp"):  # other densities use the other CPUs
        model.fit(X)
    if kind == "full":
        return Components(model.weights_, model.means_, model.covariances_)
    variances = np.broadcast_to(model.covariances_.reshape(count, -1), model.means_.shape)
    return Components(model.weights_, model.means_, np.ascontiguousarray(variances))
