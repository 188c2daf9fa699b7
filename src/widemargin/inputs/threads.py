"""How many threads a model uses: what `n_jobs` means, for every model."""

import numpy as np
from joblib import effective_n_jobs
from joblib.parallel import get_active_backend

from widemargin._runtime.fork import in_forked_child

__all__ = ["thread_count"]


def thread_count(n_jobs: int | None, useful: float = np.inf) -> int:
    """The number of threads to start; the result of a fit never depends on it.

    ``n_jobs=None`` lets the model choose: as many threads as are useful, at most one per CPU, and
    one inside a joblib worker, whose siblings use the other CPUs. A number is an upper limit, and
    −1 means all CPUs. In a process that `os.fork` made, the answer is always one: the threads of
    its parent do not exist there, and OpenMP would wait for them.

    Parameters
    ----------
    n_jobs : int or None
        The parameter of the model.
    useful : float
        How many threads the work can keep busy.

    Returns
    -------
    int
        At least 1.

    Examples
    --------
    >>> thread_count(4, useful=2.9)
    2
    >>> thread_count(1, useful=100)
    1
    """
    if in_forked_child():
        limit = 1
    elif n_jobs is not None:
        limit = int(effective_n_jobs(n_jobs))
    elif get_active_backend()[0].nesting_level:
        limit = 1
    else:
        limit = int(effective_n_jobs(-1))
    return int(max(1, min(limit, useful)))
