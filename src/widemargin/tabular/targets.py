"""What a table's target asks for: how outputs become predictions, and what a good one is."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.metrics import check_scoring
from sklearn.pipeline import Pipeline

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.svm import SVC
from widemargin.tabular.calibration import Calibration, log_loss
from widemargin.tabular.candidates import Candidate
from widemargin.tabular.scoring import NegativeScore, StoredProbabilities, StoredValues

__all__ = ["Classes", "Loss", "Target", "Values"]

#: The loss of predictions of examples with these targets and weights.
Loss = Callable[[FloatArray, FloatArray, FloatArray | None], float]


class Target(ABC):
    """Classes or values, which machines see as codes or standardised."""

    regression: bool

    @property
    def task(self) -> str:
        """What `GradientMetric` and `InputForm` call it."""
        return "regression" if self.regression else "classification"

    @abstractmethod
    def outputs(self, machine: Any, Z: ArrayLike) -> FloatArray:
        """What a machine says of some rows, of shape (n, n_outputs)."""

    @abstractmethod
    def calibration(
        self, candidate: Candidate, outputs: FloatArray, y: FloatArray, weights: FloatArray | None
    ) -> Calibration | None:
        """How outputs of unseen rows become predictions."""

    @abstractmethod
    def predictions(self, outputs: FloatArray, calibration: Calibration | None) -> FloatArray:
        """Probabilities of shape (n, n_classes), or values of shape (n,)."""

    @abstractmethod
    def default_loss(self, p: FloatArray, y: FloatArray, weights: FloatArray | None) -> float:
        """The loss if no scorer is given: lower is better."""

    def loss(self, scoring: Any) -> Loss:
        """The loss that a scorer means: its negative value."""
        if scoring is None:
            return self.default_loss
        return NegativeScore(self, check_scoring(self.stored(np.empty(0)), scoring))

    @abstractmethod
    def constant(self, y: FloatArray, weights: FloatArray | None) -> FloatArray:
        """The best predictions without inputs."""

    @property
    @abstractmethod
    def most_outputs(self) -> int:
        """The most outputs of a machine for one row."""

    @abstractmethod
    def stored(self, p: FloatArray) -> Any:
        """A model that predicts this whatever it is asked, for scorers."""

    @abstractmethod
    def decoded(self, y: FloatArray) -> ArrayLike:
        """Targets as the user gave them."""

    def of_present(self, p: FloatArray, y: FloatArray) -> Any:
        """`stored`, without the classes that y lacks; None if it lacks none."""
        return None


class Classes(Target):
    """Classes, with codes 0 … K − 1."""

    regression = False

    def __init__(self, classes: ArrayLike) -> None:
        self.classes = classes

    def outputs(self, machine: Any, Z: ArrayLike) -> FloatArray:
        found = np.asarray(machine.decision_function(Z), dtype=np.float64)
        found = found.reshape(len(found), -1)
        present = np.asarray(machine.classes_, dtype=np.int64)  # a fold may lack classes
        if len(present) == len(self.classes):
            return found
        last = machine[-1] if isinstance(machine, Pipeline) else machine
        complete = _all_pairs if isinstance(last, SVC) else _all_classes
        return complete(found, present, len(self.classes))

    def calibration(
        self, candidate: Candidate, outputs: FloatArray, y: FloatArray, weights: FloatArray | None
    ) -> Calibration:
        kind = "pairs" if candidate.family == "kernel" else "classes"
        kind = "binary" if len(self.classes) == 2 else kind
        codes = y.astype(np.int64)
        return Calibration.fitted(kind, outputs, codes, weights, len(self.classes))

    def predictions(self, outputs: FloatArray, calibration: Calibration | None) -> FloatArray:
        assert calibration is not None
        return calibration.probabilities(outputs, len(self.classes))

    def default_loss(self, p: FloatArray, y: FloatArray, weights: FloatArray | None) -> float:
        return log_loss(p, y.astype(np.int64), weights)

    def constant(self, y: FloatArray, weights: FloatArray | None) -> FloatArray:
        counts = np.bincount(y.astype(np.int64), weights, minlength=len(self.classes))
        return np.tile(counts / counts.sum(), (len(y), 1))

    @property
    def most_outputs(self) -> int:
        return len(self.classes) * (len(self.classes) - 1) // 2  # of the pairs

    def stored(self, p: FloatArray) -> Any:
        return StoredProbabilities(p, self.classes)

    def decoded(self, y: FloatArray) -> ArrayLike:
        return self.classes[y.astype(np.int64)]

    def of_present(self, p: FloatArray, y: FloatArray) -> Any:
        present = np.unique(y.astype(np.int64))
        if len(present) in (1, len(self.classes)):
            return None
        some = np.maximum(p[:, present], np.finfo(float).tiny)
        return StoredProbabilities(some / some.sum(axis=1, keepdims=True), self.classes[present])


class Values(Target):
    """Values, standardised for the machines."""

    regression = True

    def __init__(self, mean: float, deviation: float) -> None:
        self.mean, self.deviation = mean, deviation

    def outputs(self, machine: Any, Z: ArrayLike) -> FloatArray:
        return np.asarray(machine.predict(Z), dtype=np.float64).reshape(-1, 1)

    def calibration(
        self, candidate: Candidate, outputs: FloatArray, y: FloatArray, weights: FloatArray | None
    ) -> None:
        return None

    def predictions(self, outputs: FloatArray, calibration: Calibration | None) -> FloatArray:
        return outputs[:, 0]

    def default_loss(self, p: FloatArray, y: FloatArray, weights: FloatArray | None) -> float:
        return float(np.average((p - y) ** 2, weights=weights))

    def constant(self, y: FloatArray, weights: FloatArray | None) -> FloatArray:
        return np.full(len(y), np.average(y, weights=weights))

    @property
    def most_outputs(self) -> int:
        return 1

    def stored(self, p: FloatArray) -> Any:
        return StoredValues(p * self.deviation + self.mean)

    def decoded(self, y: FloatArray) -> ArrayLike:
        return y * self.deviation + self.mean


def _all_pairs(outputs: FloatArray, present: IntArray, n_classes: int) -> FloatArray:
    """Outputs of all pairs of classes; against a class that is not present, the other one wins."""
    if len(present) == 2:
        outputs = -outputs  # the machine of two classes is positive for the second
    place = {(int(i), int(j)): k for k, (i, j) in enumerate(combinations(present, 2))}
    known = set(present.tolist())
    columns = [
        outputs[:, place[i, j]]
        if (i, j) in place
        else np.full(len(outputs), float(i in known) - float(j in known))
        for i, j in combinations(range(n_classes), 2)
    ]
    return np.column_stack(columns)


def _all_classes(outputs: FloatArray, present: IntArray, n_classes: int) -> FloatArray:
    """Outputs of all classes; those that are not present have the lowest."""
    if len(present) == 2:
        outputs = np.column_stack([-outputs, outputs])
    lowest = outputs.min(axis=1, keepdims=True) - 1.0
    found = np.repeat(lowest, n_classes, axis=1)
    found[:, present] = outputs
    return np.asarray(found)
