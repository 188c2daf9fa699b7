r"""Learning-rate schedules: the step λ at a time *e*, counted in epochs from 0.

Some know their end, at E epochs. These change all the time, so *e* may be a part of an epoch; the
others change from one epoch to the next.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["ENDING_SCHEDULES", "SCHEDULES", "Schedule", "make_schedule"]

ENDING_SCHEDULES = ("linear", "cosine", "one_cycle")
SCHEDULES = ("constant", "decay", "invscaling", *ENDING_SCHEDULES)

WARM_UP = 0.3  # the part of `one_cycle` in which the rate rises
FIRST_PART = 1 / 25  # of the rate, where it starts
LAST_PART = FIRST_PART * 1e-4  # and where it ends


@dataclass(frozen=True)
class Schedule:
    """A learning rate as a function of time.

    Parameters
    ----------
    rate : callable
        λ(e).
    epochs : int or None, default=None
        E, where it ends; None if it may go on for ever.

    Examples
    --------
    >>> Schedule(lambda epoch: 0.1)(3)
    0.1
    """

    rate: Callable[[float], float]
    epochs: int | None = None

    def __call__(self, epoch: float) -> float:
        return self.rate(epoch)


def make_schedule(
    name: str,
    learning_rate: float,
    *,
    decay: float = 0.0,
    power_t: float = 0.5,
    epochs: int | None = None,
) -> Schedule:
    r"""The learning rate as a function of the epoch.

    ============== ==============================================
    ``constant``   :math:`\lambda`
    ``decay``      :math:`\lambda / (1 + \text{decay} \cdot e)`
    ``invscaling`` :math:`\lambda / (1 + e)^{\text{power\_t}}`
    ``linear``     :math:`\lambda (1 - e/E)`
    ``cosine``     :math:`\lambda (1 + \cos(\pi e/E)) / 2`
    ``one_cycle``  rises from λ/25 to λ until 0.3 E, then falls to λ/250000, both on half a cosine
    ============== ==============================================

    Parameters
    ----------
    name : {"constant", "decay", "invscaling", "linear", "cosine", "one_cycle"}
        The schedule.
    learning_rate : float
        The rate λ of epoch 0; the largest one of ``one_cycle``.
    decay : float, default=0.0
        How fast ``decay`` falls: the rate has halved after ``1/decay`` epochs.
    power_t : float, default=0.5
        The exponent of ``invscaling``.
    epochs : int or None, default=None
        E, where the last three end.

    Returns
    -------
    Schedule
        ``rate(epoch)``.

    References
    ----------
    ``one_cycle``: L. Smith and N. Topin, *Super-convergence*, 2017, with the constants of
    PyTorch's ``OneCycleLR``.

    Examples
    --------
    >>> rate = make_schedule("decay", 0.1, decay=0.5)
    >>> rate(0), rate(2)
    (0.1, 0.05)
    >>> rate = make_schedule("linear", 0.1, epochs=20)
    >>> rate(0), rate(10.0)
    (0.1, 0.05)
    """
    if name == "constant":
        return Schedule(lambda epoch: learning_rate)
    if name == "decay":
        return Schedule(lambda epoch: learning_rate / (1.0 + decay * epoch))
    if name == "invscaling":
        return Schedule(lambda epoch: float(learning_rate / (1.0 + epoch) ** power_t))
    if name not in ENDING_SCHEDULES:
        raise ValueError(f"schedule={name!r} is unknown; use one of {', '.join(SCHEDULES)}")
    if epochs is None:
        raise ValueError(f"schedule={name!r} needs the number of epochs at which it ends")
    shape = {"linear": _linear, "cosine": _cosine, "one_cycle": _one_cycle}[name]
    return Schedule(lambda epoch: learning_rate * shape(min(epoch / epochs, 1.0)), epochs)


def _linear(part: float) -> float:
    return 1.0 - part


def _cosine(part: float) -> float:
    return (1.0 + math.cos(math.pi * part)) / 2.0


def _one_cycle(part: float) -> float:
    if part < WARM_UP:
        return 1.0 + (FIRST_PART - 1.0) * _cosine(part / WARM_UP)
    return LAST_PART + (1.0 - LAST_PART) * _cosine((part - WARM_UP) / (1.0 - WARM_UP))
