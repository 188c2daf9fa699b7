"""Trials: candidates trained on some rows and judged by their predictions of others."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.utils import gen_batches

from widemargin._typing import FloatArray, IntArray
from widemargin.inputs.threads import thread_count
from widemargin.kernels import UnscaledInputsWarning
from widemargin.metrics.examples import Rows
from widemargin.tabular.calibration import Calibration
from widemargin.tabular.candidates import Candidate
from widemargin.tabular.targets import Loss, Target
from widemargin.tabular.views import Fit, View
from widemargin.training.control import Control, in_threads
from widemargin.training.time_limit import share_of_time

__all__ = ["Evaluator", "Trial"]

SMALL_ROWS = 8000  # fits on fewer rows run side by side, on one thread each
SHARE_OF_LEFT = 0.5  # of the time that is left, for one fit
MOST_OUTPUTS = 50_000_000  # numbers of machines that wait for their calibration

Work = TypeVar("Work", bound=tuple[View, Any])
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Trial:
    """A candidate with what it predicted for rows that it did not see."""

    candidate: Candidate
    rows: int  # of the smallest training set
    folds: int
    model: Pipeline  # of the largest training set
    seconds: float  # of training and of predictions, over all folds
    predict_ms: float  # to predict one row
    calibration: Calibration | None
    test: Rows  # of all folds, without their inputs
    predictions: FloatArray  # of these rows
    loss: float
    spread: float  # standard error of the loss over the folds; NaN for one
    stage: str

    @property
    def seconds_per_fit(self) -> float:
        return self.seconds / self.folds


@dataclass(eq=False)
class Evaluator:
    """Trains candidates on views of a table, several at a time."""

    rows: Rows
    target: Target
    loss: Loss
    control: Control
    metric_rows: int
    n_jobs: int | None
    random_state: int
    trials: list[Trial] = field(default_factory=list)  # all of them, in their order

    def views(
        self,
        folds: Sequence[tuple[IntArray, IntArray]],
        rows: int | None = None,
        test_rows: int | None = None,
    ) -> list[View]:
        """One view per fold, of at most as many rows."""
        return [
            View(
                self.rows[train[:rows]],
                self.rows[test[:test_rows]],
                self.target,
                self.metric_rows,
                self.random_state,
            )
            for train, test in folds
        ]

    def evaluate(
        self, candidates: Sequence[Candidate], views: Sequence[View], stage: str
    ) -> list[Trial]:
        """The trials of these candidates; those that a stop cut off are left out."""
        numbers = sum(len(view.test) for view in views) * self.target.most_outputs
        at_once = max(1, MOST_OUTPUTS // max(1, numbers))
        found: list[Trial] = []
        for some in gen_batches(len(candidates), at_once):
            fits = iter(self.fits(candidates[some], views))
            for candidate in candidates[some]:
                own = [fit for fit in islice(fits, len(views)) if fit is not None]
                if (self.trials or found) and self.control.over:
                    break  # to calibrate what a limit has cut off would only take longer
                if len(own) == len(views):
                    found.append(self._judged(candidate, own, views, stage))
                    self.control.note(_noted(found[-1], len(self.trials) + len(found)), _line)
        self.trials += found
        return found

    def baseline(self, test: Rows) -> float:
        """The loss of the best constant prediction."""
        constant = self.target.constant(test.y, test.weights)
        return self.loss(constant, test.y, test.weights)

    def fits(
        self, candidates: Sequence[Candidate], views: Sequence[View], share: float = SHARE_OF_LEFT
    ) -> list[Fit | None]:
        """Each candidate trained on each view; None for what a stop left out.

        With a time limit, no fit may take more than a share of the time that is left.
        """
        if not candidates:
            return []
        first = candidates[0].form  # what the one model needs that there must be comes first
        inputs = dict.fromkeys((c.form, c.metric) for c in candidates)
        for structures in (("none",), ("diagonal", "full")):  # a metric needs its form
            keys = [key for key in inputs if key[1] in structures]
            keys.sort(key=lambda key: key[0] != first)
            self._each(
                lambda work, n_jobs: work[0].prepare(*work[1], n_jobs),
                [(view, key) for key in keys for view in views],
                share,
                needed=len(views) * sum(key[0] == first for key in keys),
            )
        return self._each(
            lambda work, n_jobs: work[0].fit(work[1], n_jobs),
            [(view, candidate) for candidate in candidates for view in views],
            share,
            needed=len(views),
        )

    def _each(
        self,
        do: Callable[[Work, int | None], Result],
        works: Sequence[Work],
        share: float,
        needed: int,
    ) -> list[Result | None]:
        """Does each piece of work, on threads if they are small; None for what a stop left out.

        Without a trial so far, the first `needed` pieces are done even after a stop: one model
        there must be.
        """
        small = all(len(work[0].train) <= SMALL_ROWS for work in works)
        threads = thread_count(self.n_jobs, len(works)) if small else 1

        def one(number: int) -> Result | None:
            must = number < needed and not self.trials
            if not must and self.control.reason() is not None:
                return None
            limited = self.control.limited
            with share_of_time(share * self.control.left if limited else None):
                done = do(works[number], 1 if threads > 1 else self.n_jobs)
            self.control.fit_ended()
            return done

        with warnings.catch_warnings():  # here, since threads share the filters
            warnings.simplefilter("ignore", UnscaledInputsWarning)  # scales differ on purpose
            warnings.simplefilter("ignore", ConvergenceWarning)  # the search reports its own end
            # The whole table was checked, and a fold has fewer rows of each class.
            warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
            return in_threads(one, len(works), threads, self.control)

    def _judged(
        self, candidate: Candidate, fits: list[Fit], views: Sequence[View], stage: str
    ) -> Trial:
        outputs = np.concatenate([fit.outputs for fit in fits])
        test = _joined([view.test for view in views])
        calibration = self.target.calibration(candidate, outputs, test.y, test.weights)
        predictions = self.target.predictions(outputs, calibration)
        losses, first = [], 0
        for view in views:
            part = slice(first, first := first + len(view.test))
            losses.append(self.loss(predictions[part], view.test.y, view.test.weights))
        sizes = [len(view.train) for view in views]
        largest = fits[int(np.argmax(sizes))]
        return Trial(
            candidate,
            min(sizes),
            len(fits),
            largest.model,
            sum(fit.seconds + fit.predict_seconds for fit in fits),
            1e3 * largest.predict_seconds / max(1, len(largest.outputs)),
            calibration,
            test,
            predictions,
            self.loss(predictions, test.y, test.weights),
            _standard_error(losses),
            stage,
        )


def _standard_error(losses: Sequence[float]) -> float:
    """Of the mean; NaN if there is one loss, or a fold cannot be judged alone."""
    if len(losses) < 2 or not np.all(np.isfinite(losses)):
        return np.nan
    return float(np.std(losses, ddof=1) / np.sqrt(len(losses)))


def _joined(parts: Sequence[Rows]) -> Rows:
    """The targets and weights of several sets of rows."""
    y = np.concatenate([part.y for part in parts])
    weights = [part.weights for part in parts if part.weights is not None]
    return Rows(np.empty((len(y), 0)), y, np.concatenate(weights) if weights else None)


def _noted(trial: Trial, number: int) -> dict[str, Any]:
    return {
        "trial": number,
        "model": str(trial.candidate),
        "stage": trial.stage,
        "rows": trial.rows,
        "loss": trial.loss,
        "seconds": trial.seconds,
    }


def _line(noted: dict[str, Any]) -> str:
    return (
        f"{noted['stage']} {noted['trial']}: loss {noted['loss']:.4f}, {noted['rows']:,} rows, "
        f"{noted['seconds']:.1f} s: {noted['model']}"
    )
