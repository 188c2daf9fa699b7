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


def test_a_limit_too_short_for_all_pairs_of_classes_leaves_kernel_machines_for_the_end():
    def tried(classes, seconds):
        found = Plan.of(
            1600, 2, 4, 1.0, classes=classes, seconds=seconds, sparse=False, levels=0
        ).portfolio
        return [candidate.kernelised for wave in found for candidate in wave]

    assert tried(200, 10.0)[:3] == [False] * 3  # 19,900 pairs
    assert tried(200, 10.0) == sorted(tried(200, 10.0))
    assert tried(200, np.inf)[0]
    assert tried(5, 10.0)[0]


class Recorder:
    """Stands for an `Evaluator`: trains nothing, and notes on how many rows it was to."""

    def __init__(self, left, seconds):
        self.control = SimpleNamespace(limited=np.isfinite(left), left=left, over=False)
        self.target, self.seconds, self.fits = SimpleNamespace(regression=False), seconds, []

    def views(self, folds, rows=None, test_rows=None):
        return [SimpleNamespace(rows=rows) for _ in folds]

    def evaluate(self, candidates, views, stage):
        self.fits += [(candidate, view.rows) for candidate in candidates for view in views]
        self.control.left -= sum(self.seconds(c, view.rows) for c in candidates for view in views)
        return [trial(c, views[0].rows, self.seconds(c, views[0].rows)) for c in candidates]


def trial(candidate, rows, seconds, loss=0.5, predict_ms=1.0):
    return SimpleNamespace(
        candidate=candidate,
        rows=rows,
        loss=loss,
        seconds=seconds,
        seconds_per_fit=seconds,
        predict_ms=predict_ms,
    )


SLOW, QUICK = Candidate(), Candidate("linear", C=0.1)
PLAN = {"screen_folds": 1, "screen_rows": 3000, "screen_test": 10}


def test_a_quick_candidate_has_all_rows_though_the_best_one_cannot():
    seconds = {SLOW: 10.0, QUICK: 0.1}  # on 12,000 rows
    evaluator = Recorder(80.0, lambda c, rows: seconds[c] * c.growth(12_000, rows))
    folds = [(np.arange(100_000), np.arange(10))]
    tried = Search(evaluator, folds, SimpleNamespace(rungs=(Rung(1, None, 2),)))
    before = [trial(SLOW, 12_000, 10.0, 0.1), trial(QUICK, 12_000, 0.1, 0.2)]
    tried._promoted(tried.plan.rungs[0], before)
    rows = dict(evaluator.fits)
    assert 12_000 < rows[SLOW] < 100_000
    assert rows[QUICK] == 100_000
    assert tried.shortened


def test_time_that_is_left_goes_to_more_rows():
    """The first estimate was too careful: the fits took a tenth of the time."""
    evaluator = Recorder(100.0, lambda c, rows: 0.1 * c.growth(12_000, rows))
    folds = [(np.arange(100_000), np.arange(10))]
    tried = Search(evaluator, folds, SimpleNamespace(**PLAN, rungs=(Rung(1, None, 1),)))
    tried._screen = lambda views: [trial(SLOW, 12_000, 10.0)]
    found = tried.run()
    sizes = [rows for _, rows in evaluator.fits]
    assert len(sizes) > 1
    assert sizes == sorted(sizes)
    assert {made.rows for made in found} == set(sizes)


def test_climbing_on_few_rows_leaves_time_for_more():
    tried, found = search(100.0), [trial(SLOW, 3000, 4.0)]
    parents = {Candidate(C=float(C)): found[0] for C in range(1, 6)}
    assert len(tried._in_time(parents, found)) == 5
    tried.kept = 90.0
    assert len(tried._in_time(parents, found)) == 2


def test_the_last_rung_has_all_rows_of_folds_that_grow():
    folds = [(np.arange(size), np.arange(10)) for size in (1000, 4000, 16_000)]
    evaluator = Recorder(np.inf, lambda c, rows: 0.0)
    tried = Search(evaluator, folds, SimpleNamespace(rungs=(Rung(3, None, 2),)))
    tried._promoted(tried.plan.rungs[0], [trial(SLOW, 3000, 1.0)])
    assert {rows for _, rows in evaluator.fits} == {16_000}


def test_one_that_predicts_quickly_enough_is_promoted():
    folds = [(np.arange(24_000), np.arange(10))]
    plan = SimpleNamespace(rungs=(Rung(1, None, 2),))
    near = Candidate(form="steps", metric="diagonal")
    before = [
        trial(SLOW, 12_000, 1.0, 0.1, predict_ms=0.08),
        trial(near, 12_000, 1.0, 0.2, predict_ms=0.06),  # with twice as many rows 0.12
        trial(QUICK, 12_000, 1.0, 0.3, predict_ms=0.09),
    ]
    for bound, expected in ((None, {SLOW, near}), (0.1, {SLOW, QUICK}), (0.2, {SLOW, near})):
        evaluator = Recorder(np.inf, lambda c, rows: 0.0)
        Search(evaluator, folds, plan, bound)._promoted(plan.rungs[0], before)
        assert {candidate for candidate, _ in evaluator.fits} == expected


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
