"""The sequential dual method for machines of many classes (linear/crammer_singer.hpp in the core).

Free intercepts ask for columns of β whose sums are 0, which no single example can keep. The method
of multipliers does: an intercept that is penalised for its distance from a centre is one more
input, and after each epoch the centre moves to where the intercept is.

The weights swing about their limit from epoch to epoch; their mean is a much better point, as the
cost is convex.
"""

from collections.abc import Callable, Iterator

import numpy as np

from widemargin import _core
from widemargin._runtime.memory import aligned_zeros
from widemargin._typing import FloatArray, IntArray
from widemargin.linear_svm.coordinate_descent import (
    FIRST_CHECK,
    FREE,
    OPERATIONS_PER_CALL,
    Average,
)
from widemargin.linear_svm.multiclass_problem import MulticlassProblem
from widemargin.linear_svm.problem import Certificate

__all__ = ["sequential_descent"]

LANES = 4  # classes are filled up to a multiple of it
A_CLASS = 1.0 / LANES  # operations of a class, where one of a single output is 1
A_ROW = 5.0  # and for finding the best row, a class
CHECKS = 1.4  # epochs between certificates grow by this factor
SAFE = 0.01  # of the largest violation: by how much examples that are put aside satisfy theirs
SETTLED = 0.3  # of the violation of all examples: what is left when they are looked at again
UNBALANCED = 0.01  # the part of Σ|β| that the sums may be before the square of `FREE` grows


def sequential_descent(
    problem: MulticlassProblem,
    beta: FloatArray,
    intercept: FloatArray,
    seed: int,
    last: Callable[..., bool] = lambda more=1: False,
) -> Iterator[tuple[Certificate | None, float, int]]:
    """Epochs of best rows of β, one example at a time, in native calls of some 20 ms.

    Parameters
    ----------
    problem : MulticlassProblem
        The problem.
    beta : ndarray of shape (n_samples, n_classes)
        Where to start, feasible but for the sums of its columns.
    intercept : ndarray of shape (n_classes,)
        Where to start, if it is free.
    seed : int
        Of the orders of the examples.
    last : callable
        Whether nothing follows after 0 or 1 more epochs: a certificate is then worth its passes.

    Yields
    ------
    certificate : Certificate or None
        After some epochs.
    operations : float
        How much native calls did since the last time.
    done : int
        1 after an epoch.
    """
    state, count = _State(problem, beta, intercept), problem.inputs.count
    average = Average(state.numbers.size)
    active, patience, at_first = np.arange(count), np.inf, np.inf
    epoch, next_check = 0, FIRST_CHECK
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
        if worst <= SETTLED * at_first:  # all of them are looked at again
            active, patience = np.arange(count), np.inf
        else:
            active, patience = np.concatenate(kept), SAFE * worst
        if epoch < next_check and not last():
            yield None, 0.0, 1
            continue
        next_check = max(epoch + 1, int(CHECKS * epoch))
        w, b = state.machine(state.numbers)
        mean = average.mean(state.numbers.ravel()).reshape(state.numbers.shape)
        points = [problem.point(*one) for one in (state.machine(mean), (w, b))]
        best = min(points, key=lambda point: point.cost)
        yield problem.certify(state.beta[:, : problem.classes].copy(), w, best), 0.0, 1
        active, patience = np.arange(count), np.inf


class _State:
    """β and what follows from it, as the core keeps them: a column a class, and some that fill up.

    `numbers` has a row an input, those of w; then b, and the sums of β.
    """

    def __init__(self, problem: MulticlassProblem, beta: FloatArray, intercept: FloatArray) -> None:
        self.problem, self.examples = problem, problem.inputs.training
        K = problem.classes
        stride = -(-K // LANES) * LANES
        self.operations = A_CLASS * stride * self.examples.operations + A_ROW * stride
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
        self.square = FREE if self.free else problem.intercept
        self.b[:] = self.square * self.sums
        self.b[:K] += intercept if self.free else 0.0
        self.b[K:] = -np.inf  # never chosen

    @property
    def _split(self) -> bool:
        """Whether the core keeps the weights of inputs that are scaled and not centred."""
        return self.examples.layout.columns is not None and self.examples.mean is not None

    def visit(self, some: IntArray, patience: float) -> tuple[int, float]:
        """A step of each of these; those not put aside come first, and are counted.

        The other number is the largest violation.
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
        """After an epoch: the centre of free intercepts moves."""
        if not self.free:
            return
        excess = float(np.abs(self.sums).sum())
        if excess > 0.5 * self.excess and excess > UNBALANCED * np.abs(self.beta).sum():
            self.square *= 2.0  # the centre is far off, and slow
        self.b += self.square * self.sums
        self.excess = excess

    def machine(self, numbers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Weights and intercepts of the problem, from numbers of the core."""
        K, w = self.problem.classes, numbers[:-2]
        if self._split:
            w = w - np.outer(np.asarray(self.examples.mean), numbers[-1])
        weights = np.stack([self.examples.from_core(of_class) for of_class in w.T[:K]])
        return weights, numbers[-2, :K].copy()
