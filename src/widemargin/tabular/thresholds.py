"""Thresholds of inputs at which the target changes, found by a few small trees.

Rules of real tables are often steps: above a limit the answer is another one. Distances do not see
a limit; the indicator of x ≥ t does. Quantiles miss limits in the tails, so thresholds are those
at which small decision trees, grown on random rows and inputs, lower the impurity most.
"""

import numpy as np
from sklearn import config_context
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import check_random_state

from widemargin._typing import ArrayLike, FloatArray, IntArray

__all__ = ["input_thresholds", "target_thresholds"]

TREES = 8
LEAVES = 32  # of a tree
LEAF_ROWS = 3  # the fewest of a leaf
INPUTS_PER_SPLIT = 0.5  # fraction that a split may choose from; the first tree has all
MAX_TREE_ROWS = 50_000
APART = 0.005  # fraction of the rows that must lie between two thresholds
LEAST_SPREAD = 1e-4  # half the range of an input, relative to the largest: enough for trees
OWN_LEAF_ROWS = 5  # the fewest of a leaf, in a tree of one input


def target_thresholds(
    X: FloatArray,
    y: ArrayLike,
    weights: FloatArray | None = None,
    *,
    classes: bool,
    most: int,
    random_state: ArrayLike = 0,
) -> list[FloatArray]:
    """The thresholds of each input that tell most about the target, sorted.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        The inputs.
    y : array-like of shape (n,)
        The target.
    weights : ndarray of shape (n,), optional
        Weights of the examples.
    classes : bool
        Whether y holds classes.
    most : int
        The most thresholds per input.
    random_state : int, RandomState instance or None
        Seeds the trees.

    Examples
    --------
    >>> X = np.column_stack([np.arange(20.0), np.arange(20.0) % 3])
    >>> target_thresholds(X, X[:, 0] > 9, classes=True, most=1)[0]
    array([9.5])
    """
    random = check_random_state(random_state)
    X, coded = _for_trees(X)
    gains: list[dict[float, float]] = [{} for _ in range(X.shape[1])]
    for number in range(TREES):
        rows = random.randint(0, len(X), min(len(X), MAX_TREE_ROWS))
        weighted = None if weights is None else weights[rows]
        kind = DecisionTreeClassifier if classes else DecisionTreeRegressor
        tree = kind(
            max_leaf_nodes=LEAVES,
            min_samples_leaf=min(LEAF_ROWS, max(1, len(X) // 10)),
            max_features=INPUTS_PER_SPLIT if number else None,
            random_state=random.randint(2**31 - 1),
        ).fit(X[rows], y[rows], weighted)
        for column, threshold, gain in _splits(tree.tree_):
            of_column = gains[column]
            of_column[threshold] = of_column.get(threshold, 0.0) + gain
    found = [_apart(gained, np.sort(X[:, j]), most) for j, gained in enumerate(gains)]
    return _decoded(found, coded)


def input_thresholds(
    X: FloatArray,
    y: ArrayLike,
    weights: FloatArray | None,
    *,
    classes: bool,
    most: int,
    random_state: ArrayLike = 0,
) -> list[FloatArray]:
    """Thresholds that say how the target depends on each input alone, sorted.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        The inputs.
    y : array-like of shape (n,)
        Classes or values.
    weights : ndarray of shape (n,), optional
        Weights of the rows.
    classes : bool
        Whether y holds classes.
    most : int
        The most thresholds per input.
    random_state : int, RandomState instance or None
        Draws the rows that are used, if there are many.

    Returns
    -------
    list of ndarray
        Those of each input. They are limits of the leaves of a tree of this input.
    """
    kind = DecisionTreeClassifier if classes else DecisionTreeRegressor
    rows = np.arange(len(X))
    if len(X) > MAX_TREE_ROWS:  # tables may be sorted
        rows = check_random_state(random_state).permutation(len(X))[:MAX_TREE_ROWS]
    weighted = None if weights is None else weights[rows]
    X, coded = _for_trees(X[rows])
    # Trees would check each of thousands of columns, and the target again for each of them.
    columns = np.asarray(X, dtype=np.float32, order="F")
    target = np.unique(y[rows], return_inverse=True)[1] if classes else y[rows].astype(np.float64)
    tree = kind(max_leaf_nodes=most + 1, min_samples_leaf=OWN_LEAF_ROWS, random_state=0)
    found = []
    with config_context(skip_parameter_validation=True):
        for j in range(X.shape[1]):
            tree.fit(columns[:, j : j + 1], target, sample_weight=weighted, check_input=False)
            grown = tree.tree_
            found.append(np.sort(grown.threshold[grown.children_left >= 0]))
    return _decoded(found, coded)


def _for_trees(X: FloatArray) -> tuple[FloatArray, dict[int, FloatArray]]:
    """Inputs of trees, which are in single precision: those that it spoils are replaced by codes.

    The second value has, for each of these, the number that a code stands for.
    """
    largest = np.abs(X).max(axis=0, initial=0.0)
    single = np.finfo(np.float32)
    large, few = largest > float(single.max), np.ptp(X / 2.0, axis=0) < LEAST_SPREAD * largest
    coded: dict[int, FloatArray] = {}
    for j in np.flatnonzero(large | few | (largest < float(single.tiny))):
        if large[j] or not np.array_equal(X[:, j].astype(np.float32), X[:, j]):
            X = X if coded else X.copy()
            coded[int(j)], X[:, j] = np.unique(X[:, j], return_inverse=True)
    return X, coded


def _decoded(found: list[FloatArray], coded: dict[int, FloatArray]) -> list[FloatArray]:
    """Thresholds between codes as thresholds between the numbers that they stand for."""
    for j, numbers in coded.items():
        below = found[j].astype(np.int64)
        found[j] = numbers[below] / 2.0 + numbers[below + 1] / 2.0
    return found


def _splits(tree: object) -> list[tuple[int, float, float]]:
    """Input, threshold and decrease of the impurity of each split."""
    inner: IntArray = np.flatnonzero(tree.feature >= 0)  # type: ignore[attr-defined]
    impurity = tree.weighted_n_node_samples * tree.impurity  # type: ignore[attr-defined]
    below = impurity[tree.children_left[inner]]  # type: ignore[attr-defined]
    above = impurity[tree.children_right[inner]]  # type: ignore[attr-defined]
    gain = impurity[inner] - below - above
    columns, thresholds = tree.feature[inner], tree.threshold[inner]  # type: ignore[attr-defined]
    return list(zip(columns.tolist(), thresholds.tolist(), gain.tolist(), strict=True))


def _apart(gains: dict[float, float], ordered: FloatArray, most: int) -> FloatArray:
    """The thresholds with the largest gains, with enough rows between them."""
    distance = max(2.0, APART * len(ordered))
    kept: list[tuple[float, int]] = []
    for threshold in sorted(gains, key=lambda t: -gains[t]):
        place = int(np.searchsorted(ordered, threshold))
        if all(abs(place - other) > distance for _, other in kept):
            kept.append((threshold, place))
        if len(kept) == most:
            break
    return np.sort([threshold for threshold, _ in kept])
