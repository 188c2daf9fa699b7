"""Means and standard deviations of inputs, applied without touching the data."""

from dataclasses import dataclass

import numpy as np

from widemargin import _core
from widemargin._typing import FloatArray, IntArray

CONSTANT = 1e-12  # a standard deviation below this part of the mean is rounding


@dataclass
class Standardization:
    """Running mean and variance of the inputs, which models apply without touching the data."""

    mean: FloatArray
    variance: FloatArray
    weight: float = 0.0
    fixed: bool = False  # more examples do not change it

    @classmethod
    def empty(cls, width: int) -> "Standardization":
        return cls(np.zeros(width), np.ones(width))

    @property
    def scale(self) -> FloatArray:
        """Standard deviations; 1 for constant inputs, which then are 0 after centring."""
        scale = np.sqrt(self.variance)
        scale[scale <= CONSTANT * np.abs(self.mean)] = 1.0
        scale[scale == 0.0] = 1.0
        return scale

    def update(self, rows: _core.Rows, order: IntArray, weights: FloatArray | None) -> None:
        """Merges the moments of more examples (Chan, Golub and LeVeque, 1979)."""
        if self.fixed:
            return
        total = float(len(order) if weights is None else weights[order].sum())
        if total == 0.0:
            return
        mean, variance = np.empty_like(self.mean), np.empty_like(self.mean)
        _core.moments(rows, order, weights, mean, variance)
        self.merge(mean, variance, total)

    def merge(self, mean: FloatArray, variance: FloatArray, total: float) -> None:
        """The moments of more examples, of this weight."""
        share = total / (self.weight + total)
        shift = mean - self.mean
        with np.errstate(over="ignore", invalid="ignore"):
            variance = (
                (1.0 - share) * self.variance + share * variance + share * (1.0 - share) * shift**2
            )
        if not np.all(np.isfinite(variance)):
            raise ValueError(
                f"column {np.argmin(np.isfinite(variance))} of X, counted from 0, holds values too "
                "large: their squares overflow; divide it by a constant, or take logarithms"
            )
        self.mean = self.mean + share * shift
        self.variance = variance
        self.weight += total

    def carry_over(self, W: FloatArray, b: FloatArray, before: "Standardization") -> None:
        """Changes a layer, in place, so that it computes what it did with earlier statistics."""
        raw = W / before.scale[:, None]
        b += (self.mean - before.mean) @ raw
        W[...] = raw * self.scale[:, None]
