"""What holds for all tests."""

import os
import signal

import pytest
from hypothesis import settings

# The same examples in every run of the continuous integration; new ones on a developer's machine.
settings.register_profile("ci", derandomize=True, deadline=None)
if os.environ.get("CI"):
    settings.load_profile("ci")

pytest.register_assert_rewrite("helpers")  # a failure there shows its values too


@pytest.fixture
def ctrl_c():
    """Python's own handler, which a test run in the background may lack; sends the signal."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda *_: signal.raise_signal(signal.SIGINT)
    signal.signal(signal.SIGINT, previous)
