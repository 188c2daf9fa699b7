"""The search for the best machines: what a time limit leaves of it."""

from types import SimpleNamespace

import numpy as np
import pytest

from widemargin.tabular.candidates import Candidate
from widemargin.tabular.evaluation import Evaluator
from widemargin.tabular.plan import PORTFOLIO, Plan, Rung
from widemargin.tabular.search import Search


def search(left, rows=100_000):
    """A search with so many seconds left; of 12,000 rows a fit took 10 seconds."""
    control = SimpleNamespace(limited=np.isfinite(left), left=left)
    rungs = (Rung(1, 48_000, 3), Rung(1, None, 2))
    folds = [(np.arange(rows), np.arange(rows, rows + 10))]
    return Search(SimpleNamespace(control=control), folds, SimpleNamespace(rungs=rungs))


TRIAL = SimpleNamespace(candidate=Candidate(), rows=12_000, seconds_per_fit=10.0)


@pytest.mark.parametrize("rung", [0, 1])
def test_a_rung_has_as_many_rows_as_there_is_time_for(rung):
    found = {}
    for left in (10.0, 60.0, 100.0, 1000.0, 10_000.0, np.inf):
        tried = search(left)
        found[left] = tried._affordable(tried.plan.rungs[rung], TRIAL)
        every = found[left] == (48_000, 100_000)[rung]
        assert tried.shortened != every
    assert found[10.0] is None  # hardly more rows than before
    assert found[np.inf] == found[10_000.0] == (48_000, 100_000)[rung]
    some = [rows for rows in found.values() if rows is not None]
    assert some == sorted(some)
    assert len(set(some)) > 1


def test_the_last_rung_keeps_time_for_the_last_fits():
    tried = search(100.0)
    first, last = (tried._affordable(rung, TRIAL) for rung in tried.plan.rungs)
    assert last < first


def test_many_rows_become_a_mixture_that_is_quicker_than_one_machine():
    tried = search(2500.0, rows=1_000_000)
    rows = tried._affordable(tried.plan.rungs[1], TRIAL)
    assert rows == 1_000_000
    assert TRIAL.candidate.of_size(rows).family == "mixture"


def plan(seconds):
    return Plan.of(5000, 10, 5, 1.0, classes=2, seconds=seconds, sparse=False, levels=3)


def test_a_short_search_begins_with_what_is_quick():
    waves = plan(20.0).portfolio
    tried = [candidate for wave in waves for candidate in wave]
    assert sorted(tried, key=str) == sorted(PORTFOLIO, key=str)
    assert {candidate.family for candidate in tried[1:3]} == {"linear"}
    metrics = [candidate.metric != "none" for candidate in tried]
    assert metrics == sorted(metrics)
    assert [len(wave) for wave in plan(np.inf).portfolio] == [1, len(PORTFOLIO) - 1]


def test_a_limit_that_is_over_at_once_trains_one_candidate():
    """Others would be trained only to be left out, and with many classes each takes long."""
    control = SimpleNamespace(
        reason=lambda: "time_limit", limited=True, left=0.0, fit_ended=lambda: None
    )
    evaluator = object.__new__(Evaluator)
    evaluator.trials, evaluator.control, evaluator.n_jobs = [], control, 1
    view = SimpleNamespace(train=np.arange(10), prepare=lambda *_: 1, fit=lambda *_: 2)
    first, other = Candidate(form="steps"), Candidate()
    assert evaluator.fits([first, other], [view, view]) == [2, 2, None, None]
    evaluator.trials = [TRIAL]
    assert evaluator.fits([first, other], [view, view]) == [None] * 4
    assert evaluator.fits([], [view]) == []
