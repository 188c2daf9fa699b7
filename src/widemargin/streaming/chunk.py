"""Chunks, which a stream yields, and positions, at which it can be restarted."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Chunk", "Position"]


@dataclass(frozen=True, order=True)
class Position:
    """A boundary between two chunks, at which a stream can be restarted.

    Attributes
    ----------
    epoch : int
        Number of complete passes over all files.
    file : int
        Number of the file, counted from 0.
    offset, line : int
        Bytes (after decompression) and lines of a text file before the boundary.
    row_group, row : int
        Row groups of a Parquet file before the boundary, and rows of the next one.
    """

    epoch: int = 0
    file: int = 0
    offset: int = 0
    line: int = 0
    row_group: int = 0
    row: int = 0


@dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive rows of a stream.

    Attributes
    ----------
    X : ndarray or CSR array of shape (n_rows, n_features)
        The inputs; all values are finite.
    y : ndarray of shape (n_rows,)
        The target.
    start, stop : Position
        Where this chunk and the next one begin.
    bytes_read : int
        Bytes of the file, as stored, that were read up to the end of the chunk.
    where : callable
        ``where(row)`` names the file and the line or row group of a row, counted from 0.
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
