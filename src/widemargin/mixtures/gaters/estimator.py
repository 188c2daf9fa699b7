"""Any classifier as a gater: it learns which expert is best."""

from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from widemargin._typing import ArrayLike, FloatArray
from widemargin.mixtures.gaters.gater import Gater, check_gater_examples
from widemargin.training.estimators import all_or_nothing

__all__ = ["EstimatorGater"]


class EstimatorGater(Gater):
    """A classifier with `predict_proba`, trained to predict the best expert of each example.

    The best expert is the one with the smallest criterion, or with the largest probability of the
    correct class.

    Parameters
    ----------
    estimator : estimator
        A scikit-learn classifier with `predict_proba`.

    Attributes
    ----------
    estimator_ : estimator
        The fitted classifier.
    n_experts_ : int
        The number of experts, K.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from widemargin.mixtures import EstimatorGater
    >>> X = np.linspace(-1, 1, 20)[:, None]
    >>> outputs = np.stack([-X, X], axis=1)  # two experts, each correct on one side of zero
    >>> gater = EstimatorGater(DecisionTreeClassifier())
    >>> gater.fit(X, outputs=outputs, targets=np.ones(20)).gates([[-0.5], [0.5]])
    array([[1., 0.],
           [0., 1.]])
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

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
        """Trains the classifier; see `Gater.fit`. `partition` is not used."""
        if not hasattr(self.estimator, "predict_proba"):
            raise TypeError(
                f"the gater {type(self.estimator).__name__} has no predict_proba, which gives the "
                "weights of the experts; use another classifier"
            )
        task = check_gater_examples(X, outputs, targets, criterion, sample_weight)
        f = task.outputs
        if criterion == "likelihood":
            best = f[:, :, 0].argmax(1)
        else:
            predicted = np.tanh(f) if criterion == "tanh_mse" else f
            best = np.sum((task.targets[:, None] - predicted) ** 2, axis=2).argmin(1)
        X = self._inputs(X, reset=True)
        weights = {} if task.weights is None else {"sample_weight": task.weights}
        self.estimator_ = clone(self.estimator).fit(X, best, **weights)
        self.n_experts_ = f.shape[1]
        return self

    def log_gates(self, X: ArrayLike) -> FloatArray:
        """Logarithms of the probabilities; see `Gater.log_gates`."""
        with np.errstate(divide="ignore"):
            return np.log(self.gates(X))

    def gates(self, X: ArrayLike) -> FloatArray:
        """The probabilities; 0 for experts that were never the best. See `Gater.gates`."""
        check_is_fitted(self)
        X = self._inputs(X)
        gates = np.zeros((X.shape[0], self.n_experts_))
        gates[:, self.estimator_.classes_] = self.estimator_.predict_proba(X)
        return gates
