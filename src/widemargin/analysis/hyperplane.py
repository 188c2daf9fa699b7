"""One hyperplane of a fitted classifier on given rows: margin, distances, slack."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from widemargin._typing import FloatArray, IntArray

__all__ = ["AT_BOUND", "Hyperplane"]

AT_BOUND = 1e-9  # relative distance from its bound within which α is at it


@dataclass(frozen=True, eq=False)
class Hyperplane:
    r"""One machine :math:`f(x) = w \cdot \Phi(x) + b` of a classifier, on given rows.

    Attributes
    ----------
    name : str
        Which classes it separates.
    rows : ndarray
        The rows it is about: all, or those of its two classes.
    y : ndarray
        Their labels ±1.
    f : ndarray
        Their outputs f(x).
    norm : float
        ‖w‖ in the space of Φ.
    weights : ndarray or None
        w, of scaled inputs; None for a kernel other than linear.
    intercept : float
        b, of scaled inputs.
    unit : float
        β, the output at which the model asks examples to be: 1 for support vector machines, 0 for
        machines without a margin.
    alpha, upper : ndarray or None
        The dual variables of the rows and their bounds, where the model has them.
    """

    name: str
    rows: IntArray
    y: FloatArray
    f: FloatArray
    norm: float
    weights: FloatArray | None
    intercept: float
    unit: float
    alpha: FloatArray | None = None
    upper: FloatArray | None = None

    @property
    def margin(self) -> float:
        r"""The geometric margin :math:`\rho = 2\beta/\|w\|` (3.22); 0 where β = 0."""
        return 2.0 * self.unit / self.norm if self.norm > 0 else np.inf

    @property
    def distances(self) -> FloatArray:
        r"""Signed distances :math:`f(x)/\|w\|` from the hyperplane, positive on the side of +1."""
        if self.norm == 0:
            raise ValueError("w is 0, so there is no hyperplane to be at a distance from")
        return self.f / self.norm

    @property
    def slack(self) -> FloatArray:
        r"""The slack :math:`\xi_l = |\beta - y_l f(x_l)|_+` of each example (3.24)."""
        return np.maximum(0.0, self.unit - self.y * self.f)

    @property
    def errors(self) -> Any:
        """Which examples are misclassified; sign(0) = −1."""
        return (self.f > 0) != (self.y > 0)

    @property
    def separates(self) -> bool:
        """Whether every example is on its side, none on the hyperplane."""
        return bool(np.all(self.y * self.f > 0))

    @property
    def hinge_bounds_errors(self) -> bool:
        """Whether the hinge ξ/β of each example is at least its 0-1 loss (needs β > 0)."""
        return bool(np.all(self.slack / self.unit >= self.errors))

    @property
    def free(self) -> Any:
        """Which examples are free support vectors, 0 < α < U: they lie on the margin."""
        if self.alpha is None or self.upper is None:
            raise ValueError(f"the machine {self.name!r} has no dual variables")
        return (self.alpha > 0) & ~self.at_bound

    @property
    def at_bound(self) -> Any:
        """Which examples are support vectors at their bound, α = U (3.31)."""
        if self.alpha is None or self.upper is None:
            raise ValueError(f"the machine {self.name!r} has no dual variables")
        return (self.alpha > 0) & (self.alpha >= self.upper * (1.0 - AT_BOUND))

    def canonical(self) -> "Hyperplane":
        r"""The same hyperplane with :math:`\min_l |f(x_l)| = 1` on these rows, and β = 1.

        If it separates the rows, they satisfy (3.21), and `margin` is twice the distance of the
        nearest row. The dual variables belong to the other scale and are left out.
        """
        least = float(np.abs(self.f).min())
        if least == 0:
            raise ValueError("f(x) = 0 for some row, so that no factor makes the smallest |f| 1")
        weights = None if self.weights is None else self.weights / least
        return replace(
            self,
            f=self.f / least,
            norm=self.norm / least,
            weights=weights,
            intercept=self.intercept / least,
            unit=1.0,
            alpha=None,
            upper=None,
        )
