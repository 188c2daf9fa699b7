"""How much of an experiment is run: all of it, or a part for a quick look."""

from collections.abc import Callable
from dataclasses import dataclass

from sklearn.utils import Bunch

from widemargin.datasets import fetch_connect4, fetch_forest

__all__ = ["DATA", "Scope"]

FETCHERS: dict[str, Callable[..., Bunch]] = {"Forest": fetch_forest, "Connect-4": fetch_connect4}
DATA = tuple(FETCHERS)
PARTS = ("train", "valid", "test")


@dataclass(frozen=True)
class Scope:
    """The fraction of the rows and epochs that is used, and the seeds.

    Examples
    --------
    >>> Scope(0.01).rows(100_000), Scope(0.01).epochs(100), Scope().epochs(100)
    (1000, 1, 100)
    """

    scale: float = 1.0
    seeds: tuple[int, ...] = (0, 1, 2)

    def rows(self, count: int, least: int = 200) -> int:
        """So many of `count` rows."""
        return min(count, max(least, round(self.scale * count)))

    def epochs(self, count: int) -> int:
        """So many of `count` epochs or iterations."""
        return max(1, round(self.scale * count))

    def experts(self, count: int) -> int:
        """So many of `count` experts that each has rows enough."""
        return min(count, max(3, round(self.scale * count)))

    def thesis_split(self, name: str) -> Bunch:
        """Forest or Connect-4, split as in Chapter 4."""
        data = FETCHERS[name](split="thesis")
        for part in PARTS:
            count = self.rows(len(data[f"y_{part}"]))
            for key in (f"X_{part}", f"y_{part}"):
                data[key] = data[key][:count]
        return data
