"""Gaters: weights of K experts for an input x (Chapter 6)."""

from abc import abstractmethod
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _num_features, _num_samples, validate_data

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.inputs.labels import example_weights
from widemargin.inputs.rows import INPUTS, checked_rows
from widemargin.training.time_limit import share_of_time

__all__ = [
    "CRITERIA",
    "Gater",
    "GaterExamples",
    "check_gater_examples",
    "check_partition",
]

CRITERIA = ("tanh_mse", "mse", "likelihood")


@dataclass
class GaterExamples:
    """What a global gater is trained on besides the inputs, validated."""

    outputs: NDArray[np.float32]  # of the experts, L × K × C
    targets: FloatArray  # L × C
    weights: FloatArray | None  # of the examples


def check_gater_examples(
    X: ArrayLike,
    outputs: ArrayLike,
    targets: ArrayLike,
    criterion: str,
    sample_weight: ArrayLike = None,
) -> GaterExamples:
    """Validates arguments of `Gater.fit`. Outputs in float32 and C order are not copied."""
    if criterion not in CRITERIA:
        raise ValueError(f"criterion={criterion!r} is unknown; use one of {', '.join(CRITERIA)}")
    if outputs is None:
        raise ValueError("the gater is trained on outputs of the experts: outputs is missing")
    outputs = _check_outputs(outputs, _num_samples(X), criterion)
    targets = _check_targets(targets, outputs.shape, criterion)
    return GaterExamples(outputs, targets, example_weights(X, None, sample_weight, None, None))


def check_partition(
    X: ArrayLike, partition: ArrayLike, outputs: ArrayLike = None
) -> tuple[IntArray, int]:
    """The expert of each example, and the number of experts (from `outputs` if given)."""
    if partition is None:
        raise ValueError(
            "the gater is trained on a partition of the examples: partition is missing"
        )
    found, count = np.asarray(partition), _num_samples(X)
    if found.shape != (count,) or found.dtype.kind not in "iu":
        raise ValueError(
            f"partition must hold the index of an expert for each of the {count} examples"
        )
    n_experts = int(found.max()) + 1 if outputs is None else np.shape(outputs)[1]
    if found.min() < 0 or found.max() >= n_experts:
        raise ValueError(f"partition must hold indices of experts, from 0 to {n_experts - 1}")
    return found.astype(np.int64, copy=False), n_experts


def _check_outputs(outputs: ArrayLike, count: int, criterion: str) -> NDArray[np.float32]:
    found = np.require(outputs, np.float32, ["C", "A"])
    if found.ndim != 3 or found.shape[0] != count or 0 in found.shape:
        raise ValueError(
            f"outputs has the shape {found.shape}; it must be ({count}, n_experts, n_outputs): "
            "outputs of every expert for every example"
        )
    if not np.isfinite(found.sum(dtype=np.float64)):
        raise ValueError("outputs holds values that are not finite; an expert has diverged")
    if criterion == "likelihood" and (
        found.shape[2] > 1 or found.min() < 0 or found.max() > 1 + 1e-6
    ):
        raise ValueError(
            "criterion='likelihood' needs one probability per expert, that of the correct class: "
            f"outputs of shape ({count}, n_experts, 1) between 0 and 1"
        )
    return found


def _check_targets(targets: ArrayLike, shape: tuple[int, ...], criterion: str) -> FloatArray:
    """One column per output; placeholders for the likelihood, whose outputs know the targets."""
    if criterion == "likelihood":
        return np.zeros((shape[0], 1))
    if targets is None:
        raise ValueError(f"criterion={criterion!r} needs targets")
    found = np.ascontiguousarray(targets, dtype=np.float64)
    if found.ndim == 1:
        found = found[:, None]
    if found.shape != (shape[0], shape[2]):
        raise ValueError(
            f"targets has the shape {found.shape}; with outputs of shape {shape} it must be "
            f"({shape[0]}, {shape[2]})"
        )
    if not np.all(np.isfinite(found)):
        raise ValueError("targets holds values that are not finite")
    return found


