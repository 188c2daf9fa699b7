"""Mixed tables as numbers: medians for missing values, indicators for categories, days of dates."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from widemargin._runtime.frames import wants_frame
from widemargin._runtime.warning import warn_caller
from widemargin._typing import ArrayLike
from widemargin.inputs.rows import checked_rows
from widemargin.tables.columns import Column, DroppedColumn, NumberColumn, Settings
from widemargin.tables.frames import Columns, is_frame, open_array, open_table
from widemargin.tables.kinds import column_state, fit_column, restore_column
from widemargin.tables.strips import Indicators, Strip, Strips

SPARSE_BELOW = 0.3  # "auto" makes a CSR matrix if a smaller fraction of the values is non-zero
ROWS_PER_RARE_LEVEL = 10_000  # a level in a smaller fraction of the rows is rare
SMALL_TABLE_ROWS = 50  # in smaller tables no level is rare, not even one with a single row
MAX_NAMED = 20  # columns that a warning names
FLOATS = (np.float64, np.float32)


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turns a mixed table into numbers.

    Nothing is scaled; models do that.  Each column becomes outputs by its kind:

    - **Numbers** keep their values, and the median replaces missing ones.  If the training table
      has missing values in a column, an indicator of them is added.  Durations are days.  Text is
      a number if all values of the column are.
    - **Booleans** become 0 or 1.  Text is boolean if all values are ``true`` or ``false``.
    - **Categories**, all other text, become one indicator per level.  "missing" is a level.  Rare
      levels share one indicator.  A column with two levels becomes one indicator, which is 1 for
      the level with fewer rows.
    - **Dates** become days since 1970 (UTC), and pairs (sin, cos) of the day in the year, the day
      of the week and the time of day, each only if it varies.  The training dates must span more
      than 60 days for the year and more than 7 for the week.  Text is a date if all values are
      written as in ISO 8601.

    Spaces around text are ignored.  The words that mean "missing" in data files (empty, ``?``,
    ``NA``, ``nan``, ``null``, …) are missing values here too.  Constant columns are left out with
    a warning.  So is text that hardly repeats, such as names: its indicators would only memorise
    rows.

    Parameters
    ----------
    sparse : {"auto", True, False}, default="auto"
        Whether the result is a CSR matrix.  "auto" makes one if fewer than 30 % of the values are
        non-zero.  A table without categories stays dense.
    max_categories : int or None, default=64
        The most indicators of one column.  The most frequent levels keep their own, all others
        share one.  None sets no bound.
    min_frequency : int or "auto", default="auto"
        A level with fewer rows is rare.  "auto" is 2, or a ten-thousandth of the rows if that is
        more.  In tables of fewer than 50 rows it is 1: no level is rare.
    missing_indicator : bool, default=True
        Whether missing numbers, booleans and dates get an indicator.

    Attributes
    ----------
    columns_ : list of dict
        One record per input column: ``name``, ``kind`` ("number", "boolean", "category", "date" or
        "dropped"), ``missing`` (how many values were missing), ``levels`` (how many categories, or
        None), ``note`` (why it was dropped, how many levels were merged), ``outputs`` (the indices
        of its outputs).
    output_kinds_ : list of str
        The kind of each output: "number", "indicator", "missing" or "cycle".
    sparse_output_ : bool
        Whether `transform` returns a CSR matrix.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

    See Also
    --------
    read_table : Reads such tables from files.
    text_columns : The columns that a fitted encoder wants to be read as text.

    Notes
    -----
    At prediction the columns of a data frame are found by name, in any order, and further ones are
    ignored.  Columns of arrays are found by position.  A column may have another type than in
    training: 3, 3.0 and "3" are the same category.  A level that was not in the training table
    gets the indicator of rare levels if there is one, otherwise zeros.  A missing value in a column
    that had none in training gets the median, or zeros if it is a category.  In a column of
    numbers, text that is no number counts as missing, with a warning.

    Arrays of numbers need no pandas.  A sparse matrix passes through as CSR, with all its columns.

    Examples
    --------
    >>> import pandas
    >>> from widemargin.tables import TableEncoder
    >>> X = pandas.DataFrame(
    ...     {"age": [20.0, None, 40.0], "town": ["Bern", "Sion", None], "car": ["no", "yes", "no"]}
    ... )
    >>> encoder = TableEncoder().fit(X)
    >>> encoder.transform(X)
    array([[20.,  0.,  1.,  0.,  0.,  0.],
           [30.,  1.,  0.,  1.,  0.,  1.],
           [40.,  0.,  0.,  0.,  1.,  0.]])
    >>> encoder.get_feature_names_out().tolist()
    ['age', 'age is missing', 'town=Bern', 'town=Sion', 'town is missing', 'car=yes']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "sparse": [StrOptions({"auto"}), "boolean"],
        "max_categories": [Interval(Integral, 2, None, closed="left"), None],
        "min_frequency": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "missing_indicator": ["boolean"],
    }

    sparse_output_: bool
    n_features_in_: int
    _states: list[dict[str, Any]] | None  # what was learnt of each column; None: a sparse matrix

    def __init__(
        self,
        *,
        sparse: str | bool = "auto",
        max_categories: int | None = 64,
        min_frequency: int | str = "auto",
        missing_indicator: bool = True,
    ) -> None:
        self.sparse = sparse
        self.max_categories = max_categories
        self.min_frequency = min_frequency
        self.missing_indicator = missing_indicator

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: ArrayLike, y: ArrayLike = None) -> Self:
        """Learn the kind of each column, its median, levels and cycles.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features)
            A table of pandas, polars or pyarrow, an array of numbers or of objects, or a SciPy
            matrix.
        y : ignored
            For scikit-learn's pipelines.

        Returns
        -------
        self
            The fitted encoder.
        """
        self._fit(X)
        return self

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit_transform(self, X: ArrayLike, y: ArrayLike = None) -> Any:
        """Learn the columns and encode them; faster than `fit` and then `transform`.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features)
            The training table.
        y : ignored
            For scikit-learn's pipelines.

        Returns
        -------
        ndarray or CSR matrix of shape (n_samples, n_outputs)
            The table as numbers.
        """
        return self._matrix(self._fit(X))

    def transform(self, X: ArrayLike) -> Any:
        """Encode a table.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features)
            A table with the columns of the training table.

        Returns
        -------
        ndarray or CSR matrix of shape (n_samples, n_outputs)
            The table as numbers.
        """
        check_is_fitted(self, "sparse_output_")
        if self._states is None:
            return self._matrix(self._checked(X, reset=False, sparse_only=True))
        table = open_table(X) if is_frame(X) else open_array(self._checked(X, reset=False))
        strips: list[Strip] = []
        for column, place in zip(self._columns(), self._places(table), strict=True):
            if place is not None:
                strips += column.encode(table.column(place))
        return self._matrix(Strips(strips, table.rows, table.dtype))

    def get_feature_names_out(self, input_features: ArrayLike = None) -> np.ndarray:
        """The names of the outputs.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the input columns, if `fit` saw none.

        Returns
        -------
        ndarray of str
            The name of a column, and what its output tells: "age", "age is missing", "town=Bern".
        """
        check_is_fitted(self, "sparse_output_")
        names = _check_feature_names_in(self, input_features)
        pairs = zip(names, self._columns(), strict=True)
        outputs = [f"{name}{label}" for name, column in pairs for label, _ in column.outputs()]
        return np.array(outputs, dtype=object)

    @property
    def columns_(self) -> list[dict[str, Any]]:
        """One record per input column."""
        records, start = [], 0
        for column in self._columns():
            end = start + len(column.outputs())
            shared = {key: getattr(column, key) for key in ("missing", "levels", "note")}
            kind = {"name": column.name, "kind": column.kind}
            records.append(kind | shared | {"outputs": list(range(start, end))})
            start = end
        return records

    @property
    def output_kinds_(self) -> list[str]:
        """The kind of each output."""
        return [kind for column in self._columns() for _, kind in column.outputs()]

    def _fit(self, X: ArrayLike) -> "Strips | sp.csr_array":
        """Learn all columns and encode them; a sparse matrix is all numbers."""
        if sp.issparse(X):
            matrix = self._checked(X, reset=True, sparse_only=True)
            self._states = None
            self.sparse_output_ = self.sparse is not False
            return matrix
        table = self._opened(X)
        settings = Settings(
            self.max_categories, self._min_rows(table.rows), bool(self.missing_indicator)
        )
        columns: list[Column] = []
        strips: list[Strip] = []
        for i, name in enumerate(table.labels or self._names()):
            values = table.column(i)
            columns.append(fit_column(name, values, settings))
            strips += columns[-1].encode(values)
        _report_dropped(columns, table.rows)
        encoded = Strips(strips, table.rows, table.dtype)
        self._states = [column_state(column) for column in columns]
        self.sparse_output_ = self._makes_sparse(encoded)
        return encoded

    def _makes_sparse(self, encoded: Strips) -> bool:
        """Whether this and later tables become CSR matrices."""
        if self.sparse != "auto":
            return bool(self.sparse)
        has_categories = any(isinstance(strip, Indicators) for strip in encoded.strips)
        return has_categories and encoded.density() < SPARSE_BELOW

    def _min_rows(self, rows: int) -> int:
        """The fewest rows of a level with an indicator of its own."""
        if self.min_frequency != "auto":
            return int(self.min_frequency)
        return 1 if rows < SMALL_TABLE_ROWS else max(2, rows // ROWS_PER_RARE_LEVEL)

    def _opened(self, X: ArrayLike) -> Columns:
        """The training table; its names and its width are recorded."""
        if not is_frame(X):
            return open_array(self._checked(X, reset=True))
        table = open_table(X)
        if min(table.rows, table.width) == 0:
            raise ValueError(f"X has {table.rows} rows and {table.width} columns; it needs some")
        self.n_features_in_ = table.width
        if table.names is not None:
            self.feature_names_in_ = np.array(table.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return table

    def _checked(self, X: ArrayLike, *, reset: bool, sparse_only: bool = False) -> Any:
        """An array as it is, or a CSR matrix; scikit-learn checks its shape."""
        dtype, finite = (FLOATS, True) if sparse_only else (None, False)
        if sparse_only and is_frame(X):
            X = np.asarray(X)
        X = validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=dtype, ensure_all_finite=finite
        )
        return checked_rows(sp.csr_array(X)) if sparse_only else X

    def _matrix(self, encoded: "Strips | sp.csr_array") -> Any:
        sparse = self.sparse_output_ and not wants_frame(self)
        if isinstance(encoded, Strips):
            return encoded.csr() if sparse else encoded.dense()
        return encoded if sparse else encoded.toarray()

    def _names(self) -> list[str]:
        return _check_feature_names_in(self).tolist()  # type: ignore[no-any-return]

    def _columns(self) -> Sequence[Column]:
        """The fitted columns."""
        check_is_fitted(self, "sparse_output_")
        if self._states is None:
            return [NumberColumn(name) for name in self._names()]
        return [restore_column(state) for state in self._states]

    def _places(self, table: Columns) -> list[int | None]:
        """The place in `table` of each column that has outputs, and None for the others."""
        columns = self._columns()
        needed = [column.name for column in columns if column.outputs()]
        if table.names is not None and hasattr(self, "feature_names_in_"):
            found = dict(zip(needed, table.find(needed), strict=True))
            return [found.get(column.name) for column in columns]
        if table.width != self.n_features_in_:
            raise ValueError(
                f"X has {table.width} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return [i if column.outputs() else None for i, column in enumerate(columns)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        inputs = tags.input_tags
        inputs.allow_nan = inputs.string = inputs.categorical = inputs.sparse = True
        return tags


def _report_dropped(columns: Sequence[Column], rows: int) -> None:
    dropped = [column for column in columns if isinstance(column, DroppedColumn)]
    if dropped:
        names = ", ".join(f"{column.name!r} ({column.note})" for column in dropped[:MAX_NAMED])
        more = f" and {len(dropped) - MAX_NAMED} more" if len(dropped) > MAX_NAMED else ""
        warn_caller(f"columns left out: {names}{more}", UserWarning)
        if len(dropped) == len(columns):
            raise ValueError(
                f"no usable column of the table varies (n_samples={rows}): {names}{more}"
            )
