"""Experts of a mixture: training them on their subsets, and what they say of examples.

An expert is any scikit-learn estimator. What it says is one of three `kinds`:

=============== ============================================== ============================
kind            columns                                        from
=============== ============================================== ============================
``margin``      one for two classes, else one a class, ±1 at   ``decision_function``
                the margin
``probability`` one a class                                    ``predict_proba``
``value``       one a target                                   ``predict``
=============== ============================================== ============================
"""

import warnings
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from numbers import Real
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
from widemargin.training.probability import fit_sigmoid, sigmoid

__all__ = ["ConstantExpert", "Experts", "PlattExpert", "Subset", "expert_outputs", "fit_expert"]


class ConstantExpert(BaseEstimator):  # type: ignore[misc]
    """The expert of a subset with one class only: it always says this class."""

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: ArrayLike) -> Any:
        return np.full(X.shape[0], self.classes_[0])


class PlattExpert(BaseEstimator):  # type: ignore[misc]
    r"""Probabilities of an expert that has margins: :math:`1/(1 + e^{A f + B})` a class (6.10).

    With more than two classes each has a sigmoid against the others, and the probabilities are
    divided by their sum.
    """

    def __init__(self, expert: Any) -> None:
        self.expert = expert

    def calibrate(self, X: ArrayLike, y: ArrayLike, weights: FloatArray | None) -> Self:
        """Sigmoids for a fitted expert."""
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


def fit_expert(template: Any, subset: Subset | None, former: Any = None) -> Any:
    """An expert trained on its subset; it goes on from the former one if it can.

    Without a subset it is the former one.
    """
    if subset is None:
        return former
    X, y, weights = subset.X, subset.y, subset.weights
    if subset.classification and len(np.unique(y)) == 1:
        return ConstantExpert().fit(X, y)
    if isinstance(former, PlattExpert):
        former = former.expert
    if _goes_on(former, y, subset.classification):
        expert = deepcopy(former)  # the former one may still be needed
    else:
        expert = clone(template)
        if y.ndim == 2 and not get_tags(expert).target_tags.multi_output:
            expert = MultiOutputRegressor(expert)
        expert.set_params(**_settled(expert, subset.seed))
    if weights is None:
        expert.fit(X, y)
    else:
        expert.fit(X, y, sample_weight=weights)
    return PlattExpert(expert).calibrate(X, y, weights) if subset.platt else expert


def _settled(expert: Any, seed: int) -> dict[str, Any]:
    """Parameters of an expert and its parts that the user leaves open: seed, one thread."""
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


def _goes_on(former: Any, y: ArrayLike, classification: bool) -> bool:
    """Whether an expert can continue: iterative models, on classes that they know.

    Kernel machines start anew: their variables belong to examples that may have gone elsewhere.
    """
    if former is None or isinstance(former, ConstantExpert):
        return False
    if not (hasattr(former, "partial_fit") and getattr(former, "warm_start", False)):
        return False
    return not classification or bool(np.isin(np.unique(y), former.classes_).all())


# ------------------------------------------------------------------------------------- outputs


def expert_outputs(expert: Any, X: ArrayLike, kind: str, classes: ArrayLike) -> NDArray[np.float32]:
    """What an expert says, in the columns of the mixture."""
    count = X.shape[0]
    if kind == "value":
        return np.asarray(expert.predict(X), dtype=np.float32).reshape(count, -1)
    if kind == "probability":
        out = np.zeros((count, len(classes)), dtype=np.float32)
        known = np.searchsorted(classes, expert.classes_)
        constant = len(expert.classes_) == 1
        out[:, known] = 1.0 if constant else expert.predict_proba(X)
        return out
    return _margins(expert, X, classes)


def _margins(expert: Any, X: ArrayLike, classes: ArrayLike) -> NDArray[np.float32]:
    """Classes that an expert has not seen get −1."""
    count, known = X.shape[0], np.searchsorted(classes, expert.classes_)
    if len(expert.classes_) == 1:
        f = np.ones((count, 1))
    else:
        f = np.asarray(expert.decision_function(X)).reshape(count, -1) / _unit(expert)
    if len(classes) == 2:
        sign = -1.0 if len(known) == 1 and known[0] == 0 else 1.0
        return (sign * f).astype(np.float32)
    out = np.full((count, len(classes)), -1.0, dtype=np.float32)
    out[:, known] = np.hstack([-f, f]) if len(known) == 2 else f
    return out


