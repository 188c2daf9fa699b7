r"""Which models and schedules satisfy the conditions of Bottou's theorem (Theorem 3.2).

Stochastic gradient :math:`\theta_{t+1} = \theta_t - \lambda_t G(z_t, \theta_t)` converges with
probability 1 to a point where the derivative of the risk R is 0, if

====  ==================================================================================
i     :math:`R(\theta) > R_{\min}` for all θ
ii    :math:`E\,G = \partial R / \partial\theta` (8.12)
iii   :math:`\sum \lambda_t = \infty`, :math:`\sum \lambda_t^2 < \infty`
iv    :math:`E \|G\|^2 < A + B \|\theta\|^2` for some A, B
v     :math:`\inf_{\|\theta\| > D} \theta \cdot \partial R / \partial\theta > 0` for some D
vi    :math:`\|G\| \le K` for all examples and all :math:`\|\theta\| < E`, for some E > D
====  ==================================================================================

(In vi the thesis prints :math:`\|\theta\| > E`, and its text says "for a small norm of θ". As
printed, weight decay alone would violate it.) Inputs are taken to be bounded, and both classes to
have examples. The theorem draws examples independently of each other; an epoch in random order
visits each of them once.
"""

from dataclasses import dataclass

__all__ = ["Condition", "Conditions", "convergence_conditions", "schedule_condition"]

ENDING = ("linear", "cosine", "one_cycle")
#: Criteria by the shape of Q: where its slope is bounded, and where it has a kink.
BOUNDED_SLOPE = ("perceptron", "margin", "cross_entropy", "tanh_mse", "epsilon_insensitive")
WITH_KINK = ("perceptron", "margin", "epsilon_insensitive")
CRITERIA = (*BOUNDED_SLOPE, "mse", "squared_margin")
TRANSFERS = ("sigmoid", "tanh", "slanted_tanh", "hard_tanh", "relu", "identity")
TRANSFERS_WITH_KINK = ("hard_tanh", "relu")
MODELS = ("linear", "mlp", "simple_mlp")


@dataclass(frozen=True)
class Condition:
    """One condition: whether it holds, and why. None means that it depends on the data."""

    name: str
    holds: bool | None
    reason: str

    def __str__(self) -> str:
        says = {True: "holds", False: "does not hold", None: "depends on the data"}[self.holds]
        return f"{self.name:3} {says}: {self.reason}"


@dataclass(frozen=True)
class Conditions:
    """The six conditions of Theorem 3.2; ``conditions["iii"]`` is one of them."""

    every: tuple[Condition, ...]

    def __getitem__(self, name: str) -> Condition:
        return next(condition for condition in self.every if condition.name == name)

    @property
    def holds(self) -> bool | None:
        """Whether the theorem applies; None if that depends on the data."""
        found = [condition.holds for condition in self.every]
        return False if False in found else None if None in found else True

    def __str__(self) -> str:
        return "\n".join(map(str, self.every))


def schedule_condition(schedule: str, *, decay: float = 0.0, power_t: float = 0.5) -> Condition:
    r"""Condition iii for a schedule of `widemargin.schedules`, or "inverse" of `SGDSVC`.

    Steps that change from epoch to epoch are L equal steps each, which changes neither sum from
    finite to infinite.

    Parameters
    ----------
    schedule : str
        "constant", "decay", "invscaling", "linear", "cosine", "one_cycle" or "inverse".
    decay : float, default=0.0
        Of "decay", :math:`\lambda / (1 + \text{decay} \cdot e)`.
    power_t : float, default=0.5
        Of "invscaling", :math:`\lambda / (1 + e)^{\text{power\_t}}`.

    Examples
    --------
    >>> schedule_condition("decay", decay=0.1).holds
    True
    >>> print(schedule_condition("invscaling"))  # the default exponent is 1/2
    iii does not hold: the sum of 1/e^(2 · 0.5) is infinite; use 0.5 < power_t <= 1
    """
    if schedule in ENDING:
        reason = "the schedule ends, so the sum of λ is finite"
        return Condition("iii", False, reason)
    if schedule == "inverse":
        return Condition("iii", True, "λ falls as 1/t: the sum of 1/t is infinite, of 1/t² finite")
    if schedule == "constant" or (schedule == "decay" and decay == 0.0):
        return Condition("iii", False, "λ is constant, so the sum of λ² is infinite")
    if schedule == "decay":
        return Condition("iii", True, "λ falls as 1/e: the sum of 1/e is infinite, of 1/e² finite")
    if schedule != "invscaling":
        raise ValueError(
            f"schedule={schedule!r} is unknown; use constant, decay, invscaling, inverse, "
            f"{', '.join(ENDING)}"
        )
    power = f"{power_t:g}"
    if power_t > 1.0:
        return Condition("iii", False, f"the sum of 1/e^{power} is finite; use 0.5 < power_t <= 1")
    if power_t <= 0.5:
        reason = f"the sum of 1/e^(2 · {power}) is infinite; use 0.5 < power_t <= 1"
        return Condition("iii", False, reason)
    reason = f"the sum of 1/e^{power} is infinite, of its square finite"
    return Condition("iii", True, reason)


