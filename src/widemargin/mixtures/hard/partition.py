"""Partitions of the examples among experts: random, by clusters, balanced by preferences."""

import numpy as np
from sklearn.cluster import MiniBatchKMeans

from widemargin import _core
from widemargin._typing import ArrayLike, IntArray

__all__ = ["assign", "capacity", "clustered_partition", "random_partition", "shared_room"]

CLUSTERED_AT_ONCE = 2**22  # distances


def capacity(count: int, n_experts: int, limit: float | None = 1.0) -> int:
    """The most examples an expert may have: `limit` times L/K, and one more; None: any number."""
    if limit is None:
        return count
    return int(limit * count) // n_experts + 1


def assign(scores: ArrayLike, room: IntArray) -> IntArray:
    """Step 4 of Algorithm 6.1: examples in turn, each to the best expert that has room.

    Parameters
    ----------
    scores : array-like of shape (n_samples, n_experts)
        How much each example would like to go to each expert; of equal ones the first counts.
    room : ndarray of shape (n_experts,)
        How many more examples each expert takes; kept up to date.

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


def shared_room(wanted: IntArray, room: int) -> IntArray:
    """Divides the room of every expert among blocks of examples, which then are assigned alone.

    A block first gets what its examples want, or its part of that where an expert is wanted too
    much. The others of its examples get parts of the room that is left, so that every block has
    room for all its examples. With one block it is the whole room.

    Parameters
    ----------
    wanted : ndarray of shape (n_blocks, n_experts)
        How many examples of each block prefer each expert.
    room : int
        How many examples each expert takes; in all, enough.

    Returns
    -------
    ndarray of shape (n_blocks, n_experts)
        The room of each expert for each block.

    Examples
    --------
    >>> shared_room(np.array([[4, 0], [2, 2]]), 5)
    array([[3, 1],
           [2, 4]])
    """
    sizes, demand = wanted.sum(1), np.maximum(wanted.sum(0), 1)
    granted = wanted * np.minimum(demand, room) // demand
    left, missing = room - granted.sum(0), sizes - granted.sum(1)
    granted += left * missing[:, None] // max(left.sum(), 1)  # of the rest, no more than missing
    left, missing = room - granted.sum(0), sizes - granted.sum(1)
    for block in np.repeat(np.arange(len(sizes)), missing):  # what rounding has taken
        most = left.argmax()
        granted[block, most] += 1
        left[most] -= 1
    ends = left * np.cumsum(sizes)[:, None] // max(sizes.sum(), 1)  # what nobody needs
    return np.asarray(granted + np.diff(ends, axis=0, prepend=0))


def random_partition(
    count: int, n_experts: int, random: np.random.RandomState, first: int = 0
) -> IntArray:
    """Subsets of sizes that differ by one at the most, also with the `first` examples before."""
    dealt = np.arange(first, first + count) % n_experts
    return np.asarray(random.permutation(dealt), dtype=np.int64)


def clustered_partition(
    X: ArrayLike, n_experts: int, limit: float | None, random: np.random.RandomState
) -> IntArray:
    """Each example to the nearest centre of k-means, while that has room."""
    if n_experts == 1:
        return np.zeros(X.shape[0], dtype=np.int64)
    clusters = MiniBatchKMeans(n_experts, n_init=1, random_state=random).fit(X)
    room = np.full(n_experts, capacity(X.shape[0], n_experts, limit))
    at_once = max(1, CLUSTERED_AT_ONCE // n_experts)
    parts = [
        assign(-clusters.transform(X[first : first + at_once]), room)
        for first in range(0, X.shape[0], at_once)
    ]
    return np.concatenate(parts)
