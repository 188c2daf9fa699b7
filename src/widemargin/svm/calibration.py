"""Scores that the sigmoids of `probability=True` are fitted to, within the time that is left.

They are the scores of examples that a machine did not see. With a time limit that does not allow
all folds, there are fewer of them: one fold holds out a fifth of the examples, which is plenty for
the two parameters of a sigmoid. If not even one fold could be trained, because of Ctrl-C or a very
short limit, a machine of a few examples scores a few others. It is less sure of its classes than
the machine of all examples, and so are the probabilities.
"""

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from widemargin._typing import FloatArray, IntArray
from widemargin.svm.decomposition import Solution
from widemargin.training.certified import Finish
from widemargin.training.control import Control
from widemargin.training.probability import folds_of
from widemargin.training.time_limit import TimeLimit, now

__all__ = ["CalibrationScores", "FoldMachine", "calibration_scores"]

TRAINING_SHARE = 0.7  # of the time of a fold; the rest is for the scores
ROWS_PER_BLOCK = 1000  # whose scores are computed before a look at the clock
PART_EXAMPLES = 1000  # of the machine if there is no time for a fold
PART_SECONDS = 0.15  # that it may take

#: Trains on some rows, and gives the solutions and a function for the outputs of other rows.
FoldMachine = Callable[[IntArray, Control], tuple[list[Solution], Callable[[IntArray], FloatArray]]]


class CalibrationScores(NamedTuple):
    """Scores of some examples, and from how many folds they are."""

    rows: IntArray  # ascending
    scores: FloatArray  # one column per output
    folds: int
    finish: Finish


def calibration_scores(
    fit: FoldMachine,
    y: FloatArray,
    weights: FloatArray | None,
    random_state: Any,
    control: Control,
    fold_seconds: float,
) -> CalibrationScores:
    """The scores of as many folds as there is time for, or those by a machine of few examples.

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
    found, cut_off = [], False
    for number, (train, test) in enumerate(splits[:planned]):
        if control.reason() is not None:
            break
        share = control.within(control.left / (planned - number))
        solutions, outputs = fit(train, share.within(TRAINING_SHARE * share.left))
        stopped = {solution.reason for solution in solutions}
        trained = all(solution.steps for solution in solutions)
        if stopped & {"interrupted", "callback"} or ("time_limit" in stopped and not trained):
            break
        cut_off |= "time_limit" in stopped
        found.append(_scores(outputs, test, share))
    if not found:
        return _scores_of_a_part(fit, y, *splits[0], control)
    rows, scores = (np.concatenate(parts) for parts in zip(*found, strict=True))
    finish = Finish()
    if len(found) < len(splits) or cut_off:
        note = f"the probabilities come from {len(found)} of {len(splits)} folds, with {len(rows)}"
        note += " held-out examples" + ", whose machines were cut off" * cut_off
        finish = Finish(control.reason() or "time_limit", note)
    order = np.argsort(rows)
    return CalibrationScores(rows[order], scores[order], len(found), finish)


def _scores(
    outputs: Callable[[IntArray], FloatArray], test: IntArray, control: Control
) -> tuple[IntArray, FloatArray]:
    """The scores of these examples, or of as many of them as there is time for."""
    if not control.limited:
        return test, outputs(test)
    test, found = np.random.RandomState(0).permutation(test), []
    for first in range(0, len(test), ROWS_PER_BLOCK):
        if first and control.left == 0.0:
            break
        found.append(outputs(test[first : first + ROWS_PER_BLOCK]))
    scores = np.concatenate(found)
    return test[: len(scores)], scores


def _scores_of_a_part(
    fit: FoldMachine, y: FloatArray, train: IntArray, test: IntArray, control: Control
) -> CalibrationScores:
    """Scores by a machine of a few examples, which have all classes."""
    random = np.random.RandomState(0)
    train = random.permutation(train)
    first = np.unique(y[train], return_index=True)[1]
    some = np.unique(np.concatenate([train[first], train[:PART_EXAMPLES]]))
    brief = Control("", threading.Event(), TimeLimit(now() + PART_SECONDS, PART_SECONDS))
    _, outputs = fit(some, brief)
    rows = np.sort(random.permutation(test)[:ROWS_PER_BLOCK])
    note = (
        f"there was no time for the folds of the probabilities: they come from a machine of "
        f"{len(some)} examples, with {len(rows)} held-out ones, and are cautious"
    )
    finish = Finish(control.reason() or "time_limit", note)
    return CalibrationScores(rows, outputs(rows), 0, finish)