class Gater(BaseEstimator):  # type: ignore[misc]
    r"""Base of gaters: weights :math:`g_k(x) \ge 0` of K experts, with :math:`\sum_k g_k(x) = 1`.

    A custom gater derives from this class and implements `fit` and `log_gates`.
    """

    #: Whether the gater is trained on the partition alone, without outputs of the experts.
    local: ClassVar[bool] = False

    #: Whether examples move to the experts that the gater prefers for them.
    reassigns: ClassVar[bool] = True

    #: Whether the gater divides the examples itself, before the experts are trained.
    divides: ClassVar[bool] = False

    n_experts_: int
    _parameter_constraints: ClassVar[dict[str, Any]] = {}

    @abstractmethod
    def fit(
        self,
        X: ArrayLike,
        *,
        outputs: ArrayLike = None,
        targets: ArrayLike = None,
        partition: ArrayLike = None,
        criterion: str = "tanh_mse",
        sample_weight: ArrayLike = None,
    ) -> Self:
        """Trains the gater for fixed experts.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.
        outputs : array-like of shape (n_samples, n_experts, n_outputs)
            Outputs of every expert for every example. The array is large; it is not copied if it
            is float32 in C order. For ``"likelihood"``: P(y | x, k) of the correct class.
        targets : array-like of shape (n_samples, n_outputs)
            ±1 for classes, or values; not needed for ``"likelihood"``.
        partition : array-like of shape (n_samples,)
            The expert to whose subset each example belongs.
        criterion : {"tanh_mse", "mse", "likelihood"}
            What the mixture minimises; see `widemargin.reference.hard_mixture.criterion`.
        sample_weight : array-like of shape (n_samples,), optional
            Weights ≥ 0.

        Returns
        -------
        self
            The fitted gater.
        """

    @abstractmethod
    def log_gates(self, X: ArrayLike) -> FloatArray:
        """Logarithms of `gates`, accurate even where the gates underflow.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        ndarray of shape (n_samples, n_experts)
            Logarithms of weights.
        """

    def gates(self, X: ArrayLike) -> FloatArray:
        """The weight of every expert, P(k | x); each row adds up to one.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        ndarray of shape (n_samples, n_experts)
            Weights.
        """
        return np.exp(self.log_gates(X))

    def log_joint(self, X: ArrayLike) -> FloatArray:
        """log P(x, k) for a gater with densities (6.6); log P(k | x) for others.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        ndarray of shape (n_samples, n_experts)
            Logarithms. They differ from `log_gates` by a constant per example.
        """
        return self.log_gates(X)

    def copy(self) -> Self:
        """A copy to train further, while this gater stays as it is."""
        return deepcopy(self)

    def fit_within(self, seconds: float, X: ArrayLike, **task: Any) -> Self:
        """As `fit`; models of this package inside stop after `seconds`, or before.

        Parameters
        ----------
        seconds : float
            Time that is left; may be infinite.
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.
        **task
            The other arguments of `fit`.

        Returns
        -------
        self
            The fitted gater.
        """
        with share_of_time(seconds):
            return self.fit(X, **task)

    def log_posterior(self, X: ArrayLike, log_p: ArrayLike) -> FloatArray:
        """log P(k | x, y) by Bayes' rule (6.5): the weights when the target is known.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.
        log_p : array-like of shape (n_samples, n_experts)
            log P(y | x, k) of each expert, for the correct class.

        Returns
        -------
        ndarray of shape (n_samples, n_experts)
            Logarithms of weights; equal to `log_gates` where every expert excludes the class.
        """
        log_g = self.log_gates(X)
        joint = log_g + np.asarray(log_p, dtype=np.float64)
        known = joint.max(1) > -np.inf
        log_g[known] = log_softmax(joint[known], axis=1)
        return log_g

    def posterior(self, X: ArrayLike, log_p: ArrayLike) -> FloatArray:
        """P(k | x, y); see `log_posterior`.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.
        log_p : array-like of shape (n_samples, n_experts)
            log P(y | x, k).

        Returns
        -------
        ndarray of shape (n_samples, n_experts)
            Weights.
        """
        return np.exp(self.log_posterior(X, log_p))

    def _can_resume(self, X: ArrayLike, n_experts: int) -> bool:
        """Whether the gater was fitted to the same numbers of experts and inputs."""
        known = getattr(self, "n_experts_", None), getattr(self, "n_features_in_", None)
        return known == (n_experts, _num_features(X))

    def _inputs(self, X: ArrayLike, *, reset: bool = False) -> Any:
        return checked_rows(validate_data(self, X, reset=reset, **INPUTS))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
