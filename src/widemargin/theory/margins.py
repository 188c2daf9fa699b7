r"""Bounds of perceptrons, with and without a margin (Chapter 8 and the lectures).

Notation: :math:`R \ge \|x_l\|` is the radius of the data. ρ (`rho`) is the geometric margin 2/‖w‖
between the two classes, twice the distance from the hyperplane to the nearest example. λ is the
step (`rate`) and β (`beta`) the threshold of the margin criterion. With a bias, examples become
:math:`(x, 1)`, so :math:`R^2` becomes :math:`R^2 + 1`; the thesis writes the looser
:math:`(R + 1)^2`.
"""

import numpy as np
import scipy.sparse as sp

from widemargin._typing import ArrayLike

__all__ = [
    "hidden_margin_bound",
    "margin_bound",
    "novikoff_bound",
    "potential",
    "radius",
    "separable_margin_bound",
    "separable_updates_bound",
    "unit_norm_bound",
    "unit_updates_bound",
]


def radius(X: ArrayLike) -> float:
    """The largest norm of an example, R.

    Examples
    --------
    >>> radius([[3.0, 4.0], [1.0, 0.0]])
    5.0
    """
    squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.square(X).sum(axis=1)
    return float(np.sqrt(np.max(squares)))


def _augmented(radius: float, bias: bool) -> float:
    return radius**2 + bool(bias)


def novikoff_bound(radius: float, rho: float, *, bias: bool = False) -> float:
    r"""Mistakes of the Perceptron on separable data (Novikoff; Block): :math:`4 R^2 / \rho^2`.

    ρ is the full width between the classes, as in the thesis.  Fleuret's lecture calls this width γ
    and writes the same bound as :math:`4R^2/\gamma^2`.  Rakotomamonjy's lecture writes it as
    :math:`R^2/\rho^2`, because its ρ is half of the width: :math:`y_l\, u \cdot x_l \ge \rho` for a
    unit vector *u*.

    Parameters
    ----------
    radius : float
        R.
    rho : float
        ρ of some separating hyperplane through the origin; with a bias, ρ of the hyperplane
        :math:`(u, a)` over the examples :math:`(x, 1)`.
    bias : bool, default=False
        Whether the Perceptron trains a bias.

    Examples
    --------
    >>> novikoff_bound(radius=1.0, rho=0.5)
    16.0
    """
    return 4.0 * _augmented(radius, bias) / rho**2


def potential(w: ArrayLike, separating: ArrayLike, radius: float, rho: float) -> float:
    r"""The squared distance that each mistake of a Perceptron shortens (Yuille).

    .. math:: V(w) = \left\|w - \frac{2 R^2}{\rho}\, u\right\|^2

    where *u* is a unit vector that separates the examples with margin ρ. An update with step 1
    lowers V by at least :math:`R^2`, and :math:`V(0) = 4 R^4 / \rho^2`. So there are at most
    :math:`V(0) / R^2` mistakes, which is `novikoff_bound`. The lecture writes β for R and m for
    ρ/2.

    Parameters
    ----------
    w : array-like of shape (n_features,)
        The weights of a Perceptron without a bias, or those over the examples (x, 1).
    separating : array-like of shape (n_features,)
        A vector that separates the examples; its length does not matter.
    radius : float
        R.
    rho : float
        ρ of that vector.

    Examples
    --------
    >>> potential([0.0, 0.0], [1.0, 0.0], radius=1.0, rho=0.5)
    16.0
    >>> potential([1.0, 0.0], [1.0, 0.0], radius=1.0, rho=0.5)
    9.0
    """
    u = np.asarray(separating, dtype=float)
    goal = 2.0 * radius**2 / rho * u / np.linalg.norm(u)
    return float(np.sum((np.asarray(w, dtype=float) - goal) ** 2))


def separable_updates_bound(
    radius: float, rho: float, rate: float, *, beta: float = 1.0, bias: bool = False
) -> float:
    r"""Updates of the Margin Perceptron on separable data (8.23).

    :math:`t \le \frac{4}{\rho^2} (2\beta/\lambda + R^2)`, with ρ as in `novikoff_bound`.

    Examples
    --------
    >>> separable_updates_bound(radius=1.0, rho=0.5, rate=0.5)
    80.0
    """
    return 4.0 / rho**2 * (2.0 * beta / rate + _augmented(radius, bias))


def separable_margin_bound(
    radius: float, rho: float, rate: float, *, beta: float = 1.0, bias: bool = False
) -> float:
    r"""Final margin of the Margin Perceptron on separable data (8.24, Theorem 8.2).

    :math:`\rho \ge \rho_{\max} / (2 + R^2 \lambda / \beta)` without a bias, where `rho` is the
    largest margin :math:`\rho_{\max}`. With a bias, the largest margin over :math:`(x, 1)` is at
    least :math:`\rho_{\max} / \sqrt{1 + R^2}`.

    Examples
    --------
    >>> round(separable_margin_bound(radius=1.0, rho=0.6, rate=1.0), 6)
    0.2
    """
    tilted = rho / np.sqrt(1.0 + radius**2) if bias else rho
    return float(tilted / (2.0 + _augmented(radius, bias) * rate / beta))


