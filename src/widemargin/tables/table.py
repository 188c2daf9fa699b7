"""`Table`, which readers return, and how its columns are found by name or position."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin.tables.errors import Argument, DataFileError


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of a data file.

    Attributes
    ----------
    X : ndarray, CSR array or pandas DataFrame of shape (n_rows, n_features)
        The inputs: floats if all are numbers and none is missing, otherwise a DataFrame.
    y : ndarray of shape (n_rows,) or None
        The target, if one was named or the format always has one.
    feature_names : tuple of str
        Names of the columns of X; empty if the format has none (svmlight, npz).
    target_name : str or None
        Name of the target.
    index_base : {0, 1} or None
        The number of the first column in an svmlight file, as given or inferred.
    others : tuple of str
        Names of the columns that were left out, because `columns` does not name them.
    left_out : int
        How many rows were left out, because they have no target.
    """

    X: Any
    y: np.ndarray | None
    feature_names: tuple[str, ...]
    target_name: str | None
    index_base: int | None = None
    others: tuple[str, ...] = ()
    left_out: int = 0


def find_column(names: Sequence[str], wanted: str | int, path: object) -> int:
    """Position of the column with the name or position `wanted` ("-1" is the last)."""
    if wanted in names:
        return names.index(str(wanted))
    try:
        return range(len(names))[int(wanted)]
    except (ValueError, IndexError):
        raise no_column(names, wanted, path) from None


def no_column(names: Sequence[str], wanted: str | int, path: object) -> DataFileError:
    """Error for a column that does not exist, with the closest names."""
    close = difflib.get_close_matches(str(wanted), names, n=3, cutoff=0.5) or names[:10]
    bare = list(names) == [f"c{i}" for i in range(len(names))]  # there was no header
    return DataFileError(
        f"{path}: has {len(names)} columns, but no column {wanted!r}; closest: "
        f"{', '.join(map(repr, close))}. Give a name, or a position such as -1; use ",
        Argument("header", bare),
        " if the first line names the columns" if bare else " if the first line is data",
    )
