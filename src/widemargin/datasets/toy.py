"""The toy problem of the hard mixture (thesis 6.5.1)."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from widemargin.datasets.common import check_count


def make_toy_mixture(
    n_samples: int = 10_000, *, noise: float = 0.03, random_state: Any = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Two classes in the plane that two linear experts and a linear gater separate.

    The classes fill the square :math:`[-1, 1]^2` on either side of a wedge,

    .. math:: y = +1 \\iff x_2 > 2 |x_1| - 1,

    and Gaussian noise moves every point.  No line has fewer than 25 % errors.  The experts
    :math:`x_2 - 2 x_1 + 1` where :math:`x_1 > 0` and :math:`x_2 + 2 x_1 + 1` elsewhere make only
    the errors due to the noise, about 2.6 % with the default.  The thesis shows only a picture of
    its problem (Figure 6.1); this one has the properties that it describes.

    Parameters
    ----------
    n_samples : int, default=10,000
        Number of points; half of them (rounded up) are positive.
    noise : float, default=0.03
        Standard deviation of the noise.
    random_state : int, RandomState instance or None, default=None
        Seed of the points; an int makes them reproducible.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Points.
    y : ndarray of shape (n_samples,)
        Labels -1 and +1, in random order.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.datasets import make_toy_mixture
    >>> X, y = make_toy_mixture(1000, noise=0, random_state=0)
    >>> bool(np.all((y == 1) == (X[:, 1] > 2 * np.abs(X[:, 0]) - 1)))
    True
    """
    check_count("n_samples", n_samples, 2)
    if not isinstance(noise, Real) or not 0 <= noise < np.inf:
        raise ValueError(f"noise={noise!r} must be a number >= 0")
    rng = check_random_state(random_state)
    y = rng.permutation(np.where(np.arange(n_samples) % 2 == 0, 1, -1)).astype(np.int64)
    positive = y == 1
    u, v, w = rng.uniform(size=(3, n_samples))

    # density of |x1|: 2 (1 - |x1|) above the wedge, 2 |x1| below; then x2 is uniform
    x1 = np.where(positive, 1 - np.sqrt(u), np.sqrt(u)) * np.where(v < 0.5, -1, 1)
    edge = 2 * np.abs(x1) - 1
    x2 = np.where(positive, 1 - w * (1 - edge), edge - w * (edge + 1))
    X = np.column_stack([x1, x2]) + rng.normal(scale=noise, size=(n_samples, 2))
    return X, y
