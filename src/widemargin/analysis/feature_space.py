r"""Feature spaces: is a kernel positive definite on given rows, and one Φ written out.

A kernel is an inner product :math:`k(x, x') = \Phi(x) \cdot \Phi(x')` (3.37). Then its matrix on
any rows has no negative eigenvalue, which is Mercer's condition (Theorem 3.3) on these rows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from sklearn.utils import check_array, gen_batches

from widemargin._typing import ArrayLike, FloatArray
from widemargin.kernels import KERNELS, Inputs, Kernel, check_exponent

__all__ = ["Definiteness", "kernel_is_positive_definite", "kernel_matrix", "quadratic_map"]

ROWS_AT_ONCE = 1024


@dataclass(frozen=True)
class Definiteness:
    """Whether a kernel's matrix is positive semi-definite on some rows; true if it is.

    Attributes
    ----------
    holds : bool
        Whether the smallest eigenvalue is at least −`tolerance`.
    strict : bool
        Whether it is larger than `tolerance`: the matrix is positive definite.
    smallest, largest : float
        The extreme eigenvalues.
    tolerance : float
        How far rounding may have moved an eigenvalue.
    asymmetry : float
        The largest |k(x, x') − k(x', x)|.
    """

    holds: bool
    strict: bool
    smallest: float
    largest: float
    tolerance: float
    asymmetry: float

    def __bool__(self) -> bool:
        return self.holds


def kernel_is_positive_definite(
    kernel: Any,
    X: ArrayLike,
    *,
    gamma: float = 1.0,
    degree: float = 3.0,
    coef0: float = 0.0,
    exponent: float = 1.0,
    tolerance: float | None = None,
) -> Definiteness:
    r"""Whether the matrix of a kernel on given rows has no negative eigenvalue (Theorem 3.3).

    A negative eigenvalue proves that the function is no kernel. Eigenvalues ≥ 0 on these rows do
    not prove that it is one.

    Parameters
    ----------
    kernel : str or callable
        A name from the table in `widemargin.kernels`, a function of two sets of rows, or
        "precomputed", when X is the matrix.
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The rows; at most a few thousand, since all eigenvalues of their matrix are computed.
    gamma, degree, coef0, exponent : float
        Parameters of named kernels.
    tolerance : float or None, default=None
        How far below 0 an eigenvalue may be. None takes the error that rounding can make:
        :math:`4 n u\,(\max_i |\lambda_i| + \sqrt n \max |k|)` for n rows, u = 2⁻⁵³. By Weyl's
        inequality no eigenvalue moves further than the norm of the errors of the matrix.

    Returns
    -------
    Definiteness

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> bool(kernel_is_positive_definite("rbf", X))
    True
    >>> found = kernel_is_positive_definite("sigmoid", X)
    >>> bool(found), bool(found.smallest < -1)
    (False, True)
    """
    K = kernel_matrix(kernel, X, gamma=gamma, degree=degree, coef0=coef0, exponent=exponent)
    asymmetry = float(np.abs(K - K.T).max())
    values = scipy.linalg.eigvalsh(0.5 * (K + K.T))
    n, size = len(K), float(np.abs(K).max())
    if tolerance is None:
        unit = np.finfo(float).eps / 2
        tolerance = 4 * n * unit * (float(np.abs(values).max()) + np.sqrt(n) * size)
    symmetric = asymmetry <= max(tolerance, 1e-12 * size)
    smallest, largest = float(values[0]), float(values[-1])
    return Definiteness(
        bool(symmetric and smallest >= -tolerance),
        bool(symmetric and smallest > tolerance),
        smallest,
        largest,
        float(tolerance),
        asymmetry,
    )


def kernel_matrix(
    kernel: Any,
    X: ArrayLike,
    *,
    gamma: float = 1.0,
    degree: float = 3.0,
    coef0: float = 0.0,
    exponent: float = 1.0,
) -> FloatArray:
    """The matrix of a kernel on some rows, in float64."""
    if isinstance(kernel, str) and kernel not in KERNELS:
        raise ValueError(f"kernel={kernel!r} is unknown; use one of {', '.join(KERNELS)}")
    if callable(kernel):
        K = np.asarray(kernel(X, X), dtype=np.float64)
    elif kernel == "precomputed":
        K = check_array(X, dtype=np.float64)
    else:
        check_exponent(kernel, exponent)
        inputs = Inputs.of(check_array(X, accept_sparse="csr", dtype=np.float64))
        function = Kernel(kernel, gamma, degree, coef0, exponent)
        K = np.vstack([function(inputs[s], inputs) for s in gen_batches(len(inputs), ROWS_AT_ONCE)])
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(f"kernel={kernel!r} gave a matrix of shape {K.shape}, not a square one")
    if not np.all(np.isfinite(K)):
        raise ValueError(f"kernel={kernel!r} gave values that are not finite; scale the inputs")
    return np.asarray(K)


def quadratic_map(X: ArrayLike) -> FloatArray:
    r"""The map of Figure 3.2: :math:`\Phi(x_1, x_2) = (x_1^2, \sqrt2\, x_1 x_2, x_2^2)`.

    Its inner product is the kernel :math:`(x \cdot x')^2`. Circles around the origin become planes:
    :math:`x_1^2 + x_2^2` is the sum of the first and the last coordinate.

    Parameters
    ----------
    X : array-like of shape (n_samples, 2)
        Points of the plane.

    Returns
    -------
    ndarray of shape (n_samples, 3)

    Examples
    --------
    >>> quadratic_map([[1.0, 2.0]]).round(6)
    array([[1.      , 2.828427, 4.      ]])
    """
    X = np.asarray(check_array(X, dtype=np.float64))
    if X.shape[1] != 2:
        raise ValueError(f"X has {X.shape[1]} columns; the map of Figure 3.2 takes 2")
    a, b = X.T
    return np.column_stack([a * a, np.sqrt(2.0) * a * b, b * b])
