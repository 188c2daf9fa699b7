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
exponential       F + D/2 + G, 1                1,  F                      1
laplacian         F + D + G, 1                  1,  F                      1
given             0                             0                          largest √|k|
================  ============================  =========================  ==============

with :math:`D = \sqrt d + 4`: rounding errors of a sum of d terms grow as :math:`\sqrt d` (N. Higham
and T. Mary, *A new approach to probabilistic rounding error analysis*, 2019). R is the norm of the
inputs that float32 rounds, after centring; in float64 nothing is rounded before the difference.
F bounds what an error of the distance does to :math:`e^{-\gamma d^q}`. If inputs are rounded, it is
:math:`2 \gamma^{1/q} R` for :math:`q \ge 1` and :math:`\gamma u^{q-1} R^q` for q < 1, where a small
distance has a large slope; of L1, :math:`\sqrt d R` replaces R. Sparse rows add 2 D over the
fraction of the norms below which distances are summed again. G is what powers lose: 4 for roots,
and for other q the digits of the logarithm.

Where d numbers underflow, their sum loses at most u ε: d times the smallest normal number is ε,
which is added to n. For the same reason the smallest normal number is added to q^p.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from widemargin import _core
from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.kernels import DISTANCE_KERNELS
from widemargin.svm.kernel_source import KernelSource

__all__ = ["UNIT", "KernelRounding", "Rounding"]

UNIT = {False: 2.0**-24, True: 2.0**-53}  # u, of float32 and of float64
RANGE = {False: 1e37, True: 1e307}  # beyond it, and below its inverse, numbers are not represented
SMALLEST = {False: 2.0**-126, True: 2.0**-1022}  # normal numbers
CANCELLED = {False: 2.0**-6, True: 2.0**-20}  # of the norms: smaller distances are summed exactly
CANCELLED_ROOTS = {False: 2.0**-6, True: 2.0**-10}  # the same, of powers of distances
LOG_DIGITS = {False: 64.0, True: 512.0}  # what a power by logarithms loses, in units of u
SAFETY = 2.0
ROWS_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class Rounding:
    """Bounds of the rounding errors of kernel values, for the examples of one problem."""

    unit: float  # u
    left: FloatArray  # A
    right: FloatArray  # B
    size: FloatArray  # S

    def of_rows(self, rows: IntArray) -> "Rounding":
        """The same for some of the examples."""
        return Rounding(self.unit, self.left[rows], self.right[rows], self.size[rows])

    @property
    def largest(self) -> float:
        """No |k| is larger."""
        return float(self.size.max() ** 2)

    def of_values(self, coef: FloatArray) -> FloatArray:
        """What rounded kernel values do to Σ coef_m k(x_l, x_m); infinite where nothing is known.

        It does not depend on the order of the terms, nor on how often a term was added and taken
        away again: every value is always rounded in the same way.
        """
        with np.errstate(all="ignore"):
            # without BLAS, whose threads would wait for more of it
            sums = np.einsum("mr,m->r", self.right, np.abs(coef))
            errors = self.unit * np.einsum("lr,r->l", self.left, sums)
        return np.asarray(SAFETY * np.where(np.isnan(errors), np.inf, errors))

    def of_sum(self, coef: FloatArray, additions: int) -> FloatArray:
        """What rounding does to Σ coef_m k(x_l, x_m), summed in float64 by so many additions."""
        unit = SAFETY * UNIT[True] * np.sqrt(additions)
        return np.asarray(self.of_values(coef) + unit * self.largest_sum(coef))

    def of_updates(self, traffic: float, additions: int) -> FloatArray:
        """What additions in float64 do, of terms whose coefficients have sizes of this sum."""
        with np.errstate(all="ignore"):
            unit = SAFETY * UNIT[True] * np.sqrt(additions)
            return np.asarray(unit * self.size * (self.size.max() * traffic))

    def largest_sum(self, coef: FloatArray) -> FloatArray:
        """Bounds of Σ coef_m k(x_l, x_m)."""
        with np.errstate(all="ignore"):
            return np.asarray(self.size * np.einsum("m,m->", self.size, np.abs(coef)))


