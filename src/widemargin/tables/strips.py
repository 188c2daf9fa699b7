"""Encoded columns, and the matrix that they make together."""

from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse as sp

from widemargin._typing import FloatArray, IntArray


@dataclass(frozen=True)
class Indicators:
    """The indicators of one column: row i has a 1 at ``positions[i]``, or nowhere if that is -1."""

    positions: IntArray
    width: int


Strip: TypeAlias = FloatArray | Indicators  # one output, or the indicators of one column


@dataclass(frozen=True)
class Strips:
    """The outputs of all columns for the same rows."""

    strips: list[Strip]
    rows: int
    dtype: Any

    @property
    def starts(self) -> list[int]:
        """The first output of each strip, and at the end the number of outputs."""
        widths = (s.width if isinstance(s, Indicators) else 1 for s in self.strips)
        return list(accumulate(widths, initial=0))

    def density(self) -> float:
        """The fraction of the values that are not zero."""
        entries = sum(
            np.count_nonzero(s.positions >= 0 if isinstance(s, Indicators) else s)
            for s in self.strips
        )
        return float(entries / max(1, self.rows * self.starts[-1]))

    def dense(self) -> np.ndarray:
        """The outputs as an array."""
        starts = self.starts
        matrix = np.zeros((self.rows, starts[-1]), self.dtype)
        for start, strip in zip(starts, self.strips, strict=False):
            if isinstance(strip, Indicators):
                rows = np.flatnonzero(strip.positions >= 0)
                matrix[rows, start + strip.positions[rows]] = 1
            else:
                matrix[:, start] = strip
        return matrix

    def csr(self) -> sp.csr_array:
        """The outputs as a CSR matrix."""
        starts = self.starts
        parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        for start, strip in zip(starts, self.strips, strict=False):
            if isinstance(strip, Indicators):
                rows = np.flatnonzero(strip.positions >= 0)
                parts.append((rows, start + strip.positions[rows], np.ones(rows.size, self.dtype)))
            else:
                rows = np.flatnonzero(strip)
                parts.append((rows, np.full(rows.size, start), strip[rows].astype(self.dtype)))
        rows, columns, data = (np.concatenate(part) for part in zip(*parts, strict=True))
        shape = (self.rows, starts[-1])
        return sp.csr_array((data, (rows.astype(np.int32), columns.astype(np.int32))), shape)
