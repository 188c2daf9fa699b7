"""The examples of a linear SVM, standardised on the fly: products with all of them, rows to visit.

Nothing here depends on targets: the problems of several classes share it.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import gen_batches

from widemargin import _core
from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.inputs.packing import DENSITY_TO_PACK, filled, packed
from widemargin.inputs.rows import as_rows

BLOCK = 4096  # examples that are weighted at a time: they stay in the cache


IN_MEMORY = 1 << 26  # inputs that are kept as float64, standardised


WORTH_A_THREAD = 1 << 19  # inputs; with fewer, one more thread would cost more than it saves


class LinearInputs:
    """Validated inputs X, and x̂ = (x − mean)/scale if these are given.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        Validated inputs.
    mean, scale : ndarray of shape (n_features,), optional
        Of inputs that are standardised implicitly.
    threads : int
        For passes over all examples.
    """

    def __init__(
        self,
        X: ArrayLike,
        mean: FloatArray | None = None,
        scale: FloatArray | None = None,
        threads: int = 1,
    ) -> None:
        self.X, self.rows = X, as_rows(X)
        self.mean, self.scale = mean, scale
        self.count, self.width = (int(n) for n in X.shape)
        self.stored = int(X.nnz) if sp.issparse(X) else self.count * self.width
        self.threads = min(threads, 1 + self.stored // WORTH_A_THREAD)

    @cached_property
    def training(self) -> "TrainingRows":
        """For visits one by one."""
        return TrainingRows(self)

    @cached_property
    def design(self) -> "Design":
        """For products in blocks, with a 1 behind each example."""
        return Design(self)

    def raw(self, w: FloatArray, b: Any) -> tuple[FloatArray, Any]:
        """From the weights of standardised inputs those of inputs as they are given."""
        if self.mean is None or self.scale is None:
            return w, b
        return w / self.scale, b - w @ (self.mean / self.scale)

    def outputs(self, points: Sequence[tuple[FloatArray, Any]]) -> FloatArray:
        """f(x) of all examples for each (w, b), in one pass.

        w are weights of standardised inputs; where b has several entries w has as many rows, and
        f(x) too.
        """
        raw = [self.raw(w, b) for w, b in points]
        w, b = np.array([w for w, _ in raw]), np.array([b for _, b in raw])
        out = np.empty((self.count, b.size))
        _core.decision(self.rows, w.reshape(b.size, -1), b.ravel(), out, self.threads)
        return np.ascontiguousarray(out.T).reshape(*b.shape, self.count)

    def combine(self, coef: FloatArray) -> FloatArray:
        """Σ coef x̂ over all examples; a row a column of coef."""
        if coef.ndim == 2:
            return np.stack([self.combine(column) for column in coef.T])
        out = np.empty(self.width)
        _core.combine(self.rows, np.ascontiguousarray(coef), out, self.threads)
        if self.mean is None or self.scale is None:
            return out
        return np.asarray((out - coef.sum() * self.mean) / self.scale)


class TrainingRows:
    """The examples as an epoch visits them: as they are, or packed.

    Dense inputs are packed if many of them are zero, sparse ones if they are standardised.
    """

    def __init__(self, inputs: LinearInputs) -> None:
        sparse = sp.issparse(inputs.X)
        self.mean, self.scale = inputs.mean, inputs.scale
        self.places: IntArray | None = None  # of packed rows: the input at each place
        self.rows = inputs.rows
        stored = inputs.stored / inputs.count * (2.0 if sparse else 1.0)
        self.operations = stored + 20.0  # a visit's, about
        if not sparse or inputs.mean is not None:
            part = filled(inputs.X)
            if sparse or part.mean() < DENSITY_TO_PACK:
                self.operations = 2.0 * inputs.width * float(part.mean()) + 20.0
                self._pack(inputs, part > 0.5)
        self.norms = np.empty(inputs.count)  # ‖x̂‖²
        _core.squared_norms(self.rows, self.mean, self.scale, self.norms)

    def _pack(self, inputs: LinearInputs, block: NDArray[np.bool_]) -> None:
        self.rows, self.places = packed(inputs.rows, block, inputs.mean, inputs.scale)
        if inputs.mean is not None and inputs.scale is not None:
            self.mean = np.where(block, 0.0, inputs.mean / inputs.scale)[self.places]
            self.scale = None

    def to_core(self, w: FloatArray) -> FloatArray:
        """Weights of standardised inputs as the core trains them."""
        if self.places is not None:
            return np.ascontiguousarray(w[self.places])
        return w / self.scale if self.scale is not None else w.copy()

    def from_core(self, w: FloatArray) -> FloatArray:
        if self.places is not None:
            back = np.empty_like(w)
            back[self.places] = w
            return back
        return w * self.scale if self.scale is not None else w.copy()


class Design:
    """The standardised examples, each with a 1 behind it, by blocks of float64."""

    def __init__(self, inputs: LinearInputs) -> None:
        self.inputs, self.columns = inputs, inputs.width + 1
        whole = slice(0, inputs.count)
        self._all = self._dense(whole) if inputs.count * self.columns <= IN_MEMORY else None

    def _dense(self, rows: slice) -> FloatArray:
        inputs = self.inputs
        block, some = np.ones((rows.stop - rows.start, self.columns)), inputs.X[rows]
        block[:, :-1] = some.toarray() if sp.issparse(some) else some
        if inputs.mean is not None and inputs.scale is not None:
            block[:, :-1] -= inputs.mean
            block[:, :-1] /= inputs.scale
        return block

    def _blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        for rows in gen_batches(self.inputs.count, BLOCK):
            yield rows, self._dense(rows) if self._all is None else self._all[rows]

    def outputs(self, v: FloatArray) -> FloatArray:
        if self._all is not None:
            return np.asarray(self._all @ v)
        return np.concatenate([block @ v for _, block in self._blocks()])

    def combine(self, coef: FloatArray) -> FloatArray:
        if self._all is not None:
            return np.asarray(coef @ self._all)
        return np.asarray(sum(coef[rows] @ block for rows, block in self._blocks()))

    def gram(self, weights: FloatArray) -> FloatArray:
        """Σ weight x xᵀ."""
        total, roots = np.zeros((self.columns, self.columns)), np.sqrt(weights)
        for rows, block in self._blocks():
            scaled = block * roots[rows, None]
            total += scaled.T @ scaled
        return total
