r"""The learner of linear machines :math:`f(x) = w \cdot x + b`, by stochastic gradient.

Weights are kept for **raw** inputs. With scaled inputs :math:`\hat x = (x - m)/s` and weights *v*
of :math:`\hat x`, the core trains :math:`w = v/s` in :math:`f(x) = w \cdot (x - m) + b`, or *v*
itself where the rows are packed (``cpp/widemargin/linear/stochastic_gradient.hpp``). Outside the
core, the model is :math:`f(x) = w \cdot x + c` with :math:`c = b - w \cdot m`. So ``coef_`` applies
to the user's own columns, sparse data stay sparse, and the statistics may change between two calls
of ``partial_fit`` without changing what the model computes.
"""

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from widemargin import _core
from widemargin._typing import FloatArray, IntArray
from widemargin.criteria import Criterion
from widemargin.inputs.packing import RowLayout
from widemargin.inputs.rows import decision
from widemargin.inputs.scaling import Scaling
from widemargin.training.loop import Tally
from widemargin.training.model import Examples
from widemargin.training.outputs import evaluate

__all__ = ["LinearLearner", "LinearState"]

OPERATIONS_PER_CALL = 20_000_000  # some 20 ms of native work


@dataclass
class LinearState:
    """Weights for raw inputs, f(x) = w·x + c, and the sums from which their mean is computed."""

    w: FloatArray
    c: FloatArray
    sum_w: FloatArray | None
    sum_c: FloatArray | None
    steps: float
    updates: int
    scaling: Scaling

    @classmethod
    def zero(cls, outputs: int, scaling: Scaling, *, average: bool) -> "LinearState":
        w, c = np.zeros((outputs, len(scaling.mean))), np.zeros(outputs)
        sum_w, sum_c = (w.copy(), c.copy()) if average else (None, None)
        return cls(w, c, sum_w, sum_c, 0.0, 0, scaling)

    def average(self) -> tuple[FloatArray, FloatArray]:
        """The mean of (w, c) over all steps: an update of age a was absent a/steps of the time."""
        if self.sum_w is None or self.sum_c is None or self.steps == 0.0:
            return self.w.copy(), self.c.copy()
        return self.w - self.sum_w / self.steps, self.c - self.sum_c / self.steps


