"""A soft mixture as it is while it is trained and when it predicts."""

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
from widemargin.mixtures.soft.network import Layout, Pass
from widemargin.training.model import Examples

LEAST_PROBABILITY = 1e-12  # of a given expert, whose logarithm is needed


@dataclass
class SoftMixture:
    """Networks, statistics of the inputs and, if experts are given, those."""

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
        """Places, soft-max inputs and experts' outputs, a panel of rows at a time."""
        inputs = self.inputs(X)
        for places, done in self._passes(inputs):
            given = self.experts is not None
            rows = inputs.for_estimators(places) if given else None
            yield places, done.logits, self.expert_outputs(rows) if given else done.outputs

    def _passes(self, inputs: Inputs) -> Iterator[tuple[slice, Pass]]:
        """In float64: a row's digits do not depend on what else is in X."""
        weights = self.layout.views(self.parameters.astype(np.float64))
        for places, panel in inputs.panels():
            yield places, self.layout.forward(weights, panel)

    def expert_outputs(self, X: ArrayLike) -> NDArray[Any]:
        """What given experts say of standardised rows, (L, K, C)."""
        experts = self.experts or []
        return np.stack([_outputs(expert, X, self.layout.outputs) for expert in experts], axis=1)

    def gates(self, X: ArrayLike) -> FloatArray:
        passes = self._passes(self.inputs(X))
        return np.concatenate([np.exp(log_gates(done.logits)) for _, done in passes])

    def scores(self, X: ArrayLike) -> FloatArray:
        """What the mixture says of each row."""
        parts = (self.criterion.scores(logits, f) for _, logits, f in self.outputs(X))
        return np.concatenate(list(parts))

    def measure(
        self,
        X: ArrayLike,
        y: FloatArray,
        weights: FloatArray | None,
        variance_shares: FloatArray | None,
    ) -> tuple[float, float]:
        """Mean criterion and error."""
        variance = self.layout.views(self.parameters.astype(np.float64))["log_variance"]
        values, wrong = [], []
        for places, logits, f in self.outputs(X):
            values.append(self.criterion.terms(logits, f, y[places], variance).value)
            scores = self.criterion.scores(logits, f)
            wrong.append(example_errors(scores, y[places], variance_shares))
        means = (np.average(np.concatenate(part), weights=weights) for part in (values, wrong))
        criterion, error = means
        return float(criterion), float(error)


class SoftLearner:
    """What the learners of soft mixtures share; see `widemargin.training.loop.Learner`.

    For a regression `variance_shares` says how squared errors are counted.
    """

    def __init__(
        self, examples: Examples, mixture: SoftMixture, variance_shares: FloatArray | None
    ) -> None:
        self.examples, self.mixture, self.variance_shares = examples, mixture, variance_shares
        self.order = examples.order

    def validate(self) -> tuple[float, float] | None:
        X, y, weights = self.examples.X_val, self.examples.y_val, self.examples.weights_val
        if X is None or y is None:
            return None
        return self.mixture.measure(X, y, weights, self.variance_shares)

    def margin(self) -> float | None:
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
    """log P(c | x) of a given classifier, or the values of a regression; a column an output."""
    if not hasattr(expert, "predict_proba"):
        return np.asarray(expert.predict(X), dtype=np.float64).reshape(X.shape[0], outputs)
    found = np.full((X.shape[0], outputs), LEAST_PROBABILITY)
    p = np.asarray(expert.predict_proba(X), dtype=np.float64)
    found[:, expert.classes_.astype(np.intp)] = p
    return np.log(np.maximum(found, LEAST_PROBABILITY))
