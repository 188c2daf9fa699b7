r"""Linear machines :math:`f(x) = w \cdot \Phi(x) + b` trained by stochastic gradient.

Weights are kept for **raw** inputs. With standardised inputs :math:`\hat x = (x - m)/s` and
weights *v* of :math:`\hat x`, the core trains :math:`w = v/s` in
:math:`f(x) = w \cdot (x - m) + b`, or *v* itself where the examples are packed (see
``linear/stochastic_gradient.hpp`` in the core); outside, the model is :math:`f(x) = w \cdot x + c`
with :math:`c = b - w \cdot m`. So ``coef_`` applies to the user's own columns, sparse data stay
sparse, and the statistics may move between two calls of ``partial_fit`` without changing what the
model computes.
"""

from abc import abstractmethod
from copy import deepcopy
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.utils import check_array
from sklearn.utils._param_validation import HasMethods, StrOptions

from widemargin import _core
from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.criteria import Criterion
from widemargin.inputs.labels import example_errors
from widemargin.inputs.packing import RowLayout
from widemargin.inputs.rows import INPUTS, decision
from widemargin.inputs.scaling import SCALING_CONSTRAINT, Scaling
from widemargin.inputs.threads import thread_count
from widemargin.training.estimators import Examples, IterativeClassifier
from widemargin.training.loop import Tally

OPERATIONS_PER_CALL = 20_000_000  # some 20 ms of native work
OPERATIONS_PER_THREAD = 1 << 19  # with fewer, another thread would cost more than it saves

FEATURE_MAPS: dict[str, Any] = {
    "polynomial": lambda seed: PolynomialFeatures(degree=2, include_bias=False),
    "fourier": lambda seed: RBFSampler(gamma="scale", n_components=500, random_state=seed),
    "nystroem": lambda seed: Nystroem(n_components=500, random_state=seed),
}


@dataclass
class LinearState:
    """Weights for raw inputs, f(x) = w·x + c, and the sums that make their average."""

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
        X, y, weights = examples.X, examples.y, examples.weights
        outputs, width = state.w.shape
        stored = X.nnz / X.shape[0] if sp.issparse(X) else width
        self.rows_per_call = max(1, int(OPERATIONS_PER_CALL / (outputs * (stored + 10))))
        state.scaling.update(X, self.order, weights)
        self.offset, self.scale = state.scaling.offset, state.scaling.scale
        self.layout = RowLayout.suited_to(X, state.scaling, dense=examples.repeated)
        self.rows, self.core_mean, self.core_scale = self.layout.lay_out(X, y, weights)

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
        if X is None:
            return None
        return evaluate(decision(X, *self.state.average()), y, weights, self.criterion)

    def mean_squared_norm(self) -> float:
        """The mean of ‖x̂‖² over the examples."""
        examples = self.examples
        return self.state.scaling.mean_squared_norm(examples.X, self.order, examples.weights)

    def margin(self) -> float:
        w, _ = self.state.average()
        norm = np.linalg.norm(w * self.scale, axis=1).max()
        return float(2.0 * (self.criterion.parameter or 1.0) / norm) if norm > 0 else float("inf")

    def measures(self, criterion: float) -> dict[str, float]:
        return {}

    def snapshot(self) -> LinearState:
        return deepcopy(self.state)

    def restore(self, state: LinearState) -> None:
        self.state = deepcopy(state)

    def attributes(self) -> dict[str, Any]:
        coef, intercept = self.state.average()
        return {
            "coef_": coef,
            "intercept_": intercept,
            "margin_": self.margin(),
            "n_updates_": self.state.updates,
            "feature_offset_": self.offset.copy(),
            "feature_scale_": self.scale.copy(),
            "_state": {
                "w": self.state.w.copy(),
                "c": self.state.c.copy(),
                "sum_w": None if self.state.sum_w is None else self.state.sum_w.copy(),
                "sum_c": None if self.state.sum_c is None else self.state.sum_c.copy(),
                "steps": self.state.steps,
                **self.state.scaling.to_dict(),
            },
        }


