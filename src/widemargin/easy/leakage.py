"""Whether a single column tells the target: a small tree on half of the rows, judged on others."""

from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from widemargin._typing import FloatArray

__all__ = ["predicts_alone"]

MOST_ROWS = 2_000
FEWEST_ROWS = 40
LEAVES = 64
LEAST_SHARE = 0.98  # of the error of a constant that the column takes away
MOST_LEVELS = 0.2  # of a text, relative to the rows


def predicts_alone(values: Any, y: np.ndarray, task: str) -> bool:
    """Whether a column leaves less than 2 % of the error of a constant prediction.

    Parameters
    ----------
    values : pandas.Series
        The column.
    y : ndarray
        The target of the same rows.
    task : {"classification", "regression"}
        What the target holds.

    Examples
    --------
    >>> import pandas
    >>> y = np.random.default_rng(0).normal(size=200)
    >>> predicts_alone(pandas.Series(2 * y), y, "regression")
    True
    >>> predicts_alone(pandas.Series(y[::-1]), y, "regression")
    False
    """
    if len(y) < FEWEST_ROWS:
        return False
    some = np.linspace(0, len(y) - 1, min(len(y), MOST_ROWS)).astype(np.int64)
    some = np.random.RandomState(0).permutation(some)
    numbers, target = _numbers(values.iloc[some]), y[some]
    if numbers is None:
        return False
    half = len(some) // 2
    X, X_test, t, t_test = numbers[:half], numbers[half:], target[:half], target[half:]
    if task == "regression":
        rest = DecisionTreeRegressor(max_leaf_nodes=LEAVES, random_state=0).fit(X, t)
        t_test = t_test.astype(np.float64)
        whole = float(np.var(t_test))
        left = float(np.mean((rest.predict(X_test) - t_test) ** 2))
    else:
        tree = DecisionTreeClassifier(max_leaf_nodes=LEAVES, random_state=0).fit(X, t)
        classes, counts = np.unique(t, return_counts=True)
        whole = float(np.mean(t_test != classes[counts.argmax()]))
        left = float(np.mean(tree.predict(X_test) != t_test))
    return whole > 0 and left <= (1.0 - LEAST_SHARE) * whole


def _numbers(values: Any) -> FloatArray | None:
    """The column as numbers: categories in the order of their names; None if it hardly repeats."""
    if values.dtype.kind in "biuf":
        numbers = values.to_numpy(np.float64)
    elif values.dtype.kind == "M":
        numbers = values.to_numpy().astype(np.int64).astype(np.float64)
    else:
        codes, words = values.factorize(sort=True)
        if len(words) > MOST_LEVELS * len(values):
            return None
        numbers = codes.astype(np.float64)
    return np.asarray(np.nan_to_num(numbers, nan=-1e30)).reshape(-1, 1)
