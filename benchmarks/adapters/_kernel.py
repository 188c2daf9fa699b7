"""What the kernel machines of all libraries have in common: their parameters."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from benchmarks.adapters._library import Library


@dataclass(frozen=True)
class Machine:
    """A machine with Gaussian kernel exp(−γ|x − x'|²); `epsilon` None is classification."""

    C: float
    gamma: float
    epsilon: float | None = None
    tol: float = 1e-3
    cache_size: float = 1000.0

    @property
    def parameters(self) -> dict[str, float]:
        """Keywords of an estimator with scikit-learn's names."""
        parameters = {key: getattr(self, key) for key in ("C", "gamma", "tol", "cache_size")}
        return parameters if self.epsilon is None else {**parameters, "epsilon": self.epsilon}

    def __str__(self) -> str:
        kind = "" if self.epsilon is None else f" ε={self.epsilon:g}"
        return f"C={self.C:g} γ={self.gamma:.3g}{kind}"


class KernelLibrary(Library):
    """`slow` libraries are tried on fewer rows where a problem says so, and left out where memory
    is measured.
    """

    slow: bool = False

    @abstractmethod
    def machine(self, machine: Machine, threads: int) -> Any:
        """Unfitted estimator with scikit-learn's methods, support_, dual_coef_, n_support_.

        It has `seconds_` where a clock around its `fit` would count more than the training.
        """
