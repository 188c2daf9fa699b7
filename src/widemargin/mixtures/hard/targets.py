"""Targets of a mixture, and the criterion and errors of its outputs."""

from dataclasses import dataclass

import numpy as np

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.inputs.labels import example_errors

__all__ = ["MIN_PROBABILITY", "Targets"]

MIN_PROBABILITY = 1e-7  # of a class that an expert, or the mixture, considers impossible


@dataclass(frozen=True)
class Targets:
    """Targets of examples, in the columns of the experts' outputs (see `experts`).

    `y` is encoded as `IterativeModel` does it: ±1 for two classes, class codes for more, or one
    column of values per target.
    """

    output_kind: str  # "margin", "probability" or "value"
    n_classes: int  # 0 for regression
    y: FloatArray
    error_scale: FloatArray | None = None  # regression: 1/(C · variance) of each of C targets

    @property
    def n_columns(self) -> int:
        if self.output_kind == "value":
            return int(self.y.shape[1])
        return 1 if self.output_kind == "margin" and self.n_classes == 2 else self.n_classes

    def take(self, rows: IntArray) -> "Targets":
        return Targets(self.output_kind, self.n_classes, self.y[rows], self.error_scale)

    @property
    def codes(self) -> IntArray:
        """Class codes."""
        return ((self.y > 0) if self.n_classes == 2 else self.y).astype(np.int64)

    @property
    def labels(self) -> ArrayLike:
        """What experts are trained on: class codes, or values."""
        if self.output_kind != "value":
            return self.codes
        return self.y[:, 0] if self.n_columns == 1 else self.y

    @property
    def columns(self) -> FloatArray:
        """±1, one column per class if there are more than two; or values."""
        if self.output_kind == "value" or self.n_classes == 2:
            return self.y.reshape(len(self.y), -1)
        return np.where(self.y[:, None] == np.arange(self.n_classes), 1.0, -1.0)

    @property
    def spread(self) -> float:
        """The standard deviation of the values, in the mean over targets; 1 for classes."""
        if self.error_scale is None:
            return 1.0
        return float(np.sqrt(np.mean(1.0 / (len(self.error_scale) * self.error_scale))))

    def criterion_and_errors(self, outputs: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Criterion and error of each example, for outputs of a mixture."""
        if self.output_kind == "value":
            squares = example_errors(outputs, self.columns, self.error_scale)
            return 0.5 * squares, squares
        errors = example_errors(outputs, self.codes.astype(np.float64))
        if self.output_kind == "probability":
            p = outputs[np.arange(len(outputs)), self.codes].clip(MIN_PROBABILITY)
            return -np.log(p), errors
        return 0.5 * np.sum((self.columns - np.tanh(outputs)) ** 2, axis=1), errors
