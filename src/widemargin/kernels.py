r"""Kernels :math:`k(x, x') = \Phi(x) \cdot \Phi(x')`, computed from inner products.

============  ==================================================
``linear``    :math:`x \cdot x'`
``poly``      :math:`(\gamma\, x \cdot x' + r)^p`
``rbf``       :math:`\exp(-\gamma \|x - x'\|^2)`
``sigmoid``   :math:`\tanh(\gamma\, x \cdot x' + r)`, not positive definite
============  ==================================================

Inputs can be standardised implicitly. Dense inputs are centred and scaled. Sparse inputs are only
scaled, and the centre enters through the inner products,
:math:`\hat x \cdot \hat x' = s \cdot s' + s \cdot c + s' \cdot c + c \cdot c` with
:math:`s = x/\sigma` and :math:`c = -m/\sigma`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from widemargin._typing import ArrayLike, FloatArray, IntArray

__all__ = ["KERNELS", "Inputs", "Kernel"]

KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")


@dataclass(frozen=True)
class Inputs:
    """Examples with their squared norms, standardised if required; made by `Inputs.of`."""

    x: ArrayLike
    centre: FloatArray | None  # c, for sparse inputs that are standardised
    norms: FloatArray
    projection: FloatArray | None  # s · c
    index: IntArray | None = None  # for a precomputed kernel: numbers of the training examples

    @classmethod
    def precomputed(cls, K: ArrayLike) -> "Inputs":
        """Rows of a kernel matrix whose columns are the training examples."""
        K = np.asarray(K, dtype=np.float64)
        return cls(K, None, np.diagonal(K).copy(), None, np.arange(len(K)))

    @classmethod
    def of(
        cls, X: ArrayLike, mean: FloatArray | None = None, scale: FloatArray | None = None
    ) -> "Inputs":
        """Examples in float64, standardised if `mean` and `scale` are given."""
        if sp.issparse(X):
            x = X.astype(np.float64)
            if mean is None or scale is None:
                return cls(x, None, np.asarray(x.multiply(x).sum(axis=1)).ravel(), None)
            x, centre = sp.csr_array(x @ sp.diags_array(1.0 / scale)), -mean / scale
            projection = x @ centre
            norms = np.asarray(x.multiply(x).sum(axis=1)).ravel()
            return cls(x, centre, norms + 2.0 * projection + centre @ centre, projection)
        x = np.asarray(X, dtype=np.float64)
        if mean is not None and scale is not None:
            x = (x - mean) / scale
        return cls(x, None, np.einsum("ij,ij->i", x, x), None)

    def __len__(self) -> int:
        return int(self.x.shape[0])

    def __getitem__(self, rows: ArrayLike) -> "Inputs":
        projection = None if self.projection is None else self.projection[rows]
        index = None if self.index is None else self.index[rows]
        norms = self.norms[rows] if len(self.norms) == len(self) else self.norms
        return Inputs(self.x[rows], self.centre, norms, projection, index)

    def inner(self, other: "Inputs") -> FloatArray:
        """x · x' for every pair."""
        product = self.x @ other.x.T
        inner = np.asarray(product.toarray() if sp.issparse(product) else product)
        if self.centre is not None and other.centre is not None:
            assert self.projection is not None
            assert other.projection is not None
            inner += self.projection[:, None] + other.projection[None] + self.centre @ self.centre
        elif self.centre is not None:  # the other inputs are dense, hence already centred
            inner += (other.x @ self.centre)[None]
        elif other.centre is not None:
            inner += (self.x @ other.centre)[:, None]
        return inner


@dataclass(frozen=True)
class Kernel:
    """A kernel with its parameters; `kernel(A, B)` is its matrix for two sets of inputs."""

    function: str | Callable[..., Any]
    gamma: float = 1.0
    degree: float = 3.0
    coef0: float = 0.0

    def __call__(self, a: Inputs, b: Inputs) -> FloatArray:
        if callable(self.function):
            return np.asarray(self.function(a.x, b.x), dtype=np.float64)
        if self.function == "precomputed":
            assert b.index is not None
            return np.asarray(a.x[:, b.index])
        inner = a.inner(b)
        if self.function == "linear":
            return inner
        if self.function == "poly":
            return (self.gamma * inner + self.coef0) ** self.degree
        if self.function == "sigmoid":
            return np.tanh(self.gamma * inner + self.coef0)
        if self.function == "rbf":
            distances = np.maximum(a.norms[:, None] + b.norms[None] - 2.0 * inner, 0.0)
            return np.exp(-self.gamma * distances)
        raise ValueError(f"kernel={self.function!r} is unknown; use one of {', '.join(KERNELS)}")

    def diagonal(self, a: Inputs) -> FloatArray:
        """k(x, x) for every example."""
        if callable(self.function):
            return np.array([self(a[l : l + 1], a[l : l + 1])[0, 0] for l in range(len(a))])
        if self.function == "rbf":
            return np.ones(len(a))
        if self.function == "poly":
            return (self.gamma * a.norms + self.coef0) ** self.degree
        if self.function == "sigmoid":
            return np.tanh(self.gamma * a.norms + self.coef0)
        return a.norms
