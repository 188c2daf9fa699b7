"""What all displays share."""

from abc import ABC, abstractmethod
from typing import Any, Self

from widemargin.plots.style import axes


class Display(ABC):
    """Numbers to draw, and where they were drawn."""

    ax_: Any
    figure_: Any

    def plot(self, ax: Any = None) -> Self:
        """Draw on these axes, or on new ones.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw.

        Returns
        -------
        Display
            Itself, with the attributes `ax_` and `figure_`.
        """
        self.ax_ = axes(ax)
        self.figure_ = self.ax_.figure
        self._draw(self.ax_)
        return self

    @abstractmethod
    def _draw(self, ax: Any) -> None:
        """Draw on these axes."""
