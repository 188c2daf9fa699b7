"""The examples of linear machines, standardised on the way: products with all of them, packed rows.

Nothing here depends on targets: the problems of several classes share it.
"""

import numpy as np
from numpy.typing import NDArray

from widemargin import _core
from widemargin._typing import ArrayLike, FloatArray, IntArray

__all__ = ["DENSITY_TO_PACK", "filled", "packed"]

DENSITY_TO_PACK = 0.35  # dense inputs with a smaller part of non-zeros are packed too
SAMPLE = 1000  # examples that tell which inputs are mostly non-zero


def filled(X: ArrayLike) -> FloatArray:
    """The part of non-zeros of each input, in a sample."""
    sample = X[:: max(1, X.shape[0] // SAMPLE)]
    counts = np.asarray((sample != 0).sum(axis=0), dtype=np.float64).ravel()
    return np.asarray(counts / sample.shape[0])


def packed(
    rows: _core.Rows,
    block: NDArray[np.bool_],
    mean: FloatArray | None,
    scale: FloatArray | None,
    y: FloatArray | None = None,
    weights: FloatArray | None = None,
) -> tuple[_core.Rows, IntArray]:
    """All that a visit needs of an example side by side, and the input at each place.

    Inputs of the `block`, those that are mostly non-zero, are in front of the others
    (packed_rows.hpp).
    """
    inputs, size = np.argsort(~block, kind="stable"), int(block.sum())
    places = np.argsort(inputs).astype(np.int32)
    count = rows.shape[0]
    together = _core.Rows.packed(
        rows,
        np.zeros(count) if y is None else y,
        weights,
        mean,
        scale,
        places,
        size,
        np.empty(count + 1, dtype=np.int32),
        np.empty(rows.packed_bytes(places, size), dtype=np.uint8),
    )
    return together, inputs
