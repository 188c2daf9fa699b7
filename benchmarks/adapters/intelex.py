"""scikit-learn-intelex: the kernel machines of oneDAL with the interface of scikit-learn."""

from typing import Any

from benchmarks.adapters._kernel import KernelLibrary, Machine


class Intelex(KernelLibrary):
    name = "intelex"
    module = "sklearnex"

    def machine(self, machine: Machine, threads: int) -> Any:
        from sklearnex.svm import SVC, SVR

        estimator = SVC if machine.epsilon is None else SVR
        return estimator(**machine.parameters, n_jobs=threads)
