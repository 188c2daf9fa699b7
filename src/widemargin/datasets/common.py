"""What all data sets share: checks of options, shuffled splits, the returned Bunch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Integral
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


def check_count(parameter: str, value: object, least: int = 1) -> int:
    """The value as an int; refuse anything but an integer of at least `least`."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{parameter}={value!r} must be an integer >= {least}")
    return int(value)


def check_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """The dtype of the inputs: float32 or float64."""
    result = np.dtype(dtype)
    if result not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype={dtype!r} is not supported; use numpy.float32 or numpy.float64")
    return result


def check_whole(split: object, return_X_y: bool) -> None:
    """Refuse `return_X_y` with a split: (X, y) is the whole set."""
    if split is not None and return_X_y:
        raise ValueError(
            f"return_X_y=True returns the whole set and cannot be used with split={split!r}; "
            "use split=None, or take X_train, y_train, ... from the Bunch"
        )


def shuffled_rows(n_rows: int, **sizes: int) -> Rows:
    """Disjoint parts: all row numbers shuffled with seed 0, then cut from the front."""
    order = np.random.RandomState(0).permutation(n_rows)
    ends = np.cumsum(list(sizes.values()))
    return dict(zip(sizes, np.split(order[: ends[-1]], ends[:-1]), strict=True))


def split_bunch(
    inputs: Callable[[NDArray[np.intp]], Any],
    y: NDArray[Any],
    rows: Rows,
    facts: Mapping[str, Any],
) -> Bunch:
    """X_<part>, y_<part> and rows_<part> of every part, and facts about the data set."""
    result = Bunch()
    for part, chosen in rows.items():
        result[f"X_{part}"] = inputs(chosen)
        result[f"y_{part}"] = y[chosen]
        result[f"rows_{part}"] = chosen
    result.update(facts)
    return result


def whole_bunch(X: Any, y: NDArray[Any], facts: Mapping[str, Any], return_X_y: bool) -> Fetched:
    """The whole set, in the form that the fetchers of scikit-learn return."""
    return (X, y) if return_X_y else Bunch(data=X, target=y, **facts)
