"""Learning-rate schedules: the step λ of an epoch, counted from 0."""

from collections.abc import Callable

__all__ = ["SCHEDULES", "make_schedule"]

SCHEDULES = ("constant", "decay", "invscaling")


def make_schedule(
    name: str, learning_rate: float, *, decay: float = 0.0, power_t: float = 0.5
) -> Callable[[int], float]:
    r"""The learning rate as a function of the epoch.

    ============== ==============================================
    ``constant``   :math:`\lambda`
    ``decay``      :math:`\lambda / (1 + \text{decay} \cdot e)`
    ``invscaling`` :math:`\lambda / (1 + e)^{\text{power\_t}}`
    ============== ==============================================

    Parameters
    ----------
    name : {"constant", "decay", "invscaling"}
        The schedule.
    learning_rate : float
        The rate λ of epoch 0.
    decay : float, default=0.0
        How fast ``decay`` falls: the rate has halved after ``1/decay`` epochs.
    power_t : float, default=0.5
        The exponent of ``invscaling``.

    Returns
    -------
    callable
        ``rate(epoch)``.

    Examples
    --------
    >>> rate = make_schedule("decay", 0.1, decay=0.5)
    >>> rate(0), rate(2)
    (0.1, 0.05)
    """
    if name == "constant":
        return lambda epoch: learning_rate
    if name == "decay":
        return lambda epoch: learning_rate / (1.0 + decay * epoch)
    if name == "invscaling":
        return lambda epoch: learning_rate / (1.0 + epoch) ** power_t
    raise ValueError(f"schedule={name!r} is unknown; use one of {', '.join(SCHEDULES)}")
