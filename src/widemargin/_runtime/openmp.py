"""Loads the native core so that its threads sleep, rather than spin, while they wait.

GNU OpenMP lets a waiting thread spin for about a millisecond. On a busy machine this keeps the
thread that it waits for from running: a fit of 0.5 s took 4 s beside one busy process. The library
reads the spin time from the environment when it is loaded, so it is set for that moment unless the
user has set it.
"""

import os

_WAITING_VARIABLES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
_SPIN_COUNT = "1000"  # a few microseconds

if any(name in os.environ for name in _WAITING_VARIABLES):
    from widemargin import _core
else:
    os.environ["GOMP_SPINCOUNT"] = _SPIN_COUNT
    try:
        from widemargin import _core  # noqa: F401
    finally:
        del os.environ["GOMP_SPINCOUNT"]
