"""What stands before a named feature map: inputs of comparable size."""

from typing import Any, Self

from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from widemargin._typing import ArrayLike
from widemargin.inputs.rows import INPUTS, checked_rows
from widemargin.inputs.scaling import Scaling

__all__ = ["FeatureScaler"]


class FeatureScaler(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Divides inputs by their standard deviation; centres those that are mostly non-zero.

    So sparse inputs stay sparse, and dense inputs of the same numbers are scaled in the same way.

    Attributes
    ----------
    feature_offset_, feature_scale_ : ndarray of shape (n_features,)
        What is subtracted from the inputs, and what they are then divided by.
    """

    def fit(self, X: ArrayLike, y: ArrayLike = None) -> Self:
        """Measure the inputs.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The inputs.
        y : ignored
            Present for scikit-learn's conventions.

        Returns
        -------
        self
            The fitted transformer.
        """
        X = checked_rows(validate_data(self, X, **INPUTS))
        scaling = Scaling.measured("standard", X, centre="filled")
        self._statistics = scaling.to_dict()
        self.feature_offset_, self.feature_scale_ = scaling.offset, scaling.scale
        return self

    def transform(self, X: ArrayLike) -> ArrayLike:
        """Scale inputs.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The inputs.

        Returns
        -------
        ndarray or CSR matrix of shape (n_samples, n_features)
            The scaled inputs, in the layout of X.
        """
        check_is_fitted(self)
        X = checked_rows(validate_data(self, X, reset=False, **INPUTS))
        return Scaling.from_dict("standard", self._statistics).transform(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
