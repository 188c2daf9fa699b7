"""How a fit is stopped from outside: by a callback, or by Ctrl-C in another process."""

import os
import signal
import subprocess
import sys
import time

from helpers.processes import package_first


class Recorder:
    """A callback that notes what it is shown after each epoch or slice, then does something."""

    def __init__(self, action=lambda estimator, count: None):
        self.action, self.count, self.torn_down = action, 0, 0
        self.fitted, self.X, self.metadata = [], [], []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        self.torn_down += 1

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, X, y, metadata, fitted_estimator):
        if context.task_name not in ("epoch", "iteration"):
            return None
        self.count += 1
        self.fitted.append(fitted_estimator)
        self.X.append(X)
        self.metadata.append(metadata)
        return self.action(estimator, self.count)


def seconds_after_ctrl_c(program, *arguments, wait):
    """Interrupts the fit of a program, and returns how long it then continued.

    The program prints "started", the time when `fit` returned, and "resumed".
    """
    with subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        env=package_first(os.environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        try:
            assert child.stdout.readline() == "started\n", child.stderr.read()
            time.sleep(wait)  # somewhere in the fit
            sent = time.time()
            child.send_signal(signal.SIGINT)
            output, errors = child.communicate(timeout=60)
        finally:
            child.kill()
    assert child.returncode == 0, errors
    returned, last = output.splitlines()
    assert last == "resumed"
    return float(returned) - sent
