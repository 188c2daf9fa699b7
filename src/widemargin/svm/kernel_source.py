r"""Kernels for exact machines: rows for the decomposition, expansions for predictions.

Named kernels are computed by the core, in blocks of examples. A precomputed matrix and a kernel
that is a function give their rows to the core as it asks for them; the whole matrix of a function
is never made.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import _safe_indexing, gen_batches
from sklearn.utils.extmath import row_norms
from sklearn.utils.validation import _num_samples

from widemargin import _core
from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.inputs.rows import as_rows

__all__ = ["KernelSource", "resolve_gamma"]

PANEL = 65_536  # examples whose outputs are computed at once
GIVEN = 1 << 24  # values of a kernel that is a function, at once
SMALL = 1_000_000  # kernel values, up to which outputs are in double precision whatever the rest
ALONE = 1e8  # products of inputs, up to which threads cost more than they gain
DIAGONAL = 64  # examples at once, when a function gives the diagonal of its matrix
ROUNDING = 6e-8  # of float32
NORMS = (1e-24, 1e24)  # squares that float32 holds, and parts of them


def resolve_gamma(gamma: float | str, X: ArrayLike) -> float:
    """γ as scikit-learn defines it: "scale" is 1/(n_features · variance of X), "auto" 1/n_features.

    Examples
    --------
    >>> resolve_gamma("scale", np.array([[0.0, 2.0], [2.0, 0.0]]))
    0.5
    """
    if gamma == "auto":
        return float(1.0 / X.shape[1])
    if gamma == "scale":
        with np.errstate(over="ignore", invalid="ignore"):
            if sp.issparse(X):
                stored, size = X.data.astype(np.float64), X.shape[0] * X.shape[1]
                variance = stored @ stored / size - (stored.sum() / size) ** 2
            else:
                variance = X.var(dtype=np.float64)
        if not np.isfinite(variance):
            raise ValueError(
                "gamma='scale' needs the variance of X, whose squares overflow; scale the inputs"
            )
        return float(1.0 / (X.shape[1] * variance)) if variance > 0 else 1.0
    assert isinstance(gamma, Real)
    return float(gamma)


@dataclass(frozen=True)
class KernelSource:
    """A kernel with its parameters, precision and threads."""

    function: str | Callable[..., Any]
    gamma: float
    coef0: float
    degree: int
    wide: bool | None = None  # double precision; None: float where it is enough
    threads: int = 1

    @property
    def named(self) -> bool:
        return isinstance(self.function, str) and self.function != "precomputed"

    def threads_for(self, X: ArrayLike, values: float) -> int:
        """Threads for this many kernel values."""
        width = X.nnz / max(1, X.shape[0]) if sp.issparse(X) else np.shape(X)[-1]
        return self.threads if values * width > ALONE else 1

    def needs_double(self, X: ArrayLike, upper: float, tol: float) -> bool:
        """Whether rounding in float32 could hide a violation of tol."""
        norm = float(row_norms(X, squared=True).max())
        largest = 1.0  # of |k(x, x')|
        with np.errstate(over="ignore"):
            if self.function == "linear":
                largest = norm
            elif self.function == "poly":
                largest = (self.gamma * norm + abs(self.coef0)) ** self.degree
            error = upper * np.sqrt(X.shape[0]) * ROUNDING * largest
        return bool(not error <= tol or not NORMS[0] <= norm <= NORMS[1])

    def over(self, X: ArrayLike, ids: IntArray) -> tuple[Any, FloatArray | None]:
        """What the decomposition of these examples needs: examples, or rows and a diagonal."""
        if self.named:
            (examples,) = self._pack([(as_rows(X), ids)], self.wide)
            return examples, None
        everything = len(ids) == _num_samples(X)
        if self.function == "precomputed":
            K = X if everything else X[np.ix_(ids, ids)]
            K = np.ascontiguousarray(K, dtype=np.float64)
            return (lambda rows: K[rows]), np.diagonal(K).copy()
        examples = X if everything else _safe_indexing(X, ids)
        diagonal = [
            np.diagonal(self._call(part, part))
            for batch in gen_batches(len(ids), DIAGONAL)
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
        blocks: Sequence[slice],
    ) -> list[FloatArray]:
        """Σ coef_l k(x_l, x) over the support vectors of each block, one column an output."""
        n = _num_samples(X)
        out = [np.zeros((n, len(coef))) for _ in blocks]
        filled = [b for b, block in enumerate(blocks) if block.stop > block.start]
        rows = as_rows(X) if self.named and filled else None
        size = PANEL if self.named else max(1, min(PANEL, GIVEN // max(1, len(support))))
        for panel in gen_batches(n, size) if filled else ():
            at = np.arange(panel.start, panel.stop)
            if rows is not None:
                parts = self._core_expand(rows, at, vectors, coef, [blocks[b] for b in filled])
            else:
                chunk = X if len(at) == n else _safe_indexing(X, at)
                K = chunk[:, support] if self.function == "precomputed" else None
                K = self._call(chunk, vectors) if K is None else K
                parts = [K[:, blocks[b]] @ coef[:, blocks[b]].T for b in filled]
            for b, part in zip(filled, parts, strict=True):
                out[b][panel] = part
        return out

    def _core_expand(
        self,
        rows: _core.Rows,
        at: IntArray,
        vectors: ArrayLike,
        coef: FloatArray,
        blocks: Sequence[slice],
    ) -> list[FloatArray]:
        support = as_rows(vectors)
        work = vectors.shape[0] * len(at)
        threads = self.threads_for(vectors, work)
        wide = True if work < SMALL else self.wide
        sets = [(support, np.arange(block.start, block.stop)) for block in blocks]
        *packed, x = self._pack([*sets, (rows, at)], wide)
        parts = []
        for block, examples in zip(blocks, packed, strict=True):
            out = np.empty((len(coef), len(at)))
            some = np.ascontiguousarray(coef[:, block])
            _core.expand(examples, some, x, out, threads)
            parts.append(out.T)
        return parts

    def _pack(
        self, sets: list[tuple[_core.Rows, IntArray]], wide: bool | None
    ) -> list[_core.KernelExamples]:
        assert isinstance(self.function, str)
        return _core.pack_examples(self.function, self.gamma, self.coef0, self.degree, wide, sets)

    def _call(self, a: ArrayLike, b: ArrayLike) -> FloatArray:
        """The matrix that a kernel function gives, checked."""
        assert callable(self.function)
        K = self.function(a, b)
        K = np.ascontiguousarray(K.toarray() if sp.issparse(K) else K, dtype=np.float64)
        shape = (_num_samples(a), _num_samples(b))
        if K.shape != shape:
            raise ValueError(
                f"kernel={self.function!r} gave values of shape {K.shape} for {shape[0]} and "
                f"{shape[1]} examples; it must return a matrix of shape {shape}"
            )
        if not np.all(np.isfinite(K)):
            raise ValueError(f"kernel={self.function!r} gave values that are not finite")
        return K
