"""Arrays that begin at a cache line, as the core's vector loops like them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

LINE = 64  # bytes of a cache line


def aligned_zeros(shape: int | Sequence[int], dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """Zeros in C order, whose first element begins a cache line.

    Examples
    --------
    >>> aligned_zeros((3, 5), np.float32).ctypes.data % 64
    0
    """
    size = np.dtype(dtype).itemsize
    count = int(np.prod(shape))
    numbers = np.zeros(count + LINE // size, dtype=dtype)
    first = -numbers.ctypes.data % LINE // size
    return numbers[first : first + count].reshape(shape)
