"""What classifiers return for the scores of examples: decisions, classes, probabilities.

Scores have one column for two classes, f(x) with the sign of the class, and one column per class
for more.
"""

from abc import abstractmethod
from collections.abc import Callable

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.utils.metaestimators import available_if

from widemargin._typing import ArrayLike, FloatArray, IntArray

__all__ = ["LogisticMixin", "ProbabilityMixin", "decision_values", "predicted_codes"]


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
