"""skglm: coordinate descent on the dual of the hinge, with Anderson acceleration.

Its working sets are meant for solutions with few non-zeros; for duals with many examples at a bound
they do not get near the solution. One working set of all examples does, and its number of epochs
can be set.
"""

from typing import Any

from benchmarks.adapters._linear import LinearLibrary, LinearMachine, WithOnes


class Skglm(LinearLibrary):
    name = "skglm"
    module = "skglm"
    formats = ("dense float64", "CSR float64")
    threaded = False
    losses = ("hinge",)

    def linear(self, machine: LinearMachine, effort: int, threads: int) -> Any:
        from skglm import LinearSVC

        options = {"max_iter": 1, "max_epochs": effort, "tol": 1e-12, "fit_intercept": False}
        return WithOnes(lambda rows: LinearSVC(machine.C, p0=rows, **options))
