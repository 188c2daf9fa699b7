"""Partitions of the examples among experts: random, by clusters, balanced by preferences."""

import numpy as np
from sklearn.cluster import MiniBatchKMeans

from widemargin import _core
from widemargin._typing import ArrayLike, IntArray

__all__ = ["assign", "capacity", "clustered_partition", "random_partition"]

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


def random_partition(count: int, n_experts: int, random: np.random.RandomState) -> IntArray:
    """Subsets of sizes that differ by one at the most."""
    return np.asarray(random.permutation(np.arange(count) % n_experts), dtype=np.int64)


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
