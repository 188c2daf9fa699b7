"""Early stopping of a kernel machine: its error on validation examples ends training.

The decomposition algorithm approaches its solution step by step, and "it is possible that we do not
need to wait for the convergence" (thesis, 8.9). The error is measured after every few steps. When
it has not fallen for a number of times, training stops, and the best iterate is the machine.

Steps are counted, not seconds, so that the result is the same on every computer.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from sklearn.utils import _safe_indexing

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.svm.decomposition import Solution
from widemargin.svm.kernel_source import KernelSource
from widemargin.svm.problem import Problem, machine

__all__ = ["ValidationWatch"]

COUNTS = ("steps", "kernel_evaluations", "rows_wanted", "rows_cached")
STEPS_PER_EXAMPLE = 0.1  # between two measures


@dataclass(eq=False)
class ValidationWatch:
    """The validation examples of one problem, and the best machine so far.

    Parameters
    ----------
    kernel : KernelSource
        The kernel.
    X : array-like
        The training inputs of all problems.
    ids : ndarray of shape (n_samples,)
        Which of them are the examples of this problem.
    X_val : array-like
        The validation inputs.
    targets : ndarray of shape (n_validation,)
        Their labels ±1, or values.
    weights : ndarray of shape (n_validation,) or None
        Their weights.
    labels : bool
        Whether targets are labels.
    patience : int
        How many measures without a lower error end training.
    """

    kernel: KernelSource
    X: ArrayLike
    ids: IntArray
    X_val: ArrayLike
    targets: FloatArray
    weights: FloatArray | None
    labels: bool
    patience: int
    error: float = np.nan  # the last one
    best_error: float = np.inf
    best: Solution | None = None
    waited: int = 0
    _coef: FloatArray = field(init=False)
    _outputs: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self._coef, self._outputs = np.zeros(len(self.ids)), np.zeros(len(self.targets))
        self.every = max(1, int(STEPS_PER_EXAMPLE * len(self.ids)))
        self.next_steps = self.every  # when to measure again

    def take(self, problem: Problem, solution: Solution) -> bool:
        """Measure an iterate and keep it if it is the best; returns whether to stop."""
        self.next_steps = solution.steps + self.every
        self.error = self._measure(problem, solution)
        if self.error < self.best_error:
            self.best_error, self.best, self.waited = self.error, solution, 0
        else:
            self.waited += 1
        return self.waited >= self.patience

    def verdict(self, problem: Problem, last: Solution, reason: str) -> tuple[Solution, str]:
        """The best machine, and why training ended; the last one if it is as good."""
        error = self._measure(problem, last)
        if self.best is None or (error <= self.best_error and reason != "validation"):
            return last, reason
        counts = {name: getattr(last, name) for name in COUNTS}
        return replace(self.best, **counts), "validation" if reason == "tol" else reason

    def _measure(self, problem: Problem, solution: Solution) -> float:
        """The fraction of the weight that is misclassified, or the mean squared error."""
        coef, intercept = machine(problem, solution.beta, solution.biases)
        moved = np.flatnonzero(coef != self._coef)
        if len(moved):
            rows, change = self.ids[moved], (coef - self._coef)[None, moved]
            vectors, part = _safe_indexing(self.X, rows), slice(0, len(moved))
            (out,) = self.kernel.expand(self.X_val, rows, vectors, change, [part])
            self._outputs, self._coef = self._outputs + out[:, 0], coef
        f = self._outputs + intercept
        each = (f > 0) != (self.targets > 0) if self.labels else (f - self.targets) ** 2
        return float(np.average(each, weights=self.weights))
