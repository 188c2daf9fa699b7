"""What the linear SVMs of all libraries share: the problem, and the effort of a fit."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from benchmarks._measure import fit_seconds
from benchmarks.adapters._library import Library


@dataclass(frozen=True)
class LinearMachine:
    """min ½ |w|² + ½ b² + C Σ ℓ(1 − y (w·x + b)): the problem of LIBLINEAR, which penalises b."""

    C: float
    loss: str = "hinge"

    def __str__(self) -> str:
        return f"C={self.C:g} {self.loss.replace('_', ' ')}"


class LinearLibrary(Library):
    """A library with linear SVMs; a larger effort 1, 2, ..., `most` gives a better solution."""

    losses: ClassVar[tuple[str, ...]] = ("hinge", "squared_hinge")
    most: int = 10**9

    @abstractmethod
    def linear(self, machine: LinearMachine, effort: int, threads: int) -> Any:
        """Unfitted estimator with `fit`, then `coef_`, `intercept_` of the class +1.

        It times itself in `seconds_` if its `fit` does more than training.
        """

    def setting(self, effort: int) -> str:
        """The effort, in the terms of the library."""
        return f"{effort:,} it."

    def form(self, X: Any) -> str:
        """The first format of the layout of `X`."""
        layout = "CSR" if sp.issparse(X) else "dense"
        return next((form for form in self.formats if form.startswith(layout)), self.formats[0])


class ByTolerance(LinearLibrary):
    """A library whose effort is a tolerance; two more units of effort halve it."""

    most = 40

    def tolerance(self, effort: int) -> float:
        return 2.0 ** (-effort / 2)

    def setting(self, effort: int) -> str:
        return f"tol {self.tolerance(effort):.0e}"


class WithOnes:
    """An estimator without intercept, on inputs with a column of ones whose weight is b.

    `make` gets the number of examples.
    """

    def __init__(self, make: Callable[[int], Any]) -> None:
        self.make = make

    def fit(self, X: Any, y: Any) -> Self:
        ones = np.ones((len(y), 1), dtype=X.dtype)
        X = sp.csr_matrix(sp.hstack([X, ones])) if sp.issparse(X) else np.hstack([X, ones])
        estimator = self.make(len(y))
        self.seconds_ = fit_seconds(estimator, X, y)
        w = np.ravel(estimator.coef_)
        self.coef_, self.intercept_ = w[None, :-1], w[-1:]
        return self
