"""What the kernel machines of all libraries have in common: parameters, inputs, checks."""

import importlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp


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


class Library(ABC):
    """One contestant.

    `formats` are the inputs it reads without a detour, best guess first; `slow` libraries are
    tried on fewer rows where a problem says so, and left out where memory is measured.
    """

    name: str
    module: str
    formats: tuple[str, ...] = ("dense float32", "CSR float32")
    threaded: bool = True
    slow: bool = False

    def missing(self) -> str | None:
        """Why this library cannot take part, or None."""
        try:
            importlib.import_module(self.module)
        except (ImportError, OSError) as error:  # OSError: a shared library does not load
            return str(error)
        return None

    @abstractmethod
    def machine(self, machine: Machine, threads: int) -> Any:
        """Unfitted estimator with scikit-learn's methods, support_, dual_coef_, n_support_.

        It has `seconds_` where a clock around its `fit` would count more than the training.
        """


def convert(X: Any, form: str) -> Any:
    """`X` as "dense float32", "CSR float64", ..."""
    layout, dtype = form.split()
    if layout == "CSR":
        return sp.csr_matrix(X, dtype=dtype)
    return np.ascontiguousarray(X.toarray() if sp.issparse(X) else X, dtype=dtype)