class LinearLearner:
    """Trains a `LinearState` on examples; see `widemargin.training.loop.Learner`."""

    mu = 0.0  # weight decay
    slowing = 0.0  # λ/(1 + slowing · t) after t examples, on top of the loop's schedule

    def __init__(
        self,
        examples: Examples,
        state: LinearState,
        criterion: Criterion,
        *,
        fit_intercept: bool,
        threads: int,
    ) -> None:
        self.examples, self.state, self.criterion = examples, state, criterion
        self.fit_intercept, self.threads = fit_intercept, threads
        self.order = examples.order
        X, weights = examples.X, examples.weights
        outputs, width = state.w.shape
        stored = X.nnz / X.shape[0] if sp.issparse(X) else width
        self.rows_per_call = max(1, int(OPERATIONS_PER_CALL / (outputs * (stored + 10))))
        state.scaling.update(X, self.order, weights)
        self._lay_out()

    def _lay_out(self) -> None:
        """Lays out the rows for the core, scaled as the state has it."""
        examples, scaling = self.examples, self.state.scaling
        self.offset, self.scale = scaling.offset, scaling.scale
        self.layout = RowLayout.suited_to(examples.X, scaling, dense=examples.repeated)
        rows = self.layout.lay_out(examples.X, examples.y, examples.weights)
        self.rows, self.core_mean, self.core_scale = rows

    @np.errstate(over="ignore", invalid="ignore")  # divergence is reported by the loop, once
    def visit(self, order: IntArray, rate: float) -> Tally:
        state, offset, layout = self.state, self.offset, self.layout
        w, b = layout.raw_to_core(state.w), state.c + state.w @ offset
        sum_w = sum_b = None
        if state.sum_w is not None and state.sum_c is not None:
            sum_w, sum_b = layout.raw_to_core(state.sum_w), state.sum_c + state.sum_w @ offset
        slower = 1.0 + self.slowing * state.steps
        tally = Tally(
            *_core.stochastic_gradient(
                self.rows,
                w,
                b,
                sum_w=sum_w,
                sum_b=sum_b,
                steps=state.steps,
                mean=self.core_mean,
                scale=self.core_scale,
                order=order,
                y=self.examples.y,
                weights=self.examples.weights,
                one_against_rest=len(state.w) > 1,
                criterion=self.criterion.name,
                parameter=self.criterion.parameter,
                rate=rate / slower,
                slowing=self.slowing / slower,
                mu=self.mu,
                fit_intercept=self.fit_intercept,
                threads=self.threads,
            )
        )
        state.w = layout.raw_from_core(w)
        state.c = b - state.w @ offset
        if sum_w is not None and sum_b is not None:
            state.sum_w = layout.raw_from_core(sum_w)
            state.sum_c = sum_b - state.sum_w @ offset
        state.steps += len(order)
        state.updates += tally.updates
        return tally

    def validate(self) -> tuple[float, float] | None:
        X, y, weights = self.examples.X_val, self.examples.y_val, self.examples.weights_val
        if X is None or y is None:
            return None
        return evaluate(decision(X, *self.state.average()), y, weights, self.criterion)

    def mean_squared_norm(self) -> float:
        """The mean of ‖x̂‖² over the examples."""
        examples = self.examples
        return self.state.scaling.mean_squared_norm(examples.X, self.order, examples.weights)

    def geometric_margin(self) -> float | None:
        """ρ = 2β/‖w‖ of scaled inputs, the smallest of several outputs; None if β = 0."""
        if not self.criterion.parameter:
            return None
        w, _ = self.state.average()
        norm = np.linalg.norm(w * self.scale, axis=1).max()
        return float(2.0 * self.criterion.parameter / norm) if norm > 0 else float("inf")

    # --------------------------------------------------------------------------- with weight decay

    @property
    def mean_weight(self) -> float:
        """Of the examples: their mean criterion times this is 1/L Σ c Q."""
        weights = self.examples.weights
        return 1.0 if weights is None else float(weights[self.order].mean())

    def penalty(self, w: FloatArray) -> float:
        """μ/2 ‖w‖² of scaled inputs."""
        return 0.5 * self.mu * float(np.sum((w * self.scale) ** 2))

    def objective(self) -> float:
        """(8.15) of the weights that the model returns, over all examples."""
        w, c = self.state.average()
        examples = self.examples
        scores = decision(examples.X, w, c, threads=self.threads)[self.order]
        weights = None if examples.weights is None else examples.weights[self.order]
        value, _ = evaluate(scores, examples.y[self.order], weights, self.criterion)
        return value * self.mean_weight + self.penalty(w)

    def measures(self, criterion: float) -> dict[str, float]:
        """The objective of the running weights, if they decay, and the step they have come to."""
        if not self.mu:
            return {}
        found = {"objective": criterion * self.mean_weight + self.penalty(self.state.w)}
        if self.slowing:  # 1/(μ (t + t0)), for the next example
            found["learning_rate"] = 1.0 / (self.mu * (self.state.steps + 1.0 / self.slowing))
        return found

    # ------------------------------------------------------------------------------------- results

    def snapshot(self) -> LinearState:
        return deepcopy(self.state)

    def restore(self, state: LinearState) -> None:
        self.state = deepcopy(state)

    def attributes(self) -> dict[str, Any]:
        coef, intercept = self.state.average()
        margin = self.geometric_margin()
        return {
            "coef_": coef,
            "intercept_": intercept,
            **({} if margin is None else {"geometric_margin_": margin}),
            "n_updates_": self.state.updates,
            "feature_offset_": self.state.scaling.offset.copy(),
            "feature_scale_": self.state.scaling.scale.copy(),
            "_state": {
                "w": self.state.w.copy(),
                "c": self.state.c.copy(),
                "sum_w": None if self.state.sum_w is None else self.state.sum_w.copy(),
                "sum_c": None if self.state.sum_c is None else self.state.sum_c.copy(),
                "steps": self.state.steps,
                "kind": self.state.scaling.kind,
                **self.state.scaling.to_dict(),
            },
        }
