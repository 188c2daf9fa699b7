"""What a model gives to the training loop: its arrays, native work on them, and measures."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from widemargin._typing import IntArray

if TYPE_CHECKING:
    from widemargin.training.loop import Epochs

__all__ = [
    "CountedLearner",
    "Ending",
    "Halted",
    "Learner",
    "RestartingLearner",
    "SolverLearner",
    "StochasticLearner",
    "Tally",
]


class Halted(Exception):
    """A learner cannot continue; what it learnt in earlier epochs is kept, if there are any."""

    reason = "halted"


class Tally(NamedTuple):
    """Sums over visited examples, each measured just before its own update."""

    updates: int
    criterion: float
    errors: float  # weights of misclassified examples; or squared errors, in variances of y
    weight: float

    def __add__(self, other: tuple[Any, ...]) -> "Tally":
        return Tally(*(a + b for a, b in zip(self, other, strict=True)))


class Learner(Protocol):
    """What a model gives to the loop; either a `StochasticLearner` or a `SolverLearner`."""

    order: IntArray  # the examples of an epoch, unshuffled

    def validate(self) -> tuple[float, float] | None:
        """Criterion and error on the validation examples, if there are any.

        The error of a regression is 1 − R², the unexplained fraction of the variance.
        """

    def geometric_margin(self) -> float | None:
        """ρ = 2β/‖w‖; None where it means nothing."""

    def measures(self, criterion: float) -> dict[str, float]:
        """Further entries of a record of the history, from the mean criterion of the epoch.

        With an entry ``training_error``, the loop watches this error and returns to the snapshot
        of the epoch with the lowest one.
        """

    def snapshot(self) -> Any:
        """A copy of the state, for `restore`; of the weights that the epoch's error belongs to."""

    def restore(self, state: Any) -> None:
        """Goes back to a snapshot."""

    def attributes(self) -> dict[str, Any]:
        """The fitted attributes, as if training had stopped here."""


class StochasticLearner(Learner, Protocol):
    """Trains on examples in the order of the loop."""

    rows_per_call: int  # how many examples a call of `visit` may take

    def visit(self, order: IntArray, rate: float) -> Tally:
        """Trains on these examples, one after the other, in place."""


class CountedLearner(StochasticLearner, Protocol):
    """A learner whose visits can be undone, so that training can stop at a number of updates."""

    state: Any  # all that `visit` changes


@runtime_checkable
class RestartingLearner(Protocol):
    """A learner that can try something else when training makes no more progress."""

    def restart(self, best: Any, error: float) -> bool:
        """Starts again, knowing the best snapshot so far and its error; False if it gives up."""


@runtime_checkable
class SolverLearner(Protocol):
    """A learner with a solver that runs its own iterations, each an epoch of the loop."""

    def run(self, epochs: "Epochs") -> "Ending | None":
        """Iterates between `epochs.begin()` and `epochs.end()`, until the latter returns True.

        Returns how the solver ended, if it ended by itself.
        """


@dataclass(frozen=True)
class Ending:
    """Why a solver ended, and what to do if that is not its stopping rule."""

    reason: str
    advice: str = ""
