r"""Support vector machines whose examples have margins of their own.

.. math:: \min_{v, a}\; \frac\nu2 \|v\|^2
          + \sum_l c_l \left| p_l - y_l (v \cdot x_l + a) \right|_+

The output layer of a network solves it with :math:`p_l = \beta`, a hidden unit with the right-hand
sides of (8.32). For ν > 0 the dual is the general problem (5.6) with the linear term
:math:`-y_l p_l`. Without ν it is a linear program.
"""

import threading
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from widemargin._typing import FloatArray
from widemargin.svm.decomposition import Options
from widemargin.svm.kernel_source import KernelSource
from widemargin.svm.problem import feasible_start, svm_problem
from widemargin.svm.solve import Task, solve_all
from widemargin.training.control import Control

__all__ = ["LocalMachine", "solve_local"]

TOL = 1e-6  # of the KKT conditions, relative to the mean |p|
MAX_STEPS = 3_000_000  # of two variables


@dataclass(frozen=True, eq=False)
class LocalMachine:
    """The solution: weights, multipliers, its cost, and a bound that no cost is below."""

    v: FloatArray
    a: float
    alpha: FloatArray
    cost: float
    bound: float


def solve_local(
    X: FloatArray,
    y: FloatArray,
    p: FloatArray,
    c: FloatArray,
    nu: float,
    *,
    start: FloatArray | None = None,
) -> LocalMachine:
    """Solve the problem of the module; `start` holds multipliers to begin with."""
    if not len(y) or not np.any(c > 0):
        return LocalMachine(np.zeros(X.shape[1]), 0.0, np.zeros(len(y)), 0.0, 0.0)
    if nu == 0.0:
        return _linear_program(X, y, p, c)
    problem = replace(svm_problem("c_svc", y, c / nu), s=-y * p)
    tol = TOL * max(float(np.abs(p).mean()), np.finfo(float).tiny)
    begin = None if start is None else feasible_start(problem, y * start / nu)
    (found,) = solve_all(
        X,
        KernelSource("linear", 1.0, 0.0, 1, double_precision=True),
        [Task(np.arange(len(y)), problem)],
        Options(tol=tol, max_iter=MAX_STEPS),
        Control("hidden_layer_svm", threading.Event()),
        [begin],
    )
    v, a = found.beta @ X, float(found.biases[0])
    cost = 0.5 * nu * float(v @ v) + float(c @ np.maximum(0.0, p - y * (X @ v + a)))
    return LocalMachine(v, a, nu * np.abs(found.beta), cost, nu * found.dual)


def _linear_program(X: FloatArray, y: FloatArray, p: FloatArray, c: FloatArray) -> LocalMachine:
    """The same without ν: the unknowns are v, a and ξ; y (v · x + a) + ξ >= p."""
    rows, width = X.shape
    columns = sp.csr_array(-y[:, None] * np.column_stack([X, np.ones(rows)]))
    found = linprog(
        np.concatenate([np.zeros(width + 1), c]),
        A_ub=sp.hstack([columns, -sp.eye_array(rows)], format="csr"),
        b_ub=-p,
        bounds=[(None, None)] * (width + 1) + [(0.0, None)] * rows,
        method="highs",
    )
    if found.x is None:
        raise RuntimeError(f"the linear program of a unit has no solution: {found.message}")
    v, a = found.x[:width], float(found.x[width])
    alpha = np.clip(-found.ineqlin.marginals, 0.0, c)
    cost = float(c @ np.maximum(0.0, p - y * (X @ v + a)))
    return LocalMachine(v, a, alpha, cost, float(found.fun))
