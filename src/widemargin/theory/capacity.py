r"""How many ways of labelling examples a set of functions has (Definition 2.3, Theorems 3.1, 3.4).

A set of functions *shatters* examples if it labels them in all :math:`2^L` ways. Its VC dimension
h, or capacity, is the largest number of examples that it shatters, and its growth function the
largest number of ways in which it labels L examples. For few examples both can be counted.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import comb

import numpy as np
from scipy.optimize import linprog, nnls

from widemargin._typing import ArrayLike, FloatArray

__all__ = [
    "CapacityOrder",
    "growth",
    "hyperplane_capacity",
    "hyperplane_labellings",
    "interval_labellings",
    "labellings_in_general_position",
    "margin_capacity",
    "mlp_capacity",
    "polynomial_capacity",
    "sauer_bound",
    "shattered",
    "threshold_labellings",
    "vc_dimension",
]

Labellings = Callable[[FloatArray], FloatArray]


# ------------------------------------------------------------------ sets of functions, enumerated


def threshold_labellings(x: ArrayLike) -> FloatArray:
    r"""All labellings of numbers by functions sign(x − t); VC dimension 1.

    Returns
    -------
    ndarray of shape (n_labellings, n_examples)
        Values −1 and +1, without repetition.

    Examples
    --------
    >>> threshold_labellings([0.0, 1.0])
    array([[-1., -1.],
           [-1.,  1.],
           [ 1.,  1.]])
    """
    x = np.ravel(np.asarray(x, dtype=float))
    limits = np.concatenate([np.unique(x), [-np.inf]])
    return np.unique(np.where(x[None, :] > limits[:, None], 1.0, -1.0), axis=0)


def interval_labellings(x: ArrayLike) -> FloatArray:
    """All labellings of numbers that are +1 inside an interval; VC dimension 2.

    Examples
    --------
    >>> len(interval_labellings([0.0, 1.0, 2.0]))  # all but (+1, -1, +1)
    7
    """
    x = np.ravel(np.asarray(x, dtype=float))
    values = np.unique(x)
    inside = [(x >= low) & (x <= high) for low in values for high in values if low <= high]
    return np.unique(np.where([*inside, np.zeros(len(x), dtype=bool)], 1.0, -1.0), axis=0)


def hyperplane_labellings(X: ArrayLike, rho: float = 0.0) -> FloatArray:
    r"""All labellings of examples by hyperplanes :math:`\mathrm{sign}(w \cdot x + b)`.

    With ρ > 0, those by hyperplanes whose geometric margin between the two classes is at least ρ.
    Labellings are built example by example: one that is impossible for some examples is impossible
    for more. Each is decided by a linear program, or for ρ > 0 by the distance of the two classes.

    Parameters
    ----------
    X : array-like of shape (n_examples, n_features)
        The examples; at most a dozen or so.
    rho : float, default=0.0
        The least margin.

    Examples
    --------
    >>> square = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    >>> len(hyperplane_labellings(square))  # all but the two of "exclusive or"
    14
    """
    X = np.asarray(X, dtype=float)
    found: list[tuple[float, ...]] = [()]
    for count in range(1, len(X) + 1):
        longer = ((*labels, label) for labels in found for label in (-1.0, 1.0))
        found = [labels for labels in longer if _separable(X[:count], np.array(labels), rho)]
    return np.array(sorted(found))


def _separable(X: FloatArray, y: FloatArray, rho: float) -> bool:
    """Whether a hyperplane separates the classes with at least this margin."""
    positive, negative = X[y > 0], X[y < 0]
    if not len(positive) or not len(negative):
        return True
    if rho > 0.0:
        return _class_distance(positive, negative) >= rho * (1.0 - 1e-9)
    rows = -y[:, None] * np.column_stack([X, np.ones(len(X))])
    found = linprog(np.zeros(rows.shape[1]), rows, -np.ones(len(X)), bounds=(None, None))
    return bool(found.status == 0)


def _class_distance(positive: FloatArray, negative: FloatArray) -> float:
    r"""The largest margin, :math:`2/\|w\|`; 0 if the classes cannot be separated.

    The least w with :math:`w \cdot (x - x') \ge 2` for all pairs comes from a problem of
    non-negative least squares (Lawson and Hanson, "least distance programming").
    """
    pairs = (positive[:, None, :] - negative[None, :, :]).reshape(-1, positive.shape[1])
    goal = np.zeros(pairs.shape[1] + 1)
    goal[-1] = 1.0
    _, rest = nnls(np.vstack([pairs.T, 2.0 * np.ones(len(pairs))]), goal)
    # The residual r has ‖r‖² = −r_last, and w = −r / r_last without its last entry.
    squared = rest**2
    if squared < 1e-12:
        return 0.0
    return float(2.0 / np.sqrt(max(1.0 / squared - 1.0, np.finfo(float).tiny)))


# ------------------------------------------------------------------------------------ counting


def shattered(labellings: FloatArray) -> bool:
    """Whether these different labellings are all that there are.

    Examples
    --------
    >>> shattered(hyperplane_labellings([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]]))
    True
    """
    return bool(len(labellings) == 2 ** labellings.shape[1])


def growth(family: Labellings, sets: Iterable[ArrayLike]) -> int:
    """The largest number of labellings of any of these sets of examples.

    The growth function is the largest over all sets of L examples; this is a lower bound on it.

    Examples
    --------
    >>> growth(threshold_labellings, [[1.0, 2.0, 3.0], [1.0, 1.0, 2.0]])
    4
    """
    return max(len(family(np.asarray(some, dtype=float))) for some in sets)


def vc_dimension(family: Labellings, sets: Iterable[ArrayLike]) -> int:
    """The size of the largest of these sets of examples that a family shatters.

    The VC dimension is the largest over all sets; this is a lower bound on it.

    Examples
    --------
    >>> vc_dimension(interval_labellings, [[1.0], [1.0, 2.0], [1.0, 2.0, 3.0]])
    2
    """
    sizes = [0]
    for some in sets:
        labellings = family(np.asarray(some, dtype=float))
        if shattered(labellings):
            sizes.append(labellings.shape[1])
    return max(sizes)


def sauer_bound(capacity: int, n_examples: int) -> int:
    r"""The most labellings of L examples by functions of capacity h: :math:`\sum_{i \le h} C_L^i`.

    It is :math:`2^L` for L ≤ h, and at most :math:`(eL/h)^h` from there on: polynomial in L. So
    Definition 2.3 leads to Theorem 2.3.

    Examples
    --------
    >>> sauer_bound(3, 3), sauer_bound(3, 10)
    (8, 176)
    """
    return sum(comb(n_examples, i) for i in range(capacity + 1))


def labellings_in_general_position(n_examples: int, dimension: int) -> int:
    r"""Labellings of examples in general position by hyperplanes (Theorem 3.1, Cover).

    .. math:: 2 \sum_{i=0}^{d} C_{L-1}^{i}

    In general position, no d + 1 examples lie on a hyperplane.

    Examples
    --------
    >>> labellings_in_general_position(4, 2), labellings_in_general_position(3, 2)
    (14, 8)
    """
    return 2 * sum(comb(n_examples - 1, i) for i in range(dimension + 1))


# ---------------------------------------------------------------------------- known capacities


def hyperplane_capacity(dimension: int) -> int:
    """VC dimension of hyperplanes: d + 1.

    Examples
    --------
    >>> hyperplane_capacity(2)
    3
    """
    return dimension + 1


def margin_capacity(radius: float, rho: float, dimension: float = np.inf) -> float:
    r"""Bound on the VC dimension of hyperplanes with margin ρ (Theorem 3.4).

    :math:`\min(4R^2/\rho^2, d) + 1`. The theorem calls half of the width γ and prints
    :math:`R^2/\gamma^2`. It is about a margin that was fixed before the examples were seen.

    Examples
    --------
    >>> margin_capacity(radius=1.0, rho=0.5, dimension=3)
    4.0
    >>> margin_capacity(radius=1.0, rho=0.0, dimension=3)
    4.0
    """
    by_margin = 4.0 * radius**2 / rho**2 if rho > 0 else np.inf
    return float(min(by_margin, dimension) + 1.0)


def polynomial_capacity(dimension: int, degree: int) -> int:
    r"""VC dimension of machines with the kernel :math:`(1 + x \cdot x')^p`: :math:`C_{p+d}^p`.

    This is the number of monomials of degree p or less, the constant included, so no bias is
    counted. The thesis has :math:`C_{p+d-1}^p`, the number of monomials of degree p, which belongs
    to the kernel :math:`(x \cdot x')^p`.

    Examples
    --------
    >>> polynomial_capacity(dimension=2, degree=2)  # 1, a, b, a², ab, b²
    6
    """
    return comb(degree + dimension, degree)


@dataclass(frozen=True)
class CapacityOrder:
    """Orders of growth of a capacity, up to constant factors that are not known."""

    at_least: str
    at_most: str
    source: str


#: By transfer function; W weights, N hidden units, one hidden layer.
_ORDERS = {
    "sign": CapacityOrder("W log W", "W log W", "Sakurai 1993; Baum and Haussler 1989"),
    "hardtanh": CapacityOrder("W log W", "W log W", "Sakurai 1993; Bartlett et al. 1998"),
    "relu": CapacityOrder("W log W", "W log W", "Sakurai 1993; Bartlett et al. 1998"),
    "tanh": CapacityOrder("W log W", "W² N²", "Sakurai 1993; Karpinski and Macintyre 1995"),
}


def mlp_capacity(transfer: str = "tanh") -> CapacityOrder:
    """The order of the VC dimension of MLPs with one hidden layer, W weights and N units.

    It is an order and not a number: a bound such as `vc_confidence` cannot be computed from it.
    "tanh" stands for all sigmoids. The thesis calls their capacity about quadratic in W. That is
    known to be reached only by networks of many layers (Koiran and Sontag, 1997). With one hidden
    layer, the known bounds leave a gap: a steep sigmoid is as good as a threshold, which gives
    W log W, and W² N² is the upper bound.

    Examples
    --------
    >>> mlp_capacity("tanh").at_most
    'W² N²'
    """
    if transfer not in _ORDERS:
        raise ValueError(f"transfer={transfer!r} must be one of {', '.join(map(repr, _ORDERS))}")
    return _ORDERS[transfer]
