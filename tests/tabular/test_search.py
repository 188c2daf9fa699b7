"""The search for the best machines: what a time limit leaves of it."""

from types import SimpleNamespace

import numpy as np
import pytest

from widemargin.tabular.candidates import Candidate
from widemargin.tabular.plan import Rung
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
