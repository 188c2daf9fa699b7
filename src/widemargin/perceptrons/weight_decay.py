"""What machines trained by stochastic gradient with weight decay share: steps, epochs, C."""

from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from widemargin import criteria, theory

__all__ = ["WeightDecay"]

AUTO_STEP = 0.1  # the fraction of the margin by which a first update moves its own example
_POSITIVE = Interval(Real, 0, None, closed="neither")


class WeightDecay:
    """Parameters `mu`, `learning_rate`, `schedule` and `decay` of an online SVM."""

    _decay_constraints: ClassVar[dict[str, Any]] = {
        "mu": [_POSITIVE],
        "learning_rate": [StrOptions({"auto"}), _POSITIVE],
        "schedule": [StrOptions({"inverse", "constant", "decay"})],
        "decay": [Interval(Real, 0, None, closed="left")],
    }

    mu: float
    learning_rate: float | str
    schedule: str
    decay: float
    early_stopping: bool

    def _criterion(self) -> criteria.Criterion:
        return criteria.Margin(1.0)

    def _decay(self, learner: Any, *, resume: bool) -> None:
        """Give a learner the decay, and note the first step and what Theorem 8.1 says of it."""
        if self.learning_rate != "auto":
            self.learning_rate_ = float(self.learning_rate)
        elif not resume:
            self.learning_rate_ = AUTO_STEP / (learner.mean_squared_norm() + 1.0)
            self.learning_rate_ = min(self.learning_rate_, 1.0 / self.mu)
        if self.learning_rate_ * self.mu > 1.0:
            raise ValueError(
                f"learning_rate={self.learning_rate_:.6g} times mu={self.mu:.6g} is more than 1: "
                "the weights would change sign at every example; use learning_rate <= 1/mu"
            )
        learner.mu = self.mu
        learner.slowing = self.learning_rate_ * self.mu if self.schedule == "inverse" else 0.0
        self.theorem_epochs_ = theory.decay_epochs(len(learner.order), self.learning_rate_, self.mu)
        self.C_ = 1.0 / (self.mu * len(learner.order))

    def _rate(self) -> tuple[str, float, float, float]:
        name = "constant" if self.schedule == "inverse" else self.schedule  # the learner's own
        return (name, self.learning_rate_, self.decay, 0.0)

    def _needed_epochs(self) -> float:
        return 0.0 if self.early_stopping else self.theorem_epochs_
