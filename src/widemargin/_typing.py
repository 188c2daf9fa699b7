"""Names of array types, as annotations use them."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
ArrayLike: TypeAlias = Any  # an array, a sparse matrix or a data frame: what users pass
