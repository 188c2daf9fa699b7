"""The learner that trains experts and gater jointly, in mini-batches with Adam."""

from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from widemargin._typing import FloatArray, IntArray
from widemargin.inputs.labels import MeanWeight, example_errors
from widemargin.mixtures.soft.criteria import MIN_LOG_VARIANCE
from widemargin.mixtures.soft.mixture import SoftLearner, SoftMixture
from widemargin.training.loop import Tally
from widemargin.training.model import Examples

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8
OPERATIONS_PER_CALL = 300_000_000  # multiplications; tens of milliseconds


@dataclass
class AdamState:
    """Adam's moments, and counts of what was visited so far."""

    first: NDArray[Any]
    second: NDArray[Any]
    count: int = 0
    updates: int = 0
    mean_weight: MeanWeight = field(default_factory=MeanWeight)  # of all fits

    def copy(self) -> "AdamState":
        counts = (self.count, self.updates, replace(self.mean_weight))
        return AdamState(self.first.copy(), self.second.copy(), *counts)


class GradientLearner(SoftLearner):
    """Trains a `SoftMixture` in mini-batches; see `widemargin.training.loop.Learner`."""

    def __init__(
        self,
        examples: Examples,
        mixture: SoftMixture,
        steps: AdamState,
        *,
        batch: int,
        mu: float,
        error_scale: FloatArray | None = None,
    ) -> None:
        super().__init__(examples, mixture, error_scale)
        self.steps, self.batch, self.mu = steps, batch, mu
        self.controller = ThreadpoolController()
        views = mixture.layout.views(mixture.parameters)
        first = (views["first"], views["first_bias"])
        mixture.scaling.update(examples.X, self.order, examples.weights, [first])
        dtype = mixture.parameters.dtype
        self.inputs = mixture.inputs(examples.X, dtype)
        self.y = examples.y.astype(dtype)
        self.gradient = np.zeros_like(mixture.parameters)
        operations = 3 * mixture.layout.n_parameters * batch
        self.rows_per_call = batch * max(1, OPERATIONS_PER_CALL // operations)
        steps.mean_weight.add(self.order, examples.weights)

    def visit(self, order: IntArray, rate: float) -> Tally:
        tally = Tally(0, 0.0, 0.0, 0.0)
        with self.controller.limit(limits=1, user_api="blas"):  # more change the last bits
            for first in range(0, len(order), self.batch):
                tally += self._step(order[first : first + self.batch], rate)
        self.steps.updates += tally.updates
        return tally

    def _step(self, rows: IntArray, rate: float) -> Tally:
        """One batch: forward, criterion, backward, update."""
        mixture = self.mixture
        layout, panel, y = mixture.layout, self.inputs.take(rows), self.y[rows]
        weights, gradient = layout.views(mixture.parameters), layout.views(self.gradient)
        done = layout.forward(weights, panel)
        terms = mixture.criterion.terms(done.logits, done.outputs, y, weights["log_variance"])
        scores = mixture.criterion.scores(done.logits, done.outputs)

        all_weights = self.examples.weights
        w = np.ones(len(rows)) if all_weights is None else all_weights[rows]
        factor = (w / (self.steps.mean_weight.value * len(rows))).astype(self.y.dtype)
        slopes = factor[:, None] * terms.logits, factor[:, None, None] * terms.outputs
        self.gradient[...] = 0
        layout.backward(weights, panel, done, slopes, gradient)
        gradient["log_variance"] += factor @ terms.log_variance
        self._adam(rate)
        variance = weights["log_variance"]
        np.maximum(variance, MIN_LOG_VARIANCE, out=variance)
        errors = example_errors(scores, y, self.error_scale)
        return Tally(len(rows), float(terms.value @ w), float(errors @ w), float(w.sum()))

    def _adam(self, rate: float) -> None:
        """θ ← (1 − λμ) θ for weights, then θ ← θ − λ m̂ / (√v̂ + ε) (Loshchilov and Hutter)."""
        layout, parameters, steps = self.mixture.layout, self.mixture.parameters, self.steps
        steps.count += 1
        for W in layout.decayed(layout.views(parameters)) if self.mu else ():
            W *= 1 - rate * self.mu
        steps.first += (1 - BETA_1) * (self.gradient - steps.first)
        steps.second += (1 - BETA_2) * (self.gradient**2 - steps.second)
        spread = np.sqrt(steps.second / (1 - BETA_2**steps.count)) + EPSILON
        parameters -= rate / (1 - BETA_1**steps.count) * steps.first / spread

    def measures(self, criterion: float) -> dict[str, float]:
        return {}

    def snapshot(self) -> tuple[NDArray[Any], AdamState]:
        return self.mixture.parameters.copy(), self.steps.copy()

    def restore(self, state: tuple[NDArray[Any], AdamState]) -> None:
        self.mixture.parameters, self.steps = state[0].copy(), state[1].copy()

    def attributes(self) -> dict[str, Any]:
        steps = self.steps
        moments = {"first": steps.first.copy(), "second": steps.second.copy()}
        counts = {"count": steps.count, **asdict(steps.mean_weight)}
        found = super().attributes()
        found["_state"] |= moments | counts
        return found | {"n_updates_": steps.updates}
