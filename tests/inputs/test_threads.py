"""What `n_jobs` means."""

import joblib
import numpy as np
import pytest

from widemargin.inputs.threads import thread_count

CPUS = joblib.effective_n_jobs(-1)


@pytest.mark.parametrize(
    ("n_jobs", "useful", "expected"),
    [
        (None, np.inf, CPUS),
        (None, 1.5, 1),
        (-1, np.inf, CPUS),
        (-1, 0.2, 1),
        (7, np.inf, 7),
        (7, 3.9, 3),
    ],
)
def test_a_number_is_an_upper_limit(n_jobs, useful, expected):
    assert thread_count(n_jobs, useful) == expected


def test_a_joblib_worker_uses_one_thread_unless_told():
    def count(n_jobs):
        return thread_count(n_jobs)

    workers = joblib.Parallel(n_jobs=2, prefer="threads")
    assert workers(joblib.delayed(count)(n_jobs) for n_jobs in (None, 3)) == [1, 3]
