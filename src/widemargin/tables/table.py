"""What a reader returns: a table, or an error that says what to do about the file."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


class DataFileError(ValueError):
    """A data file cannot be used as it is; the message names the file, the place, the remedy."""


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of a data file.

    Attributes
    ----------
    X : ndarray, CSR array or pandas DataFrame of shape (n_rows, n_features)
        The inputs: floats if all are numbers and none is missing, else a DataFrame.
    y : ndarray of shape (n_rows,) or None
        The target, if it was asked for or the format always has one.
    feature_names : tuple of str
        Names of the columns of X; empty if the format has none (svmlight, npz).
    target_name : str or None
        Name of the target.
    index_base : {0, 1} or None
        The number of the first column in an svmlight file, as given or as found.
    """

    X: Any
    y: np.ndarray | None
    feature_names: tuple[str, ...]
    target_name: str | None
    index_base: int | None = None


def find_column(names: Sequence[str], wanted: str | int, path: object) -> int:
    """Position of the column called `wanted`, or at the position `wanted` ("-1" is the last)."""
    if wanted in names:
        return names.index(str(wanted))
    try:
        return range(len(names))[int(wanted)]
    except (ValueError, IndexError):
        raise no_column(names, wanted, path) from None


def no_column(names: Sequence[str], wanted: str | int, path: object) -> DataFileError:
    """Error for a column that is not there, with the names that come closest."""
    close = difflib.get_close_matches(str(wanted), names, n=3, cutoff=0.5) or names[:10]
    return DataFileError(
        f"{path}: there is no column {wanted!r} among {len(names)}; closest: "
        f"{', '.join(map(repr, close))}. Give a name, or a position such as -1; a file without a "
        "line of names is read with header=False"
    )