class KernelRounding:
    """The bounds for rows X of a named kernel.

    Parameters
    ----------
    kernel : KernelSource
        The kernel.
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The examples; they are not kept.
    single : bool
        Whether they may be stored in float32.
    centre : ndarray of shape (n_features,), optional
        What is subtracted from the examples in inner products.
    rows : ndarray of shape (n_rows,), optional
        Which of the examples the bounds are for; all by default.
    norms : ndarray of shape (n_samples,), optional
        `squared_norms` of all examples, if they are known.
    """

    def __init__(
        self, kernel: KernelSource, X: ArrayLike, single: bool, centre: FloatArray | None = None
    ) -> None:
        self.kernel, self.width, self.single = kernel, X.shape[1], single
        with np.errstate(over="ignore"):
            if sp.issparse(X):
                squares = X.astype(np.float64).power(2)
                self.norms = np.asarray(squares.sum(axis=1), dtype=np.float64).ravel()
            else:
                self.norms = np.einsum("ij,ij->i", X, X, dtype=np.float64)
            if centre is not None:  # bounds the norm, and the terms of which products are made
                self.norms = (np.sqrt(self.norms) + np.linalg.norm(centre)) ** 2
        self.reach = np.zeros(len(self.norms))  # ‖x − mean‖ over the columns that float32 rounds
        rounded = sp.issparse(X) or X.dtype == np.float64  # float32 is stored as it is
        if single and rounded and kernel.function in DISTANCE_KERNELS:
            self.reach = _reach(X, self.norms)

    def of(self, packed: _core.KernelExamples | _core.MatrixExamples) -> Rounding:
        """The bounds if the core stores the examples, or others with them, as it does these.

        They are infinite where numbers leave the range of the precision.
        """
        kernel, double, layout = self.kernel, packed.double_precision, packed.layout
        terms = layout["inputs"] + layout["words"] + layout["groups"]
        D, gamma, one = np.sqrt(terms) + 4.0, kernel.gamma, np.ones(len(self.norms))
        least = self.width * SMALLEST[double]
        with np.errstate(all="ignore"):
            n = self.norms + least
            q = gamma * n + abs(kernel.coef0)
            factors, largest = [gamma], [n.max(), q.max()]
            size = one
            if kernel.function == "linear":
                factors, largest = [], [n.max()]
                size = B = np.sqrt(n)
                A = D * size
            elif kernel.function == "poly":
                size = B = np.sqrt(q**kernel.degree + SMALLEST[double])
                A = kernel.degree * (D + 1.0) * size
                largest.append(size.max() ** 2)
            elif kernel.function == "sigmoid":
                root = np.sqrt(q)
                A, B = np.stack([D * root, 4 * one], axis=1), np.stack([root, one], axis=1)
            elif kernel.function in ("exponential", "laplacian"):
                far = self._far(double, bool(layout["sparse"]), D, least)
                digits = 4.0 if float(4 * kernel.exponent).is_integer() else LOG_DIGITS[double]
                near = (D / 2 if kernel.function == "exponential" else D) + digits
                A, B = np.stack([far + near, one], axis=1), np.stack([one, far], axis=1)
            else:
                far = 2 * gamma * D * n
                if layout["cancels"]:  # γ e^-γd d < 1, and d has lost few digits
                    far = np.minimum(far, 2 * D / CANCELLED[double])
                if not layout["sparse"]:
                    far = gamma * least + (0 * n if double else 2 * np.sqrt(gamma) * self.reach)
                A, B = np.stack([far + D / 2, one], axis=1), np.stack([one, far], axis=1)
            most = RANGE[double]
            if not (4 * max(largest) <= most and all(1 / most <= x <= most for x in factors)):
                A = np.inf * A
        shape = (len(one), -1)
        return Rounding(UNIT[double], A.reshape(shape), B.reshape(shape), size)

    def _far(self, double: bool, sparse: bool, D: float, least: float) -> FloatArray:
        """F: what absolute errors of a distance do to exp(−γ dᵠ)."""
        gamma, q, unit = self.kernel.gamma, self.kernel.exponent, UNIT[double]
        norm = DISTANCE_KERNELS[str(self.kernel.function)]
        far = np.full(len(self.norms), gamma * least ** (q / norm) / unit)
        if sparse:
            far += 2 * D / CANCELLED_ROOTS[double]
        if not double:
            reach = self.reach * (1.0 if norm == 2 else np.sqrt(self.width))
            far += 2 * gamma ** (1 / q) * reach if q >= 1 else gamma * unit ** (q - 1) * reach**q
        return far


def _reach(X: ArrayLike, norms: FloatArray) -> FloatArray:
    if sp.issparse(X):
        mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
        return np.asarray(np.sqrt(norms) + np.linalg.norm(mean))
    pieces = [X[start : start + ROWS_AT_ONCE] for start in range(0, len(X), ROWS_AT_ONCE)]
    rounded = np.zeros(X.shape[1], dtype=bool)
    with np.errstate(over="ignore"):
        for some in pieces:
            rounded |= (some.astype(np.float32) != some).any(axis=0)
    if not rounded.any():
        return np.zeros(len(X))
    mean = X.mean(axis=0)
    apart = (np.where(rounded, some - mean, 0.0) for some in pieces)
    return np.concatenate([np.sqrt(np.einsum("ij,ij->i", a, a)) for a in apart])