def evaluate(
    scores: FloatArray, y: FloatArray | None, weights: FloatArray | None, criterion: Criterion
) -> tuple[float, float]:
    """Mean criterion (summed over the outputs) and error of scores."""
    assert y is not None
    if scores.shape[1] == 1:
        values = criterion.value(y, scores[:, 0])
    else:
        signs = np.where(y[:, None] == np.arange(scores.shape[1]), 1.0, -1.0)
        values = criterion.value(signs, scores).sum(1)
    wrong = example_errors(scores, y)
    return float(np.average(values, weights=weights)), float(np.average(wrong, weights=weights))


class LinearClassifier(IterativeClassifier):
    """Base of linear machines over inputs or over a feature map Φ (Φ-machines, thesis 3.3)."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **IterativeClassifier._parameter_constraints,
        "fit_intercept": ["boolean"],
        "scaling": SCALING_CONSTRAINT,
        "average": ["boolean"],
        "feature_map": [StrOptions(set(FEATURE_MAPS)), HasMethods(["fit", "transform"]), None],
        "n_jobs": [Integral, None],
    }
    _fixed_parameters: ClassVar[tuple[str, ...]] = ("feature_map", "scaling")
    _learner_class: ClassVar[type[LinearLearner]] = LinearLearner

    @abstractmethod
    def _criterion(self) -> Criterion:
        """What the model minimises."""

    def _learner(self, examples: Examples, *, resume: bool) -> LinearLearner:
        examples.X = self._map_features(examples.X, fit=not resume)
        if examples.X_val is not None:
            examples.X_val = self._map_features(examples.X_val)
        outputs = 1 if len(self.classes_) == 2 else len(self.classes_)
        if resume:
            state = self._resume()
        else:
            scaling = Scaling.empty(self.scaling, examples.X.shape[1])
            if (known := self.__dict__.pop("_known_statistics", None)) is not None:
                scaling = Scaling.from_dict(self.scaling, known | {"fixed": True})
            state = LinearState.zero(outputs, scaling, average=self.average)
        return self._learner_class(
            examples,
            state,
            self._criterion(),
            fit_intercept=self.fit_intercept,
            threads=thread_count(self.n_jobs, _useful_threads(examples.X, outputs)),
        )

    def _resume(self) -> LinearState:
        saved = self._state
        if self.average and saved["sum_w"] is None:
            raise ValueError("average=True cannot start in the middle; fit without warm_start")
        names = ("w", "c", "sum_w", "sum_c", "steps")
        w, c, sum_w, sum_c, steps = (saved[name] for name in names)
        if not self.average:
            sum_w = sum_c = None
        scaling = Scaling.from_dict(self.scaling, saved)
        return deepcopy(LinearState(w, c, sum_w, sum_c, steps, self.n_updates_, scaling))

    def _map_features(self, X: ArrayLike, *, fit: bool = False) -> ArrayLike:
        if self.feature_map is None:
            return X
        if fit:
            self.feature_map_ = self._make_feature_map(sparse=sp.issparse(X)).fit(X)
        return check_array(self.feature_map_.transform(X), **INPUTS)

    def _make_feature_map(self, *, sparse: bool) -> Any:
        if not isinstance(self.feature_map, str):
            return clone(self.feature_map)
        named = FEATURE_MAPS[self.feature_map](self._seed())
        return make_pipeline(StandardScaler(with_mean=not sparse), named)

    def _scores(self, X: ArrayLike) -> FloatArray:
        X = self._map_features(X)
        threads = thread_count(self.n_jobs, _useful_threads(X, len(self.coef_)))
        return decision(X, self.coef_, self.intercept_, threads=threads)


def _useful_threads(X: ArrayLike, outputs: int) -> float:
    """How many threads a pass over X keeps busy."""
    stored = X.nnz if sp.issparse(X) else X.shape[0] * X.shape[1]
    return 1.0 + int(stored) * outputs // OPERATIONS_PER_THREAD
