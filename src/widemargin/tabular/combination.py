"""From finalists to one model: weights, last fits on all rows, and what was predicted unseen."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.pipeline import Pipeline

from widemargin._runtime.warning import warn_caller
from widemargin._typing import FloatArray
from widemargin.metrics.examples import Rows
from widemargin.tabular.ensemble import greedy_weights, weighted_mean
from widemargin.tabular.evaluation import Evaluator, Trial
from widemargin.tabular.views import View

__all__ = ["Combination", "combine"]

MAX_MODELS = 6
LAST_SHARE = 0.9  # of the time that is left, for one last fit


@dataclass(frozen=True, eq=False)
class Combination:
    """Models with their weights, and the mean of what they predicted for unseen rows."""

    trials: list[Trial]
    models: list[Pipeline]
    weights: FloatArray
    predictions: FloatArray  # of the test rows of all folds
    test: Rows  # without their inputs
    loss: float  # of these predictions


def combine(
    evaluator: Evaluator, finals: Sequence[Trial], max_models: int, max_predict_ms: float | None
) -> Combination:
    """Chooses weights by the predictions of unseen rows, and trains again on all rows.

    Parameters
    ----------
    evaluator : Evaluator
        What made the trials.
    finals : sequence of Trial
        The trials to choose from, best first, all of the same stage.
    max_models : int
        The most machines to combine.
    max_predict_ms : float or None
        The most milliseconds that predicting a row may take.
    """
    test = finals[0].test
    quickest = min(trial.predict_ms for trial in finals)
    if max_predict_ms is not None and quickest > max_predict_ms:
        warn_caller(
            f"no machine predicts a row in max_predict_ms={max_predict_ms:g}; the quickest one "
            f"takes {quickest:.2g} ms. Allow more, or train on fewer rows",
            UserWarning,
        )
    found = greedy_weights(
        [trial.predictions for trial in finals],
        lambda p: evaluator.loss(p, test.y, test.weights),
        max_models=max_models,
        costs=None if max_predict_ms is None else np.array([t.predict_ms for t in finals]),
        max_cost=np.inf if max_predict_ms is None else max_predict_ms,
    )
    chosen = [trial for trial, share in zip(finals, found, strict=True) if share]
    shares = found[found > 0]
    predictions = weighted_mean([trial.predictions for trial in chosen], shares)
    loss = evaluator.loss(predictions, test.y, test.weights)
    models = [_last_fit(evaluator, trial) for trial in chosen]
    return Combination(chosen, models, shares, predictions, test, loss)


def _last_fit(evaluator: Evaluator, trial: Trial) -> Pipeline:
    """The candidate trained on all rows; if there is no time, as it was judged."""
    judged, rows, control = trial.model, evaluator.rows, evaluator.control
    candidate = trial.candidate
    seconds = trial.seconds_per_fit * candidate.growth(trial.rows, len(rows))
    too_large = candidate.of_size(len(rows)) != candidate  # a limit ended the search before
    if too_large or control.reason() is not None or seconds > control.left:
        return judged
    view = View(rows, rows[:1], evaluator.target, evaluator.metric_rows, evaluator.random_state)
    if trial.folds == 1:  # a part held out is small: its form and metric serve all rows
        view.adopt(candidate, judged[:-1])
    (fitted,) = evaluator.fits([candidate], [view], LAST_SHARE)
    return judged if fitted is None or _cut_off(fitted.model) else fitted.model


def _cut_off(model: Pipeline) -> bool:
    """Whether the time ended, or Ctrl-C came, while a step was trained."""
    return any(getattr(step, "stop_reason_", "") in ("time_limit", "interrupted") for step in model)
