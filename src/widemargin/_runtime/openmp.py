"""Loads the native core so that its threads sleep, not spin, while they wait for each other.

GNU's OpenMP lets a thread that waits spin for about a millisecond. On a machine with other work
to do that keeps the thread it waits for from running: a fit of 0.5 s took 4 s beside one busy
process. How long to spin is read from the environment when the library is loaded, so it is set for
that moment, unless the user has chosen.
"""

import os

_CHOICES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
_SPINS = "1000"  # some microseconds

if any(name in os.environ for name in _CHOICES):
    from widemargin import _core
else:
    os.environ["GOMP_SPINCOUNT"] = _SPINS
    try:
        from widemargin import _core  # noqa: F401
    finally:
        del os.environ["GOMP_SPINCOUNT"]
