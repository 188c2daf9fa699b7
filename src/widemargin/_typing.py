"""Array types for annotations."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
ArrayLike: TypeAlias = Any  # what users pass: an array, a sparse matrix or a data frame
