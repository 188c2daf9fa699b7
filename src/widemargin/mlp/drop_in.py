"""What `MLPClassifier` and `MLPRegressor` share: scikit-learn's parameters, and L-BFGS."""

from dataclasses import replace
from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions

from widemargin.mlp.lbfgs import LBFGSLearner
from widemargin.mlp.model import NETWORK_CONSTRAINTS, NetworkModel
from widemargin.mlp.network import Steps, TrainedNetwork
from widemargin.training.estimators import Examples
from widemargin.training.loop import Learner, Outcome

SCHEDULES = ("constant", "invscaling", "linear", "cosine", "one_cycle")

DROP_IN_CONSTRAINTS: dict[str, Any] = {
    **NETWORK_CONSTRAINTS,
    "solver": [StrOptions({"sgd", "adam", "adamw", "lbfgs"})],
    "alpha": [Interval(Real, 0, None, closed="left")],
    "output_alpha": [Interval(Real, 0, None, closed="left"), None],
    "learning_rate": [StrOptions(set(SCHEDULES))],
    "learning_rate_init": [Interval(Real, 0, None, closed="neither")],
    "power_t": [Interval(Real, 0, None, closed="left")],
    "dropout": [Interval(Real, 0, 0.99, closed="both")],
    "max_fun": [Interval(Integral, 1, None, closed="left")],
}


class DropInNetwork(NetworkModel):
    """Base of the networks with scikit-learn's parameters."""

    def _learner(self, examples: Examples, *, resume: bool) -> TrainedNetwork:
        if self.solver != "lbfgs":
            return self._stochastic_learner(examples, resume=resume)
        arguments = self._learner_arguments(examples, self._full_batch(examples), resume)
        return LBFGSLearner(*arguments, tol=self.tol, max_fun=self.max_fun)

    def _full_batch(self, examples: Examples) -> Steps:
        """The decays of L-BFGS, whose batch is the training set."""
        needed = {"batch_size": "auto", "learning_rate": "constant", "dropout": 0.0}
        for name, only in needed.items():
            if (value := getattr(self, name)) != only:
                raise ValueError(
                    f"solver='lbfgs' uses all examples at every step and a line search, so "
                    f"{name}={value!r} would have no effect; set {name}={only!r}, or use "
                    "solver='adam'"
                )
        weights, order = examples.weights, examples.order
        hidden, output = self._decays(len(order) if weights is None else weights[order].sum())
        return Steps(solver="lbfgs", batch=len(order), mu=output, nu=hidden)

    def _steps(self, examples: Examples) -> Steps:
        steps = super()._steps(examples)
        if not self.dropout:
            return steps
        return replace(steps, dropout=float(self.dropout), seed=self._seed())

    def _decays(self, batch: float) -> tuple[float, float]:
        """As scikit-learn, which divides `alpha` by the sum of the weights of a batch."""
        output = self.alpha if self.output_alpha is None else self.output_alpha
        return self.alpha / batch, output / batch

    def _rate(self) -> tuple[str, float, float, float]:
        return (self.learning_rate, self.learning_rate_init, 0.0, self.power_t)

    def _require_online(self) -> None:
        if self.solver == "lbfgs":
            raise AttributeError(
                "solver='lbfgs' needs all examples at once and has no partial_fit; use "
                "solver='adam', or fit"
            )

    def _conclude(self, learner: Learner, outcome: Outcome) -> None:
        super()._conclude(learner, outcome)
        if self.solver == "lbfgs":
            self._rows_done = 0  # an unfinished evaluation is not resumed
