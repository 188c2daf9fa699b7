"""What holds for all tests."""

import os

from hypothesis import settings

# The same examples in every run of the continuous integration; new ones on a developer's machine.
settings.register_profile("ci", derandomize=True, deadline=None)
if os.environ.get("CI"):
    settings.load_profile("ci")
