r"""Hard mixtures of experts: divide and conquer (thesis, Chapter 6).

.. math:: f(x) = \sum_k g_k(x) f_k(x), \qquad \sum_k g_k(x) = 1 \qquad (6.1)

Each expert is trained on a subset of the examples only, and the gater decides both what the experts
are worth for an input and which subset an example belongs to in the next iteration. With subsets of
a fixed size the time of the experts is linear in the number of examples, and they are trained in
parallel.
"""

from typing import Any, ClassVar

import numpy as np
from scipy.special import xlogy
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from widemargin._base import IterativeClassifier, IterativeRegressor
from widemargin._inputs import target_moments
from widemargin._model import Examples
from widemargin._typing import ArrayLike, FloatArray
from widemargin.mixtures._gater import Gater, UniformGater
from widemargin.mixtures._goal import Goal
from widemargin.mixtures._hard import MIXTURE_CONSTRAINTS, HardMixture
from widemargin.svm import SVC
from widemargin.svr import SVR

__all__ = ["HardMixtureClassifier", "HardMixtureRegressor"]


def _gives_probabilities(model: "HardMixtureClassifier") -> bool:
    if model._kind(model._expert_template(), model._gater_template()) != "probability":
        raise AttributeError(
            "the mixture's experts say margins, not probabilities; use experts with "
            "predict_proba, criterion='likelihood' or gater='local'"
        )
    return True


class HardMixtureClassifier(HardMixture, IterativeClassifier):
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **IterativeClassifier._parameter_constraints,
        **MIXTURE_CONSTRAINTS,
        "criterion": [StrOptions({"auto", "tanh_mse", "likelihood"})],
    }

    def __init__(
        self,
        expert: Any = None,
        gater: Any = "mlp",
        *,
        n_experts: int | str = "auto",
        n_iter: int = 5,
        criterion: str = "auto",
        first_partition: str = "random",
        capacity: float | None = 1.0,
        reassign: str = "auto",
        gater_rows: int | None = None,
        gate_tolerance: float = 1e-3,
        scale: str | None = "minmax",
        class_weight: ArrayLike = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 3,
        tol: float | None = None,
        time_limit: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: ArrayLike = None,
    ) -> None:
        self.expert = expert
        self.gater = gater
        self.n_experts = n_experts
        self.n_iter = n_iter
        self.criterion = criterion
        self.first_partition = first_partition
        self.capacity = capacity
        self.reassign = reassign
        self.gater_rows = gater_rows
        self.gate_tolerance = gate_tolerance
        self.scale = scale
        self.class_weight = class_weight
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @available_if(_gives_probabilities)
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """P(y | x) = Σ_k P(k | x) P(y | x, k) (6.2)."""
        check_is_fitted(self)
        p = self._mixture(self._check_X(X))
        return np.asarray(p / p.sum(1, keepdims=True))

    @available_if(_gives_probabilities)
    def predict_log_proba(self, X: ArrayLike) -> FloatArray:
        """Logarithms of `predict_proba`."""
        return np.asarray(xlogy(1.0, self.predict_proba(X)))

    # ----------------------------------------------------------------------------- helpers

    def _scores(self, X: ArrayLike) -> FloatArray:
        m = self._mixture(X)
        two = self._speech[0] == "probability" and m.shape[1] == 2
        return m[:, 1:] - m[:, :1] if two else m

    def _default_expert(self) -> Any:
        several = hasattr(self, "classes_") and len(self.classes_) > 2
        return SVC(multi_class="ovr" if several else "ovo")

    def _kind(self, expert: Any, gater: Gater) -> str:
        if self.criterion != "auto":
            return "probability" if self.criterion == "likelihood" else "margin"
        densities = gater.local and not isinstance(gater, UniformGater)
        return "probability" if densities or hasattr(expert, "predict_proba") else "margin"

    def _goal(self, kind: str, examples: Examples) -> Goal:
        return Goal(kind, len(self.classes_), examples.y)


class HardMixtureRegressor(HardMixture, IterativeRegressor):
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **IterativeRegressor._parameter_constraints,
        **MIXTURE_CONSTRAINTS,
        "criterion": [StrOptions({"auto", "mse"})],
    }

    def __init__(
        self,
        expert: Any = None,
        gater: Any = "mlp",
        *,
        n_experts: int | str = "auto",
        n_iter: int = 5,
        criterion: str = "auto",
        first_partition: str = "random",
        capacity: float | None = 1.0,
        reassign: str = "auto",
        gater_rows: int | None = None,
        gate_tolerance: float = 1e-3,
        scale: str | None = "minmax",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 3,
        tol: float | None = None,
        time_limit: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: ArrayLike = None,
    ) -> None:
        self.expert = expert
        self.gater = gater
        self.n_experts = n_experts
        self.n_iter = n_iter
        self.criterion = criterion
        self.first_partition = first_partition
        self.capacity = capacity
        self.reassign = reassign
        self.gater_rows = gater_rows
        self.gate_tolerance = gate_tolerance
        self.scale = scale
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    # ----------------------------------------------------------------------------- helpers

    def _scores(self, X: ArrayLike) -> FloatArray:
        return self._mixture(X)

    def _default_expert(self) -> Any:
        return SVR()

    def _kind(self, expert: Any, gater: Gater) -> str:
        return "value"

    def _goal(self, kind: str, examples: Examples) -> Goal:
        _, variance = target_moments(examples.y, examples.order, examples.weights)
        return Goal(kind, 0, examples.y, 1.0 / (len(variance) * variance))
