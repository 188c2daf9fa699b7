"""A soft mixture in training and in prediction."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin._typing import ArrayLike, FloatArray
from widemargin.inputs.labels import example_errors
from widemargin.inputs.scaling import Scaling
from widemargin.mixtures.soft.criteria import Criterion, log_gates
from widemargin.mixtures.soft.inputs import Inputs
from widemargin.mixtures.soft.network import ForwardPass, Layout
from widemargin.training.model import Examples

MIN_PROBABILITY = 1e-12  # of a given expert, because its logarithm is needed


@dataclass
class SoftMixture:
    """Networks, the scaling of inputs and, if `expert` is given, the fitted experts."""

    layout: Layout
    parameters: NDArray[Any]
    scaling: Scaling
    criterion: Criterion
    experts: list[Any] | None = None

    @property
    def statistics(self) -> tuple[FloatArray, FloatArray]:
        """What is subtracted from inputs, and what they are then divided by."""
        return self.scaling.offset.copy(), self.scaling.scale

    def inputs(self, X: ArrayLike, dtype: ArrayLike = np.float64) -> Inputs:
        return Inputs(X, *self.statistics, dtype)

    def outputs(self, X: ArrayLike) -> Iterator[tuple[slice, NDArray[Any], NDArray[Any]]]:
        """Places, softmax inputs and experts' outputs, one panel of rows at a time."""
        inputs = self.inputs(X)
        for places, done in self._passes(inputs):
            given = self.experts is not None
            rows = inputs.for_estimators(places) if given else None
            yield places, done.logits, self.expert_outputs(rows) if given else done.outputs

    def _passes(self, inputs: Inputs) -> Iterator[tuple[slice, ForwardPass]]:
        """In float64, so that the digits of a row do not depend on the other rows."""
        weights = self.layout.views(self.parameters.astype(np.float64))
        for places, panel in inputs.panels():
            yield places, self.layout.forward(weights, panel)

    def expert_outputs(self, X: ArrayLike) -> NDArray[Any]:
        """Outputs of given experts for scaled rows, (L, K, C)."""
        experts = self.experts or []
        return np.stack([_outputs(expert, X, self.layout.outputs) for expert in experts], axis=1)

    def gates(self, X: ArrayLike) -> FloatArray:
        passes = self._passes(self.inputs(X))
        return np.concatenate([np.exp(log_gates(done.logits)) for _, done in passes])

    def scores(self, X: ArrayLike) -> FloatArray:
        """Scores of the mixture for each row."""
        parts = (self.criterion.scores(logits, f) for _, logits, f in self.outputs(X))
        return np.concatenate(list(parts))

    def measure(
        self,
        X: ArrayLike,
        y: FloatArray,
        weights: FloatArray | None,
        error_scale: FloatArray | None,
    ) -> tuple[float, float]:
        """Mean criterion and error."""
        variance = self.layout.views(self.parameters.astype(np.float64))["log_variance"]
        values, errors = [], []
        for places, logits, f in self.outputs(X):
            values.append(self.criterion.terms(logits, f, y[places], variance).value)
            scores = self.criterion.scores(logits, f)
            errors.append(example_errors(scores, y[places], error_scale))
        means = (np.average(np.concatenate(part), weights=weights) for part in (values, errors))
        criterion, error = means
        return float(criterion), float(error)


class SoftLearner:
    """What the learners of soft mixtures share; see `widemargin.training.loop.Learner`.

    For a regression, `error_scale` has the factor of each target's squared errors.
    """

    def __init__(
        self, examples: Examples, mixture: SoftMixture, error_scale: FloatArray | None
    ) -> None:
        self.examples, self.mixture, self.error_scale = examples, mixture, error_scale
        self.order = examples.order

    def validate(self) -> tuple[float, float] | None:
        X, y, weights = self.examples.X_val, self.examples.y_val, self.examples.weights_val
        if X is None or y is None:
            return None
        return self.mixture.measure(X, y, weights, self.error_scale)

    def geometric_margin(self) -> float | None:
        return None

    def attributes(self) -> dict[str, Any]:
        mixture = self.mixture
        offset, scale = mixture.statistics
        found: dict[str, Any] = {
            "feature_offset_": offset,
            "feature_scale_": scale,
            "_parameters": mixture.parameters.copy(),
            "_sizes": asdict(mixture.layout),
            "_state": {"scaling": mixture.scaling.to_dict()},
        }
        if mixture.experts is not None:
            found["experts_"] = deepcopy(mixture.experts)
        return found


def _outputs(expert: Any, X: ArrayLike, outputs: int) -> FloatArray:
    """log P(c | x) of a given classifier, or values of a regression; one column per output."""
    if not hasattr(expert, "predict_proba"):
        return np.asarray(expert.predict(X), dtype=np.float64).reshape(X.shape[0], outputs)
    found = np.full((X.shape[0], outputs), MIN_PROBABILITY)
    p = np.asarray(expert.predict_proba(X), dtype=np.float64)
    found[:, expert.classes_.astype(np.intp)] = p
    return np.log(np.maximum(found, MIN_PROBABILITY))
