"""The objective of a fitted machine, computed in the same way for every library.

For a kernel machine it is the dual objective. With one column of signed coefficients β for each
two-class problem (one for regression),

    classification   D = Σ |β_i| − 1/2 Σ_ij β_i β_j k(x_i, x_j)
    regression       D = Σ y_i β_i − ε Σ |β_i| − 1/2 Σ_ij β_i β_j k(x_i, x_j)

summed over the columns. All solvers maximise D over |β_i| <= C, Σ β_i = 0.

For a linear machine it is the primal objective, P = ½ |w|² + ½ b² + C Σ ξ, or ξ², with
ξ = |1 − y (w·x + b)|+.
"""

from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.adapters._kernel import Machine
from benchmarks.adapters._linear import LinearMachine

PANEL_VALUES = 4_000_000  # kernel values in memory at a time: 32 MB


def coefficients(machine: Machine, model: Any) -> NDArray[np.float64]:
    """β, one row per support vector, one column per two-class problem.

    Between classes i < j, vectors of class i have their coefficient in row j − 1 of `dual_coef_`,
    those of class j in row i.
    """
    coef = model.dual_coef_
    coef = np.asarray(coef.toarray() if sp.issparse(coef) else coef, dtype=np.float64)
    if machine.epsilon is not None or len(coef) == 1:
        return coef.T
    ends = np.cumsum(model.n_support_)
    part = [slice(end - n, end) for end, n in zip(ends, model.n_support_, strict=True)]
    pairs = list(combinations(range(len(part)), 2))
    beta = np.zeros((coef.shape[1], len(pairs)))
    for column, (i, j) in enumerate(pairs):
        beta[part[i], column] = coef[j - 1, part[i]]
        beta[part[j], column] = coef[i, part[j]]
    return beta


def dual_objective(machine: Machine, model: Any, X: Any, y: NDArray[Any]) -> float:
    """D in float64, from panels of the kernel matrix of the support vectors."""
    beta = coefficients(machine, model)
    linear = np.abs(beta).sum()
    if machine.epsilon is not None:
        linear = y[model.support_] @ beta[:, 0] - machine.epsilon * linear
    S = X[model.support_].astype(np.float64)
    height, quadratic = max(1, PANEL_VALUES // max(1, len(beta))), 0.0
    for first in range(0, len(beta), height):
        last = min(first + height, len(beta))
        K = gaussian(S[first:last], S[first:], machine.gamma)
        # K is symmetric: values to the right of the square on the diagonal count twice.
        panel = beta[first:last]
        product = 2 * (K @ beta[first:]) - K[:, : last - first] @ panel
        quadratic += float((panel * product).sum())
    return float(linear) - quadratic / 2


def infeasibility(machine: Machine, model: Any) -> float:
    """Relative violation of the constraints: |Σ β| / Σ |β|, or (|β| − C) / C."""
    beta = coefficients(machine, model)
    size = np.abs(beta)
    sums = np.abs(beta.sum(0)) / np.maximum(size.sum(0), np.finfo(float).tiny)
    return float(max(sums.max(initial=0), size.max(initial=0) / machine.C - 1))


def primal_objective(machine: LinearMachine, model: Any, X: Any, y: NDArray[Any]) -> float:
    """P in float64, from `coef_` and `intercept_`; X in float64, y ±1."""
    w, b = np.ravel(model.coef_).astype(np.float64), np.ravel(model.intercept_).astype(np.float64)
    slack = np.maximum(0.0, 1.0 - y * (X @ w + b))
    losses = slack.sum() if machine.loss == "hinge" else slack @ slack
    return float(0.5 * (w @ w + b @ b) + machine.C * losses)


def gaussian(A: Any, B: Any, gamma: float) -> NDArray[np.float64]:
    """exp(−γ |a − b|²) for all rows a of A and b of B, dense or CSR."""
    K = (B @ A.toarray().T).T if sp.issparse(A) else A @ B.T
    K *= 2 * gamma
    K -= gamma * _squares(A)[:, None]
    K -= gamma * _squares(B)
    return np.exp(np.minimum(K, 0, out=K), out=K)


def _squares(A: Any) -> NDArray[np.float64]:
    return (
        np.asarray(A.multiply(A).sum(1)).ravel() if sp.issparse(A) else np.einsum("ij,ij->i", A, A)
    )
