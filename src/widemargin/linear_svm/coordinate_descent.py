r"""Dual coordinate descent for linear support vector machines (linear/dual_epochs.hpp in the core).

The weights oscillate around their limit from epoch to epoch. The cost is convex, so their mean is a
better point; the best point on the line through both, or a multiple of it, is better still.
"""

from collections.abc import Callable, Iterator

import numpy as np

from widemargin import _core
from widemargin._typing import FloatArray
from widemargin.linear_svm.forecast import falls_to_come
from widemargin.linear_svm.problem import Certificate, LinearProblem

__all__ = [
    "FIRST_CERTIFICATE_EPOCHS",
    "FREE_INTERCEPT_SQUARE",
    "OPERATIONS_PER_CALL",
    "Average",
    "dual_descent",
]

OPERATIONS_PER_CALL = 20_000_000  # about 20 ms of native work
CALL_OPERATIONS = 30_000.0  # the cost of a native call itself
CERTIFICATE_OPERATIONS = 50.0  # per example, roughly
FIRST_CERTIFICATE_EPOCHS = 10
CERTIFICATE_GROWTH = 0.3  # visits until the next certificate, as a fraction of the visits so far
MIN_CERTIFICATE_PASSES = 1.0  # over all examples, between two certificates
EARLIEST, LATEST = 0.5, 2.0  # factors by which a forecast may move the next certificate
RELAXATION = 1.3  # length of a step, relative to the one to the best β; it saves epochs
NEVER = np.iinfo(np.int64).max
FREE_INTERCEPT_SQUARE = 1.0  # of the constant input of a free intercept, at first


def dual_descent(
    problem: LinearProblem,
    beta: FloatArray,
    intercept: float,
    seed: int,
    most: int,
    tol: float = 0.0,
    last: Callable[..., bool] = lambda more=1: False,
) -> Iterator[tuple[Certificate | None, float, int]]:
    """Run epochs from a β within its bounds, in native calls of about 20 ms.

    Parameters
    ----------
    problem : LinearProblem
        The problem.
    beta : ndarray of shape (n_samples,)
        The first β.
    intercept : float
        The first intercept, if it is free.
    seed : int
        The seed of the orders of the examples.
    most : int
        Epochs after which there is a certificate in any case.
    tol : float
        The relative gap wanted; a certificate should come when it is reached.
    last : callable
        Whether the fit ends after this many more epochs, so that a certificate is due.

    Yields
    ------
    certificate : Certificate or None
        None between two certificates.
    operations : float
        The cost of the work since the last item.
    done : int
        How many epochs were completed since the last item.
    """
    examples, count = problem.inputs.training, problem.inputs.count
    columns = [beta, *problem.bounds, problem.target, examples.norms, problem.ridge]
    variables = np.stack(columns, axis=1)
    beta = variables[:, 0]
    start = problem.inputs.combine(beta) if beta.any() else np.zeros(problem.inputs.width)
    w = examples.to_core(start)
    free, total = problem.intercept == np.inf, float(beta.sum())
    square = FREE_INTERCEPT_SQUARE if free else problem.intercept
    b = np.array([square * total + (intercept if free else 0.0)])
    course = _core.DualProgress(count, seed, square, free, total)
    average = Average(len(w) + 1)
    at_once = max(1, int(OPERATIONS_PER_CALL / examples.operations))
    epochs, enough = min(FIRST_CERTIFICATE_EPOCHS, most), NEVER  # when the next certificate is due
    schedule = _CertificateSchedule(tol, count)
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
        operations, done = visits * examples.operations + CALL_OPERATIONS, course.epoch - before
        if not course.reached(epochs, enough) and not last(0):
            yield None, operations, done
            continue
        now = np.append(w, b)
        points = [(examples.from_core(v[:-1]), float(v[-1])) for v in (average.mean(now), now)]
        point = problem.best_near(*points)
        certificate = problem.certify(beta.copy(), examples.from_core(w), point)
        yield certificate, operations + CERTIFICATE_OPERATIONS * count, done
        relative = problem.relative(certificate.gap, certificate.primal)
        epochs, enough = most, schedule.due(course.visits, relative)


class _CertificateSchedule:
    """Decides when to measure the gap again."""

    def __init__(self, tol: float, count: int) -> None:
        self.tol, self.count = tol, count
        self.visits, self.gap = 0, np.inf

    def due(self, visits: int, gap: float) -> int:
        """The number of visits after which the next certificate is due."""
        usual = max(MIN_CERTIFICATE_PASSES * self.count, CERTIFICATE_GROWTH * visits)
        more, fall = usual, self.gap / gap if gap > 0 else 1.0
        if 1.0 < fall < np.inf and 0.0 < self.tol < gap:
            needed = (visits - self.visits) * falls_to_come(gap, fall, self.tol)
            more = min(max(needed, EARLIEST * usual), LATEST * usual)
        self.visits, self.gap = visits, gap
        return visits + int(more)


class Average:
    """The mean of an array over the epochs since the certificate before the last one."""

    def __init__(self, size: int) -> None:
        self.now, self.before = np.zeros(size + 1), np.zeros(size + 1)  # sums, and counts

    def add(self, numbers: FloatArray) -> None:
        """Add the array of an epoch."""
        self.now[:-1] += numbers
        self.now[-1] += 1.0

    def mean(self, given: FloatArray) -> FloatArray:
        """The mean, at a certificate; `given` before the first epoch is complete."""
        total = self.now + self.before
        if total[-1] == 0.0:
            return given
        self.now, self.before = np.zeros_like(total), self.now
        return np.asarray(total[:-1] / total[-1])
