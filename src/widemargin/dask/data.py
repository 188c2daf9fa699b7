"""Dask collections as blocks of rows: what they are like, and how a mixture sees them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import scipy.sparse as sp
from dask import delayed
from sklearn.base import is_classifier
from sklearn.utils.sparsefuncs import min_max_axis

from widemargin._typing import ArrayLike, FloatArray
from widemargin.inputs.labels import counted_rows
from widemargin.inputs.scaling import Scaling
from widemargin.mixtures.hard.example_block import Share
from widemargin.mixtures.hard.targets import Goal

__all__ = ["Block", "Facts", "applied", "facts_of", "make_block", "merged", "row_chunks"]


# --------------------------------------------------------------------------------- collections


def row_chunks(X: Any, *others: Any) -> list[tuple[Any, ...]]:
    """Delayed chunks of the examples: rows of X, and those of the others, if these are given."""
    for name, collection in zip(("X", "y", "sample_weight"), (X, *others), strict=False):
        if collection is not None and not isinstance(
            collection, (da.Array, dd.DataFrame, dd.Series)
        ):
            raise TypeError(
                f"{name} is a {type(collection).__name__}, not an array or dataframe of Dask; use "
                "dask.array.from_array, or the mixture of widemargin itself for data in memory"
            )
    if isinstance(X, da.Array):
        if X.ndim != 2:
            raise ValueError(f"X has {X.ndim} dimensions; examples are the rows of a matrix")
        X = X.rechunk({1: -1})
    columns = [_delayed_rows(X)]
    for other in others:
        columns.append(
            [None] * len(columns[0]) if other is None else _delayed_rows(_like(X, other))
        )
    numbers = [len(column) for column in columns]
    if len(set(numbers)) > 1:
        raise ValueError(
            f"X, y and sample_weight have {numbers} chunks; they must be divided alike: "
            "repartition them, or call compute_chunk_sizes if their sizes are not known"
        )
    return list(zip(*columns, strict=True))


def _like(X: Any, other: Any) -> Any:
    """Another collection in the chunks of X, where the sizes of both are known."""
    if not isinstance(other, da.Array):
        return other
    columns = {1: -1} if other.ndim == 2 else {}
    if not isinstance(X, da.Array) or np.isnan([*X.chunks[0], *other.chunks[0]]).any():
        return other.rechunk(columns)
    if len(X) != len(other):
        raise ValueError(f"X has {len(X)} rows, but y or sample_weight has {len(other)}")
    return other.rechunk({0: X.chunks[0], **columns})


def _delayed_rows(collection: Any) -> list[Any]:
    chunks = collection.to_delayed()
    return list(chunks.ravel()) if isinstance(chunks, np.ndarray) else list(chunks)


def applied(model: Any, method: str, X: Any, columns: int | None, dtype: Any) -> Any:
    """A lazy array of what a method of a local model says of the rows of a collection."""
    rows = X.chunks[0] if isinstance(X, da.Array) else [np.nan] * X.npartitions
    shared, width = delayed(model), () if columns is None else (columns,)
    call = delayed(_call, pure=True)
    parts = [
        da.from_delayed(call(shared, method, chunk, width, dtype), (count, *width), dtype)
        for (chunk,), count in zip(row_chunks(X), rows, strict=True)
    ]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def _call(model: Any, method: str, X: Any, width: tuple[int, ...], dtype: Any) -> Any:
    return getattr(model, method)(X) if X.shape[0] else np.empty((0, *width), dtype)


# --------------------------------------------------------------------------------------- facts


@dataclass
class Facts:
    """Statistics of examples."""

    count: int
    low: FloatArray
    high: FloatArray
    inputs: Scaling
    targets: Scaling | None  # of a regression
    classes: ArrayLike
    counts: ArrayLike
    sparse: bool

    def extremes(self, scale: str | None) -> ArrayLike:
        """Two rows with the statistics that the scaler needs."""
        rows = np.stack([self.low, self.high])
        if scale == "standard":
            spread = np.sqrt(self.inputs.variance)
            rows = np.stack([self.inputs.mean - spread, self.inputs.mean + spread])
        return sp.csr_matrix(rows) if self.sparse else rows

    def scaled_moments(self, scaler: Any) -> Scaling:
        """Statistics of inputs that a scaler has changed by a line with a positive slope."""
        if scaler is None:
            return self.inputs
        mean, spread = self.inputs.mean, np.sqrt(self.inputs.variance)
        rows = scaler.transform(np.stack([mean, mean + spread, self.low, self.high]))
        variance = (rows[1] - rows[0]) ** 2
        return replace(self.inputs, mean=rows[0], variance=variance, low=rows[2], high=rows[3])


def _counts(X: Any, weights: Any) -> bool:
    return X.shape[0] > 0 and (weights is None or bool(np.any(np.asarray(weights) != 0)))


def facts_of(model: Any, X: Any, y: Any, weights: Any) -> Facts | None:
    """Statistics of a chunk; None if it has no rows that count."""
    if not _counts(X, weights):
        return None
    X, y = model._check_X(X, y)
    inputs = Scaling.measured("minmax", X)
    sparse = sp.issparse(X)
    low, high = min_max_axis(X, axis=0) if sparse else (X.min(0), X.max(0))
    classes, counts, targets = None, None, None
    if is_classifier(model):
        classes, counts = np.unique(y, return_counts=True)
    else:
        y, w = y.reshape(len(y), -1), model._weights(X, y, weights)
        y = np.ascontiguousarray(y, dtype=np.float64)
        targets = Scaling.measured("standard", y, weights=w)
    return Facts(len(y), low, high, inputs, targets, classes, counts, sparse)


def merged(parts: Sequence[Facts | None]) -> Facts | None:
    """Statistics of several chunks."""
    found = [part for part in parts if part is not None]
    if not found:
        return None
    total = replace(found[0], inputs=replace(found[0].inputs))
    if total.targets is not None:
        total.targets = replace(total.targets)
    for part in found[1:]:
        total.count += part.count
        total.low, total.high = np.minimum(total.low, part.low), np.maximum(total.high, part.high)
        total.inputs.merge(part.inputs)
        if total.targets is not None and part.targets is not None and part.targets.weight > 0:
            total.targets.merge(part.targets)
    if total.classes is not None:
        labels = np.concatenate([part.classes for part in found])
        counts = np.concatenate([part.counts for part in found])
        total.classes, codes = np.unique(labels, return_inverse=True)
        total.counts = np.bincount(codes, counts).astype(np.int64)
    return total


# -------------------------------------------------------------------------------------- blocks


@dataclass(frozen=True)
class Block:
    """Scaled examples that stay on a worker: those to train on, and those held out."""

    train: Share
    held: Share | None

    def __sizeof__(self) -> int:
        return sum(share.__sizeof__() for share in (self.train, self.held) if share is not None)


def make_block(
    model: Any, goal: Goal, held: float, seed: int, number: int, X: Any, y: Any, weights: Any
) -> Block | None:
    """A chunk as the mixture sees it; examples without weight are left out."""
    if not _counts(X, weights):
        return None
    X, y = model._check_X(X, y)
    weights = model._weights(X, y, weights)
    share = Share(model._scaled(X), replace(goal, y=model._encode(y)), weights)
    rows = counted_rows(len(share), weights)
    out = int(held * len(rows))
    if out:
        mixed = np.random.RandomState([seed, number]).permutation(rows)
        return Block(share.take(np.sort(mixed[out:])), share.take(np.sort(mixed[:out])))
    return Block(share if len(rows) == len(share) else share.take(rows), None)
