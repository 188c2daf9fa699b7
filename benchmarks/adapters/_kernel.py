"""The parameters that the kernel machines of all libraries share."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from benchmarks.adapters._library import Library


@dataclass(frozen=True)
class Machine:
    """A machine with Gaussian kernel exp(−γ|x − x'|²); if `epsilon` is None, a classifier."""

    C: float
    gamma: float
    epsilon: float | None = None
    tol: float = 1e-3
    cache_size: float = 1000.0

    @property
    def parameters(self) -> dict[str, float]:
        """Keyword arguments with the names of scikit-learn."""
        parameters = {key: getattr(self, key) for key in ("C", "gamma", "tol", "cache_size")}
        return parameters if self.epsilon is None else {**parameters, "epsilon": self.epsilon}

    def __str__(self) -> str:
        kind = "" if self.epsilon is None else f" ε={self.epsilon:g}"
        return f"C={self.C:g} γ={self.gamma:.3g}{kind}"


class KernelLibrary(Library):
    """A library with kernel machines.

    `slow` libraries are first timed on fewer rows if the problem has `sizes`; their memory is not
    measured.
    """

    slow: bool = False

    @abstractmethod
    def machine(self, machine: Machine, threads: int) -> Any:
        """Unfitted estimator with scikit-learn's methods, support_, dual_coef_, n_support_.

        It times itself in `seconds_` if its `fit` does more than training.
        """
