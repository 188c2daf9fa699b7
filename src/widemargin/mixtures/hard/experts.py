"""Experts of a mixture: how they are trained on their subsets, and what they output.

An expert is any scikit-learn estimator. Its outputs are of one of three kinds:

=============== ============================================== ============================
`output_kind`   columns                                        method of the expert
=============== ============================================== ============================
``margin``      one for two classes, else one per class, ±1    ``decision_function``
                at the margin
``probability`` one per class                                  ``predict_proba``
``value``       one per target                                 ``predict``
=============== ============================================== ============================
"""

import warnings
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.multioutput import MultiOutputRegressor
from sklearn.utils import get_tags
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.inputs.threads import thread_count
from widemargin.training.estimators import IterativeClassifier
from widemargin.training.probability import fit_sigmoid, sigmoid
from widemargin.training.time_limit import share_of_time

__all__ = [
    "ConstantExpert",
    "Experts",
    "PlattExpert",
    "Subset",
    "check_expert",
    "expert_outputs",
    "fit_expert",
    "in_parallel",
]


class ConstantExpert(BaseEstimator):  # type: ignore[misc]
    """The expert of a subset with a single class, which it always predicts."""

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: ArrayLike) -> Any:
        return np.full(X.shape[0], self.classes_[0])


class PlattExpert(BaseEstimator):  # type: ignore[misc]
    r"""Probabilities of an expert with margins: :math:`1/(1 + e^{A f + B})` per class (6.10).

    With more than two classes, each class has a sigmoid against the others, and the probabilities
    are divided by their sum.
    """

    def __init__(self, expert: Any) -> None:
        self.expert = expert

    def calibrate(self, X: ArrayLike, y: ArrayLike, weights: FloatArray | None) -> Self:
        """Fits the sigmoids to a fitted expert."""
        self.classes_ = self.expert.classes_
        scores = self._scores(X)
        positive = self.classes_[1:] if scores.shape[1] == 1 else self.classes_
        self.sigmoids_ = np.array(
            [
                fit_sigmoid(f, y == name, weights, intercept=True)
                for f, name in zip(scores.T, positive, strict=True)
            ]
        )
        return self

    def _scores(self, X: ArrayLike) -> FloatArray:
        return np.asarray(self.expert.decision_function(X)).reshape(X.shape[0], -1)

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        scores = self._scores(X)
        p = np.stack(
            [sigmoid(f, A, B) for f, (A, B) in zip(scores.T, self.sigmoids_, strict=True)], axis=1
        )
        if p.shape[1] == 1:
            return np.hstack([1 - p, p])
        return np.asarray(p / p.sum(1, keepdims=True))


# ------------------------------------------------------------------------------------ training


@dataclass(frozen=True)
class Subset:
    """The examples of one expert, and how to train it."""

    X: ArrayLike
    y: ArrayLike
    weights: FloatArray | None
    seed: int
    classification: bool
    platt: bool


def fit_expert(
    template: Any, subset: Subset | None, former: Any = None, seconds: float | None = None
) -> Any:
    """An expert trained on its subset; training resumes from the `former` one where it can.

    Without a subset, the former expert is returned, and so it is if the new one starts afresh and
    is cut off after this many seconds.
    """
    if subset is None:
        return former
    X, y, weights = subset.X, subset.y, subset.weights
    if subset.classification and len(np.unique(y)) == 1:
        return ConstantExpert().fit(X, y)
    before = former
    if isinstance(former, PlattExpert):
        former = former.expert
    if resumes := _can_resume(former, y, subset.classification):
        expert = deepcopy(former)  # the former one may still be needed
    else:
        expert = clone(template)
        if y.ndim == 2 and not get_tags(expert).target_tags.multi_output:
            expert = MultiOutputRegressor(expert)
        expert.set_params(**_open_parameters(expert, subset.seed))
    with share_of_time(seconds):
        if weights is None:
            expert.fit(X, y)
        else:
            expert.fit(X, y, sample_weight=weights)
    cut_off = getattr(expert, "stop_reason_", "") == "time_limit"
    if cut_off and before is not None and not resumes:
        return before
    return PlattExpert(expert).calibrate(X, y, weights) if subset.platt else expert


def _open_parameters(expert: Any, seed: int) -> dict[str, Any]:
    """Parameters of an expert and its parts that the user left open: a seed, one thread."""
    known = expert.get_params()
    chosen: dict[str, Any] = {}
    for name, value in known.items():
        owner, _, key = name.rpartition("__")
        theirs = type(known[owner] if owner else expert).__module__.startswith("sklearn.")
        if value is None and key == "random_state":
            chosen[name] = seed
        elif value is None and key == "n_jobs" and not theirs:  # None is one in scikit-learn
            chosen[name] = 1
    if hasattr(expert, "partial_fit") and "warm_start" in known:
        chosen["warm_start"] = True
    return chosen


def _can_resume(former: Any, y: ArrayLike, classification: bool) -> bool:
    """Whether training can resume: iterative models, on classes that they know.

    Kernel machines start from scratch: their variables belong to examples that may have moved to
    another expert.
    """
    if former is None or isinstance(former, ConstantExpert):
        return False
    if not (hasattr(former, "partial_fit") and getattr(former, "warm_start", False)):
        return False
    return not classification or bool(np.isin(np.unique(y), former.classes_).all())


# ------------------------------------------------------------------------------------- outputs


