r"""Dual coordinate descent for linear support vector machines (cpp/widemargin/dual_descent.hpp).

A free intercept asks for :math:`\sum_l \beta_l = 0`, which no single β can keep. The method of
multipliers does: an intercept that is penalised for its distance from a centre is one more input,
and after each epoch the centre moves to where the intercept is.

The weights swing about their limit from epoch to epoch; their mean is a much better point, as the
cost is convex.
"""

from collections.abc import Callable, Iterator

import numpy as np

from widemargin import _core
from widemargin._linear_problem import Certificate, LinearProblem
from widemargin._typing import FloatArray

__all__ = ["dual_descent"]

OPERATIONS_PER_CALL = 20_000_000  # some 20 ms of native work
CHECKS = 1.4  # epochs between certificates grow by this factor
FIRST_CHECK = 10
A_CALL = 30_000.0  # operations that a native call takes, however few examples it has
PASSES = 50.0  # operations an example of a certificate, about
SAFE = 0.05  # of the largest violation: by how much examples that are put aside satisfy theirs
SETTLED = 0.3  # of the violation of all examples: what is left when they are looked at again
FREE = 1.0  # the square of the constant input of a free intercept, at first
UNBALANCED = 0.01  # the part of Σ|β| that |Σβ| may be before that square grows


def dual_descent(
    problem: LinearProblem,
    beta: FloatArray,
    intercept: float,
    seed: int,
    last: Callable[..., bool] = lambda more=1: False,
) -> Iterator[tuple[Certificate | None, float, int]]:
    """Epochs from a β within its bounds, in native calls of some 20 ms.

    Parameters
    ----------
    problem : LinearProblem
        The problem.
    beta : ndarray of shape (n_samples,)
        Where to start.
    intercept : float
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
        How much was done since the last time.
    done : int
        1 after an epoch.
    """
    examples, count = problem.inputs.training, problem.inputs.count
    low, high = problem.bounds
    columns = [beta, low, high, problem.target, examples.norms, problem.ridge]
    variables = np.stack(columns, axis=1)
    beta = variables[:, 0]
    w = examples.to_core(problem.inputs.combine(beta))
    free, total = problem.intercept == np.inf, float(beta.sum())
    square = FREE if free else problem.intercept
    b = np.array([square * total + (intercept if free else 0.0)])
    average = _Average(len(w))
    active, patience, at_first, before = np.arange(count), np.inf, np.inf, 0.0
    epoch, next_check = 0, FIRST_CHECK
    per_call = max(1, int(OPERATIONS_PER_CALL / examples.operations))
    while True:
        order = active.copy()
        _core.shuffle(order, seed, epoch)
        kept, worst = [], 0.0
        for first in range(0, len(order), per_call):
            some = order[first : first + per_call]
            n, _, violation, change = _core.dual_descent(
                examples.rows,
                w,
                b,
                variables,
                some,
                mean=examples.mean,
                scale=examples.scale,
                epsilon=problem.epsilon,
                intercept=square,
                patience=patience,
            )
            kept.append(some[:n])
            worst, total = max(worst, violation), total + change
            if last(0):
                break
            yield None, len(some) * examples.operations + A_CALL, 0
        epoch += 1
        if free:
            excess = abs(total)
            if excess > 0.5 * before and excess > UNBALANCED * np.abs(beta).sum():
                square *= 2.0  # the centre is far off, and slow
            b[0], before = b[0] + square * total, excess
        average.add(w, float(b[0]))
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
        point = min(
            ((examples.from_core(v), bias) for v, bias in (average.take(), (w, float(b[0])))),
            key=problem.cost,
        )
        yield problem.certify(beta.copy(), examples.from_core(w), point), PASSES * count, 1
        active, patience = np.arange(count), np.inf


class _Average:
    """The mean of the weights over the epochs since the last certificate but one."""

    def __init__(self, width: int) -> None:
        self.now, self.before = np.zeros(width + 2), np.zeros(width + 2)  # sums of w, b and 1

    def add(self, w: FloatArray, b: float) -> None:
        self.now[:-2] += w
        self.now[-2:] += (b, 1.0)

    def take(self) -> tuple[FloatArray, float]:
        total = self.now + self.before
        self.now, self.before = np.zeros_like(total), self.now
        return total[:-2] / total[-1], float(total[-2] / total[-1])
