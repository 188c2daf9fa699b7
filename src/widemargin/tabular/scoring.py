"""Scorers of scikit-learn as losses of predictions that are known."""

import inspect
import warnings
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils import ClassifierTags, Tags, TargetTags

from widemargin._runtime.warning import warn_caller
from widemargin._typing import ArrayLike, FloatArray

__all__ = ["NegativeScore", "StoredProbabilities", "StoredValues"]

LEAST_PROBABILITY = 1e-12  # of which scores take the logarithm


class NegativeScore:
    """The loss that a scorer means: its negative value, or infinity where it has none.

    Parameters
    ----------
    target : Target
        What predictions and targets mean.
    scorer : callable
        ``scorer(model, X, y)``, as in scikit-learn.
    """

    def __init__(self, target: Any, scorer: Callable[..., float]) -> None:
        self.target, self.scorer = target, scorer
        self.weighted = _takes_weights(scorer)

    def check(self, p: FloatArray, y: FloatArray, weights: FloatArray | None) -> None:
        """Raises an error with the scorer's own words if it does not score such predictions."""
        try:
            self._score(self.target.stored(p), y, weights)
        except ValueError as error:
            names = "'r2'" if self.target.regression else "'roc_auc_ovr' or 'f1_macro'"
            raise ValueError(
                f"scoring does not suit this target ({error}); use another scorer, such as {names}"
            ) from error
        if weights is not None and not self.weighted:
            warn_caller(
                "the scorer takes no sample_weight: machines are trained with the weights, but "
                "judged without them",
                UserWarning,
            )

    def __call__(self, p: FloatArray, y: FloatArray, weights: FloatArray | None) -> float:
        """The loss of predictions."""
        for store in (self.target.stored, lambda p: self.target.of_present(p, y)):
            # Some scores want predictions of the classes among these rows only (log loss).
            model = store(p)
            try:
                score = np.nan if model is None else self._score(model, y, weights)
            except ValueError:  # such as a logarithmic error of a negative prediction
                score = np.nan
            if np.isfinite(score):
                return -score
        return np.inf

    def _score(self, model: Any, y: FloatArray, weights: FloatArray | None) -> float:
        options = {"sample_weight": weights} if self.weighted and weights is not None else {}
        truth, no_inputs = self.target.decoded(y), np.zeros((len(y), 1))
        with warnings.catch_warnings():  # of a fold with one class, or of constant predictions
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            return float(self.scorer(model, no_inputs, truth, **options))


def _takes_weights(scorer: Callable[..., float]) -> bool:
    function = getattr(scorer, "_score_func", scorer)
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # of a function that is not written in Python
        return False
    return any(one.name == "sample_weight" or one.kind is one.VAR_KEYWORD for one in parameters)


class _Stored:
    """Stands for a model in scorers: its predictions are known, and it is never fitted."""

    kind: ClassVar[str]

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Scorers ask for it, but do not call it."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Tags:
        tags = Tags(estimator_type=self.kind, target_tags=TargetTags(required=True))
        if self.kind == "classifier":
            tags.classifier_tags = ClassifierTags()
        return tags


class StoredProbabilities(_Stored):
    """A classifier whose probabilities are known."""

    kind = "classifier"

    def __init__(self, p: FloatArray, classes: ArrayLike) -> None:
        self.p, self.classes_ = p, classes

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        return self.p

    def decision_function(self, X: ArrayLike) -> FloatArray:
        logarithms = np.log(np.maximum(self.p, LEAST_PROBABILITY))
        two = logarithms.shape[1] == 2
        return np.asarray(logarithms[:, 1] - logarithms[:, 0] if two else logarithms)

    def predict(self, X: ArrayLike) -> ArrayLike:
        return self.classes_[self.p.argmax(axis=1)]


class StoredValues(_Stored):
    """A regressor whose values are known."""

    kind = "regressor"

    def __init__(self, values: FloatArray) -> None:
        self.values = values

    def predict(self, X: ArrayLike) -> FloatArray:
        return self.values
