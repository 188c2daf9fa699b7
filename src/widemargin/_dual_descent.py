r"""Dual coordinate descent for linear support vector machines (cpp/widemargin/dual_descent.hpp).

A free intercept asks for :math:`\sum_l \beta_l = 0`, which no single β can keep. The method of
multipliers does: an intercept that is penalised for its distance from a centre is one more input,
and after each epoch the centre moves to where the intercept is.
"""

from collections.abc import Callable, Iterator

import numpy as np

from widemargin import _core
from widemargin._linear_problem import Certificate, LinearProblem
from widemargin._typing import FloatArray

__all__ = ["dual_descent"]

OPERATIONS_PER_CALL = 20_000_000  # some 20 ms of native work
CHECKS = 1.25  # epochs between certificates grow by this factor
FIRST_CHECK = 4
FREE = 1.0  # the square of the constant input of a free intercept


def dual_descent(
    problem: LinearProblem,
    beta: FloatArray,
    seed: int,
    tol: float,
    last: Callable[..., bool] = lambda more=1: False,
) -> Iterator[tuple[Certificate | None, float, int]]:
    """Epochs from a β within its bounds, in native calls of some 20 ms.

    Parameters
    ----------
    problem : LinearProblem
        The problem.
    beta : ndarray of shape (n_samples,)
        Where to start.
    seed : int
        Of the orders of the examples.
    tol : float
        The relative gap that is wanted.
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
    square = FREE if problem.intercept == np.inf else problem.intercept
    total = float(beta.sum())
    b = np.array([square * total])
    active, patience = np.arange(count), np.inf
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
            yield None, len(some) * examples.operations, 0
        epoch += 1
        active, patience = np.concatenate(kept), max(worst, 1e-12)
        if problem.intercept == np.inf:
            b[0] += square * total
        settled = worst <= 0.1 * tol or not len(active)
        if epoch < next_check and not settled and not last():
            yield None, 0.0, 1
            continue
        next_check = max(epoch + 1, int(CHECKS * epoch))
        now = problem.certify(beta.copy(), examples.from_core(w), float(b[0]))
        yield now, 2.0 * count * examples.operations, 1
        active, patience = np.arange(count), np.inf  # all of them are looked at again
