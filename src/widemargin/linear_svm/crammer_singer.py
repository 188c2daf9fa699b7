"""The sequential dual method for machines of many classes (linear/crammer_singer.hpp in the core).

Free intercepts require that each column of β sums to 0, which steps of single examples cannot keep.
The method of multipliers can: an intercept that is penalised for its distance from a centre is one
more input, and after each epoch the centre moves to the intercept.

The weights oscillate around their limit from epoch to epoch. The cost is convex, so their mean is a
much better point.
"""

from collections.abc import Callable, Iterator

import numpy as np

from widemargin import _core
from widemargin._runtime.memory import aligned_zeros
from widemargin._typing import FloatArray, IntArray
from widemargin.linear_svm.coordinate_descent import (
    FIRST_CERTIFICATE_EPOCHS,
    FREE_INTERCEPT_SQUARE,
    OPERATIONS_PER_CALL,
    Average,
)
from widemargin.linear_svm.multiclass_problem import MulticlassProblem
from widemargin.linear_svm.problem import Certificate

__all__ = ["sequential_descent"]

LANES = 4  # numbers in a register; the columns of β are padded to a multiple of it
CLASS_OPERATIONS = 1.0 / LANES  # of a class, relative to those of a single output
ROW_OPERATIONS = 5.0  # per class, for finding the best row of β
CERTIFICATE_GROWTH = 1.4  # the epochs between two certificates grow by this factor
SAFE_DISTANCE = (
    0.01  # of an example's condition, relative to the largest violation, to set it aside
)
SETTLED = 0.3  # once the violation falls by this factor, all examples are visited again
MAX_IMBALANCE = 0.01  # Σ|column sums| relative to Σ|β|, before the square of the intercept grows


def sequential_descent(
    problem: MulticlassProblem,
    beta: FloatArray,
    intercept: FloatArray,
    seed: int,
    last: Callable[..., bool] = lambda more=1: False,
) -> Iterator[tuple[Certificate | None, float, int]]:
    """Run epochs that set one row of β at a time to its best, in native calls of about 20 ms.

    Parameters
    ----------
    problem : MulticlassProblem
        The problem.
    beta : ndarray of shape (n_samples, n_classes)
        The first β, feasible but for the sums of its columns.
    intercept : ndarray of shape (n_classes,)
        The first intercepts, if they are free.
    seed : int
        The seed of the orders of the examples.
    last : callable
        Whether the fit ends after this many more epochs, so that a certificate is due.

    Yields
    ------
    certificate : Certificate or None
        None between two certificates.
    operations : float
        The cost of the native calls since the last item.
    done : int
        1 after an epoch, otherwise 0.
    """
    state, count = _State(problem, beta, intercept), problem.inputs.count
    average = Average(state.numbers.size)
    active, patience, at_first = np.arange(count), np.inf, np.inf
    epoch, next_check = 0, FIRST_CERTIFICATE_EPOCHS
    per_call = max(1, int(OPERATIONS_PER_CALL / state.operations))
    while True:
        order = active.copy()
        _core.shuffle(order, seed, epoch)
        kept, worst = [], 0.0
        for first in range(0, len(order), per_call):
            some = order[first : first + per_call]
            n, violation = state.visit(some, patience)
            kept.append(some[:n])
            worst = max(worst, violation)
            if last(0):
                break
            yield None, len(some) * state.operations, 0
        epoch += 1
        state.recentre()
        average.add(state.numbers.ravel())
        if len(order) == count:
            at_first = worst
        if worst <= SETTLED * at_first:  # visit all examples again
            active, patience = np.arange(count), np.inf
        else:
            active, patience = np.concatenate(kept), SAFE_DISTANCE * worst
        if epoch < next_check and not last():
            yield None, 0.0, 1
            continue
        next_check = max(epoch + 1, int(CERTIFICATE_GROWTH * epoch))
        w, b = state.machine(state.numbers)
        mean = average.mean(state.numbers.ravel()).reshape(state.numbers.shape)
        points = [problem.point(*one) for one in (state.machine(mean), (w, b))]
        best = min(points, key=lambda point: point.cost)
        yield problem.certify(state.beta[:, : problem.classes].copy(), w, best), 0.0, 1
        active, patience = np.arange(count), np.inf


class _State:
    """β and what follows from it, as the core keeps them: one column per class, then padding.

    `numbers` has one row per input, which hold w; then b, and the column sums of β.
    """

    def __init__(self, problem: MulticlassProblem, beta: FloatArray, intercept: FloatArray) -> None:
        self.problem, self.examples = problem, problem.inputs.training
        K = problem.classes
        stride = -(-K // LANES) * LANES
        self.operations = (
            CLASS_OPERATIONS * stride * self.examples.operations + ROW_OPERATIONS * stride
        )
        self.beta = aligned_zeros((problem.inputs.count, stride))
        self.beta[:, :K] = beta
        self.numbers = aligned_zeros((problem.inputs.width + 2, stride))
        self.w, self.b, self.sums = self.numbers[:-2], self.numbers[-2], self.numbers[-1]
        self.sums[:] = self.beta.sum(axis=0)
        for k, of_class in enumerate(problem.inputs.combine(beta)):
            self.w[:, k] = self.examples.to_core(of_class)
        if self._split:
            self.w += np.outer(np.asarray(self.examples.mean), self.sums)
        self.free, self.excess = problem.intercept == np.inf, 0.0
        self.square = FREE_INTERCEPT_SQUARE if self.free else problem.intercept
        self.b[:] = self.square * self.sums
        self.b[:K] += intercept if self.free else 0.0
        self.b[K:] = -np.inf  # never chosen

    @property
    def _split(self) -> bool:
        """Whether the core keeps the weights of inputs that are scaled but not centred."""
        return self.examples.layout.columns is not None and self.examples.mean is not None

    def visit(self, some: IntArray, patience: float) -> tuple[int, float]:
        """One step per example; returns how many are kept active, and the largest violation.

        Those kept are moved to the front of `some`.
        """
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

    def recentre(self) -> None:
        """Move the centre of free intercepts, after an epoch."""
        if not self.free:
            return
        excess = float(np.abs(self.sums).sum())
        if excess > 0.5 * self.excess and excess > MAX_IMBALANCE * np.abs(self.beta).sum():
            self.square *= 2.0  # the centre is far off and moves slowly
        self.b += self.square * self.sums
        self.excess = excess

    def machine(self, numbers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Weights and intercepts of the problem, from the numbers of the core."""
        K, w = self.problem.classes, numbers[:-2]
        if self._split:
            w = w - np.outer(np.asarray(self.examples.mean), numbers[-1])
        weights = np.stack([self.examples.from_core(of_class) for of_class in w.T[:K]])
        return weights, numbers[-2, :K].copy()
