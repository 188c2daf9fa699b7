"""`TextColumns`: how encoders in older model files turn columns into strings."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from widemargin.tables.values import text_of


class TextColumns(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turns columns of any type into strings; missing values become ``"missing"``.

    Older model files hold a `ColumnTransformer` with this class.  New models have a `TableEncoder`.

    Parameters
    ----------
    missing : str, default="missing"
        String for missing values.

    Examples
    --------
    >>> import pandas
    >>> from widemargin.tables.text import TextColumns
    >>> TextColumns().fit_transform(pandas.DataFrame({"code": [1, None], "flag": [True, False]}))
    array([['1', 'True'],
           ['missing', 'False']], dtype=object)
    """

    def __init__(self, missing: str = "missing") -> None:
        self.missing = missing

    def fit(self, X: Any, y: Any = None) -> "TextColumns":
        """Learn the number and the names of the columns."""
        self._frame(X, reset=True)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Array of strings with the shape of `X`."""
        import pandas

        check_is_fitted(self, "n_features_in_")
        frame = self._frame(X, reset=False)
        result = np.empty(frame.shape, dtype=object)
        for j in range(frame.shape[1]):
            # Missing values have code -1, which picks the last word.
            codes, values = pandas.factorize(frame.iloc[:, j])
            words = [text_of(value) for value in values] + [self.missing]
            result[:, j] = np.array(words, dtype=object)[codes]
        return result

    def _frame(self, X: Any, *, reset: bool) -> Any:
        import pandas

        if isinstance(X, pandas.DataFrame):  # each column keeps its own type
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        array = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=False)
        return pandas.DataFrame(array)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags
