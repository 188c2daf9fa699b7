"""The examples of a linear SVM, scaled implicitly: products with all of them, rows to visit.

Nothing here depends on targets, so the problems of several classes share it.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import gen_batches

from widemargin import _core
from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.inputs.packing import RowLayout
from widemargin.inputs.rows import as_rows
from widemargin.inputs.scaling import Scaling

EXAMPLES_PER_BLOCK = 4096  # weighted at a time, so that they stay in the cache
MAX_DENSE_INPUTS = 1 << 26  # numbers up to which scaled inputs are kept as float64
FAR = 1e3  # an offset above this multiple of the spread is subtracted from each input
INPUTS_PER_THREAD = 1 << 19  # stored numbers that make one more thread worth its cost


class LinearInputs:
    """Validated inputs X, scaled implicitly: x̂ = (x − offset)/scale.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        Validated inputs.
    scaling : Scaling, optional
        None leaves inputs as they are.
    threads : int
        For passes over all examples.
    """

    def __init__(
        self,
        X: ArrayLike,
        scaling: Scaling | None = None,
        threads: int = 1,
    ) -> None:
        self.X, self.rows = X, as_rows(X)
        self.count, self.width = (int(n) for n in X.shape)
        self.scaling = Scaling.empty(None, self.width) if scaling is None else scaling
        self.mean, self.scale = self.scaling.core_arguments
        self.stored = int(X.nnz) if sp.issparse(X) else self.count * self.width
        self.threads = min(threads, 1 + self.stored // INPUTS_PER_THREAD)
        self._designs: dict[float, Design] = {}

    @cached_property
    def training(self) -> "TrainingRows":
        """The rows, for visits one by one."""
        return TrainingRows(self)

    def design(self, constant: float) -> "Design":
        """The rows with a constant appended, for products in blocks."""
        if constant not in self._designs:
            self._designs[constant] = Design(self, constant)
        return self._designs[constant]

    @cached_property
    def far(self) -> IntArray:
        """The columns with an offset much larger than their spread.

        There the sum of β x̂ loses its digits unless the offset is subtracted first.
        """
        if self.mean is None:
            return np.empty(0, dtype=np.intp)
        return np.flatnonzero(np.abs(self.mean) > FAR * np.sqrt(self.scaling.variance))

    @cached_property
    def _far_inputs(self) -> FloatArray:
        return self.centred(self.X, self.far, np.float64)

    def centred(self, X: ArrayLike, columns: IntArray, dtype: type) -> FloatArray:
        """Some columns of some rows, scaled."""
        some = X[:, columns]
        dense = (some.toarray() if sp.issparse(some) else some).astype(dtype)
        if self.mean is None or self.scale is None:
            return np.asarray(dense)
        return np.asarray((dense - self.mean[columns]) / self.scale[columns])

    def raw(self, w: FloatArray, b: Any) -> tuple[FloatArray, Any]:
        """From weights of scaled inputs, those of the inputs as given."""
        return self.scaling.raw(w, b)

    def scaled(self, coef: FloatArray, intercept: Any) -> tuple[FloatArray, Any]:
        """The inverse of `raw`."""
        if self.mean is None or self.scale is None:
            return coef, intercept
        return coef * self.scale, intercept + coef @ self.mean

    def outputs(self, points: Sequence[tuple[FloatArray, Any]]) -> FloatArray:
        """f(x) of all examples for each (w, b), in one pass.

        w are weights of scaled inputs. If b has several entries, w and f(x) have one row for each.
        """
        return self.raw_outputs([self.raw(w, b) for w, b in points])

    def raw_outputs(self, points: Sequence[tuple[FloatArray, Any]]) -> FloatArray:
        """The same for weights of the inputs as given."""
        w, b = np.array([w for w, _ in points]), np.array([b for _, b in points])
        out = np.empty((self.count, b.size))
        _core.decision(self.rows, w.reshape(b.size, -1), b.ravel(), out, self.threads)
        return np.ascontiguousarray(out.T).reshape(*b.shape, self.count)

    def combine(self, coef: FloatArray) -> FloatArray:
        """Σ coef x̂ over all examples; one row per column of coef."""
        if coef.ndim == 2:
            return np.stack([self.combine(column) for column in coef.T])
        out = np.empty(self.width)
        _core.combine(self.rows, np.ascontiguousarray(coef), out, self.threads)
        if self.mean is None or self.scale is None:
            return out
        out = (out - coef.sum() * self.mean) / self.scale
        if len(self.far):
            out[self.far] = coef @ self._far_inputs
        return np.asarray(out)


class TrainingRows:
    """The examples as an epoch visits them: as they are, or packed.

    Dense inputs are packed if many of them are zero, sparse ones if they are scaled.
    """

    def __init__(self, inputs: LinearInputs) -> None:
        X, scaling, sparse = inputs.X, inputs.scaling, sp.issparse(inputs.X)
        self.layout = RowLayout.suited_to(X, scaling, sparse=scaling.kind is not None)
        self.rows, self.mean, self.scale = self.layout.lay_out(X)
        stored = inputs.stored / inputs.count * (2.0 if sparse else 1.0)
        if self.layout.columns is not None:
            stored = 2.0 * inputs.width * self.layout.filled
        self.operations = stored + 20.0  # of a visit, roughly
        self.norms = np.empty(inputs.count)  # ‖x̂‖²
        _core.squared_norms(self.rows, self.mean, self.scale, self.norms)

    def to_core(self, w: FloatArray) -> FloatArray:
        """Weights of scaled inputs as the core trains them."""
        return self.layout.to_core(w)

    def from_core(self, w: FloatArray) -> FloatArray:
        """The inverse of `to_core`."""
        return self.layout.from_core(w)


class Design:
    """The scaled examples with a constant appended to each, in blocks of float64.

    Parameters
    ----------
    inputs : LinearInputs
        The examples.
    constant : float
        The number appended.
    """

    def __init__(self, inputs: LinearInputs, constant: float) -> None:
        self.inputs, self.columns, self.constant = inputs, inputs.width + 1, constant
        whole = slice(0, inputs.count)
        self._all = self._dense(whole) if inputs.count * self.columns <= MAX_DENSE_INPUTS else None

    def _dense(self, rows: slice) -> FloatArray:
        inputs, some = self.inputs, self.inputs.X[rows]
        block = np.full((rows.stop - rows.start, self.columns), self.constant)
        block[:, :-1] = some.toarray() if sp.issparse(some) else some
        if inputs.mean is not None and inputs.scale is not None:
            block[:, :-1] -= inputs.mean
            block[:, :-1] /= inputs.scale
        return block

    def _blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        for rows in gen_batches(self.inputs.count, EXAMPLES_PER_BLOCK):
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
        """Σ weight x xᵀ over all examples."""
        total, roots = np.zeros((self.columns, self.columns)), np.sqrt(weights)
        for rows, block in self._blocks():
            scaled = block * roots[rows, None]
            total += scaled.T @ scaled
        return total

    def triangle(self, weights: FloatArray, penalty: FloatArray) -> FloatArray:
        """The upper triangle U with UᵀU = diag(penalty) + Σ weight x xᵀ, without squaring inputs.

        It costs more than a Cholesky factor, and loses half as many digits.
        """
        upper, roots = np.diag(np.sqrt(penalty)), np.sqrt(weights)
        for rows, block in self._blocks():
            stacked = np.vstack([upper, block * roots[rows, None]])
            upper = np.asarray(np.linalg.qr(stacked, mode="r"))
        return upper
