"""What `n_jobs` means."""

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from widemargin import _core
from widemargin.inputs.rows import as_rows
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


@pytest.mark.parametrize("sparse", [False, True])
def test_sums_over_examples_do_not_depend_on_threads(sparse):
    rng = np.random.default_rng(0)
    X, coef = rng.normal(size=(5000, 70)), rng.normal(size=5000)
    rows = as_rows(sp.csr_array(X) if sparse else X)
    found = [np.empty(70) for _ in range(3)]
    for threads, out in enumerate(found, start=1):
        _core.combine(rows, coef, out, threads)
    assert_array_equal(found[1], found[0])
    assert_array_equal(found[2], found[0])
    np.testing.assert_allclose(found[0], coef @ X, rtol=1e-10, atol=1e-9)
