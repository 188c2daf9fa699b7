"""Tables of pandas, polars, pyarrow and NumPy, opened as named columns of `Values`."""

import difflib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from widemargin.tables.formats import require_pandas
from widemargin.tables.values import Coded, Values

TYPED = "biufmM"  # kinds of NumPy types that need no parsing


@dataclass(frozen=True)
class Columns:
    """A table; ``column(i)`` reads one column, so columns that are not needed cost nothing."""

    names: list[str] | None  # None: columns are known by their position
    shape: tuple[int, int]
    column: Callable[[int], Values]
    dtype: Any = np.float64  # of the encoded table
    labels: list[str] | None = None  # what messages and reports call the columns; None: x0, x1, ...

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.shape[0]

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.shape[1]

    def find(self, names: Sequence[str]) -> list[int]:
        """The places of these columns."""
        places = {name: i for i, name in enumerate(self.names or ())}
        if absent := [name for name in names if name not in places]:
            raise ValueError(_absent_message(absent, list(places)))
        return [places[name] for name in names]


def is_frame(X: Any) -> bool:
    """Whether `X` is a table of pandas, polars or pyarrow."""
    return hasattr(X, "iloc") or _library(X) in ("polars", "pyarrow")


def open_table(X: Any) -> Columns:
    """The columns of a table of pandas, polars or pyarrow."""
    if len(getattr(X, "shape", ())) != 2:
        remedy = "X.collect()" if hasattr(X, "collect") else "X.to_frame(), or a table"
        raise ValueError(
            f"X is a {type(X).__name__} of {_library(X)}, which has no rows and columns; "
            f"use {remedy}"
        )
    if hasattr(X, "iloc"):
        names, read = list(X.columns), lambda i: _from_pandas(X.iloc[:, i])
    elif _library(X) == "polars":
        names, read = list(X.columns), lambda i: _from_polars(X.to_series(i))
    else:
        names, read = list(X.column_names), lambda i: _from_arrow(X.column(i))
    return Columns(_checked_names(names), X.shape, read, labels=list(map(_label, names)))


def open_array(X: Any) -> Columns:
    """The columns of a checked array or CSR matrix."""
    dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.float64
    if sparse.issparse(X):
        columns = X.tocsc()
        return Columns(None, X.shape, lambda i: columns[:, [i]].toarray().ravel(), dtype)
    if X.dtype.kind in TYPED:
        return Columns(None, X.shape, lambda i: X[:, i], dtype)
    pandas = require_pandas("arrays of objects or text")
    return Columns(None, X.shape, lambda i: _from_pandas(pandas.Series(X[:, i])))


def _library(X: Any) -> str:
    return type(X).__module__.partition(".")[0]


def _checked_names(names: Sequence[Any]) -> list[str] | None:
    """Names that are all strings and differ, or None if no name is a string."""
    text = [name for name in names if isinstance(name, str)]
    if not text:
        return None
    if len(text) < len(names):
        other = next(name for name in names if not isinstance(name, str))
        raise TypeError(
            f"column {text[0]!r} has a text for a name and column {other!r} has not; make all "
            "names strings: X.columns = X.columns.astype(str)"
        )
    if twice := [name for name, count in Counter(text).items() if count > 1]:
        raise ValueError(f"more than one column is called {twice[0]!r}; rename them")
    return text


def _label(name: Any) -> str:
    """The text of a name, which may be a number, or a tuple of several levels."""
    return " ".join(map(str, name)) if isinstance(name, tuple) else str(name)


def _from_pandas(series: Any) -> Values:
    pandas = require_pandas("tables with text")
    dtype = series.dtype
    if isinstance(dtype, pandas.ArrowDtype):
        import pyarrow

        return _from_arrow(pyarrow.chunked_array(pyarrow.array(series)))
    if isinstance(dtype, np.dtype) and dtype.kind in TYPED:
        return np.asarray(series)
    if isinstance(dtype, pandas.PeriodDtype):
        return np.asarray(series.dt.to_timestamp())
    if isinstance(dtype, pandas.DatetimeTZDtype):
        return np.asarray(series, dtype="datetime64[us]")  # in UTC
    types = pandas.api.types
    if types.is_complex_dtype(dtype):
        raise ValueError(f"column {series.name!r} holds complex numbers; use real numbers")
    if types.is_numeric_dtype(dtype) and not types.is_bool_dtype(dtype):
        return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
    try:
        codes, distinct = pandas.factorize(series)
    except TypeError:  # lists and other values without a hash
        codes, distinct = pandas.factorize(series.map(str, na_action="ignore"))
    return Coded(
        codes,
        np.asarray(distinct, dtype=object).tolist(),
        isinstance(dtype, pandas.CategoricalDtype),
    )


def _from_polars(series: Any) -> Values:
    if str(series.dtype) in ("Int128", "UInt128"):  # which NumPy lacks
        series = series.cast(float)
    array = series.to_numpy()
    if array.dtype.kind in TYPED and array.ndim == 1:
        return np.asarray(array)
    if array.dtype.kind in "V" or array.ndim > 1:  # structures and lists of one length
        array = np.fromiter(series.to_list(), dtype=object, count=len(series))
    pandas = require_pandas("tables with text")
    categories = str(series.dtype).startswith(("Categorical", "Enum"))
    return _from_pandas(pandas.Series(array, dtype="category" if categories else object))


def _from_arrow(column: Any) -> Values:
    import pyarrow

    require_pandas("Arrow tables")
    if pyarrow.types.is_decimal(column.type):
        column = column.cast(pyarrow.float64())
    return _from_pandas(column.to_pandas(date_as_object=False))


def _absent_message(absent: Sequence[str], present: Sequence[str]) -> str:
    """Which columns are missing, each with the names that are most like it."""
    shown = []
    for name in absent[:5]:
        close = difflib.get_close_matches(name, present, n=3)
        shown.append(f"{name!r}" + (f" (closest: {', '.join(map(repr, close))})" if close else ""))
    more = f" and {len(absent) - 5} more" if len(absent) > 5 else ""
    return (
        f"X lacks column{'s' * (len(absent) > 1)} {', '.join(shown)}{more} of the training table; "
        "name the columns as in training"
    )
