"""Columns of dates as numbers that have their order."""

from typing import Any

import numpy as np

from widemargin._typing import FloatArray
from widemargin.tables.arrow import is_text
from widemargin.tables.formats import require_pyarrow
from widemargin.tables.values import day

__all__ = ["moments"]


def moments(column: Any) -> FloatArray | None:
    """A cleaned column in the order of time, NaN where it is missing; None if it has no such order.

    Parameters
    ----------
    column : Arrow column
        Numbers, moments, or text. Of text, only dates in ISO 8601 have an order.

    Examples
    --------
    >>> import pyarrow
    >>> moments(pyarrow.chunked_array([["1970-01-03", None, "1970-01-01 12:00"]]))
    array([2. , nan, 0.5])
    >>> moments(pyarrow.chunked_array([["03/01/1970"]])) is None
    True
    """
    pa = require_pyarrow()
    if is_text(column):
        coded = column.combine_chunks().dictionary_encode()
        try:
            days = np.array([*map(day, coded.dictionary.to_pylist()), np.nan])
        except ValueError:
            return None
        return np.asarray(days[pa.compute.fill_null(coded.indices, -1).to_numpy()])
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
