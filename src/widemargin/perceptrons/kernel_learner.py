r"""Kernel machines :math:`f(x) = \sum_l \alpha_l y_l k(x_l, x) + b` trained example by example.

The examples are visited in blocks. Inside a block, an update acts on the examples that follow
through the block's own kernel matrix (``cpp/widemargin/kernel/kernel_perceptron.hpp``). What the
updates of a block change elsewhere is one matrix product. So only the kernel columns of updated
examples are ever computed, and always many at once.
"""

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import gen_batches

from widemargin import _core, criteria
from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.inputs.labels import example_errors
from widemargin.inputs.scaling import partly_scaled
from widemargin.kernels import Inputs, Kernel
from widemargin.training.loop import Tally
from widemargin.training.model import Examples
from widemargin.training.outputs import evaluate

EXAMPLES_PER_BLOCK = 256  # visited with their own kernel matrix
VALUES_PER_CALL = 1 << 22  # of the kernel; more examples have smaller blocks
ROWS_AT_ONCE = 4096  # of a kernel matrix, in memory


def scaled_inputs(X: ArrayLike, offset: FloatArray | None, scale: FloatArray | None) -> Inputs:
    """(X − offset)/scale for kernels; sparse examples stay sparse."""
    if offset is None or scale is None:
        return Inputs.of(X)
    if not sp.issparse(X):
        return Inputs.of((X - offset) / scale)
    stored, subtracted = partly_scaled(X, offset, scale)
    return Inputs.of(stored, -subtracted)


def expand(kernel: Kernel, a: Inputs, b: Inputs, coefficients: FloatArray) -> FloatArray:
    """k(a, b) @ coefficients, some rows at a time."""
    out = np.empty((len(a), coefficients.shape[1]))
    for rows in gen_batches(len(a), ROWS_AT_ONCE):
        out[rows] = kernel(a[rows], b) @ coefficients
    return out


@dataclass
class DualState:
    """Coefficients α y of the examples, and w·Φ(x) of the examples that need it."""

    coefficients: FloatArray  # (L, K)
    b: FloatArray  # (K,)
    f: FloatArray  # (L, K): w·Φ(x_l), without the bias
    f_val: FloatArray | None  # the same for the validation examples
    updates: int
    steps: int = 0  # examples visited by all calls
    earlier: float = 1.0  # the factor of the coefficients of earlier calls
    squared_norm: float = 0.0  # ‖w‖², of all outputs together; known with weight decay only


@dataclass
class Support:
    """Examples with α > 0, as the user gave them, and their α y (one column per output)."""

    vectors: ArrayLike
    index: IntArray
    coefficients: FloatArray

    def join(self, other: "Support") -> "Support":
        vectors = [self.vectors, other.vectors]
        sparse = any(map(sp.issparse, vectors))  # calls may differ in layout
        return Support(
            sp.vstack(vectors, format="csr") if sparse else np.vstack(vectors),
            np.concatenate([self.index, other.index]),
            np.vstack([self.coefficients, other.coefficients]),
        )


