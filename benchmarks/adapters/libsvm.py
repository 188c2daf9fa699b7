"""LIBSVM through libsvm-official, the Python package of its authors, in a separate process.

Built with OpenMP, it divides each row of the kernel among its threads. These loops are so short
that threads which spin while they wait make it a hundred times slower if another program runs. How
threads wait is fixed when a process starts. Only svm_train is timed.
"""

import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.adapters._kernel import KernelLibrary, Machine


class Libsvm(KernelLibrary):
    name = "LIBSVM"
    module = "libsvm.svm"
    formats = ("CSR float64",)
    slow = True

    def machine(self, machine: Machine, threads: int) -> Any:
        return _Model(machine, threads)


class _Fitted(NamedTuple):
    seconds: float
    support: NDArray[np.intp]
    dual_coef: NDArray[np.float64]
    n_support: NDArray[np.intp]


class _Model:
    """svm_train and svm_predict with the names of scikit-learn."""

    def __init__(self, machine: Machine, threads: int) -> None:
        self.machine, self.threads = machine, threads

    def fit(self, X: Any, y: Any) -> Self:
        fitted = _worker(self.threads).submit(_train, id(self), self.machine, X, y).result()
        self.seconds_, self.support_, self.dual_coef_, self.n_support_ = fitted
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict with the model that was fitted last; the worker keeps no other."""
        return _worker(self.threads).submit(_predict, id(self), X).result()


@lru_cache
def _worker(threads: int) -> ProcessPoolExecutor:
    """A process that started with these variables; they do not stay set in this one."""
    wanted = {"OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": str(threads)}
    before = dict(os.environ)
    os.environ.update(wanted)
    try:
        worker = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
        worker.submit(os.getpid).result()
    finally:
        for key in wanted:
            os.environ.pop(key)
            if key in before:
                os.environ[key] = before[key]
    return worker


_last: dict[int, Any] = {}  # in the worker: the model, and the problem whose memory it uses


def _train(key: int, machine: Machine, X: Any, y: Any) -> _Fitted:
    from libsvm.svm import libsvm, svm_parameter, svm_problem, toPyModel

    options = {"t": 2, "s": 0, "c": machine.C, "g": machine.gamma}
    options |= {"e": machine.tol, "m": machine.cache_size}
    if machine.epsilon is not None:
        options |= {"s": 3, "p": machine.epsilon}
    words = [word for name, value in options.items() for word in (f"-{name}", str(value))]
    problem, parameter = svm_problem(np.asarray(y, float), X), svm_parameter([*words, "-q"])
    _last.clear()
    start = time.perf_counter()
    model = toPyModel(libsvm.svm_train(problem, parameter))
    seconds = time.perf_counter() - start
    _last[key] = model, problem

    n, n_rows = model.l, model.nr_class - 1  # regression has nr_class = 2
    coef = np.array([np.ctypeslib.as_array(c, (n,)) for c in model.sv_coef[:n_rows]])
    counts = model.nSV[: model.nr_class] if machine.epsilon is None else [n]
    return _Fitted(seconds, np.array(model.get_sv_indices()) - 1, coef, np.array(counts))


def _predict(key: int, X: Any) -> NDArray[np.float64]:
    from libsvm.svm import libsvm, svm_problem

    model, _ = _last[key]
    rows = svm_problem(np.zeros(X.shape[0]), sp.csr_matrix(X))
    return np.array([libsvm.svm_predict(model, rows.x[l]) for l in range(rows.l)])