def _unit(expert: Any) -> float:
    """What an expert says at its margin: β of those of this library that have one, else 1."""
    margin = expert._beta() if hasattr(expert, "_beta") else getattr(expert, "margin", 1.0)
    beta = float(margin) if isinstance(margin, Real) else 0.0
    return beta or 1.0


@dataclass
class Experts:
    """The experts of a mixture, as it uses them together."""

    members: Sequence[Any]
    kind: str
    classes: ArrayLike
    n_columns: int
    n_jobs: int | None = None

    def _each(self, task: Callable[[int], Any]) -> list[Any]:
        calls = (delayed(task)(k) for k in range(len(self.members)))
        return in_parallel(calls, self.n_jobs, shared=True)

    def outputs(self, X: ArrayLike) -> NDArray[np.float32]:
        """What every expert says of every example: (n_samples, n_experts, n_columns)."""
        out = np.empty((X.shape[0], len(self.members), self.n_columns), dtype=np.float32)

        def fill(k: int) -> None:
            out[:, k] = expert_outputs(self.members[k], X, self.kind, self.classes)

        self._each(fill)
        return out

    def right(self, X: ArrayLike, codes: IntArray) -> NDArray[np.float32]:
        """P(y | x, k) of every expert, for the class of each example."""
        out = np.empty((X.shape[0], len(self.members), 1), dtype=np.float32)

        def fill(k: int) -> None:
            p = expert_outputs(self.members[k], X, self.kind, self.classes)
            out[:, k, 0] = p[np.arange(len(codes)), codes]

        self._each(fill)
        return out

    def mixture(self, X: ArrayLike, gates: FloatArray, tolerance: float) -> FloatArray:
        """Σ g f, where experts whose gates add up to no more than `tolerance` are not asked."""
        asked = _needed(gates, tolerance)
        out = np.zeros((X.shape[0], self.n_columns))

        def part(k: int) -> tuple[IntArray, FloatArray]:
            rows = np.flatnonzero(asked[:, k])
            if not len(rows):
                return rows, np.zeros((0, self.n_columns))
            f = expert_outputs(self.members[k], X[rows], self.kind, self.classes)
            return rows, gates[rows, k, None] * f

        for rows, f in self._each(part):
            out[rows] += f
        return out


def _needed(gates: FloatArray, tolerance: float) -> NDArray[np.bool_]:
    """The largest gates of each example: all but those whose sum is `tolerance` at the most."""
    if tolerance == 0.0:
        return gates > 0.0
    order = np.argsort(gates, axis=1, kind="stable")  # ascending
    sums = np.cumsum(np.take_along_axis(gates, order, 1), axis=1)
    needed = np.empty(gates.shape, dtype=bool)
    np.put_along_axis(needed, order, sums > tolerance, 1)
    return needed


def in_parallel(calls: Iterable[Any], n_jobs: int | None, *, shared: bool = False) -> list[Any]:
    """Makes the calls, in threads unless another backend of joblib is chosen; None: all CPUs."""
    where = {"require": "sharedmem"} if shared else {"prefer": "threads"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the next iteration goes on
        return list(Parallel(-1 if n_jobs is None else n_jobs, **where)(calls))


def check_expert(expert: Any, *, kind: str, weighted: bool) -> None:
    """Refuses an expert that lacks what the mixture asks of it."""
    method = {"margin": "decision_function", "probability": "predict_proba", "value": "predict"}
    name = type(expert).__name__
    if not hasattr(expert, "fit"):
        raise TypeError(f"expert={expert!r} is no estimator: it has no fit")
    if not hasattr(expert, method[kind]):
        raise TypeError(
            f"the expert {name} has no {method[kind]}, which this mixture needs; choose another "
            "criterion or gater, or wrap it, as with CalibratedClassifierCV of scikit-learn"
        )
    if weighted and not has_fit_parameter(expert, "sample_weight"):
        raise ValueError(
            f"the expert {name} takes no sample_weight; leave the weights out, or use another "
            "expert"
        )