def convergence_conditions(
    model: str,
    criterion: str,
    *,
    transfer: str | None = None,
    schedule: str = "constant",
    decay: float = 0.0,
    power_t: float = 0.5,
    weight_decay: bool = False,
    finite: bool = True,
) -> Conditions:
    r"""The conditions of Theorem 3.2 for a model that is trained by stochastic gradient.

    Parameters
    ----------
    model : {"linear", "mlp", "simple_mlp"}
        :math:`w \cdot x + b`, a network with one hidden layer, or the Simple MLP (8.33).
    criterion : str
        "perceptron", "margin", "squared_margin", "cross_entropy", "mse", "tanh_mse" or
        "epsilon_insensitive".
    transfer : str, optional
        h of an MLP: "sigmoid", "tanh", "slanted_tanh", "hard_tanh", "relu" or "identity". The
        Simple MLP has HardTanh.
    schedule, decay, power_t :
        As in `schedule_condition`.
    weight_decay : bool, default=False
        Whether the weights decay, as in (8.9) and (8.10). Biases do not.
    finite : bool, default=True
        Whether R is the mean over a finite training set. Otherwise it is the expectation over a
        distribution whose inputs have a density, which is what (8.12) and (8.13) are about.

    Returns
    -------
    Conditions

    Notes
    -----
    The thesis says that iv holds for all its models. It does not for an MLP with the squared
    error. It says that a slanted tanh makes v hold. It does not: where all output weights are 0,
    hidden weights of any size have no gradient.

    Examples
    --------
    >>> found = convergence_conditions("linear", "margin", schedule="inverse", weight_decay=True)
    >>> [(condition.name, condition.holds) for condition in found.every]
    [('i', True), ('ii', False), ('iii', True), ('iv', True), ('v', True), ('vi', True)]
    >>> print(found["ii"])
    ii  does not hold: the mean over a finite set has kinks where an example is at the margin
    >>> convergence_conditions(
    ...     "linear", "margin", schedule="inverse", weight_decay=True, finite=False
    ... ).holds
    True
    """
    for name, value, known in (("model", model, MODELS), ("criterion", criterion, CRITERIA)):
        if value not in known:
            raise ValueError(f"{name}={value!r} is unknown; use one of {', '.join(known)}")
    transfer = "hard_tanh" if model == "simple_mlp" else transfer
    if (model != "linear") != (transfer in TRANSFERS):
        raise ValueError(
            f"transfer={transfer!r} does not fit model={model!r}: an MLP needs one of "
            f"{', '.join(TRANSFERS)}, a linear model none"
        )
    bounded = criterion in BOUNDED_SLOPE
    return Conditions(
        (
            Condition("i", True, "neither criterion nor weight decay is negative"),
            _unbiased(criterion, transfer, finite),
            schedule_condition(schedule, decay=decay, power_t=power_t),
            _growth(model, bounded),
            _confined(model, criterion, weight_decay),
            Condition("vi", True, "inputs are bounded, and so is G where θ is"),
        )
    )


def _unbiased(criterion: str, transfer: str | None, finite: bool) -> Condition:
    """ii, by (8.11)-(8.13): the gradient of Q where it exists, else 0."""
    if criterion not in WITH_KINK and transfer not in TRANSFERS_WITH_KINK:
        return Condition("ii", True, "Q is differentiable, with a gradient that is bounded near θ")
    where = "the margin" if criterion in WITH_KINK else "a kink of a unit"
    if finite:
        reason = f"the mean over a finite set has kinks where an example is at {where}"
        return Condition("ii", False, reason)
    reason = (
        "examples at a kink have probability 0 (8.13), unless the weights are 0; there every "
        "example may be at a kink"
    )
    return Condition("ii", True, reason)


def _growth(model: str, bounded: bool) -> Condition:
    """iv."""
    if model == "mlp" and not bounded:
        reason = "Q' grows as ‖w‖ and ∂f/∂v as ‖w‖, so ‖G‖² grows as ‖w‖⁴"
        return Condition("iv", False, reason)
    if model == "mlp":
        return Condition("iv", True, "Q' is bounded, and ∂f/∂θ grows at most linearly")
    if bounded:
        return Condition("iv", True, "Q' and ∂f/∂θ are bounded; weight decay is linear in θ")
    return Condition("iv", True, "∂f/∂θ is bounded, and Q' grows at most linearly")


def _confined(model: str, criterion: str, weight_decay: bool) -> Condition:
    """v."""
    if model == "mlp":
        what = "hidden biases, which do not decay," if weight_decay else "hidden weights"
        reason = f"where w = 0 and b = 0, {what} may have any size, and θ · ∂R/∂θ = 0"
        return Condition("v", False, reason)
    if model == "simple_mlp":
        reason = "where every unit is saturated and b = 0, biases may have any size"
        return Condition("v", False, f"{reason}, and θ · ∂R/∂θ = 0")
    if criterion == "tanh_mse":
        reason = "tanh saturates as b grows, which does not decay, and θ · ∂R/∂θ falls to 0"
        return Condition("v", False, reason)
    if weight_decay:
        reason = "weight decay confines w, and examples of both classes confine b"
        return Condition("v", True, reason)
    if criterion in ("mse", "epsilon_insensitive"):
        reason = "it holds if the inputs and the constant 1 are linearly independent"
        return Condition("v", None, reason)
    reason = "it holds if no hyperplane separates the classes, not even with examples on it"
    return Condition("v", None, reason)
