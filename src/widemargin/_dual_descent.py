"""Dual coordinate descent for linear support vector machines (cpp/widemargin/dual_descent.hpp)."""

import numpy as np

from widemargin import _core
from widemargin._descent import Descent
from widemargin._linear_problem import LinearProblem, Point
from widemargin._typing import FloatArray, IntArray

__all__ = ["CoordinateDescent"]


class CoordinateDescent(Descent):
    """One output: β of one example at a time.

    Parameters
    ----------
    problem : LinearProblem
        The problem.
    beta : ndarray of shape (n_samples,)
        Where to start, within its bounds.
    intercept : float
        Where to start, if it is free.
    """

    problem: LinearProblem

    def __init__(self, problem: LinearProblem, beta: FloatArray, intercept: float) -> None:
        self.examples = examples = problem.inputs.training
        low, high = problem.bounds
        columns = [beta, low, high, problem.target, examples.norms, problem.ridge]
        self.variables = np.stack(columns, axis=1)
        beta = self.variables[:, 0]
        w = examples.to_core(problem.inputs.combine(beta))
        super().__init__(problem, beta, w, beta.sum(keepdims=True), intercept, examples.operations)

    def visit(self, some: IntArray, patience: float) -> tuple[int, float]:
        kept, _, violation, change = _core.dual_descent(
            self.examples.rows,
            self.w,
            self.b,
            self.variables,
            some,
            mean=self.examples.mean,
            scale=self.examples.scale,
            epsilon=self.problem.epsilon,
            intercept=self.square,
            patience=patience,
        )
        self.sums += change
        return kept, violation

    def point(self, w: FloatArray, b: FloatArray, sums: FloatArray) -> Point:
        return self.examples.from_core(w), float(b[0])

    def state(self) -> FloatArray:
        return self.beta.copy()
