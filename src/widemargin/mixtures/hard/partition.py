"""Partitions of the examples among experts: random, by clusters, balanced by preferences."""

import numpy as np

from widemargin import _core
from widemargin._typing import ArrayLike, IntArray
from widemargin.mixtures.gaters.cells import find_clusters

__all__ = [
    "assign",
    "clustered_partition",
    "divided_room",
    "random_partition",
    "subset_limit",
]

DISTANCES_PER_CALL = 2**22  # between examples and cluster centres, in memory at once


def subset_limit(count: int, n_experts: int, balance: float | None = 1.0) -> int:
    """The largest number of examples of an expert: `balance` · L/K + 1; None means no limit."""
    if balance is None:
        return count
    return int(balance * count) // n_experts + 1


def assign(scores: ArrayLike, room: IntArray) -> IntArray:
    """Step 4 of Algorithm 6.1: examples in turn, each to the best expert that has room.

    Parameters
    ----------
    scores : array-like of shape (n_samples, n_experts)
        How strongly each example prefers each expert. The first of equal scores wins.
    room : ndarray of shape (n_experts,)
        How many more examples each expert may take; updated in place.

    Returns
    -------
    ndarray of shape (n_samples,)
        The expert of each example.

    Examples
    --------
    >>> room = np.array([2, 2])
    >>> assign([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3]], room), room
    (array([0, 0, 1]), array([0, 1]))
    """
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    if np.isnan(scores).any():
        raise ValueError("scores of experts must be numbers; a gater has diverged")
    partition = np.empty(len(scores), dtype=np.int64)
    placed = _core.assign_experts(scores, room, partition)
    if placed < len(scores):
        raise ValueError(f"the experts have room for {placed} of {len(scores)} examples")
    return partition


def divided_room(demand: IntArray, room: int) -> IntArray:
    """Divides the room of every expert among blocks, so that each block can assign alone.

    A block first gets the room that its examples demand, or its proportional share where the
    demand for an expert exceeds its room. Its remaining examples get shares of the room that is
    left, so that every block has room for all of its examples. A single block gets all the room.

    Parameters
    ----------
    demand : ndarray of shape (n_blocks, n_experts)
        How many examples of each block prefer each expert.
    room : int
        How many examples each expert may take; enough in total.

    Returns
    -------
    ndarray of shape (n_blocks, n_experts)
        The room of each expert for each block.

    Examples
    --------
    >>> divided_room(np.array([[4, 0], [2, 2]]), 5)
    array([[3, 1],
           [2, 4]])
    """
    sizes, total = demand.sum(1), np.maximum(demand.sum(0), 1)
    granted = demand * np.minimum(total, room) // total
    left, missing = room - granted.sum(0), sizes - granted.sum(1)
    granted += left * missing[:, None] // max(left.sum(), 1)  # never more than is missing
    left, missing = room - granted.sum(0), sizes - granted.sum(1)
    for block in np.repeat(np.arange(len(sizes)), missing):  # lost by rounding down
        most = left.argmax()
        granted[block, most] += 1
        left[most] -= 1
    ends = left * np.cumsum(sizes)[:, None] // max(sizes.sum(), 1)  # room that no block needs
    return np.asarray(granted + np.diff(ends, axis=0, prepend=0))


def random_partition(
    count: int, n_experts: int, random: np.random.RandomState, first: int = 0
) -> IntArray:
    """Subsets whose sizes differ by at most one, also together with the `first` examples before."""
    dealt = np.arange(first, first + count) % n_experts
    return np.asarray(random.permutation(dealt), dtype=np.int64)


def clustered_partition(
    X: ArrayLike, n_experts: int, balance: float | None, random: np.random.RandomState
) -> IntArray:
    """Each example to the nearest centre of k-means that has room."""
    if n_experts == 1:
        return np.zeros(X.shape[0], dtype=np.int64)
    clusters = find_clusters(X, n_experts, random)
    room = np.full(n_experts, subset_limit(X.shape[0], n_experts, balance))
    rows = max(1, DISTANCES_PER_CALL // n_experts)
    parts = [
        assign(-np.asarray(clusters.transform(X[first : first + rows])), room)
        for first in range(0, X.shape[0], rows)
    ]
    return np.concatenate(parts)
