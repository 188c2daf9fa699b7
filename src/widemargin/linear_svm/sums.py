"""Sums over the inputs of all examples in two precisions, and the sizes that bound their errors."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import gen_batches

from widemargin._typing import ArrayLike, FloatArray
from widemargin.linear_svm.inputs import LinearInputs

__all__ = ["DoubleSums", "LongSums", "Sums"]

EXAMPLES_PER_BLOCK = 4096  # converted to long double at a time


class Combined(NamedTuple):
    """w = Σ β x̂, and from the sizes a = Σ |β| |x̂| of its terms Σ |w| a and Σ a²."""

    w: FloatArray
    pull: float
    square: float


class Sums(ABC):
    """f(x), Σ β x̂ and bounds of the sizes of their terms, in one precision."""

    dtype: type

    def __init__(self, inputs: LinearInputs) -> None:
        self.inputs = inputs

    @property
    def rounding(self) -> float:
        """The rounding of one operation, relative to its result."""
        return float(np.finfo(self.dtype).eps)

    @abstractmethod
    def outputs(self, coef: FloatArray, intercept: Any) -> tuple[FloatArray, FloatArray]:
        """f(x) of all examples from weights of the inputs as given, and the sizes of the sums w·x.

        The size of a sum is that of its terms; with many outputs, that of the largest.
        """

    @abstractmethod
    def combine(self, beta: FloatArray) -> Combined:
        """Σ β x̂, which has one row per column of β."""

    @abstractmethod
    def furthest(self, w: FloatArray) -> tuple[float, float]:
        """Bounds of |w·x̂| and of ‖x̂‖ over all examples."""


class DoubleSums(Sums):
    """In float64, by the core; sizes by the inequality of Cauchy and Schwarz."""

    dtype = np.float64

    @cached_property
    def _shift(self) -> FloatArray:
        """|offset|/scale."""
        inputs = self.inputs
        if inputs.mean is None or inputs.scale is None:
            return np.zeros(inputs.width)
        return np.asarray(np.abs(inputs.mean) / inputs.scale)

    @cached_property
    def _norms(self) -> FloatArray:
        """A bound of ‖x̂‖, plus ‖offset/scale‖ of columns whose offset is subtracted from sums."""
        near = np.delete(self._shift, self.inputs.far)
        squares = np.maximum(self.inputs.training.norms, 0.0)
        return np.asarray(np.sqrt(squares) + 3.0 * np.linalg.norm(near))

    def outputs(self, coef: FloatArray, intercept: Any) -> tuple[FloatArray, FloatArray]:
        inputs, far = self.inputs, self.inputs.far
        scale = 1.0 if inputs.scale is None else inputs.scale
        v = np.abs(np.atleast_2d(coef) * scale)
        constant = 2.0 * (v[:, far] @ self._shift[far]).max()
        size = self._norms * np.linalg.norm(v, axis=1).max() + constant
        return inputs.raw_outputs([(coef, intercept)])[0], np.asarray(size)

    def combine(self, beta: FloatArray) -> Combined:
        w = self.inputs.combine(beta)
        size = float(np.abs(beta).reshape(len(beta), -1).sum(axis=1) @ self._norms)
        return Combined(w, float(np.linalg.norm(w)) * size, size**2)

    def furthest(self, w: FloatArray) -> tuple[float, float]:
        longest = float(self._norms.max())
        return longest * float(np.linalg.norm(w)), longest


class LongSums(Sums):
    """In long double, in blocks; sizes element by element."""

    dtype = np.longdouble

    def _blocks(self) -> Iterator[tuple[slice, ArrayLike]]:
        for rows in gen_batches(self.inputs.count, EXAMPLES_PER_BLOCK):
            yield rows, self.inputs.X[rows]

    def outputs(self, coef: FloatArray, intercept: Any) -> tuple[FloatArray, FloatArray]:
        v = np.asarray(coef, dtype=np.longdouble).T
        f, sizes = [], []
        for _, some in self._blocks():
            block = some.astype(np.longdouble)
            f.append(block @ v + intercept)
            sizes.append(abs(block) @ np.abs(v))
        size = np.concatenate(sizes).reshape(self.inputs.count, -1).max(axis=1)
        return np.ascontiguousarray(np.concatenate(f).T), size.astype(np.float64)

    def combine(self, beta: FloatArray) -> Combined:
        inputs, far = self.inputs, self.inputs.far
        sums, sizes = (np.zeros((inputs.width, *beta.shape[1:]), np.longdouble) for _ in range(2))
        of_far, size = sums[far], np.abs(beta)
        far_sizes = of_far.copy()
        for rows, some in self._blocks():
            block, centred = some.astype(np.longdouble), self._far(some)
            sums, sizes = sums + block.T @ beta[rows], sizes + abs(block).T @ size[rows]
            of_far += centred.T @ beta[rows]
            far_sizes += np.abs(centred).T @ size[rows]
        if inputs.mean is not None and inputs.scale is not None:
            m, s = inputs.mean, inputs.scale
            sums = ((sums - np.multiply.outer(m, beta.sum(axis=0))).T / s).T
            sizes = ((sizes + np.multiply.outer(np.abs(m), size.sum(axis=0))).T / s).T
            sums[far], sizes[far] = of_far, far_sizes
        return Combined(sums.T, float(np.sum(np.abs(sums) * sizes)), float(np.sum(sizes**2)))

    def furthest(self, w: FloatArray) -> tuple[float, float]:
        inputs, far = self.inputs, self.inputs.far
        v = np.vstack([np.abs(w), np.ones(inputs.width)]).T
        of_far, constant = v[far], np.zeros(v.shape[1])
        if inputs.mean is not None and inputs.scale is not None:
            v = v / inputs.scale[:, None]
            v[far] = 0.0
            constant = np.abs(inputs.mean) @ v
        most = constant
        for _, some in self._blocks():
            sizes = abs(some.astype(np.longdouble)) @ v + np.abs(self._far(some)) @ of_far
            most = np.maximum(most, (sizes + constant).max(axis=0))
        return float(most[:-1].max()), float(most[-1])

    def _far(self, some: ArrayLike) -> FloatArray:
        return self.inputs.centred(some, self.inputs.far, np.longdouble)
