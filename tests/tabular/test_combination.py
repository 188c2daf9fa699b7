"""The last fits: what was judged is kept where a last fit could not be completed."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.pipeline import Pipeline

from widemargin.metrics.examples import Rows
from widemargin.tabular.candidates import Candidate
from widemargin.tabular.combination import combine


def finished(reason):
    machine = SimpleNamespace(fit=None, predict=None, stop_reason_=reason)
    return Pipeline([("form", "passthrough"), ("machine", machine)])


def one_trial(predict_ms=1.0):
    y = np.array([0.0, 1.0, 2.0])
    return SimpleNamespace(
        candidate=Candidate(),
        model=finished("tol"),
        rows=8,
        folds=2,
        seconds_per_fit=1.0,
        predict_ms=predict_ms,
        test=Rows(np.empty((3, 0)), y),
        predictions=y + 0.1,
    )


def evaluator(last):
    return SimpleNamespace(
        rows=Rows(np.zeros((10, 2)), np.arange(10.0)),
        control=SimpleNamespace(reason=lambda: None, left=100.0),
        loss=lambda p, y, weights: float(np.mean((p - y) ** 2)),
        target=None,
        metric_rows=10,
        random_state=0,
        fits=lambda candidates, views, share: [last and SimpleNamespace(model=last)],
    )


@pytest.mark.parametrize("reason", ["tol", "max_iter", "time_limit", "interrupted", None])
def test_a_last_fit_that_was_cut_off_is_not_used(reason):
    last, trial = reason and finished(reason), one_trial()
    found = combine(evaluator(last), [trial], 1, None)
    assert found.models == [last if reason in ("tol", "max_iter") else trial.model]


def test_a_bound_that_no_machine_keeps_is_told():
    with pytest.warns(UserWarning, match=r"max_predict_ms=0\.1"):
        combine(evaluator(None), [one_trial()], 1, 0.1)
