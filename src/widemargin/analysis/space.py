r"""The examples of a fitted model in its feature space: inner products, radius, dimension.

Φ is what the last layer of a machine sees: scaled inputs, a feature map, the space of a kernel, the
votes of a committee or the hidden outputs of a network.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.inputs.scaling import Scaling
from widemargin.kernels import Inputs, Kernel
from widemargin.linear_svm.machine import LinearMachine
from widemargin.mlp.committee_classifier import CommitteeClassifier
from widemargin.mlp.model import NetworkModel
from widemargin.perceptrons.dual_classifier import DualClassifier
from widemargin.perceptrons.kernel_learner import scaled_inputs
from widemargin.perceptrons.linear_classifier import LinearClassifier
from widemargin.svm.machine import KernelMachine
from widemargin.theory import enclosing_ball, polynomial_capacity

__all__ = ["FeatureSpace", "feature_space"]

BALL_ROWS = 1000  # whose smallest ball is found; then it is widened to hold all rows
BALL_TOLERANCE = 1e-3
BALL_STEPS = 5000


@dataclass(frozen=True, eq=False)
class FeatureSpace:
    """Rows as a kernel sees them.

    Attributes
    ----------
    kernel : Kernel
        The inner product.
    inputs : Inputs
        The rows.
    dimension : float
        Of the space; infinite for kernels of distances, NaN if it is not known.
    name : str
        What the space is.
    fixed : bool
        Whether Φ was chosen without looking at the rows, up to an affine map of them.
    """

    kernel: Kernel
    inputs: Inputs
    dimension: float
    name: str
    fixed: bool = True

    @property
    def _diagonal(self) -> FloatArray:
        if self.inputs.index is not None:
            return np.asarray(self.inputs.x[np.arange(len(self.inputs)), self.inputs.index])
        return np.asarray(self.kernel.diagonal(self.inputs))

    def largest_norm(self) -> float:
        """The largest ‖Φ(x)‖, which the bounds of perceptrons call R."""
        return float(np.sqrt(max(0.0, self._diagonal.max())))

    def radius(self) -> float:
        """The radius of a ball that holds all rows, smallest up to 0.1 % on 1,000 of them."""
        count = len(self.inputs)
        chosen = np.arange(count)
        if count > BALL_ROWS:
            chosen = np.sort(np.random.default_rng(0).choice(count, BALL_ROWS, replace=False))
        some, diagonal = self.inputs[chosen], self._diagonal

        @lru_cache(maxsize=256)
        def column(l: int) -> FloatArray:
            return np.asarray(self.kernel(some, some[l : l + 1])[:, 0])

        ball = enclosing_ball(column, diagonal[chosen], tol=BALL_TOLERANCE, max_iter=BALL_STEPS)
        if count == len(chosen):
            return ball.radius
        used = np.flatnonzero(ball.alpha)
        alpha = ball.alpha[used]
        to_centre = self.kernel(self.inputs, some[used]) @ alpha
        squared = alpha @ self.kernel(some[used], some[used]) @ alpha
        found = float(np.sqrt(np.maximum(diagonal - 2.0 * to_centre + squared, 0.0).max()))
        return min(found, self.largest_norm())  # the ball around the origin holds them too


def feature_space(
    model: Any,
    X: ArrayLike,
    rows: IntArray,
    *,
    X_train: ArrayLike,
    weights: FloatArray | None = None,
) -> FeatureSpace | None:
    """The feature space of a fitted model, and the rows X in it.

    `rows` are their numbers among the training rows, for a precomputed kernel. `weights` are those
    of the training rows, class weights included.
    """
    if isinstance(model, KernelMachine | DualClassifier):
        return _of_kernel(model, X, rows)
    if isinstance(model, LinearClassifier):
        return _of_linear_classifier(model, X)
    if isinstance(model, LinearMachine):
        scaling = Scaling.measured(model.scaling, model._check_inputs(X_train), weights=weights)
        inputs = scaled_inputs(model._check_inputs(X), scaling.offset, scaling.scale)
        name = "scaled inputs" if model.scaling else "inputs"
        return FeatureSpace(Kernel("linear"), inputs, float(inputs.x.shape[1]), name)
    if isinstance(model, CommitteeClassifier):
        return None if len(model.classes_) > 2 else _linear(_votes(model, X), "votes", fixed=False)
    if isinstance(model, NetworkModel):
        return _linear(_hidden_outputs(model, X), "the last hidden layer", fixed=False)
    return None


def _linear(X: ArrayLike, name: str, *, fixed: bool = True) -> FeatureSpace:
    return FeatureSpace(Kernel("linear"), Inputs.of(X), float(X.shape[1]), name, fixed)


def _of_kernel(model: Any, X: ArrayLike, rows: IntArray) -> FeatureSpace:
    name = f"the space of kernel={model.kernel!r}"
    if model.kernel == "precomputed":
        K = np.asarray(X, dtype=np.float64)[:, rows]
        return FeatureSpace(Kernel("precomputed"), Inputs.precomputed(K), np.nan, name)
    gamma = 0.0 if callable(model.kernel) else float(model.gamma_)
    numbers = float(model.degree), float(model.coef0), float(model.exponent)
    kernel = Kernel(model.kernel, gamma, *numbers)
    if callable(model.kernel):
        name = "the space of a kernel that is a function"
        return FeatureSpace(kernel, Inputs(X, None, np.empty(0), None), np.nan, name)
    check = model._check_inputs if isinstance(model, KernelMachine) else model._check_X
    inputs = scaled_inputs(check(X), model.feature_offset_, model.feature_scale_)
    width = inputs.x.shape[1]
    dimension = {"linear": float(width), "sigmoid": np.nan}.get(str(model.kernel), np.inf)
    if model.kernel == "poly":
        bias = int(model.coef0 > 0)  # without it, only monomials of the full degree
        dimension = float(polynomial_capacity(width - 1 + bias, int(model.degree)) - bias)
    return FeatureSpace(kernel, inputs, dimension, name)


def _of_linear_classifier(model: Any, X: ArrayLike) -> FeatureSpace:
    mapped = model._map_features(model._check_X(X))
    scaling = Scaling.from_dict(model._state.get("kind", model.scaling), model._state)
    inputs = scaled_inputs(mapped, scaling.offset, scaling.scale)
    name = "inputs" if scaling.kind is None else "scaled inputs"
    fixed = model.feature_map in (None, "polynomial")
    if model.feature_map is not None:
        name = f"feature_map={model.feature_map!r}"
    return FeatureSpace(Kernel("linear"), inputs, float(mapped.shape[1]), name, fixed)


def _votes(model: Any, X: ArrayLike) -> FloatArray:
    """h(v·x + a) of all units of a committee for two classes."""
    encoded = model._encoded(model._check_X(X))
    scaling = model._committee_state().scaling
    v, a = model.coefs_[0].astype(np.float64) / scaling.scale[:, None], model.intercepts_[0]
    shift = scaling.offset @ v  # one row per committee and output
    sums = [np.asarray(encoded @ v[m, 0]) + (a - shift)[m, 0] for m in range(len(v))]
    joined = np.hstack(sums).astype(np.float64)
    return np.clip(joined, -1, 1) if model._unit == "hard_tanh" else np.where(joined > 0, 1.0, -1.0)


def _hidden_outputs(model: Any, X: ArrayLike) -> FloatArray:
    """The outputs of the last hidden layer of a network."""
    X = model._check_X(X)
    if model.scaling is not None:
        X = (X.toarray() if sp.issparse(X) else X) - model.feature_offset_
        X = X / model.feature_scale_
    h = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    for W, b in zip(model.coefs_[:-1], model.intercepts_[:-1], strict=True):
        h = _transfer(model._transfer, h @ W.astype(np.float64) + b)
    return np.asarray(h)


def _transfer(name: str, z: FloatArray) -> FloatArray:
    if name == "sigmoid":
        return 0.5 + 0.5 * np.tanh(z / 2)
    if name in ("tanh", "slanted_tanh"):
        return np.tanh(z) + (0.01 * z if name == "slanted_tanh" else 0.0)
    return {"hard_tanh": np.clip(z, -1, 1), "relu": np.maximum(z, 0)}.get(name, z)
