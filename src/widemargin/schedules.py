r"""Learning-rate schedules: the step λ at time *e*, counted in epochs from 0.

Some schedules end after E epochs. These change within an epoch, so *e* may be fractional. The
others change only from one epoch to the next.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["ENDING_SCHEDULES", "SCHEDULES", "Schedule", "make_schedule"]

ENDING_SCHEDULES = ("linear", "cosine", "one_cycle")
SCHEDULES = ("constant", "decay", "invscaling", *ENDING_SCHEDULES)

# Constants of `one_cycle`
WARM_UP_FRACTION = 0.3  # fraction of the epochs in which the rate rises
START_FACTOR = 1 / 25  # first rate, as a multiple of λ
END_FACTOR = START_FACTOR * 1e-4  # last rate, as a multiple of λ


@dataclass(frozen=True)
class Schedule:
    """A learning rate as a function of time.

    Parameters
    ----------
    rate : callable
        λ(e).
    epochs : int or None, default=None
        E, where the schedule ends; None if it never ends.

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
    ``one_cycle``  rises from λ/25 to λ until 0.3 E, then falls to λ/250000; both are half cosines
    ============== ==============================================

    Parameters
    ----------
    name : {"constant", "decay", "invscaling", "linear", "cosine", "one_cycle"}
        The schedule.
    learning_rate : float
        The rate λ of epoch 0; for ``one_cycle``, the largest rate.
    decay : float, default=0.0
        How fast ``decay`` falls: the rate halves in the first ``1/decay`` epochs.
    power_t : float, default=0.5
        The exponent of ``invscaling``.
    epochs : int or None, default=None
        E, where the last three schedules end.

    Returns
    -------
    Schedule
        The rate as a function of the epoch.

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


def _linear(elapsed: float) -> float:
    return 1.0 - elapsed


def _cosine(elapsed: float) -> float:
    return (1.0 + math.cos(math.pi * elapsed)) / 2.0


def _one_cycle(elapsed: float) -> float:
    if elapsed < WARM_UP_FRACTION:
        return 1.0 + (START_FACTOR - 1.0) * _cosine(elapsed / WARM_UP_FRACTION)
    return END_FACTOR + (1.0 - END_FACTOR) * _cosine(
        (elapsed - WARM_UP_FRACTION) / (1.0 - WARM_UP_FRACTION)
    )
