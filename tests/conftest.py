"""What holds for all tests."""

import os
import signal
from collections import defaultdict

# Several processes share the CPUs: one thread each, unless a test asks for more by `n_jobs`. BLAS
# and OpenMP read this when they are loaded, so it stands before all other imports.
if "PYTEST_XDIST_WORKER" in os.environ:
    for variable in ("OMP_NUM_THREADS", "LOKY_MAX_CPU_COUNT"):
        os.environ.setdefault(variable, "1")

import pytest
from hypothesis import settings

# The same examples in every run of the continuous integration; new ones on a developer's machine.
settings.register_profile("ci", derandomize=True, deadline=None)
if os.environ.get("CI"):
    settings.load_profile("ci")

pytest.register_assert_rewrite("helpers")  # a failure there shows its values too


def pytest_addoption(parser):
    parser.addoption(
        "--few",
        action="store_true",
        help="of a test with many cases, run some: two, and one of sixteen",
    )


def some_cases(items):
    """Of each test function some cases, evenly spaced; the same in every run."""
    cases = defaultdict(list)
    for item in items:
        cases[item.nodeid.partition("[")[0]].append(item)
    kept = set()
    for several in cases.values():
        count = min(len(several), 2 + len(several) // 16)
        places = {round(k * (len(several) - 1) / max(1, count - 1)) for k in range(count)}
        kept |= {several[place].nodeid for place in places}
    return [item for item in items if item.nodeid in kept]


@pytest.hookimpl(trylast=True)  # after those that are not asked for were left out
def pytest_collection_modifyitems(config, items):
    """Long tests first: started last, one of them would keep one process busy and others idle."""
    if config.getoption("few"):
        kept = some_cases(items)
        config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
        items[:] = kept

    def seconds(item):
        mark = item.get_closest_marker("slow")
        return 0.0 if mark is None else mark.kwargs.get("seconds", 2.0)

    items.sort(key=seconds, reverse=True)


def pytest_runtest_setup(item):
    """Tests marked `data` need the real data sets."""
    if item.get_closest_marker("data") and not os.environ.get("WIDEMARGIN_DATA"):
        pytest.skip("WIDEMARGIN_DATA is not set: it names the folder with the real data sets")


@pytest.fixture
def ctrl_c():
    """Python's own handler, which a test run in the background may lack; sends the signal."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda *_: signal.raise_signal(signal.SIGINT)
    signal.signal(signal.SIGINT, previous)
