"""What a first pass over a stream finds: classes, number of columns, statistics of the inputs."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from widemargin.inputs.scaling import Scaling
from widemargin.streaming.chunk import Chunk
from widemargin.tables.errors import Argument, ArgumentError

MAX_CLASSES = 10_000


@dataclass
class FirstPassResult:
    """What a first pass has found so far.

    Attributes
    ----------
    rows : int
        Rows seen.
    classes : ndarray or None
        The distinct values of the target, sorted.
    width : int
        Number of columns up to the largest column number, counted from 0.
    uses_zero : bool
        Whether column 0 has an entry (svmlight).
    mean, variance : ndarray or None
        Mean and variance of each input.
    """

    rows: int = 0
    classes: np.ndarray | None = None
    width: int = 0
    uses_zero: bool = False
    mean: np.ndarray | None = None
    variance: np.ndarray | None = None

    def update(self, chunk: Chunk, *, classes: bool, statistics: bool) -> None:
        """Add one more chunk."""
        if classes:
            self._add_classes(chunk)
        if chunk.X is not None:
            self.width = max(self.width, chunk.X.shape[1])
        if sp.issparse(chunk.X) and chunk.X.nnz:
            self.uses_zero |= bool(chunk.X.indices.min() == 0)
        if statistics:
            self._add_moments(chunk.X)
        self.rows += len(chunk.y)

    def _add_classes(self, chunk: Chunk) -> None:
        found = np.unique(chunk.y)
        known = found if self.classes is None else np.union1d(self.classes, found)
        if len(known) > MAX_CLASSES:
            raise ArgumentError(
                f"{chunk.place}: up to here the target has {len(known)} distinct values, such as "
                f"{known[:3].tolist()!r}; a classifier needs a target with few values: choose "
                "another column, or name the classes with ",
                Argument("classes"),
            )
        self.classes = known

    def _add_moments(self, X: Any) -> None:
        if sp.issparse(X):  # earlier rows hold zeros in columns that are new
            X = sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], self.width))
        moments = Scaling.empty("standard", self.width)
        if self.mean is not None and self.variance is not None:
            more = (0, self.width - len(self.mean))
            mean, variance = np.pad(self.mean, more), np.pad(self.variance, more)
            moments = Scaling("standard", mean, variance, float(self.rows))
        moments.update(X, np.arange(X.shape[0]), None)
        self.mean, self.variance = moments.mean, moments.variance

    def statistics(self, first: int, width: int) -> dict[str, Any]:
        """Mean, variance and weight of `width` columns, starting with column `first`."""
        assert self.mean is not None
        assert self.variance is not None
        more = (0, max(0, first + width - len(self.mean)))
        mean, variance = (
            np.pad(np.asarray(part, np.float64), more) for part in (self.mean, self.variance)
        )
        return {
            "mean": mean[first : first + width],
            "variance": variance[first : first + width],
            "weight": float(self.rows),
        }
