"""What the scores of examples mean: decisions, classes, probabilities, criteria and errors.

Scores have one column for two classes, f(x) with the sign of the class, and one column per class
for more. Those of a regression have one column per target.
"""

from abc import abstractmethod
from collections.abc import Callable

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.utils.metaestimators import available_if

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.criteria import Criterion
from widemargin.inputs.labels import example_errors

__all__ = [
    "LogisticMixin",
    "ProbabilityMixin",
    "decision_values",
    "evaluate",
    "example_criterion",
    "predicted_codes",
]


def decision_values(scores: FloatArray) -> FloatArray:
    """Scores as `decision_function` returns them: flat for two classes.

    Examples
    --------
    >>> decision_values(np.array([[1.5], [-2.0]]))
    array([ 1.5, -2. ])
    """
    return scores[:, 0] if scores.shape[1] == 1 else scores


def predicted_codes(scores: FloatArray) -> IntArray:
    """The number of each example's class; sign(0) = −1 is class 0, equal scores are the first's.

    Examples
    --------
    >>> predicted_codes(np.array([[1.5], [0.0]]))
    array([1, 0])
    >>> predicted_codes(np.array([[1.0, 3.0, 2.0], [4.0, 4.0, 0.0]]))
    array([1, 0])
    """
    if scores.shape[1] == 1:
        return (scores[:, 0] > 0).astype(np.int64)
    return np.asarray(scores.argmax(axis=1))


def example_criterion(
    q: Criterion, y: FloatArray, scores: FloatArray, *, joint: bool = False
) -> FloatArray:
    r"""Q of each example, summed over its outputs.

    Targets `y` are ±1 for two classes, codes 0..K−1 for more, or have the shape of `scores`. For
    class codes, the targets of the outputs are +1 for the class and −1 for the others. With
    `joint`, two criteria compare the outputs with each other instead: cross-entropy is
    :math:`-\log \mathrm{softmax}_y f`, and the margin is :math:`f_y - \max_{k \ne y} f_k`.

    Examples
    --------
    >>> from widemargin.criteria import Margin
    >>> scores = np.array([[1.0, 0.5, 0.0]])
    >>> example_criterion(Margin(1.0), np.array([0.0]), scores)
    array([2.5])
    >>> example_criterion(Margin(1.0), np.array([0.0]), scores, joint=True)
    array([0.5])
    """
    if scores.shape[1] == 1 or y.ndim == 2:
        return np.asarray(q.value(y.reshape(scores.shape), scores).sum(axis=1))
    own = y[:, None] == np.arange(scores.shape[1])
    if joint and q.name == "cross_entropy":
        return np.asarray(-log_softmax(scores, axis=1)[own])
    if joint and q.name == "margin":
        return q.value(1.0, scores[own] - np.where(own, -np.inf, scores).max(axis=1))
    return np.asarray(q.value(np.where(own, 1.0, -1.0), scores).sum(axis=1))


def evaluate(
    scores: FloatArray,
    y: FloatArray,
    weights: FloatArray | None,
    q: Criterion,
    *,
    joint: bool = False,
    error_scale: FloatArray | None = None,
) -> tuple[float, float]:
    """Mean criterion and mean error of validation examples, as a learner returns them.

    See `example_criterion`, and `widemargin.inputs.labels.example_errors` for `error_scale`.
    """
    values = example_criterion(q, y, scores, joint=joint)
    errors = example_errors(scores, y, error_scale)
    return float(np.average(values, weights=weights)), float(np.average(errors, weights=weights))


def _has_probabilities(model: "ProbabilityMixin") -> bool:
    model._require_probabilities()
    return True


class ProbabilityMixin:
    """`predict_proba` and `predict_log_proba`, absent where a model has no probabilities."""

    def _require_probabilities(self) -> None:
        """Raises AttributeError, naming the remedy, if these parameters give no probabilities."""

    @abstractmethod
    def _probabilities(self, X: ArrayLike) -> FloatArray:
        """P(y | x) of each example and class."""

    def _log_probabilities(self, X: ArrayLike) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self._probabilities(X)))

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """The probability P(y | x) of each class.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of `classes_`.
        """
        return self._probabilities(X)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: ArrayLike) -> FloatArray:
        """The logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Logarithms of `predict_proba`.
        """
        return self._log_probabilities(X)


class LogisticMixin(ProbabilityMixin):
    """Probabilities of scores that are logits: the sigmoid for two classes, the softmax for more.

    Logarithms are computed from the scores, so they are finite where probabilities round to 0.
    """

    decision_function: Callable[[ArrayLike], FloatArray]

    def _probabilities(self, X: ArrayLike) -> FloatArray:
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        return np.asarray(softmax(scores, axis=1))

    def _log_probabilities(self, X: ArrayLike) -> FloatArray:
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([log_expit(-scores), log_expit(scores)])
        return np.asarray(log_softmax(scores, axis=1))
