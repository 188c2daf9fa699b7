"""Whether this process is the child of a fork, in which the threads of OpenMP are gone.

A fork copies the thread that called it, and no other. GNU OpenMP keeps its threads for the next
parallel region, and in the child it would wait for them for ever. So a forked child works with
one thread; the results are the same (`widemargin.inputs.threads`).
"""

import os

__all__ = ["in_forked_child"]

_forked = False


def in_forked_child() -> bool:
    """Whether `os.fork` made this process from one that had this package loaded."""
    return _forked


def _after_fork() -> None:
    global _forked
    _forked = True


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_after_fork)
