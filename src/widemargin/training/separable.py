"""What hard margins say when the classes cannot be separated."""

from typing import Any

__all__ = ["NotSeparableError", "not_separable"]


class NotSeparableError(Exception):
    """No hyperplane separates the classes of a problem with a margin that numbers can tell from 0.

    Parameters
    ----------
    number : int
        The problem's number within the fit.
    bound : float
        An upper bound of every margin ρ.
    """

    def __init__(self, number: int, bound: float) -> None:
        super().__init__(f"no margin of problem {number} is wider than {bound:.3g}")
        self.number, self.bound = number, bound


def not_separable(model: Any, classes: tuple[str, str], bound: float, where: str) -> ValueError:
    """The error of a fit with C = ∞, for these two classes."""
    first, second = classes
    return ValueError(
        f"C={model.C} allows no example inside the margin, but {first} and {second} cannot be "
        f"separated {where}: no margin is wider than {bound:.3g}; use a finite C, or more features"
    )