class KernelLearner:
    """Trains a `DualState`; see `widemargin.training.loop.Learner`."""

    mu = 0.0  # weight decay
    slowing = 0.0  # λ/(1 + slowing · t) after t examples, on top of the loop's schedule

    def __init__(
        self,
        examples: Examples,
        inputs: Inputs,
        inputs_val: Inputs | None,
        kernel: Kernel,
        state: DualState,
        earlier: Support | None,
        bias_step: float,
        *,
        pocket: bool,
        criterion: criteria.Criterion | None = None,
    ) -> None:
        self.examples, self.inputs, self.inputs_val = examples, inputs, inputs_val
        self.kernel, self.state, self.bias_step = kernel, state, bias_step
        self.earlier, self.pocket = earlier, pocket
        self._resumed = deepcopy(state) if pocket and state.updates else None
        self._candidate = state
        self.order = examples.order
        most = VALUES_PER_CALL // max(1, len(inputs))
        self.rows_per_call = max(1, min(EXAMPLES_PER_BLOCK, most))
        self.criterion = criteria.Perceptron() if criterion is None else criterion

    def visit(self, order: IntArray, rate: float) -> Tally:
        state, examples = self.state, self.examples
        block = self.inputs[order]
        kernel = np.ascontiguousarray(self.kernel(block, block))
        step, shrunk = np.zeros((len(order), state.f.shape[1])), np.ones(1)
        slower = 1.0 + self.slowing * state.steps
        tally = Tally(
            *_core.kernel_perceptron(
                kernel,
                state.f[order],
                state.b,
                step,
                y=examples.y[order],
                weights=None if examples.weights is None else examples.weights[order],
                one_against_rest=step.shape[1] > 1,
                criterion=self.criterion.name,
                parameter=self.criterion.parameter,
                rate=rate / slower,
                bias_rate=rate / slower * self.bias_step,
                mu=self.mu,
                slowing=self.slowing / slower,
                shrunk=shrunk,
            )
        )
        state.steps += len(order)
        if self.mu:
            self._shrink(float(shrunk[0]), order, kernel, step)
        if tally.updates:
            moved = np.flatnonzero(step.any(axis=1))
            state.coefficients[order[moved]] += step[moved]
            state.f += expand(self.kernel, self.inputs, block[moved], step[moved])
            if state.f_val is not None and self.inputs_val is not None:
                state.f_val += expand(self.kernel, self.inputs_val, block[moved], step[moved])
            state.updates += tally.updates
        return tally

    def _shrink(self, factor: float, order: IntArray, kernel: FloatArray, step: FloatArray) -> None:
        """Weight decay of a block in everything that was there before it, and the new ‖w‖²."""
        state = self.state
        for values in (state.coefficients, state.f, state.f_val):
            if values is not None:
                values *= factor
        state.earlier *= factor
        added = 2.0 * np.sum(step * state.f[order]) + np.sum(step * (kernel @ step))
        state.squared_norm = factor**2 * state.squared_norm + float(added)

    def validate(self) -> tuple[float, float] | None:
        state, examples = self.state, self.examples
        if state.f_val is None or examples.y_val is None:
            return None
        scores = state.f_val + state.b
        return evaluate(scores, examples.y_val, examples.weights_val, self.criterion)

    def geometric_margin(self) -> None:
        """None: the criterion has no margin β."""

    def measures(self, criterion: float) -> dict[str, float]:
        """The training error, if the state with the lowest one is to be kept (the pocket)."""
        self._candidate = self.state
        if not self.pocket:
            return {}
        error = self._training_error(self.state)
        if self._resumed is not None:  # what an earlier call returned, on these examples
            before = self._training_error(self._resumed)
            if before <= error:
                self._candidate, error = self._resumed, before
            self._resumed = None
        return {"training_error": error}

    def _training_error(self, state: DualState) -> float:
        examples, order = self.examples, self.order
        errors = example_errors(state.f[order] + state.b, examples.y[order])
        weights = None if examples.weights is None else examples.weights[order]
        return float(np.average(errors, weights=weights))

    def snapshot(self) -> DualState:
        return deepcopy(self._candidate)

    def restore(self, state: DualState) -> None:
        self.state = deepcopy(state)

    def attributes(self) -> dict[str, Any]:
        index = np.flatnonzero(self.state.coefficients.any(axis=1))
        precomputed = self.inputs.index is not None
        vectors = np.empty((0, 0)) if precomputed else self.examples.X[index]
        support = Support(vectors, index, self.state.coefficients[index])
        if self.earlier is not None:
            before = replace(
                self.earlier, coefficients=self.state.earlier * self.earlier.coefficients
            )
            support = before.join(support)
        return {
            "support_": support.index,
            "support_vectors_": support.vectors,
            "dual_coef_": support.coefficients.T.copy(),
            "intercept_": self.state.b.copy(),
            "n_updates_": self.state.updates,
        }


class DecayingLearner(KernelLearner):
    """Stochastic gradient with weight decay in the dual (8.17)."""

    def mean_squared_norm(self) -> float:
        """The mean of k(x, x) over the examples."""
        weights, inputs = self.examples.weights, self.inputs[self.order]
        known = inputs.index is not None  # of a precomputed kernel
        each = inputs.x[np.arange(len(inputs)), inputs.index] if known else None
        diagonal = self.kernel.diagonal(inputs) if each is None else each
        return float(np.average(diagonal, weights=None if weights is None else weights[self.order]))

    @property
    def mean_weight(self) -> float:
        """Of the examples: their mean criterion times this is 1/L Σ c Q."""
        weights = self.examples.weights
        return 1.0 if weights is None else float(weights[self.order].mean())

    def geometric_margin(self) -> float:  # type: ignore[override]
        """ρ = 2/‖w‖ in feature space, for all outputs together if there are several."""
        square = self.state.squared_norm
        return float(2.0 / np.sqrt(square)) if square > 0.0 else float("inf")

    def objective(self) -> float:
        """(8.15) over all examples."""
        examples, order, state = self.examples, self.order, self.state
        weights = None if examples.weights is None else examples.weights[order]
        value, _ = evaluate(state.f[order] + state.b, examples.y[order], weights, self.criterion)
        return value * self.mean_weight + 0.5 * self.mu * state.squared_norm

    def measures(self, criterion: float) -> dict[str, float]:
        """(8.15) of the running weights, and the step they have come to."""
        state, self._candidate = self.state, self.state
        penalty = 0.5 * self.mu * state.squared_norm
        found = {"objective": criterion * self.mean_weight + penalty}
        if self.slowing:  # 1/(μ (t + t0)), for the next example
            found["learning_rate"] = 1.0 / (self.mu * (state.steps + 1.0 / self.slowing))
        return found

    def attributes(self) -> dict[str, Any]:
        state = self.state
        progress = {"steps": state.steps, "squared_norm": state.squared_norm}
        return {**super().attributes(), "_progress": progress}
