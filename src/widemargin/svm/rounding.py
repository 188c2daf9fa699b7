r"""How far rounding may take a computed f from :math:`f_l = \sum_m \beta_m k(x_l, x_m)`.

A computed kernel value differs from the exact one by at most u times a sum of a few products,

.. math:: |\tilde k(x_l, x_m) - k(x_l, x_m)| \le u \sum_r A_{lr} B_{mr},
          \qquad |k(x_l, x_m)| \le S_l S_m

u is :math:`2^{-24}` for float32 and :math:`2^{-53}` for float64. With d inputs, :math:`n = \|x\|^2`
and :math:`q = \gamma n + |r|`:

================  ============================  =========================  ==============
kernel            A                             B                          S
================  ============================  =========================  ==============
linear            D √n                          √n                         √n
poly              p (D + 1) q^(p/2)             q^(p/2)                    q^(p/2)
sigmoid           D √q,  4                      √q,  1                     1
rbf, differences  2 √γ R + D/2 + γε, 1          1,  2 √γ R                 1
rbf, norms        2 γ D n + D/2,  1             1,  2 γ D n                1
rbf, mended       as norms, n at most 2²⁰/γ (float32: 2⁶/γ), where distances that cancel are exact
given             0                             0                          largest √|k|
================  ============================  =========================  ==============

with :math:`D = \sqrt d + 4`: rounding errors of a sum of d terms grow as :math:`\sqrt d` (N. Higham and
T. Mary, *A new approach to probabilistic rounding error analysis*, 2019). R is the norm of the
inputs that float32 rounds, after centring; in float64 nothing is rounded before the difference. An
underflow is at most d ε u, with ε the smallest number over u, which is why ε d is added to n.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms

from widemargin._typing import ArrayLike, FloatArray
from widemargin.svm.kernel_source import KernelSource

__all__ = ["Rounding", "UNIT", "kernel_rounding"]

UNIT = {False: 2.0**-24, True: 2.0**-53}  # u, of float32 and of float64
RANGE = {False: 1e37, True: 1e307}  # beyond it, and below its inverse, numbers are not represented
CANCELLED = {False: 2.0**-6, True: 2.0**-20}  # of the norms: smaller distances are summed exactly
SAFETY = 2.0


@dataclass(frozen=True, eq=False)
class Rounding:
    """Bounds of the rounding errors of kernel values, for the examples of one problem."""

    unit: float  # u
    left: FloatArray  # A
    right: FloatArray  # B
    size: FloatArray  # S

    def of_sum(self, coefficients: FloatArray, terms: float) -> FloatArray:
        """Bounds for f, summed afresh in float64 by as many additions per example."""
        size = np.abs(coefficients)
        with np.errstate(all="ignore"):
            values = self.unit * (self.left @ (self.right.T @ size))
            sums = UNIT[True] * np.sqrt(terms) * self.size * (self.size @ size)
            return _bounds(values + sums)

    def of_updates(self, traffic: float, terms: float) -> FloatArray:
        """Bounds for f after updates: `traffic` is the sum of the sizes of all changes of β."""
        with np.errstate(all="ignore"):
            values = self.unit * (self.left @ self.right.max(axis=0))
            sums = UNIT[True] * np.sqrt(terms) * self.size * self.size.max()
            return _bounds(traffic * (values + sums)) if traffic else np.zeros(len(self.size))


def _bounds(errors: FloatArray) -> FloatArray:
    """Infinite where nothing is known."""
    return np.asarray(SAFETY * np.where(np.isnan(errors), np.inf, errors))


def kernel_rounding(
    kernel: KernelSource, X: ArrayLike, packed: Any, centre: FloatArray | None = None
) -> Rounding:
    """The bounds for rows X of a named kernel, computed from these packed examples.

    Parameters
    ----------
    kernel : KernelSource
        The kernel.
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The examples.
    packed : _core.KernelExamples
        How the core stores them.
    centre : ndarray of shape (n_features,), optional
        What is subtracted from the examples in inner products.

    Returns
    -------
    Rounding
        The bounds, infinite where numbers leave the range of the precision.
    """
    double, gamma = packed.double_precision, kernel.gamma
    unit, most = UNIT[double], RANGE[double]
    width = int(np.diff(X.indptr).max(initial=1)) if sp.issparse(X) else X.shape[1]
    one, D = np.ones(X.shape[0]), np.sqrt(width) + 4.0
    with np.errstate(all="ignore"):
        least = X.shape[1] / (most * unit)
        n = row_norms(X, squared=True).astype(np.float64) + least
        if centre is not None:  # bounds the norm, and the terms of which products are made
            n = (np.sqrt(n) + np.linalg.norm(centre)) ** 2
        q = gamma * n + abs(kernel.coef0)
        largest, numbers = n.max(), [gamma]
        if kernel.function == "linear":
            root, numbers = np.sqrt(n), [1.0]
            bounds = Rounding(unit, (D * root)[:, None], root[:, None], root)
        elif kernel.function == "poly":
            p, size = kernel.degree, q ** (kernel.degree / 2)
            largest = max(largest, q.max(), size.max() ** 2)
            bounds = Rounding(unit, (p * (D + 1.0) * size)[:, None], size[:, None], size)
        elif kernel.function == "sigmoid":
            root, largest = np.sqrt(q), max(largest, q.max())
            A, B = np.column_stack([D * root, 4 * one]), np.column_stack([root, one])
            bounds = Rounding(unit, A, B, one)
        else:
            far = 2 * gamma * D * n
            if packed.layout["cancels"]:  # γ e^-γd d < 1, and d has lost few digits
                far = np.minimum(far, 2 * D / CANCELLED[double])
            if not packed.layout["sparse"]:
                far = gamma * least + 2 * np.sqrt(gamma) * (0 * n if double else _reach(X))
            A, B = np.column_stack([far + D / 2, one]), np.column_stack([one, far])
            bounds = Rounding(unit, A, B, one)
        inside = 4 * largest <= most and all(1 / most <= number <= most for number in numbers)
    return bounds if inside else Rounding(unit, np.inf * bounds.left, bounds.right, bounds.size)


def _reach(X: ArrayLike) -> FloatArray:
    """‖x − mean‖ over the columns that float32 rounds."""
    if sp.issparse(X):
        mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
        return np.asarray(row_norms(X) + np.linalg.norm(mean))
    if X.dtype == np.float32:
        return np.zeros(len(X))
    rounded = np.array([bool(np.any(x.astype(np.float32) != x)) for x in X.T], dtype=bool)
    if not rounded.any():
        return np.zeros(len(X))
    some = X[:, rounded]
    return np.asarray(row_norms(some - some.mean(axis=0)))
