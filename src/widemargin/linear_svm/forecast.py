"""How long a solver will take, from the fall of its duality gap so far: it is about exponential."""

import numpy as np

__all__ = ["falls_to_come"]


def falls_to_come(gap: float, fall: float, tol: float) -> float:
    """How many more falls by the factor `fall` > 1 bring the gap down to tol.

    Examples
    --------
    >>> falls_to_come(0.1, 10.0, 0.001)
    2.0
    """
    return float(np.log(gap / tol) / np.log(fall))
