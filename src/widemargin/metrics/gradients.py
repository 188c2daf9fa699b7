r"""Gradients of fitted kernel machines, and the mean of their outer products.

.. math:: f(x) = \sum_i \beta_i k(x_i, x) + b, \qquad
          G = \frac1n \sum_x \nabla f(x)\, \nabla f(x)^\top

The direction :math:`v` in which f changes most has the largest :math:`v^\top G v`, and
:math:`G_{jj}` is the mean squared derivative by input j. Dense examples are left to the core
(``cpp/widemargin/kernel/kernel_gradients.hpp``, which has the derivatives of all kernels). Sparse
ones use that the sums over support vectors are products with a sparse matrix.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import gen_batches

from widemargin import _core
from widemargin._typing import ArrayLike, FloatArray
from widemargin.kernels import DISTANCE_KERNELS, Inputs, distance_exponent
from widemargin.svm.kernel_source import KernelSource

__all__ = ["kernel_gradients", "mean_outer_product", "of_classes"]

ROWS_AT_ONCE = 512  # whose gradients are in memory
SPARSE_ROWS_AT_ONCE = 64


def mean_outer_product(
    machine: Any, X: ArrayLike, codes: ArrayLike, weights: FloatArray | None, *, full: bool
) -> FloatArray:
    """G over some examples, summed over the binary machines; its diagonal unless `full`.

    Parameters
    ----------
    machine : KernelMachine
        The fitted machine. One that separates two classes is asked at examples of these classes.
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        The examples.
    codes : ndarray of shape (n_samples,)
        The number of each example's class; anything for a regression.
    weights : ndarray of shape (n_samples,) or None
        Their weights.
    full : bool
        Whether to return all of G.

    Returns
    -------
    ndarray of shape (n_features,) or (n_features, n_features)
        The diagonal of G, or G.
    """
    width, vectors, kernel = X.shape[1], machine.support_vectors_, machine._kernel
    total = np.zeros((width, width) if full else width)
    counts = np.ones(X.shape[0]) if weights is None else weights
    for classes, members, coef in machine.expansions():
        rows = np.arange(len(codes))
        if classes is not None:
            rows = rows[of_classes(codes, classes)]
        if not len(members) or not len(rows):
            continue
        for some in gen_batches(len(rows), SPARSE_ROWS_AT_ONCE if sp.issparse(X) else ROWS_AT_ONCE):
            at = rows[some]
            gradients = kernel_gradients(kernel, X[at], vectors[members], coef)
            if full:
                total += gradients.T @ (gradients * counts[at, None])
            else:
                total += counts[at] @ gradients**2
    return np.asarray(total / counts.sum())


def of_classes(codes: ArrayLike, classes: Sequence[Any]) -> NDArray[np.bool_]:
    """Which examples are of some classes; `numpy.isin` is ten times slower for two of them."""
    if len(classes) > 2:
        return np.isin(codes, classes)
    return np.asarray(np.any([codes == one for one in classes], axis=0))


def kernel_gradients(
    kernel: KernelSource, X: ArrayLike, vectors: ArrayLike, coef: FloatArray
) -> FloatArray:
    """The gradient of Σ coef_i k(x_i, x) at every row of X, as a dense matrix."""
    assert isinstance(kernel.function, str)
    if sp.issparse(X) or sp.issparse(vectors):
        return _sparse_gradients(kernel, sp.csr_matrix(X), sp.csr_matrix(vectors), coef)
    points, rows = (np.ascontiguousarray(x, dtype=np.float64) for x in (X, vectors))
    out = np.empty((1, *points.shape))
    threads = kernel.threads_for(points, len(points) * len(rows))
    _core.kernel_gradients(
        kernel.function,
        *kernel.numbers,
        rows,
        np.ascontiguousarray(coef[None]),
        points,
        out,
        threads,
    )
    return np.asarray(out[0])


def _sparse_gradients(
    kernel: KernelSource, X: ArrayLike, vectors: ArrayLike, coef: FloatArray
) -> FloatArray:
    a, b = Inputs.of(X), Inputs.of(vectors)
    if kernel.function not in DISTANCE_KERNELS:
        return np.asarray((_slope_of_products(kernel, a.inner(b)) * coef) @ b.x)
    if kernel.function == "laplacian":
        slopes = _slope_of_distances(kernel, a.absolute_distances(b)) * coef
        return np.array([_signs(a.x[[l]], b.x, slope) for l, slope in enumerate(slopes)])
    slopes = _slope_of_distances(kernel, a.squared_distances(b, np.inf)) * coef
    return np.asarray(a.x.multiply(slopes.sum(axis=1)[:, None]).toarray() - slopes @ b.x)


def _slope_of_distances(kernel: KernelSource, sums: FloatArray) -> FloatArray:
    """The factor of x − x_i, or of its sign; 0 where x = x_i."""
    squared = kernel.function != "laplacian"
    q = distance_exponent(kernel.function, kernel.exponent)
    h = 0.5 * q if squared else q  # sums^h is d^q
    apart = sums > 0
    safe = np.where(apart, sums, 1.0)
    powers = safe**h
    return np.where(apart, -kernel.gamma * q * np.exp(-kernel.gamma * powers) * powers / safe, 0.0)


def _slope_of_products(kernel: KernelSource, inner: FloatArray) -> FloatArray:
    """The factor of x_i."""
    gamma, degree, q = kernel.gamma, kernel.degree, kernel.gamma * inner + kernel.coef0
    if kernel.function == "linear":
        return np.ones_like(inner)
    if kernel.function == "sigmoid":
        return np.asarray(gamma * (1.0 - np.tanh(q) ** 2))
    return np.asarray(gamma * degree * q ** max(degree - 1, 0))


def _signs(x: ArrayLike, vectors: ArrayLike, slope: FloatArray) -> FloatArray:
    """Σ slope_i sign(x − x_i), from the stored entries of the vectors."""
    point = x.toarray()[0]
    at = point[vectors.indices]
    changes = np.sign(at - vectors.data) - np.sign(at)
    weights = np.repeat(slope, np.diff(vectors.indptr)) * changes
    sums = np.bincount(vectors.indices, weights, minlength=len(point))
    return np.asarray(sums + slope.sum() * np.sign(point))
