"""LIBLINEAR through liblinear-official, the Python package of its authors.

The hinge is solved in the dual, with at most 300 epochs whatever the tolerance; its square in the
primal, unless there are more columns than rows. Only `train` is timed.
"""

import time
from typing import Any, Self

import numpy as np

from benchmarks.adapters._linear import ByTolerance, LinearMachine

HINGE, SQUARED_DUAL, SQUARED_PRIMAL = 3, 1, 2


class Liblinear(ByTolerance):
    name = "LIBLINEAR"
    module = "liblinear.liblinear"
    formats = ("CSR float64",)
    threaded = False

    def linear(self, machine: LinearMachine, effort: int, threads: int) -> Any:
        return _Model(machine, self.tolerance(effort))


class _Model:
    """`train` with the names of scikit-learn."""

    def __init__(self, machine: LinearMachine, tol: float) -> None:
        self.machine, self.tol = machine, tol

    def fit(self, X: Any, y: Any) -> Self:
        from liblinear.liblinear import liblinear, parameter, problem, toPyModel

        solver = HINGE
        if self.machine.loss == "squared_hinge":
            solver = SQUARED_DUAL if X.shape[0] < X.shape[1] else SQUARED_PRIMAL
        words = ["-s", str(solver), "-c", str(self.machine.C), "-e", str(self.tol), "-q"]
        examples, parameters = problem(np.asarray(y, float), X, 1.0), parameter(words)
        start = time.perf_counter()
        model = toPyModel(liblinear.train(examples, parameters))
        self.seconds_ = time.perf_counter() - start
        w = np.ctypeslib.as_array(model.w, (X.shape[1] + 1,)) * model.get_labels()[0]
        self.coef_, self.intercept_ = w[None, :-1], w[-1:]
        return self
