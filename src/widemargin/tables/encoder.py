"""Mixed tables as numbers: medians for missing numbers, one indicator per category."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.validation import check_is_fitted, validate_data

IDENTIFIER_MIN_VALUES = 20  # with fewer distinct values, text is not taken for an identifier
ROWS_PER_RARE_CATEGORY = 10_000  # a category in a smaller fraction of the rows is rare


def table_encoder(X: Any, *, sparse: str | bool = "auto") -> ColumnTransformer:
    """Unfitted transformer that turns a mixed table into numbers.

    Numeric columns keep their values, and the median replaces missing ones.  Every other column
    becomes one indicator per category.  "missing" is a category.  Rare categories of large tables
    share one indicator with categories that appear only later.  Nothing is scaled; models do that.
    Columns without information (all missing, one value) and dates are dropped with a warning.

    Parameters
    ----------
    X : pandas DataFrame
        The training table, as `read_table` returns it.
    sparse : {"auto", True, False}, default="auto"
        Whether the result is a CSR matrix.  "auto" makes one if fewer than 30 % of the values are
        non-zero.  A table without text stays dense.

    Returns
    -------
    ColumnTransformer
        With the transformers ``numbers`` and ``text``.

    Examples
    --------
    >>> import pandas
    >>> from widemargin.tables import table_encoder
    >>> X = pandas.DataFrame({"age": [20.0, None, 40.0], "town": ["Bern", "Sion", None]})
    >>> table_encoder(X, sparse=False).fit_transform(X)
    array([[20.,  1.,  0.,  0.],
           [30.,  0.,  1.,  0.],
           [40.,  0.,  0.,  1.]])
    """
    if not hasattr(X, "iloc"):
        raise TypeError(f"X is a {type(X)}; pass a pandas DataFrame (arrays need no encoder)")
    if sparse not in ("auto", True, False):
        raise ValueError(f"sparse={sparse!r}; use 'auto', True or False")
    numbers, text = _useful_columns(X)
    # A rarer category has too few rows to learn from.
    onehot = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        min_frequency=max(1, len(X) // ROWS_PER_RARE_CATEGORY),
        sparse_output=sparse is not False,
    )
    parts = [
        ("numbers", SimpleImputer(strategy="median"), numbers),
        ("text", make_pipeline(TextColumns(), onehot), text),
    ]
    threshold = 0.3 if sparse == "auto" else float(sparse)
    return ColumnTransformer([part for part in parts if part[2]], sparse_threshold=threshold)


class TextColumns(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turns columns of any type into strings; missing values become ``"missing"``.

    A value gives the same string whatever type its column was read as.  A column of codes may hold
    only integers in one file, missing values (hence floats) in a second and letters in a third.

    Parameters
    ----------
    missing : str, default="missing"
        String for missing values.

    Examples
    --------
    >>> import pandas
    >>> from widemargin.tables import TextColumns
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
            words = [_text(value) for value in values] + [self.missing]
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


def text_columns(model: Any) -> list[str] | None:
    """Columns that a model made with `table_encoder` reads as text; None if it has no encoder.

    Pass the result to `read_table` when reading data for prediction.  A column then keeps its type
    even if the new file alone suggests another.

    Parameters
    ----------
    model : estimator
        An encoder, or a pipeline that begins with one.

    Examples
    --------
    >>> import pandas
    >>> from widemargin.tables import table_encoder, text_columns
    >>> X = pandas.DataFrame({"age": [20.0, 30.0], "town": ["Bern", "Sion"]})
    >>> text_columns(table_encoder(X).fit(X))
    ['town']
    """
    while isinstance(model, Pipeline):
        model = model[0]
    if not isinstance(model, ColumnTransformer):
        return None
    return [c for name, _, columns in model.transformers if name == "text" for c in columns]


def _text(value: Any) -> str:
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _useful_columns(X: Any) -> tuple[list[str], list[str]]:
    """Names of the numeric columns and of the columns with categories."""
    from pandas.api import types

    numbers: list[str] = []
    text: list[str] = []
    dropped: list[str] = []
    for name in X.columns:
        column = X[name]
        numeric = types.is_numeric_dtype(column) and not types.is_bool_dtype(column)
        if types.is_datetime64_any_dtype(column) or types.is_timedelta64_dtype(column):
            dropped.append(f"{name!r} (dates; convert them to numbers)")
        # For text, "missing" counts as a value.
        elif column.nunique(dropna=numeric) <= 1:
            dropped.append(f"{name!r} (constant)")
        else:
            (numbers if numeric else text).append(name)
            if not numeric:
                _warn_of_identifiers(column)
    if dropped:
        warnings.warn(f"columns left out: {', '.join(dropped)}", UserWarning, stacklevel=3)
    if not numbers and not text:
        raise ValueError("no column of the table varies; there is nothing to learn from")
    return numbers, text


def _warn_of_identifiers(column: Any) -> None:
    """Warn of text that hardly repeats: indicators of names or free text only memorise rows."""
    different, rows = column.nunique(), len(column)
    if different > max(IDENTIFIER_MIN_VALUES, rows // 2):
        example = next(str(value) for value in column if value == value and value is not None)
        warnings.warn(
            f"column {column.name!r} holds {different} distinct texts in {rows} rows, such as "
            f"{example!r}; each becomes a separate input. Leave the column out if it is an "
            "identifier; write numbers with a decimal point",
            UserWarning,
            stacklevel=4,
        )