def _norm_bound(updates: int, radius: float, rate: float, beta: float, start: float) -> float:
    """(8.21) over (x, 1): ‖w_t‖² ≤ ‖w_0‖² + tλ² (2β/λ + R²), where R counts the constant."""
    return float(np.sqrt(start**2 + updates * (2.0 * beta * rate + rate**2 * radius**2)))


def margin_bound(
    updates: int,
    radius: float,
    rate: float,
    *,
    beta: float = 1.0,
    bias: bool = True,
    start: float = 0.0,
) -> float:
    r"""Margin after *t* updates of the Margin Perceptron, on any data (Theorem 8.3).

    .. math:: \rho_t \ge \frac{2\beta/\lambda}{\sqrt{t\,(2\beta/\lambda + R^2 + 1)}}

    If the steps decrease, λ is the largest one. If training does not start from zero, `start` is
    the norm of the first :math:`(w, b)`; the bound is then
    :math:`2\beta / \sqrt{\|(w, b)_0\|^2 + t \lambda^2 (2\beta/\lambda + R^2 + 1)}`.

    Examples
    --------
    >>> round(margin_bound(updates=100, radius=1.0, rate=0.5), 6)
    0.163299
    """
    longest = _norm_bound(updates, np.sqrt(_augmented(radius, bias)), rate, beta, start)
    return 2.0 * beta / longest if longest > 0.0 else float("inf")


# ------------------------------------------------------------------------------------ hidden layers


def hidden_margin_bound(
    updates: int, n_units: int, rate: float, *, beta: float = 1.0, start: float = 0.0
) -> float:
    r"""Margin in the hidden layer of an MLP after *t* updates, without weight decay (8.5.4).

    Units with outputs in [−1, 1] have :math:`\|\Phi(x)\| \le \sqrt N` whatever their weights are,
    so Theorem 8.3 holds for the output layer with :math:`R = \sqrt N` while the hidden layer
    changes. (The thesis has :math:`\|\Phi(x)\| \le N`, which is looser.)

    Parameters
    ----------
    updates : int
        t: the examples that were within the margin when they were visited, one at a time.
    n_units : int
        N.
    rate : float
        λ of the output layer, the largest if it changes.
    beta : float, default=1.0
        β of the criterion.
    start : float, default=0.0
        The norm of the first :math:`(w, b)`.

    Examples
    --------
    >>> round(hidden_margin_bound(updates=1000, n_units=100, rate=0.01), 3)
    0.365
    """
    return margin_bound(updates, np.sqrt(n_units), rate, beta=beta, start=start)


def unit_norm_bound(
    updates: int,
    radius: float,
    rate: float,
    *,
    start: float = 0.0,
    output_weight: float = 1.0,
) -> float:
    r"""The largest norm of a hidden unit :math:`(v_n, a_n)` after *t* of its updates (8.5.4).

    An update adds :math:`\lambda y w_n h'(z) (x, 1)` to :math:`(v_n, a_n)`, where
    :math:`z = v_n \cdot x + a_n`. For HardTanh :math:`|z|\, h'(z) \le 1`, since only examples with
    :math:`|z| \le 1` move the unit. So with :math:`|w_n| \le W`, as in (8.21),

    .. math:: \|(v_n, a_n)_t\|^2 \le \|(v_n, a_n)_0\|^2
              + t \lambda^2 \left(\frac{2W}{\lambda} + W^2 (R^2 + 1)\right)

    whatever β and the other units are. Tanh and the sigmoid have :math:`h' \le 1` and
    :math:`|z|\, h'(z) \le 1` too; ReLU does not.

    Parameters
    ----------
    updates : int
        t: visits that moved this unit. The updates of the whole committee are no fewer.
    radius : float
        R.
    rate : float
        λ, the largest if it changes.
    start : float, default=0.0
        The norm of the first :math:`(v_n, a_n)`.
    output_weight : float, default=1.0
        W, the largest :math:`|w_n|` during training; 1 in the Simple MLP.

    Examples
    --------
    >>> round(unit_norm_bound(updates=100, radius=1.0, rate=0.1), 3)
    4.69
    """
    moved = output_weight * rate  # the step of (x, 1)
    return _norm_bound(updates, np.sqrt(radius**2 + 1.0), moved, 1.0, start)


def unit_updates_bound(radius: float, rho: float, rate: float, *, start: float = 0.0) -> float:
    r"""Updates of a unit of the Simple MLP if a hyperplane separates the classes.

    A unit moves only along :math:`y (x, 1)`, so with :math:`\rho = 2/\|u\|` of a separating
    :math:`u` over the examples (x, 1), (8.20) and `unit_norm_bound` meet as in (8.22), and

    .. math:: t \le \frac{4}{\rho^2} \left(\frac2\lambda + R^2 + 1\right)
              + \frac{4}{\rho \lambda} \|(v_n, a_n)_0\|

    This is (8.23) for a hidden unit. λ must be constant.

    Parameters
    ----------
    radius : float
        R.
    rho : float
        ρ over the examples (x, 1), as in `novikoff_bound` with a bias.
    rate : float
        λ.
    start : float, default=0.0
        The norm of the first :math:`(v_n, a_n)`.

    Examples
    --------
    >>> unit_updates_bound(radius=1.0, rho=0.5, rate=0.5)
    96.0
    """
    return separable_updates_bound(radius, rho, rate, bias=True) + 4.0 * start / (rho * rate)
