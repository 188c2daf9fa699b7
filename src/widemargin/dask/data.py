"""Dask collections as blocks of examples: their statistics, and how a mixture sees them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
from dask import delayed
from sklearn.base import is_classifier

from widemargin._typing import ArrayLike
from widemargin.inputs.labels import counted_rows
from widemargin.inputs.scaling import Scaling
from widemargin.mixtures.hard.example_block import ExampleBlock
from widemargin.mixtures.hard.targets import Targets

__all__ = [
    "ClusterBlock",
    "Statistics",
    "applied",
    "chunk_statistics",
    "make_block",
    "merged",
    "row_chunks",
]


# --------------------------------------------------------------------------------- collections


def row_chunks(
    X: Any, *others: Any, names: Sequence[str] = ("X", "y", "sample_weight")
) -> list[tuple[Any, ...]]:
    """Delayed chunks of the examples: rows of X, and those of the others that are given."""
    for name, collection in zip(names, (X, *others), strict=False):
        if collection is not None and not isinstance(
            collection, (da.Array, dd.DataFrame, dd.Series)
        ):
            raise TypeError(
                f"{name} is a {type(collection).__name__}, not an array or dataframe of Dask; use "
                "dask.array.from_array, or the mixture of widemargin itself for data in memory"
            )
    if isinstance(X, da.Array):
        if X.ndim != 2:
            raise ValueError(
                f"{names[0]} has {X.ndim} dimensions; examples are the rows of a matrix"
            )
        X = X.rechunk({1: -1})
    columns = [_delayed_rows(X)]
    for name, other in zip(names[1:], others, strict=False):
        if other is None:
            columns.append([None] * len(columns[0]))
        else:
            columns.append(_delayed_rows(_in_chunks_of(X, other, (names[0], name))))
    numbers = [len(column) for column in columns]
    if len(set(numbers)) > 1:
        raise ValueError(
            f"{', '.join(names[:-1])} and {names[-1]} have {numbers} chunks; they must be divided "
            "in the same way: repartition them, or call compute_chunk_sizes if their sizes are "
            "unknown"
        )
    return list(zip(*columns, strict=True))


def _in_chunks_of(X: Any, other: Any, names: tuple[str, str]) -> Any:
    """Another collection in the chunks of X, where the sizes of both are known."""
    if not isinstance(other, da.Array):
        return other
    columns = {1: -1} if other.ndim == 2 else {}
    if not isinstance(X, da.Array) or np.isnan([*X.chunks[0], *other.chunks[0]]).any():
        return other.rechunk(columns)
    if len(X) != len(other):
        raise ValueError(f"{names[0]} has {len(X)} rows, but {names[1]} has {len(other)}")
    return other.rechunk({0: X.chunks[0], **columns})


def _delayed_rows(collection: Any) -> list[Any]:
    chunks = collection.to_delayed()
    return list(chunks.ravel()) if isinstance(chunks, np.ndarray) else list(chunks)


def applied(model: Any, method: str, X: Any, columns: int | None, dtype: Any) -> Any:
    """A lazy array with the results of a local model's method for the rows of a collection."""
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


# ---------------------------------------------------------------------------------- statistics


@dataclass
class Statistics:
    """Statistics of examples, which are computed per chunk and merged."""

    count: int
    inputs: Scaling
    targets: Scaling | None  # of a regression
    classes: ArrayLike
    class_counts: ArrayLike

    def scaled_inputs(self, scaling: Scaling) -> Scaling:
        """Statistics of the inputs after scaling."""
        seen = self.inputs
        assert seen.low is not None
        assert seen.high is not None
        offset, scale = scaling.offset, scaling.scale
        return replace(
            seen,
            centre=True,
            mean=(seen.mean - offset) / scale,
            variance=seen.variance / scale**2,
            low=(seen.low - offset) / scale,
            high=(seen.high - offset) / scale,
        )


def _has_weight(X: Any, weights: Any) -> bool:
    return X.shape[0] > 0 and (weights is None or bool(np.any(np.asarray(weights) != 0)))


def chunk_statistics(model: Any, X: Any, y: Any, weights: Any) -> Statistics | None:
    """Statistics of a chunk; None if it has no rows with a weight above zero."""
    if not _has_weight(X, weights):
        return None
    X, y = model._check_X(X, y)
    classes, counts, targets = None, None, None
    if is_classifier(model):
        classes, counts = np.unique(y, return_counts=True)
    else:
        y, w = y.reshape(len(y), -1), model._weights(X, y, weights)
        y = np.ascontiguousarray(y, dtype=np.float64)
        targets = Scaling.measured("standard", y, weights=w)
    inputs = Scaling.measured("minmax", X, centre="filled")  # also has mean and variance
    return Statistics(len(y), inputs, targets, classes, counts)


def merged(parts: Sequence[Statistics | None]) -> Statistics | None:
    """Statistics of several chunks."""
    found = [part for part in parts if part is not None]
    if not found:
        return None
    total = replace(found[0], inputs=replace(found[0].inputs))
    if total.targets is not None:
        total.targets = replace(total.targets)
    for part in found[1:]:
        total.count += part.count
        total.inputs.merge(part.inputs)
        if total.targets is not None and part.targets is not None and part.targets.weight > 0:
            total.targets.merge(part.targets)
    if total.classes is not None:
        labels = np.concatenate([part.classes for part in found])
        counts = np.concatenate([part.class_counts for part in found])
        total.classes, codes = np.unique(labels, return_inverse=True)
        total.class_counts = np.bincount(codes, counts).astype(np.int64)
    return total


# -------------------------------------------------------------------------------------- blocks


@dataclass(frozen=True)
class ClusterBlock:
    """Scaled examples of one chunk, which stay on a worker: to train on, and to validate."""

    train: ExampleBlock
    validation: ExampleBlock | None

    def __sizeof__(self) -> int:
        parts = (self.train, self.validation)
        return sum(part.__sizeof__() for part in parts if part is not None)


def make_block(
    model: Any,
    targets: Targets,
    validation_fraction: float,
    seed: int,
    index: int,
    X: Any,
    y: Any,
    weights: Any,
) -> ClusterBlock | None:
    """A chunk as the mixture sees it; examples of weight zero are left out."""
    if not _has_weight(X, weights):
        return None
    X, y = model._check_X(X, y)
    weights = model._weights(X, y, weights)
    examples = ExampleBlock(model._scaled(X), replace(targets, y=model._encode(y)), weights)
    rows = counted_rows(len(examples), weights)
    held_out = int(validation_fraction * len(rows))
    if held_out:
        mixed = np.random.RandomState([seed, index]).permutation(rows)
        train, validation = np.sort(mixed[held_out:]), np.sort(mixed[:held_out])
        return ClusterBlock(examples.take(train), examples.take(validation))
    return ClusterBlock(examples if len(rows) == len(examples) else examples.take(rows), None)
