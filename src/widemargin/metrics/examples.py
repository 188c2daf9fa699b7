"""Examples for learning a metric: targets as numbers, nested subsets, validation rows."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils.multiclass import type_of_target

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.inputs.labels import check_labels
from widemargin.inputs.scaling import Scaling
from widemargin.svm import SVC, SVR
from widemargin.svm.machine import KernelMachine

__all__ = ["MetricTargets", "Rows", "enough_rows", "nested_order", "split"]

MANY_ROWS = 50_000  # that teach a metric, unless a third of the examples is more
MAX_VALIDATION_ROWS = 5000
MAX_CLASSES = 200  # of a numeric target; more are values, not classes


@dataclass(frozen=True)
class Rows:
    """Examples with their targets: class codes, or standardised values."""

    X: ArrayLike
    y: FloatArray
    weights: FloatArray | None = None

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def scaled(self, scaling: Scaling) -> "Rows":
        """The same examples with scaled inputs."""
        return replace(self, X=scaling.transform(self.X))

    def __getitem__(self, rows: Any) -> "Rows":
        weights = None if self.weights is None else self.weights[rows]
        return Rows(self.X[rows], self.y[rows], weights)


@dataclass(frozen=True, eq=False)
class MetricTargets:
    """The classes of a target, or the mean and deviation of its values; made by `of`."""

    classes: ArrayLike = None  # None: values
    mean: float = 0.0
    deviation: float = 1.0

    @classmethod
    def of(cls, y: ArrayLike, task: str) -> "MetricTargets":
        """Decides whether y holds classes; `task` is that of `GradientMetric`."""
        kind = type_of_target(y, input_name="y")
        if task == "classification" or (task == "auto" and not kind.startswith("continuous")):
            classes = check_labels(y)
            numeric = np.issubdtype(np.asarray(y).dtype, np.number)
            if task == "auto" and numeric and len(classes) > MAX_CLASSES:
                raise ValueError(
                    f"y has {len(classes):,} different numbers; set task='regression', or "
                    "task='classification' if each is a class"
                )
            return cls(classes)
        values = np.asarray(y, dtype=np.float64)
        if values.ndim != 1:
            raise ValueError(f"y must have one value per example, got shape {values.shape}")
        return cls(None, float(values.mean()), float(values.std()) or 1.0)

    def machine(self, model: Any) -> KernelMachine:
        """The machine that learns such targets, with the parameters of a `GradientMetric`."""
        shared = ("kernel", "exponent", "degree", "coef0", "C", "tol", "n_jobs")
        options = {name: getattr(model, name) for name in shared}
        if self.classes is None:
            return SVR(epsilon=model.epsilon, warm_start=True, **options)
        return SVC(warm_start=True, **options)

    def coded(self, y: ArrayLike) -> FloatArray:
        """Class numbers, or standardised values."""
        if self.classes is None:
            return np.asarray((np.asarray(y, dtype=np.float64) - self.mean) / self.deviation)
        codes = np.searchsorted(self.classes, y)
        known = np.minimum(codes, len(self.classes) - 1)
        if not np.array_equal(self.classes[known], y):
            raise ValueError("y_val has classes that y does not have; leave these examples out")
        return np.asarray(codes, dtype=np.float64)


def enough_rows(count: int) -> int:
    """How many of so many rows teach a metric, if nothing else is asked for."""
    return max(MANY_ROWS, count // 3)


def nested_order(y: FloatArray, *, stratified: bool, random: np.random.RandomState) -> IntArray:
    """A random order; if stratified, every prefix has the classes in their proportions."""
    order: IntArray = random.permutation(len(y))
    if not stratified:
        return order
    place = np.empty(len(y))
    for code in np.unique(y):
        members = order[y[order] == code]
        place[members] = np.arange(len(members)) / len(members)
    return np.asarray(order[np.argsort(place[order], kind="stable")])


def split(
    examples: Rows, targets: MetricTargets, fraction: float, random: np.random.RandomState
) -> tuple[IntArray, IntArray]:
    """Row numbers to train on, and a fraction of the rows to judge by."""
    count = max(1, min(MAX_VALIDATION_ROWS, round(fraction * len(examples))))
    if len(examples) < 2:
        raise ValueError(
            "GradientMetric needs some examples to train on and some to judge by, got "
            f"n_samples = {len(examples)}; give fit a validation set"
        )
    strata = None
    if targets.classes is not None and np.bincount(examples.y.astype(int)).min() > 1:
        strata = examples.y if count >= len(targets.classes) else None
    every = np.arange(len(examples))
    train, test = train_test_split(every, test_size=count, stratify=strata, random_state=random)
    if targets.classes is not None and np.ptp(examples.y[train]) == 0:  # nothing to tell apart
        _, first = np.unique(examples.y, return_index=True)
        others = np.setdiff1d(every, first)
        if not len(others):
            raise ValueError(
                "GradientMetric needs some examples to judge by, and two classes to train on, got "
                f"n_samples = {len(examples)}; give fit a validation set"
            )
        test = np.setdiff1d(test, first) if np.isin(test, others).any() else others[:1]
        train = np.setdiff1d(every, test)
    return train, test
