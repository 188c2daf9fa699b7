r"""How long stochastic gradient with weight decay must run (Theorem 8.1).

Each visit of an example multiplies every dual weight by :math:`1 - \lambda\mu` and adds λμ to that
of the visited example if it is within the margin (8.17). An epoch is L visits. λ is the step
(`rate`) and μ the weight decay (`mu`).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

__all__ = ["NetworkEpochs", "bound_epochs", "decay_epochs", "halving_epochs", "network_epochs"]

SMALL = 1e-5  # of Lλμ, below which a series is more precise


def decay_epochs(n_examples: int, rate: float, mu: float) -> float:
    r"""Epochs that stochastic gradient with weight decay needs at least (Theorem 8.1).

    The order is :math:`1/(L \lambda \mu)`. Each visit multiplies the contribution of every example
    to the weights by :math:`1 - \lambda\mu` (8.17). After that many epochs of L visits, a
    contribution that should vanish still has :math:`e^{-1}` of its size. If the steps decrease, λ
    is the first and largest one; for :math:`\lambda / (1 + \lambda\mu t)` one half remains.

    Examples
    --------
    >>> round(decay_epochs(n_examples=10_000, rate=1e-3, mu=1e-4))  # the thesis: λμ = 1e-7
    1000
    """
    return 1.0 / (n_examples * rate * mu)


def halving_epochs(n_examples: int, rate: float, mu: float) -> float:
    r"""Epochs until the dual weight of an example that is no longer needed has halved.

    :math:`N_e = -\log 2 / (L \log(1 - \lambda\mu))`, which is near
    :math:`\log 2 / (L \lambda\mu)` if λμ is small.

    Examples
    --------
    >>> round(halving_epochs(n_examples=10_000, rate=1e-3, mu=1e-4))
    693
    """
    return float(-np.log(2.0) / (n_examples * np.log1p(-rate * mu)))


def bound_epochs(n_examples: int, rate: float, mu: float) -> float:
    r"""Epochs until the dual weight of an example within the margin has grown from 0 to its bound.

    After :math:`N_e` epochs, the weight is at most

    .. math:: \lambda\mu \sum_{i=0}^{N_e - 1} (1 - \lambda\mu)^{Li}
              = \lambda\mu \, \frac{1 - (1 - \lambda\mu)^{L N_e}}{1 - (1 - \lambda\mu)^L}

    (the thesis prints the denominator :math:`(1 - \lambda\mu)^L`), and it must reach 1/L:

    .. math:: N_e = \frac{1}{L \log(1 - \lambda\mu)}
              \log\left[1 - \frac{1 - (1 - \lambda\mu)^L}{L \lambda\mu}\right]

    If :math:`L\lambda\mu` is small, this is near :math:`\log(2/(L\lambda\mu)) / (L\lambda\mu)`. The
    equivalent that is printed, :math:`-\log(\lambda\mu)/(L\lambda\mu)`, holds for λμ → 0 with L
    fixed, but only in the limit: for the thesis's own values, λμ = 1e-7 and L = 10,000, it is
    16,118.

    Examples
    --------
    >>> round(bound_epochs(n_examples=10_000, rate=1e-3, mu=1e-4))
    7601
    """
    step, visits = rate * mu, n_examples
    if visits == 1:
        return np.inf  # the weight 1 is only reached in the limit
    total = visits * step
    if total < SMALL:  # 1 − (1 − λμ)^L over Lλμ, by its first terms
        left = (visits - 1) * step / 2.0 - (visits - 1) * (visits - 2) * step**2 / 6.0
    else:
        left = 1.0 + np.expm1(visits * np.log1p(-step)) / total
    return float(np.log(left) / (visits * np.log1p(-step)))


class NetworkEpochs(NamedTuple):
    """Epochs of the output layer and of the hidden units, for `network_epochs`."""

    output: float
    hidden: float

    @property
    def needed(self) -> float:
        """Epochs until both are done."""
        return max(self.output, self.hidden)


def network_epochs(
    n_examples: int,
    rate: float,
    mu: float,
    nu: float,
    *,
    hidden_rate: float | None = None,
    batch: int = 1,
    epochs: Callable[[int, float, float], float] = decay_epochs,
) -> NetworkEpochs:
    r"""Theorem 8.1 for an MLP with the weight decays μ and ν of (8.10) (thesis, 8.5.4).

    A step multiplies the output weights by :math:`1 - \lambda\mu` and those of the hidden units by
    :math:`1 - \lambda'\nu`. So by (8.30) each example's coefficient in :math:`v_n` decays as (8.17)
    says, with ν in the place of μ, and grows by :math:`\lambda'\nu |w_n|` per visit towards its
    bound :math:`|w_n|/L`. The slower layer determines how long training takes. A step on a batch
    of B examples decays once, so that an epoch has L/B decays.

    Parameters
    ----------
    n_examples : int
        L.
    rate : float
        λ of the output layer.
    mu, nu : float
        Weight decays of the output layer and of the hidden units. A layer without one needs no
        epochs for it.
    hidden_rate : float, optional
        λ' of the hidden units; by default λ.
    batch : int, default=1
        B.
    epochs : callable, default=decay_epochs
        What is counted: `decay_epochs`, `halving_epochs` or `bound_epochs`.

    Returns
    -------
    NetworkEpochs

    Examples
    --------
    >>> found = network_epochs(n_examples=10_000, rate=0.01, mu=1e-3, nu=1e-4)
    >>> round(found.output), round(found.hidden), round(found.needed)
    (10, 100, 100)
    """
    steps, slow = -(-n_examples // batch), rate if hidden_rate is None else hidden_rate
    output = epochs(steps, rate, mu) if mu else 0.0
    return NetworkEpochs(output, epochs(steps, slow, nu) if nu else 0.0)
