r"""Epochs of dual descent for linear machines: the order, shrinking, when to look at the gap.

A machine's own `Descent` visits examples; all else is the same for one output and for many.

A free intercept asks for sums of β that are 0, which no single example can keep. The method of
multipliers does: an intercept that is penalised for its distance from a centre is one more input,
and after each epoch the centre moves to where the intercept is.

The weights swing about their limit from epoch to epoch; their mean is a much better point, as the
cost is convex.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

import numpy as np

from widemargin import _core
from widemargin._linear_problem import Certificate, Point, Problem
from widemargin._typing import FloatArray, IntArray

__all__ = ["Descent", "descend"]

OPERATIONS_PER_CALL = 20_000_000  # some 20 ms of native work
CHECKS = 1.4  # epochs between certificates grow by this factor
FIRST_CHECK = 10
A_CALL = 30_000.0  # operations that a native call takes, however few examples it has
PASSES = 50.0  # operations an example of a certificate, about
SETTLED = 0.3  # of the violation of all examples: what is left when they are looked at again
FREE = 1.0  # the square of the constant input of a free intercept, at first
UNBALANCED = 0.01  # the part of Σ|β| that |Σβ| may be before that square grows


class Descent(ABC):
    """β of a problem, and what follows from it, as the core keeps them.

    `safe` is the part of the largest violation by which examples that are put aside satisfy theirs.

    Parameters
    ----------
    problem : Problem
        The problem.
    beta : ndarray
        Where to start, within its bounds: a row an example.
    w : ndarray
        Its weights, as the core trains them.
    sums : ndarray of shape (n_outputs,)
        Those of β.
    intercept : float or ndarray of shape (n_outputs,)
        Where to start, if it is free.
    operations : float
        That a visit takes, about.
    """

    safe = 0.05

    def __init__(
        self,
        problem: Problem,
        beta: FloatArray,
        w: FloatArray,
        sums: FloatArray,
        intercept: FloatArray | float,
        operations: float,
    ) -> None:
        self.problem, self.beta, self.w, self.sums = problem, beta, w, sums
        self.operations = operations
        self.free = problem.intercept == np.inf
        self.square = FREE if self.free else problem.intercept
        self.b = self.square * sums + (intercept if self.free else 0.0)
        self.excess = 0.0

    @abstractmethod
    def visit(self, some: IntArray, patience: float) -> tuple[int, float]:
        """A step of each of these; those not put aside come first, and are counted.

        The other number is the largest violation.
        """

    @abstractmethod
    def point(self, w: FloatArray, b: FloatArray, sums: FloatArray) -> Point:
        """Weights and intercept of the problem, from those of the core and the sums of β."""

    @abstractmethod
    def state(self) -> FloatArray:
        """A copy of β for a certificate."""

    def recentre(self) -> None:
        """After an epoch: the centre of a free intercept moves."""
        if not self.free:
            return
        excess = float(np.abs(self.sums).sum())
        if excess > 0.5 * self.excess and excess > UNBALANCED * np.abs(self.beta).sum():
            self.square *= 2.0  # the centre is far off, and slow
        self.b += self.square * self.sums
        self.excess = excess


def descend(
    descent: Descent, seed: int, last: Callable[..., bool] = lambda more=1: False
) -> Iterator[tuple[Certificate | None, float, int]]:
    """Epochs, in native calls of some 20 ms.

    Parameters
    ----------
    descent : Descent
        Where to start.
    seed : int
        Of the orders of the examples.
    last : callable
        Whether nothing follows after 0 or 1 more epochs: a certificate is then worth its passes.

    Yields
    ------
    certificate : Certificate or None
        After some epochs.
    operations : float
        How much was done since the last time.
    done : int
        1 after an epoch.
    """
    problem, count = descent.problem, descent.problem.inputs.count
    average = _Average(descent)
    active, patience, at_first = np.arange(count), np.inf, np.inf
    epoch, next_check = 0, FIRST_CHECK
    per_call = max(1, int(OPERATIONS_PER_CALL / descent.operations))
    while True:
        order = active.copy()
        _core.shuffle(order, seed, epoch)
        kept, worst = [], 0.0
        for first in range(0, len(order), per_call):
            some = order[first : first + per_call]
            n, violation = descent.visit(some, patience)
            kept.append(some[:n])
            worst = max(worst, violation)
            if last(0):
                break
            yield None, len(some) * descent.operations + A_CALL, 0
        epoch += 1
        descent.recentre()
        average.add(descent)
        if len(order) == count:
            at_first = worst
        if worst <= SETTLED * at_first:  # all of them are looked at again
            active, patience = np.arange(count), np.inf
        else:
            active, patience = np.concatenate(kept), descent.safe * worst
        if epoch < next_check and not last():
            yield None, 0.0, 1
            continue
        next_check = max(epoch + 1, int(CHECKS * epoch))
        now = descent.point(descent.w, descent.b, descent.sums)
        points = [descent.point(*average.take()), now]
        costs = [problem.cost(point) for point in points]
        best = points[int(np.argmin(costs))]
        yield problem.certify(descent.state(), now[0], best, min(costs)), PASSES * count, 1
        active, patience = np.arange(count), np.inf


class _Average:
    """The mean of w, b and the sums over the epochs since the last certificate but one."""

    def __init__(self, descent: Descent) -> None:
        parts = (descent.w, descent.b, descent.sums, np.ones(1))
        self.now, self.before = ([np.zeros_like(part) for part in parts] for _ in range(2))

    def add(self, descent: Descent) -> None:
        parts = (descent.w, descent.b, descent.sums, np.ones(1))
        for total, part in zip(self.now, parts, strict=True):
            total += part

    def take(self) -> list[FloatArray]:
        *parts, count = (now + old for now, old in zip(self.now, self.before, strict=True))
        self.now, self.before = [np.zeros_like(total) for total in self.now], self.now
        return [part / count for part in parts]
