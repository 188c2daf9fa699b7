"""Where a stream is, and what it yields."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Chunk", "Position"]


@dataclass(frozen=True, order=True)
class Position:
    """A border between two chunks, from which a stream can be started again.

    Attributes
    ----------
    epoch : int
        Passes over all files that are complete.
    file : int
        Number of the file, from 0.
    offset, line : int
        Bytes (after decompression) and lines of a text file before the border.
    row_group, row : int
        Row groups of a Parquet file before the border, and rows of the next one.
    """

    epoch: int = 0
    file: int = 0
    offset: int = 0
    line: int = 0
    row_group: int = 0
    row: int = 0


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some consecutive rows of a stream.

    Attributes
    ----------
    X : ndarray or CSR array of shape (n_rows, n_features)
        The inputs, finite.
    y : ndarray of shape (n_rows,)
        The target.
    start, stop : Position
        Where the chunk begins and where the next one does.
    bytes_read : int
        Bytes of the file, as it is stored, that were read up to the end of the chunk.
    where : callable
        The place of a row of the chunk, counted from 0, in words.
    """

    X: Any
    y: np.ndarray
    start: Position
    stop: Position
    bytes_read: int
    where: Callable[[int], str]

    @property
    def place(self) -> str:
        """File and first line or row group of the chunk, for messages."""
        return self.where(0)