def expert_outputs(
    expert: Any, X: ArrayLike, output_kind: str, classes: ArrayLike
) -> NDArray[np.float32]:
    """Outputs of one expert, in the columns of the mixture."""
    count = X.shape[0]
    if output_kind == "value":
        return np.asarray(expert.predict(X), dtype=np.float32).reshape(count, -1)
    if output_kind == "probability":
        out = np.zeros((count, len(classes)), dtype=np.float32)
        known = np.searchsorted(classes, expert.classes_)
        constant = len(expert.classes_) == 1
        out[:, known] = 1.0 if constant else expert.predict_proba(X)
        return out
    return _margins(expert, X, classes)


def _margins(expert: Any, X: ArrayLike, classes: ArrayLike) -> NDArray[np.float32]:
    """Margins of each class; −1 for classes that the expert has not seen."""
    count, known = X.shape[0], np.searchsorted(classes, expert.classes_)
    if len(expert.classes_) == 1:
        f = np.ones((count, 1))
    else:
        f = np.asarray(expert.decision_function(X)).reshape(count, -1) / _margin_unit(expert)
    if len(classes) == 2:
        sign = -1.0 if len(known) == 1 and known[0] == 0 else 1.0
        return (sign * f).astype(np.float32)
    out = np.full((count, len(classes)), -1.0, dtype=np.float32)
    out[:, known] = np.hstack([-f, f]) if len(known) == 2 else f
    return out


def _margin_unit(expert: Any) -> float:
    """|f(x)| of an example at the margin; models outside this package are taken to have 1."""
    return expert._margin_unit() if isinstance(expert, IterativeClassifier) else 1.0


@dataclass
class Experts:
    """All experts of a mixture, and their joint outputs."""

    members: Sequence[Any]
    output_kind: str
    classes: ArrayLike
    n_columns: int
    n_jobs: int | None = None

    def _each(self, task: Callable[[int], Any]) -> list[Any]:
        calls = (delayed(task)(k) for k in range(len(self.members)))
        return in_parallel(calls, self.n_jobs, shared=True)

    def outputs(self, X: ArrayLike) -> NDArray[np.float32]:
        """Outputs of every expert for every example: (n_samples, n_experts, n_columns)."""
        out = np.empty((X.shape[0], len(self.members), self.n_columns), dtype=np.float32)

        def fill(k: int) -> None:
            out[:, k] = expert_outputs(self.members[k], X, self.output_kind, self.classes)

        self._each(fill)
        return out

    def target_probabilities(self, X: ArrayLike, codes: IntArray) -> NDArray[np.float32]:
        """P(y | x, k) of every expert, for the class of each example: (n_samples, n_experts, 1)."""
        out = np.empty((X.shape[0], len(self.members), 1), dtype=np.float32)

        def fill(k: int) -> None:
            p = expert_outputs(self.members[k], X, self.output_kind, self.classes)
            out[:, k, 0] = p[np.arange(len(codes)), codes]

        self._each(fill)
        return out

    def mixture(self, X: ArrayLike, gates: FloatArray, tolerance: float) -> FloatArray:
        """Σ g f, without the experts whose gates add up to at most `tolerance`."""
        needed = _needed(gates, tolerance)
        out = np.zeros((X.shape[0], self.n_columns))

        def part(k: int) -> tuple[IntArray, FloatArray]:
            rows = np.flatnonzero(needed[:, k])
            if not len(rows):
                return rows, np.zeros((0, self.n_columns))
            f = expert_outputs(self.members[k], X[rows], self.output_kind, self.classes)
            return rows, gates[rows, k, None] * f

        for rows, f in self._each(part):
            out[rows] += f
        return out


def _needed(gates: FloatArray, tolerance: float) -> NDArray[np.bool_]:
    """The gates that count: all but the smallest of each example, of sum ≤ `tolerance`."""
    if tolerance == 0.0:
        return gates > 0.0
    order = np.argsort(gates, axis=1, kind="stable")  # ascending
    sums = np.cumsum(np.take_along_axis(gates, order, 1), axis=1)
    needed = np.empty(gates.shape, dtype=bool)
    np.put_along_axis(needed, order, sums > tolerance, 1)
    return needed


def in_parallel(calls: Iterable[Any], n_jobs: int | None, *, shared: bool = False) -> list[Any]:
    """Makes the calls, in threads unless another joblib backend is active."""
    where = {"require": "sharedmem"} if shared else {"prefer": "threads"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the next iteration continues
        return list(Parallel(thread_count(n_jobs), **where)(calls))


def check_expert(expert: Any, *, output_kind: str, weighted: bool) -> None:
    """Raises an error if an expert lacks a method or weights that the mixture needs."""
    method = {"margin": "decision_function", "probability": "predict_proba", "value": "predict"}
    name = type(expert).__name__
    if not hasattr(expert, "fit"):
        raise TypeError(f"expert={expert!r} is not an estimator: it has no fit")
    if not hasattr(expert, method[output_kind]):
        raise TypeError(
            f"the expert {name} has no {method[output_kind]}, which this mixture needs; choose "
            "another criterion or gater, or wrap it, for example in scikit-learn's "
            "CalibratedClassifierCV"
        )
    if weighted and not has_fit_parameter(expert, "sample_weight"):
        raise ValueError(
            f"the expert {name} takes no sample_weight; fit without weights, or use another expert"
        )
