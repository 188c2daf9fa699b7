r"""Scores that the sigmoids of `probability=True` are fitted to, within the time that is left.

They are the scores of examples that a machine did not see. With a time limit that does not allow
all folds, there are fewer of them: one fold holds out a fifth of the examples, which is plenty for
the two parameters of a sigmoid. If not even one fold could be trained, each example is scored
without its own term:

.. math:: y_l\, f^{(-l)}(x_l) \ge y_l f(x_l) - \alpha_l\, k(x_l, x_l)

bounds the score of a machine without bias that did not see the example (Jaakkola and Haussler,
1999). Such scores are too low rather than too high, and so are the probabilities.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import _safe_indexing

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.kernels import Inputs, Kernel
from widemargin.svm.decomposition import Solution
from widemargin.svm.kernel_source import KernelSource
from widemargin.svm.solve import Task
from widemargin.training.certified import Finish
from widemargin.training.control import Control
from widemargin.training.probability import folds_of

__all__ = ["CalibrationScores", "FoldMachine", "own_terms_left_out", "scores_of_folds"]

MAX_SAMPLED = 2000  # examples that are scored without their own terms
MIN_SAMPLED = 100  # of each class, if it has so many

#: Trains on some rows, and gives the solutions and a function for the outputs of other rows.
FoldMachine = Callable[[IntArray, Control], tuple[list[Solution], Callable[[IntArray], FloatArray]]]


class CalibrationScores(NamedTuple):
    """Scores of some examples, and from how many folds they are."""

    rows: IntArray  # ascending
    scores: FloatArray  # one column per output
    weights: FloatArray | None  # of the examples; None when all are one
    folds: int
    finish: Finish


def scores_of_folds(
    fit: FoldMachine,
    y: FloatArray,
    weights: FloatArray | None,
    random_state: Any,
    control: Control,
    fold_seconds: float,
) -> CalibrationScores | None:
    """The scores of as many folds as there is time for; None if there was none for any.

    Parameters
    ----------
    fit : callable
        Trains on rows, and scores others.
    y, weights, random_state :
        As in `folds_of`.
    control : Control
        What may stop the fit.
    fold_seconds : float
        How long a fold is likely to take; infinite if the machine itself was cut off.
    """
    splits = folds_of(y, weights, random_state=random_state)
    planned = len(splits)
    if control.limited:
        planned = int(np.clip(control.left // max(fold_seconds, 1e-9), 1, planned))
    rows, scores, cut_off = [], [], False
    for number, (train, test) in enumerate(splits[:planned]):
        part = control.within(control.left / (planned - number)) if control.limited else control
        if control.reason() is not None:
            break
        solutions, outputs = fit(train, part)
        stopped = {solution.reason for solution in solutions}
        trained = all(solution.steps for solution in solutions)
        if stopped & {"interrupted", "callback"} or ("time_limit" in stopped and not trained):
            break
        cut_off |= "time_limit" in stopped
        rows.append(test)
        scores.append(outputs(test))
    if not rows:
        return None
    found, order = np.concatenate(rows), np.argsort(np.concatenate(rows))
    return CalibrationScores(
        found[order],
        np.concatenate(scores)[order],
        None if weights is None else weights[found[order]],
        len(rows),
        _finish(control, len(rows), len(splits), len(found), cut_off),
    )


def _finish(control: Control, done: int, folds: int, count: int, cut_off: bool) -> Finish:
    """How the folds ended."""
    if done == folds and not cut_off:
        return Finish()
    note = f"the probabilities come from {done} of {folds} folds, with {count} held-out examples"
    if cut_off:
        note += ", whose machines were cut off"
    return Finish(control.reason() or "time_limit", note)


def own_terms_left_out(
    machine: Any,
    X: ArrayLike,
    y: FloatArray,
    weights: FloatArray | None,
    tasks: Sequence[Task],
    control: Control,
) -> CalibrationScores:
    """Scores of some training examples without their own terms.

    Parameters
    ----------
    machine : KernelClassifier
        The model, which has its expansion.
    X, y, weights :
        Its training examples, the codes of their classes, and their weights.
    tasks : sequence of Task
        Its problems.
    control : Control
        What stopped the fit.
    """
    rows, factors = _sample(y, np.unique(np.concatenate([task.ids for task in tasks])))
    scores = machine._outputs(_safe_indexing(X, rows))
    diagonal = _diagonal(machine._kernel, X, rows)
    coefficients = machine._earlier_coefficients(y, tasks)
    for k, (task, coef) in enumerate(zip(tasks, coefficients, strict=True)):
        own = np.zeros(len(y))
        own[task.ids] = coef
        scores[:, k] -= own[rows] * diagonal
    note = (
        "there are no held-out scores: the probabilities come from scores of training examples "
        "without their own terms, and are cautious"
    )
    finish = Finish(control.reason() or "time_limit", note)
    return CalibrationScores(
        rows, scores, factors if weights is None else factors * weights[rows], 0, finish
    )


def _sample(y: FloatArray, known: IntArray) -> tuple[IntArray, FloatArray]:
    """Some examples of each class, and how many examples each stands for."""
    random, factors = np.random.RandomState(0), np.zeros(len(y))
    for code in np.unique(y[known]):
        members = known[y[known] == code]
        most = max(MIN_SAMPLED, round(MAX_SAMPLED * len(members) / len(known)))
        some = random.permutation(members)[:most]
        factors[some] = len(members) / len(some)
    rows = np.flatnonzero(factors)
    return rows, factors[rows]


def _diagonal(kernel: KernelSource, X: ArrayLike, rows: IntArray) -> FloatArray:
    """k(x, x) of these examples."""
    if not kernel.named:
        _, diagonal = kernel.over(X, rows)
        assert diagonal is not None
        return diagonal
    values = Kernel(kernel.function, kernel.gamma, kernel.degree, kernel.coef0)
    return values.diagonal(Inputs.of(_safe_indexing(X, rows)))
