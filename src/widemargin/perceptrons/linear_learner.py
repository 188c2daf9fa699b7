r"""Linear machines :math:`f(x) = w \cdot \Phi(x) + b` trained by stochastic gradient.

Weights are kept for **raw** inputs. With standardised inputs :math:`\hat x = (x - m)/s` and
weights *v* of :math:`\hat x`, the core trains :math:`w = v/s` in
:math:`f(x) = w \cdot (x - m) + b`, or *v* itself where the examples are packed (see
``cpp/widemargin/stochastic_gradient.hpp``); outside, the model is :math:`f(x) = w \cdot x + c`
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
from joblib import effective_n_jobs
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.utils import check_array
from sklearn.utils._param_validation import HasMethods, StrOptions

from widemargin import _core
from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.criteria import Criterion
from widemargin.inputs.packing import DENSITY_TO_PACK, filled, packed
from widemargin.inputs.rows import as_rows, decision
from widemargin.inputs.standardization import Standardization
from widemargin.training.estimators import Examples, IterativeClassifier
from widemargin.training.loop import Tally

OPERATIONS_PER_CALL = 20_000_000  # some 20 ms of native work

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
    moments: Standardization

    @classmethod
    def zero(cls, outputs: int, width: int, *, average: bool) -> "LinearState":
        w, c = np.zeros((outputs, width)), np.zeros(outputs)
        sum_w, sum_c = (w.copy(), c.copy()) if average else (None, None)
        return cls(w, c, sum_w, sum_c, 0.0, 0, Standardization.empty(width))

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
        standardize: bool,
        fit_intercept: bool,
        threads: int,
    ) -> None:
        self.examples, self.state, self.criterion = examples, state, criterion
        self.fit_intercept, self.threads = fit_intercept, threads
        self.order = examples.order
        self.rows = as_rows(examples.X)
        outputs, width = state.w.shape
        stored = examples.X.nnz / examples.X.shape[0] if sp.issparse(examples.X) else width
        self.rows_per_call = max(1, int(OPERATIONS_PER_CALL / (outputs * (stored + 10))))
        self.standardize = standardize
        if standardize:
            state.moments.update(self.rows, self.order, examples.weights)
        self._prepare()

    def _prepare(self) -> None:
        """Statistics of the inputs; the examples packed if many inputs are zero."""
        moments = self.state.moments
        self.scale = moments.scale if self.standardize else np.ones_like(moments.mean)
        self.mean = moments.mean if self.standardize else np.zeros_like(moments.mean)
        sparse = sp.issparse(self.examples.X)
        self.packed = sparse
        if not sparse and not self.examples.repeated:
            return
        part = filled(self.examples.X)
        self.packed = sparse or part.mean() < DENSITY_TO_PACK
        if self.packed:
            block = part > 0.5
            self.rows, self.inputs = packed(
                self.rows,
                block,
                self.mean if self.standardize else None,
                self.scale if self.standardize else None,
                self.examples.y,
                self.examples.weights,
            )
            self.centre = np.where(block, 0.0, self.mean / self.scale)[self.inputs]

    def _to_core(self, w: FloatArray) -> FloatArray:
        """Weights as the core trains them: w itself, or those of packed inputs."""
        return np.ascontiguousarray((w * self.scale)[:, self.inputs]) if self.packed else w

    def _from_core(self, w: FloatArray) -> FloatArray:
        if not self.packed:
            return w
        back = np.empty_like(w)
        back[:, self.inputs] = w
        return back / self.scale

    @np.errstate(over="ignore", invalid="ignore")  # divergence is reported by the loop, once
    def visit(self, order: IntArray, rate: float) -> Tally:
        state, mean = self.state, self.mean
        w, b = self._to_core(state.w), state.c + state.w @ mean
        sum_w = sum_b = None
        if state.sum_w is not None and state.sum_c is not None:
            sum_w, sum_b = self._to_core(state.sum_w), state.sum_c + state.sum_w @ mean
        centre = self.centre if self.packed else mean
        slower = 1.0 + self.slowing * state.steps
        tally = Tally(
            *_core.stochastic_gradient(
                self.rows,
                w,
                b,
                sum_w=sum_w,
                sum_b=sum_b,
                steps=state.steps,
                mean=centre if self.standardize else None,
                scale=self.scale if self.standardize and not self.packed else None,
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
        state.w = self._from_core(w)
        state.c = b - state.w @ mean
        if sum_w is not None and sum_b is not None:
            state.sum_w = self._from_core(sum_w)
            state.sum_c = sum_b - state.sum_w @ mean
        state.steps += len(order)
        state.updates += tally.updates
        return tally

    def validate(self) -> tuple[float, float] | None:
        X, y, weights = self.examples.X_val, self.examples.y_val, self.examples.weights_val
        if X is None:
            return None
        return evaluate(decision(X, *self.state.average()), y, weights, self.criterion)

    def mean_squared_norm(self) -> float:
        """The mean of ‖x‖² over the examples, standardised if they are."""
        moments = self.state.moments
        if self.standardize:
            return float(np.sum(moments.variance / self.scale**2))
        moments = Standardization.empty(len(self.mean))
        moments.update(as_rows(self.examples.X), self.order, self.examples.weights)
        return float(np.sum(moments.variance + moments.mean**2))

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
        moments = self.state.moments
        return {
            "coef_": coef,
            "intercept_": intercept,
            "margin_": self.margin(),
            "n_updates_": self.state.updates,
            "feature_mean_": self.mean.copy(),
            "feature_scale_": self.scale.copy(),
            "_state": {
                "w": self.state.w.copy(),
                "c": self.state.c.copy(),
                "sum_w": None if self.state.sum_w is None else self.state.sum_w.copy(),
                "sum_c": None if self.state.sum_c is None else self.state.sum_c.copy(),
                "steps": self.state.steps,
                "mean": moments.mean,
                "variance": moments.variance,
                "weight": moments.weight,
                "fixed": moments.fixed,
            },
        }


def evaluate(
    scores: FloatArray, y: FloatArray | None, weights: FloatArray | None, criterion: Criterion
) -> tuple[float, float]:
    """Mean criterion (summed over the outputs) and error of scores."""
    assert y is not None
    if scores.shape[1] == 1:
        values, wrong = criterion.value(y, scores[:, 0]), (scores[:, 0] > 0) != (y > 0)
    else:
        signs = np.where(y[:, None] == np.arange(scores.shape[1]), 1.0, -1.0)
        values, wrong = criterion.value(signs, scores).sum(1), scores.argmax(1) != y
    return float(np.average(values, weights=weights)), float(np.average(wrong, weights=weights))


class LinearClassifier(IterativeClassifier):
    """Base of linear machines over inputs or over a feature map Φ (Φ-machines, thesis 3.3)."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **IterativeClassifier._parameter_constraints,
        "fit_intercept": ["boolean"],
        "standardize": ["boolean"],
        "average": ["boolean"],
        "feature_map": [StrOptions(set(FEATURE_MAPS)), HasMethods(["fit", "transform"]), None],
        "n_jobs": [Integral, None],
    }
    _fixed_parameters: ClassVar[tuple[str, ...]] = ("feature_map", "standardize")
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
            state = LinearState.zero(outputs, examples.X.shape[1], average=self.average)
            if (known := self.__dict__.pop("_known_statistics", None)) is not None:
                state.moments = Standardization(**known, fixed=True)
        return self._learner_class(
            examples,
            state,
            self._criterion(),
            standardize=self.standardize,
            fit_intercept=self.fit_intercept,
            threads=effective_n_jobs(self.n_jobs),
        )

    def _resume(self) -> LinearState:
        saved = dict(self._state)
        mean, variance, weight = map(saved.pop, ("mean", "variance", "weight"))
        moments = Standardization(mean, variance, weight, saved.pop("fixed", False))
        if self.average and saved["sum_w"] is None:
            raise ValueError("average=True cannot start in the middle; fit without warm_start")
        if not self.average:
            saved["sum_w"] = saved["sum_c"] = None
        return deepcopy(LinearState(**saved, updates=self.n_updates_, moments=moments))

    def _map_features(self, X: ArrayLike, *, fit: bool = False) -> ArrayLike:
        if self.feature_map is None:
            return X
        if fit:
            self.feature_map_ = self._make_feature_map(sparse=sp.issparse(X)).fit(X)
        return check_array(
            self.feature_map_.transform(X),
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
        )

    def _make_feature_map(self, *, sparse: bool) -> Any:
        if not isinstance(self.feature_map, str):
            return clone(self.feature_map)
        named = FEATURE_MAPS[self.feature_map](self._seed())
        return make_pipeline(StandardScaler(with_mean=not sparse), named)

    def _scores(self, X: ArrayLike) -> FloatArray:
        threads = effective_n_jobs(self.n_jobs)
        return decision(self._map_features(X), self.coef_, self.intercept_, threads=threads)
