"""The sequential dual method for machines of many classes (cpp/widemargin/crammer_singer.hpp)."""

import numpy as np

from widemargin import _core
from widemargin._descent import Descent
from widemargin._linear_problem import Point
from widemargin._multiclass_problem import MulticlassProblem
from widemargin._typing import FloatArray, IntArray

__all__ = ["SequentialDescent"]

LINE, LANES = 64, 4  # bytes of a cache line; the classes are filled up to a multiple of the other
A_CLASS = 1.0 / LANES  # operations of a class, where one of a single output is 1
A_ROW = 5.0  # and for finding the best row, a class


class SequentialDescent(Descent):
    """All outputs: the row β of one example at a time.

    Parameters
    ----------
    problem : MulticlassProblem
        The problem.
    beta : ndarray of shape (n_samples, n_classes)
        Where to start, feasible but for the sums of its columns.
    intercept : ndarray of shape (n_classes,)
        Where to start, if it is free.
    """

    problem: MulticlassProblem
    safe = 0.01

    def __init__(self, problem: MulticlassProblem, beta: FloatArray, intercept: FloatArray) -> None:
        self.examples, K = problem.inputs.training, problem.classes
        stride = -(-K // LANES) * LANES
        filled = _aligned(problem.inputs.count, stride)
        filled[:, :K] = beta
        sums = filled.sum(axis=0)
        w = _aligned(problem.inputs.width, stride)
        for k, of_class in enumerate(problem.inputs.combine(beta)):
            w[:, k] = self.examples.to_core(of_class)
        if self._split:
            w += np.outer(np.asarray(self.examples.mean), sums)
        start = np.zeros(stride)
        start[:K] = intercept
        operations = A_CLASS * stride * self.examples.operations + A_ROW * stride
        super().__init__(problem, filled, w, sums, start, operations)
        self.b[K:] = -np.inf  # never chosen

    @property
    def _split(self) -> bool:
        """Whether the core keeps the weights of inputs that are scaled and not centred."""
        return self.examples.places is not None and self.examples.mean is not None

    def visit(self, some: IntArray, patience: float) -> tuple[int, float]:
        kept, _, violation = _core.crammer_singer(
            self.examples.rows,
            self.w,
            self.b,
            self.sums,
            self.beta,
            self.problem.y,
            self.problem.c,
            self.examples.norms,
            some,
            mean=self.examples.mean,
            scale=self.examples.scale,
            intercept=self.square,
            patience=patience,
        )
        return kept, violation

    def point(self, w: FloatArray, b: FloatArray, sums: FloatArray) -> Point:
        K = self.problem.classes
        if self._split:
            w = w - np.outer(np.asarray(self.examples.mean), sums)
        return np.stack([self.examples.from_core(of_class) for of_class in w.T[:K]]), b[:K].copy()

    def state(self) -> FloatArray:
        return self.beta[:, : self.problem.classes].copy()


def _aligned(rows: int, columns: int) -> FloatArray:
    """Zeros, at the start of a cache line."""
    numbers = np.zeros(rows * columns + LINE // 8)
    first = -numbers.ctypes.data % LINE // 8
    return numbers[first : first + rows * columns].reshape(rows, columns)
