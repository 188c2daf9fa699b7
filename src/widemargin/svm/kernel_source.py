r"""Kernels for exact machines: rows for the decomposition, expansions for predictions.

Named kernels are computed by the core, in blocks of examples. A precomputed matrix and a kernel
function hand their rows to the core as it asks for them; the whole matrix of a function is never
computed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import _safe_indexing, gen_batches
from sklearn.utils.extmath import row_norms
from sklearn.utils.validation import _num_samples

from widemargin import _core
from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.inputs.rows import as_rows
from widemargin.inputs.scaling import partly_scaled
from widemargin.kernels import DISTANCE_KERNELS

__all__ = ["KernelInputs", "KernelSource"]

EXAMPLES_PER_CALL = 65_536  # whose outputs are computed at a time
VALUES_PER_CALL = 1 << 24  # that a kernel function computes at a time
MAX_DOUBLE_VALUES = 1_000_000  # up to as many, outputs are always computed in double precision
MIN_PRODUCTS_FOR_THREADS = 1e8  # of inputs; with fewer, threads cost more than they gain
DIAGONAL_EXAMPLES = 64  # per call, when a function gives the diagonal of its matrix
FLOAT32_ROUNDING = 6e-8
FLOAT32_SQUARES = (1e-24, 1e24)  # norms whose square, and fractions of it, float32 can hold


class KernelInputs(NamedTuple):
    """Examples x − centre as the core takes them; the centre is None where it is 0."""

    x: ArrayLike
    centre: FloatArray | None


@dataclass(frozen=True)
class KernelSource:
    """A kernel with its parameters, precision, threads, and what scales its inputs.

    Examples come and go as the user gave them; only the core sees scaled ones.
    """

    function: str | Callable[..., Any]
    gamma: float
    coef0: float
    degree: int
    exponent: float = 1.0
    double_precision: bool | None = None  # None: only where float32 is not enough
    threads: int = 1
    offset: FloatArray | None = field(default=None, compare=False)  # None: inputs as given
    scale: FloatArray | None = field(default=None, compare=False)

    @property
    def named(self) -> bool:
        return isinstance(self.function, str) and self.function != "precomputed"

    @property
    def numbers(self) -> tuple[float, float, int, float]:
        """The parameters of the kernel, as the core takes them."""
        return self.gamma, self.coef0, self.degree, self.exponent

    def inputs(self, X: ArrayLike) -> KernelInputs:
        """Scaled examples. The same rule for dense and sparse X, so that sets can be mixed."""
        if self.offset is None or self.scale is None:
            return KernelInputs(X, None)
        x, centre = partly_scaled(X, self.offset, self.scale)
        return KernelInputs(x, None if self.function in DISTANCE_KERNELS else centre)

    def threads_for(self, X: ArrayLike, values: float) -> int:
        """How many threads are worth starting for this many kernel values."""
        width = X.nnz / max(1, X.shape[0]) if sp.issparse(X) else np.shape(X)[-1]
        return self.threads if values * width > MIN_PRODUCTS_FOR_THREADS else 1

    def needs_double(self, X: ArrayLike, upper: float, tol: float) -> bool:
        """Whether rounding in float32 could hide a violation of tol."""
        norm = float(row_norms(self.inputs(X).x, squared=True).max())
        largest = 1.0  # of |k(x, x')|
        with np.errstate(over="ignore"):
            if self.function == "linear":
                largest = norm
            elif self.function == "poly":
                largest = (self.gamma * norm + abs(self.coef0)) ** self.degree
            error = upper * np.sqrt(X.shape[0]) * FLOAT32_ROUNDING * largest
        smallest_square, largest_square = FLOAT32_SQUARES
        return bool(not error <= tol or not smallest_square <= norm <= largest_square)

    def over(self, inputs: KernelInputs, ids: IntArray) -> tuple[Any, FloatArray | None]:
        """What the decomposition of these examples needs: examples, or rows and a diagonal."""
        X = inputs.x
        if self.named:
            (examples,) = self.pack([(as_rows(X), ids)], inputs.centre)
            return examples, None
        everything = len(ids) == _num_samples(X)
        if self.function == "precomputed":
            K = X if everything else X[np.ix_(ids, ids)]
            K = np.ascontiguousarray(K, dtype=np.float64)
            return (lambda rows: K[rows]), np.diagonal(K).copy()
        examples = X if everything else _safe_indexing(X, ids)
        diagonal = [
            np.diagonal(self._call(part, part))
            for batch in gen_batches(len(ids), DIAGONAL_EXAMPLES)
            for part in [_safe_indexing(examples, np.arange(batch.start, batch.stop))]
        ]
        return (lambda rows: self._call(_safe_indexing(examples, rows), examples)), np.concatenate(
            diagonal
        )

    def expand(
        self,
        X: ArrayLike,
        support: IntArray,
        vectors: ArrayLike,
        coef: FloatArray,
        parts: Sequence[slice],
    ) -> list[FloatArray]:
        """Σ coef_l k(x_l, x) over each of these parts of the support vectors.

        Each sum has one row per example and one column per output.
        """
        n = _num_samples(X)
        out = [np.zeros((n, len(coef))) for _ in parts]
        filled = [p for p, part in enumerate(parts) if part.stop > part.start]
        support_inputs = self.inputs(vectors) if self.named and filled else None
        size = EXAMPLES_PER_CALL
        if not self.named:
            size = max(1, min(size, VALUES_PER_CALL // max(1, len(support))))
        for block in gen_batches(n, size) if filled else ():
            at = np.arange(block.start, block.stop)
            some = X if len(at) == n else _safe_indexing(X, at)
            if support_inputs is not None:
                chosen = [parts[p] for p in filled]
                sums = self._core_expand(self.inputs(some), support_inputs, coef, chosen)
            else:
                K = some[:, support] if self.function == "precomputed" else None
                K = self._call(some, vectors) if K is None else K
                sums = [K[:, parts[p]] @ coef[:, parts[p]].T for p in filled]
            for p, found in zip(filled, sums, strict=True):
                out[p][block] = found
        return out

    def _core_expand(
        self,
        inputs: KernelInputs,
        vectors: KernelInputs,
        coef: FloatArray,
        parts: Sequence[slice],
    ) -> list[FloatArray]:
        rows, support, count = as_rows(inputs.x), as_rows(vectors.x), inputs.x.shape[0]
        work = vectors.x.shape[0] * count
        threads = self.threads_for(vectors.x, work)
        double = True if work < MAX_DOUBLE_VALUES else self.double_precision
        sets = [(support, np.arange(part.start, part.stop)) for part in parts]
        every = np.arange(count)
        kernel = replace(self, double_precision=double)
        *packed, x = kernel.pack([*sets, (rows, every)], inputs.centre)
        sums = []
        for part, examples in zip(parts, packed, strict=True):
            out = np.empty((len(coef), count))
            some = np.ascontiguousarray(coef[:, part])
            _core.expand(examples, some, x, out, threads)
            sums.append(out.T)
        return sums

    def pack(
        self, sets: list[tuple[_core.Rows, IntArray]], centre: FloatArray | None
    ) -> list[_core.KernelExamples]:
        """Sets of `inputs`, prepared together in the precision of this kernel."""
        assert isinstance(self.function, str)
        return _core.pack_examples(
            self.function, *self.numbers, self.double_precision, sets, centre
        )

    def _call(self, a: ArrayLike, b: ArrayLike) -> FloatArray:
        """The matrix that a kernel function returns, checked."""
        assert callable(self.function)
        K = self.function(a, b)
        K = np.ascontiguousarray(K.toarray() if sp.issparse(K) else K, dtype=np.float64)
        shape = (_num_samples(a), _num_samples(b))
        if K.shape != shape:
            raise ValueError(
                f"kernel={self.function!r} returned values of shape {K.shape} for {shape[0]} and "
                f"{shape[1]} examples; it must return a matrix of shape {shape}"
            )
        if not np.all(np.isfinite(K)):
            raise ValueError(
                f"kernel={self.function!r} returned values that are not finite; scale the inputs, "
                "or bound the kernel"
            )
        return K
