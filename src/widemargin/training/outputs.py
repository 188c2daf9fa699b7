"""What classifiers make of their outputs: scores, classes, logarithms of probabilities."""

from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from widemargin._typing import ArrayLike, FloatArray

__all__ = ["LogProbabilityMixin", "class_scores", "most_likely"]


def class_scores(outputs: FloatArray) -> FloatArray:
    """Scores as scikit-learn shapes them: one number per example when there is one output.

    Examples
    --------
    >>> class_scores(np.array([[0.5], [-1.0]]))
    array([ 0.5, -1. ])
    """
    return outputs[:, 0] if outputs.shape[1] == 1 else outputs


def most_likely(outputs: FloatArray, classes: ArrayLike) -> Any:
    """The class of the highest output; of one output, the second class where it is positive.

    Examples
    --------
    >>> most_likely(np.array([[0.5], [0.0]]), np.array(["no", "yes"]))
    array(['yes', 'no'], dtype='<U3')
    """
    if outputs.shape[1] == 1:
        return classes[(outputs[:, 0] > 0).astype(int)]
    return classes[outputs.argmax(axis=1)]


class LogProbabilityMixin:
    """`predict_log_proba` of a classifier, available whenever `predict_proba` is."""

    def _log_probabilities(self, X: ArrayLike) -> FloatArray:
        """Overridden where logarithms can be had without rounding small probabilities to 0."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))  # type: ignore[attr-defined]

    @available_if(lambda self: self.predict_proba is not None)  # type: ignore[untyped-decorator]
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
