"""ThunderSVM, if it is installed (its wheels need CUDA; built from source it runs on CPUs)."""

from typing import Any

from benchmarks.adapters._kernel import KernelLibrary, Machine


class ThunderSVM(KernelLibrary):
    name = "ThunderSVM"
    module = "thundersvm"
    formats = ("dense float32",)  # with CSR inputs it rounds the targets of a regression

    def machine(self, machine: Machine, threads: int) -> Any:
        import thundersvm

        estimator = thundersvm.SVC if machine.epsilon is None else thundersvm.SVR
        parameters = machine.parameters
        memory = int(parameters.pop("cache_size"))
        return estimator(**parameters, max_mem_size=memory, n_jobs=threads)
