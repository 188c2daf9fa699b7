"""Gaters: which of K experts to believe for an input x (Chapter 6)."""

from abc import abstractmethod
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils.validation import _num_features, _num_samples, check_is_fitted, validate_data

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.inputs.labels import example_weights
from widemargin.inputs.rows import INPUTS
from widemargin.training.model import all_or_nothing

__all__ = ["CRITERIA", "Gater", "Mixing", "UniformGater", "check_mixing", "check_partition"]

LEAST_SECONDS = 0.01  # of a fit that comes when the time is over
CRITERIA = ("tanh_mse", "mse", "likelihood")


@dataclass
class Mixing:
    """What a global gater is trained on beside the inputs, validated."""

    outputs: NDArray[np.float32]  # L × K × C
    targets: FloatArray  # L × C
    weights: FloatArray | None  # of the examples


def check_mixing(
    X: ArrayLike,
    outputs: ArrayLike,
    targets: ArrayLike,
    criterion: str,
    sample_weight: ArrayLike = None,
) -> Mixing:
    """What `Gater.fit` was given; outputs that are float32 in C order are not copied."""
    if criterion not in CRITERIA:
        raise ValueError(f"criterion={criterion!r} is unknown; use one of {', '.join(CRITERIA)}")
    if outputs is None:
        raise ValueError("the gater is trained on what the experts say: outputs is missing")
    outputs = _check_outputs(outputs, _num_samples(X), criterion)
    targets = _check_targets(targets, outputs.shape, criterion)
    return Mixing(outputs, targets, example_weights(X, None, sample_weight, None, None))


def check_partition(
    X: ArrayLike, partition: ArrayLike, outputs: ArrayLike = None
) -> tuple[IntArray, int]:
    """The expert of each example; the number of experts, from the outputs if there are any."""
    if partition is None:
        raise ValueError("the gater is trained on a partition of the examples: it is missing")
    found, count = np.asarray(partition), _num_samples(X)
    if found.shape != (count,) or found.dtype.kind not in "iu":
        raise ValueError(
            f"partition must hold the number of an expert for each of the {count} examples"
        )
    n_experts = int(found.max()) + 1 if outputs is None else np.shape(outputs)[1]
    if found.min() < 0 or found.max() >= n_experts:
        raise ValueError(f"partition must hold numbers of experts, from 0 and below {n_experts}")
    return found.astype(np.int64, copy=False), n_experts


def _check_outputs(outputs: ArrayLike, count: int, criterion: str) -> NDArray[np.float32]:
    found = np.require(outputs, np.float32, ["C", "A"])
    if found.ndim != 3 or found.shape[0] != count or 0 in found.shape:
        raise ValueError(
            f"outputs has the shape {found.shape}; it must be ({count}, n_experts, n_outputs): "
            "what every expert says of every example"
        )
    if not np.isfinite(found.sum(dtype=np.float64)):
        raise ValueError("outputs holds values that are not finite; an expert has diverged")
    if criterion == "likelihood" and (
        found.shape[2] > 1 or found.min() < 0 or found.max() > 1 + 1e-6
    ):
        raise ValueError(
            "criterion='likelihood' needs one probability an expert, that of the right class: "
            f"outputs of shape ({count}, n_experts, 1) within 0 and 1"
        )
    return found


def _check_targets(targets: ArrayLike, shape: tuple[int, ...], criterion: str) -> FloatArray:
    """One column an output; untouched memory for the likelihood, which has them in the outputs."""
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

    A gater of one's own derives from this class and has `fit` and `log_gates`.
    """

    #: Whether the partition is enough to train it; else it needs what the experts say.
    local: ClassVar[bool] = False

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
        """Trains the gater for experts that stay as they are.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.
        outputs : array-like of shape (n_samples, n_experts, n_outputs)
            What every expert says of every example, best float32 in C order: large and then not
            copied. For ``"likelihood"`` P(y | x, k), the probability of the right class.
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
        """Logarithms of `gates`, exact where those are too small for a number.

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
        """The weight of every expert, P(k | x); rows add up to one.

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
        """log P(x, k) of a gater with densities (6.6); of others log P(k | x).

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        ndarray of shape (n_samples, n_experts)
            Logarithms, from which those of the gates differ by a number for each example.
        """
        return self.log_gates(X)

    def successor(self, seconds: float = np.inf) -> Self:
        """A copy that goes on from here, in so many seconds, while this one stays as it is."""
        gater = deepcopy(self)
        if seconds < np.inf and "time_limit" in self.get_params(deep=False):
            own = self.get_params(deep=False)["time_limit"]
            most = seconds if own is None else min(own, seconds)
            gater.set_params(time_limit=max(most, LEAST_SECONDS))
        return gater

    def log_posterior(self, X: ArrayLike, log_p: ArrayLike) -> FloatArray:
        """log P(k | x, y) by Bayes' rule (6.5): the weights once the class is known.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.
        log_p : array-like of shape (n_samples, n_experts)
            log P(y | x, k): what each expert gives to the right class.

        Returns
        -------
        ndarray of shape (n_samples, n_experts)
            Logarithms of weights. Those of the gater, where no expert allows the class.
        """
        log_g = self.log_gates(X)
        joint = log_g + np.asarray(log_p, dtype=np.float64)
        known = joint.max(1) > -np.inf
        log_g[known] = log_softmax(joint[known], axis=1)
        return log_g

    def posterior(self, X: ArrayLike, log_p: ArrayLike) -> FloatArray:
        """P(k | x, y), as `log_posterior`.

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

    def _goes_on(self, X: ArrayLike, n_experts: int) -> bool:
        """Whether what was learnt before is of as many experts and inputs."""
        known = getattr(self, "n_experts_", None), getattr(self, "n_features_in_", None)
        return known == (n_experts, _num_features(X))

    def _inputs(self, X: ArrayLike, *, reset: bool = False) -> Any:
        return validate_data(self, X, reset=reset, **INPUTS)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class UniformGater(Gater):
    r"""Believes all experts alike, :math:`g_k(x) = 1/K`: the baseline of Table 6.1.

    Parameters
    ----------
    None.

    Attributes
    ----------
    n_experts_ : int
        K.

    Examples
    --------
    >>> from widemargin.mixtures import UniformGater
    >>> UniformGater().fit([[0.0], [1.0]], partition=[0, 1]).gates([[7.0]])
    array([[0.5, 0.5]])
    """

    local: ClassVar[bool] = True

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @all_or_nothing
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
        """Counts the experts; see `Gater.fit`."""
        X = self._inputs(X, reset=True)
        if partition is None and outputs is None:
            raise ValueError("partition and outputs are missing: the number of experts is unknown")
        known = partition is None
        self.n_experts_ = (
            np.shape(outputs)[1] if known else check_partition(X, partition, outputs)[1]
        )
        return self

    def log_gates(self, X: ArrayLike) -> FloatArray:
        """−log K; see `Gater.log_gates`."""
        check_is_fitted(self)
        return np.full((self._inputs(X).shape[0], self.n_experts_), -np.log(self.n_experts_))
