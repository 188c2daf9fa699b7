"""What the fetchers share: option checks, the thesis's shuffled splits, the returned Bunch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.utils import Bunch

Rows: TypeAlias = Mapping[str, NDArray[np.intp]]
Fetched: TypeAlias = Any  # a Bunch, or (X, y) with return_X_y=True


def check_option(parameter: str, value: object, known: tuple[object, ...]) -> None:
    """Refuse a value that is not one of `known`."""
    if value not in known:
        choices = ", ".join(repr(choice) for choice in known)
        raise ValueError(f"{parameter}={value!r} is not known; use one of {choices}")


def check_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """The dtype of the inputs: float32 or float64."""
    result = np.dtype(dtype)
    if result not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype={dtype!r} is not supported; use numpy.float32 or numpy.float64")
    return result


def check_whole(split: object, return_X_y: bool) -> None:
    """(X, y) means the whole set: it cannot hold the parts of a split."""
    if split is not None and return_X_y:
        raise ValueError(
            f"return_X_y=True returns the whole set and cannot be used with split={split!r}; "
            "use split=None, or take X_train, y_train, ... from the Bunch"
        )


def shuffled_rows(n_rows: int, **sizes: int) -> Rows:
    """Disjoint row numbers: shuffle all rows with seed 0, then cut parts off the front."""
    order = np.random.RandomState(0).permutation(n_rows)
    ends = np.cumsum(list(sizes.values()))
    return dict(zip(sizes, np.split(order[: ends[-1]], ends[:-1]), strict=True))


def split_bunch(
    inputs: Callable[[NDArray[np.intp]], Any],
    y: NDArray[Any],
    rows: Rows,
    facts: Mapping[str, Any],
) -> Bunch:
    """X_<part>, y_<part> and rows_<part> for every part, then the facts of the data set."""
    result = Bunch()
    for part, chosen in rows.items():
        result[f"X_{part}"] = inputs(chosen)
        result[f"y_{part}"] = y[chosen]
        result[f"rows_{part}"] = chosen
    result.update(facts)
    return result


def whole_bunch(X: Any, y: NDArray[Any], facts: Mapping[str, Any], return_X_y: bool) -> Fetched:
    """The whole set, as scikit-learn's fetchers return it."""
    return (X, y) if return_X_y else Bunch(data=X, target=y, **facts)
