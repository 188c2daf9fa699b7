r"""The pocket: of all weights that training passes, those with the fewest mistakes are kept.

Where no hyperplane separates the classes, the Perceptron never comes to rest, and its last weights
may be much worse than earlier ones. At the end of each epoch, two candidates are measured on the
training examples: the weights *w*, and their mean over the epoch,

.. math:: \bar w = \frac1L \sum_{t=1}^{L} w_t .

The pocket holds the candidate with the fewest mistakes of all epochs (Gallant, 1990, who compares
runs of correct examples instead).

A step :math:`y_l x_l` hardly changes the weights of columns with small values, and a bias whose
step is 1 not at all, if other columns hold values in the thousands. So when the pocket has not
improved for some epochs, training starts again from zero on inputs scaled to [0, 1], unless the
caller chose a scaling or the ranges of all columns are equal. The pocket is kept.
"""

from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from widemargin._typing import FloatArray
from widemargin.inputs.labels import example_errors
from widemargin.inputs.rows import decision
from widemargin.inputs.scaling import Scaling
from widemargin.perceptrons.linear_learner import LinearLearner, LinearState

__all__ = ["PocketLearner"]

ROWS_TO_COUNT = 200_000  # at most so many examples, spread over all, measure a candidate


class PocketLearner(LinearLearner):
    """A linear learner whose snapshots are the better candidate of each epoch.

    Its state has the sums of the running epoch alone: ``state.average()`` is the epoch's mean.

    Parameters
    ----------
    examples, state, criterion, fit_intercept, threads :
        As in `LinearLearner`.
    rescales : bool
        Whether training may start again on scaled inputs.
    """

    def __init__(self, *arguments: Any, rescales: bool, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._rescales, self._confirms = rescales, True
        self._resumed = deepcopy(self.state) if self.state.w.any() else None
        self._candidate = self.state
        examples = self.examples
        every = -(-len(self.order) // ROWS_TO_COUNT)
        counted = self.order[::every]
        self._counted = None if len(counted) == examples.X.shape[0] else counted
        self._X = examples.X if self._counted is None else examples.X[counted]
        self._begin_epoch()

    def _begin_epoch(self) -> None:
        state = self.state
        sums = np.zeros_like(state.w), np.zeros_like(state.c)
        self.state = replace(state, sum_w=sums[0], sum_c=sums[1], steps=0.0)

    # ---------------------------------------------------------------------------- the training loop

    def measures(self, criterion: float) -> dict[str, float]:
        """The smaller training error of the two candidates."""
        found = super().measures(criterion)
        running = replace(self.state, sum_w=None, sum_c=None, steps=0.0)
        w, c = self.state.average()
        candidates = [running, replace(running, w=w, c=c)]
        if self._resumed is not None:  # what an earlier call returned, on these examples
            candidates.append(self._resumed)
            self._resumed = None
        errors = self._errors(candidates)
        best = int(errors.argmin())
        self._candidate = candidates[best]
        self._begin_epoch()
        return found | {"training_error": float(errors[best])}

    def _errors(self, candidates: list[LinearState]) -> FloatArray:
        """The fraction of the training examples that each candidate gets wrong."""
        examples, rows = self.examples, self._counted
        y, weights = examples.y, examples.weights
        if rows is not None:
            y, weights = y[rows], None if weights is None else weights[rows]
        w, c = (np.concatenate([getattr(s, name) for s in candidates]) for name in ("w", "c"))
        scores = decision(self._X, w, c, threads=self.threads)
        parts = np.split(scores, len(candidates), axis=1)
        return np.array([np.average(example_errors(f, y), weights=weights) for f in parts])

    def restart(self, best: LinearState, error: float) -> bool:
        """Continues from a pocket without mistakes, or starts again on scaled inputs, once each."""
        if error == 0.0:
            if self._confirms:  # an epoch from there makes no update, unless a score is 0
                self._confirms = False
                self.restore(best)
                self._lay_out()
                self._begin_epoch()
                return True
            return False
        if not self._rescales:
            return False
        self._rescales, examples = False, self.examples
        scaling = Scaling.measured("minmax", examples.X, self.order, examples.weights)
        if np.ptp(scaling.scale) == 0.0:
            return False
        self.state = LinearState.zero(len(self.state.w), scaling, average=True)
        self._lay_out()
        return True

    def snapshot(self) -> LinearState:
        return deepcopy(self._candidate)

    def attributes(self) -> dict[str, Any]:
        found = super().attributes()
        found["_state"] |= {"sum_w": None, "sum_c": None}
        return found
