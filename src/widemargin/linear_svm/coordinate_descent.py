r"""Dual coordinate descent for linear support vector machines (linear/dual_epochs.hpp in the core).

The weights swing about their limit from epoch to epoch. Their mean is a better point, as the cost
is convex, and the best one on the line through both, or a multiple of that, better still.
"""

from collections.abc import Callable, Iterator

import numpy as np

from widemargin import _core
from widemargin._typing import FloatArray
from widemargin.linear_svm.problem import Certificate, LinearProblem

__all__ = ["FIRST_CHECK", "FREE", "OPERATIONS_PER_CALL", "Average", "dual_descent"]

OPERATIONS_PER_CALL = 20_000_000  # some 20 ms of native work
FIRST_CHECK = 10  # epochs before the first certificate
CHECKS = 0.3  # of the visits of examples so far: those before the next certificate, about
LEAST = 1.0  # as many as this times the examples, at least
NEARER, FURTHER = 0.5, 2.0  # how far from that a forecast of the gap may move it
RELAXATION = 1.3  # how much further a step goes than to the best β: fewer epochs, as measured
A_CALL = 30_000.0  # operations that a native call takes, however few examples it has
PASSES = 50.0  # operations an example of a certificate, about
NEVER = np.iinfo(np.int64).max
FREE = 1.0  # the square of the constant input of a free intercept, at first


def dual_descent(
    problem: LinearProblem,
    beta: FloatArray,
    intercept: float,
    seed: int,
    most: int,
    tol: float = 0.0,
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
    most : int
        Epochs after which there is a certificate in any case.
    tol : float
        The relative gap that is wanted: there should be a certificate when it is reached.
    last : callable
        Whether nothing follows after 0 more epochs: a certificate is then worth its passes.

    Yields
    ------
    certificate : Certificate or None
        After some epochs.
    operations : float
        How much was done since the last time.
    done : int
        How many epochs were completed.
    """
    examples, count = problem.inputs.training, problem.inputs.count
    columns = [beta, *problem.bounds, problem.target, examples.norms, problem.ridge]
    variables = np.stack(columns, axis=1)
    beta = variables[:, 0]
    start = problem.inputs.combine(beta) if beta.any() else np.zeros(problem.inputs.width)
    w = examples.to_core(start)
    free, total = problem.intercept == np.inf, float(beta.sum())
    square = FREE if free else problem.intercept
    b = np.array([square * total + (intercept if free else 0.0)])
    course = _core.DualProgress(count, seed, square, free, total)
    average = Average(len(w) + 1)
    at_once = max(1, int(OPERATIONS_PER_CALL / examples.operations))
    epochs, enough = min(FIRST_CHECK, most), NEVER  # when the next certificate is due
    forecast = _Forecast(tol, count)
    while True:
        before = course.epoch
        visits = _core.dual_epochs(
            examples.rows,
            w,
            b,
            variables,
            course,
            average.now,
            mean=examples.mean,
            scale=examples.scale,
            epsilon=problem.epsilon,
            relaxation=RELAXATION,
            epochs=epochs,
            enough=enough,
            visits=at_once,
        )
        operations, done = visits * examples.operations + A_CALL, course.epoch - before
        if not course.reached(epochs, enough) and not last(0):
            yield None, operations, done
            continue
        now = np.append(w, b)
        points = [(examples.from_core(v[:-1]), float(v[-1])) for v in (average.mean(now), now)]
        point = problem.best_near(*points)
        certificate = problem.certify(beta.copy(), examples.from_core(w), point)
        yield certificate, operations + PASSES * count, done
        relative = problem.relative(certificate.gap, certificate.primal)
        epochs, enough = most, forecast.due(course.visits, relative)


class _Forecast:
    """When to look at the gap again: it falls exponentially, about."""

    def __init__(self, tol: float, count: int) -> None:
        self.tol, self.count = tol, count
        self.visits, self.gap = 0, np.inf

    def due(self, visits: int, gap: float) -> int:
        """The number of visits behind which the next certificate should come."""
        usual = max(LEAST * self.count, CHECKS * visits)
        more, fall = usual, self.gap / gap if gap > 0 else 1.0
        if 1.0 < fall < np.inf and 0.0 < self.tol < gap:
            needed = (visits - self.visits) * np.log(gap / self.tol) / np.log(fall)
            more = min(max(needed, NEARER * usual), FURTHER * usual)
        self.visits, self.gap = visits, gap
        return visits + int(more)


class Average:
    """The mean of some numbers over the epochs since the last certificate but one."""

    def __init__(self, size: int) -> None:
        self.now, self.before = np.zeros(size + 1), np.zeros(size + 1)  # sums of them and of 1

    def add(self, numbers: FloatArray) -> None:
        """After an epoch."""
        self.now[:-1] += numbers
        self.now[-1] += 1.0

    def mean(self, given: FloatArray) -> FloatArray:
        """The mean at a certificate; what is given before the first epoch is complete."""
        total = self.now + self.before
        if total[-1] == 0.0:
            return given
        self.now, self.before = np.zeros_like(total), self.now
        return np.asarray(total[:-1] / total[-1])
