"""Fits and predictions in a forked child, after the parent has used threads."""

import os
import signal
import subprocess
import sys

import pytest

from helpers.processes import package_first

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

SECONDS = 60  # a child that waits for threads which do not exist never ends

#: Fits that use threads in the parent: large enough, of each family that has parallel loops.
PROGRAM = """
import multiprocessing, os, sys, warnings
import numpy as np
from widemargin import SVC, LinearSVC, MarginPerceptron, MLPClassifier, SimpleMLPClassifier
from widemargin.inputs.threads import thread_count

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 50))
y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2], [-0.5, 0.5])
models = {
    "SVC": SVC(n_jobs=2, max_iter=1000),
    "LinearSVC": LinearSVC(n_jobs=2, max_iter=5, random_state=0),
    "MarginPerceptron": MarginPerceptron(n_jobs=2, max_iter=2, random_state=0),
    "MLPClassifier": MLPClassifier(n_jobs=2, max_iter=1, random_state=0),
    "SimpleMLPClassifier": SimpleMLPClassifier(n_jobs=2, max_iter=1, random_state=0),
}


def predictions(name):
    fitted = models[name].fit(X, y)
    return fitted.decision_function(X[:500]) if name == "SVC" else fitted.predict(X[:500])


def in_child(name):
    assert thread_count(2) == 1
    assert np.allclose(predictions(name), expected[name]), name
    assert np.array_equal(kept.predict(X), kept_classes)
    return name


assert thread_count(2) == 2
kept = SVC(n_jobs=2, max_iter=100).fit(X, y > 0)
kept_classes = kept.predict(X)
expected = {name: predictions(name) for name in models}

if sys.argv[1] == "pool":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert sorted(pool.map(in_child, models)) == sorted(models)
else:
    child = os.fork()
    if child == 0:
        try:
            for name in models:
                in_child(name)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert thread_count(2) == 2  # the parent keeps its threads
print("done")
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["fork", "pool"])
def test_a_forked_child_fits_and_predicts(how):
    """With one thread, and with the parent's results."""
    child = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, how],
        env=package_first(os.environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        output, errors = child.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        pytest.fail("a forked child did not end")
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
    assert (child.returncode, output) == (0, "done\n"), errors
