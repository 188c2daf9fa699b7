r"""Kernels :math:`k(x, x') = \Phi(x) \cdot \Phi(x')`, computed from inner products or distances.

===============  ==================================================
``linear``       :math:`x \cdot x'`
``poly``         :math:`(\gamma\, x \cdot x' + r)^p`
``rbf``          :math:`\exp(-\gamma \|x - x'\|_2^2)`
``exponential``  :math:`\exp(-\gamma \|x - x'\|_2^q)` with :math:`0 < q \le 2`
``laplacian``    :math:`\exp(-\gamma \|x - x'\|_1^q)` with :math:`0 < q \le 1`
``sigmoid``      :math:`\tanh(\gamma\, x \cdot x' + r)`, not positive definite
===============  ==================================================

Sparse inputs *s* can stand for centred ones, :math:`\hat x = s + c`. They stay sparse, because the
centre enters through the inner products,
:math:`\hat x \cdot \hat x' = s \cdot s' + s \cdot c + s' \cdot c + c \cdot c`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import manhattan_distances
from sklearn.utils import gen_batches

from widemargin._typing import ArrayLike, FloatArray, IntArray

__all__ = [
    "DISTANCE_KERNELS",
    "KERNELS",
    "Inputs",
    "Kernel",
    "UnscaledInputsWarning",
    "check_exponent",
    "distance_exponent",
]

KERNELS = ("linear", "poly", "rbf", "exponential", "laplacian", "sigmoid", "precomputed")
#: Functions of ‖x − x'‖, and the norm that each has.
DISTANCE_KERNELS = {"rbf": 2, "exponential": 2, "laplacian": 1}

NUMBERS_AT_ONCE = 1 << 22  # differences of inputs, in memory
# ‖x‖² + ‖x'‖² − 2 x·x' is exact enough while γ times the norms is below the first number. Above it
# distances below this fraction of the norms are computed from the differences of the inputs.
RESOLVED_NORMS, CANCELLED = 2.0**16, 2.0**-20


class UnscaledInputsWarning(UserWarning):
    """A kernel of distances got inputs of very different variances.

    A few columns then decide which examples are near each other. Models with a `scaling` parameter
    can scale the inputs themselves; otherwise a pipeline with a scaler does.
    """


def check_exponent(kernel: Any, exponent: float) -> None:
    """Refuse an exponent q that does not give this kernel a feature space."""
    most = DISTANCE_KERNELS.get(kernel, 2) if isinstance(kernel, str) else 2
    if not 0 < exponent <= most:
        raise ValueError(
            f"exponent={exponent!r} makes no positive definite kernel={kernel!r}; use "
            f"0 < exponent <= {most}"
        )


def distance_exponent(kernel: Any, exponent: float) -> float:
    """q of a kernel exp(−γ dᵠ); 2 for rbf, and where a kernel has none."""
    return float(exponent) if kernel in ("exponential", "laplacian") else 2.0


@dataclass(frozen=True)
class Inputs:
    """Examples with their squared norms; made by `Inputs.of`."""

    x: ArrayLike
    centre: FloatArray | None  # c: sparse examples are x + c
    norms: FloatArray
    projection: FloatArray | None  # s · c
    index: IntArray | None = None  # for a precomputed kernel: numbers of the training examples

    @classmethod
    def precomputed(cls, K: ArrayLike) -> "Inputs":
        """Rows of a kernel matrix whose columns are the training examples."""
        K = np.asarray(K, dtype=np.float64)
        return cls(K, None, np.diagonal(K).copy(), None, np.arange(len(K)))

    @classmethod
    def of(cls, X: ArrayLike, centre: FloatArray | None = None) -> "Inputs":
        """Examples in float64; sparse ones stand for x + c, if there is a centre c."""
        if not sp.issparse(X):
            x = np.asarray(X, dtype=np.float64)
            return cls(x, None, np.einsum("ij,ij->i", x, x), None)
        x = X.astype(np.float64)
        norms = np.asarray(x.multiply(x).sum(axis=1)).ravel()
        if centre is None:
            return cls(x, None, norms, None)
        projection = x @ centre
        return cls(x, centre, norms + 2.0 * projection + centre @ centre, projection)

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

    def squared_distances(self, other: "Inputs", gamma: float) -> FloatArray:
        """‖x − x'‖² for every pair, exact enough for a kernel with this γ."""
        both = self.norms[:, None] + other.norms[None]
        distances = np.maximum(both - 2.0 * self.inner(other), 0.0)
        if np.isfinite(gamma) and gamma * both.max(initial=0.0) < RESOLVED_NORMS:
            return distances
        pairs = np.argwhere(~(distances >= CANCELLED * both))
        if not len(pairs):
            return distances
        for some in gen_batches(len(pairs), max(1, NUMBERS_AT_ONCE // self.x.shape[1])):
            a, b = pairs[some].T
            difference = self._filled(a) - other._filled(b)
            distances[a, b] = np.einsum("ij,ij->i", difference, difference)
        return distances

    def absolute_distances(self, other: "Inputs") -> FloatArray:
        """Σ |x_j − x'_j| for every pair."""
        if sp.issparse(self.x) and sp.issparse(other.x):  # both have the same centre, or none
            return np.asarray(manhattan_distances(self.x, other.x))
        a, b = self._filled(np.arange(len(self))), other._filled(np.arange(len(other)))
        return np.asarray(cdist(a, b, "cityblock"))

    def _filled(self, rows: IntArray) -> FloatArray:
        """Some examples as a dense matrix."""
        x = self.x[rows]
        filled = x.toarray() if sp.issparse(x) else x
        return np.asarray(filled if self.centre is None else filled + self.centre)


@dataclass(frozen=True)
class Kernel:
    """A kernel with its parameters; `kernel(A, B)` is its matrix for two sets of inputs."""

    function: str | Callable[..., Any]
    gamma: float = 1.0
    degree: float = 3.0
    coef0: float = 0.0
    exponent: float = 1.0

    def __call__(self, a: Inputs, b: Inputs) -> FloatArray:
        if callable(self.function):
            return np.asarray(self.function(a.x, b.x), dtype=np.float64)
        if self.function == "precomputed":
            assert b.index is not None
            return np.asarray(a.x[:, b.index])
        if self.function == "rbf":
            return np.exp(-self.gamma * a.squared_distances(b, self.gamma))
        if self.function == "exponential":  # the power magnifies what cancels
            squared = a.squared_distances(b, np.inf)
            return np.exp(-self.gamma * squared ** (0.5 * self.exponent))
        if self.function == "laplacian":
            return np.exp(-self.gamma * a.absolute_distances(b) ** self.exponent)
        inner = a.inner(b)
        if self.function == "linear":
            return inner
        if self.function == "poly":
            return (self.gamma * inner + self.coef0) ** self.degree
        if self.function == "sigmoid":
            return np.tanh(self.gamma * inner + self.coef0)
        raise ValueError(f"kernel={self.function!r} is unknown; use one of {', '.join(KERNELS)}")

    def diagonal(self, a: Inputs) -> FloatArray:
        """k(x, x) for every example."""
        if callable(self.function):
            return np.array([self(a[l : l + 1], a[l : l + 1])[0, 0] for l in range(len(a))])
        if self.function in DISTANCE_KERNELS:
            return np.ones(len(a))
        if self.function == "poly":
            return (self.gamma * a.norms + self.coef0) ** self.degree
        if self.function == "sigmoid":
            return np.tanh(self.gamma * a.norms + self.coef0)
        return a.norms
