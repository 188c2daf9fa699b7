"""What the outputs of a mixture should be, and how far they miss it."""

from dataclasses import dataclass

import numpy as np

from widemargin._typing import ArrayLike, FloatArray, IntArray

__all__ = ["LEAST_PROBABILITY", "Goal"]

LEAST_PROBABILITY = 1e-7  # of a class that an expert, or the mixture, thinks impossible


@dataclass(frozen=True)
class Goal:
    """The targets of examples, in the columns in which experts speak (see `_experts`).

    `y` is as `IterativeModel` encodes it: ±1 for two classes, codes for more, or columns of values.
    """

    kind: str
    n_classes: int  # 0 for a regression
    y: FloatArray
    error_scale: FloatArray | None = None  # of a regression: 1/(C · variance) of each target

    @property
    def n_columns(self) -> int:
        if self.kind == "value":
            return int(self.y.shape[1])
        return 1 if self.kind == "margin" and self.n_classes == 2 else self.n_classes

    def take(self, rows: IntArray) -> "Goal":
        return Goal(self.kind, self.n_classes, self.y[rows], self.error_scale)

    @property
    def codes(self) -> IntArray:
        """Class codes."""
        return ((self.y > 0) if self.n_classes == 2 else self.y).astype(np.int64)

    @property
    def labels(self) -> ArrayLike:
        """What experts are trained on: class codes, or values."""
        if self.kind != "value":
            return self.codes
        return self.y[:, 0] if self.n_columns == 1 else self.y

    @property
    def targets(self) -> FloatArray:
        """±1, a column a class when there are more than two; or values."""
        if self.kind == "value" or self.n_classes == 2:
            return self.y.reshape(len(self.y), -1)
        return np.where(self.y[:, None] == np.arange(self.n_classes), 1.0, -1.0)

    def misses(self, m: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """The criterion and the mistake of each example, for the outputs of a mixture."""
        if self.kind == "probability":
            p = m[np.arange(len(m)), self.codes].clip(LEAST_PROBABILITY)
            return -np.log(p), (m.argmax(1) != self.codes).astype(float)
        if self.kind == "value":
            squares = (self.targets - m) ** 2 @ self.error_scale
            return 0.5 * squares, squares
        values = 0.5 * np.sum((self.targets - np.tanh(m)) ** 2, axis=1)
        if m.shape[1] == 1:
            return values, ((m > 0) != (self.targets > 0))[:, 0].astype(float)
        return values, (m.argmax(1) != self.codes).astype(float)
