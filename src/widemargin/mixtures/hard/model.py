"""What hard mixtures share: parameters, first states, resuming, the outputs of the mixture."""

import time
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import asdict, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.mixtures.gaters.estimator import EstimatorGater
from widemargin.mixtures.gaters.gater import Gater, UniformGater
from widemargin.mixtures.gaters.gaussian import GaussianGater
from widemargin.mixtures.gaters.mlp import MLPGater
from widemargin.mixtures.hard.experts import Experts, check_expert
from widemargin.mixtures.hard.learner import MixtureLearner, MixtureState, Setting
from widemargin.mixtures.hard.partition import clustered_partition, random_partition
from widemargin.mixtures.hard.targets import Goal
from widemargin.mixtures.hard.tuning import Tuning, gater_candidates, is_tunable, regions_of
from widemargin.svm.kernel_source import resolve_gamma
from widemargin.training.model import Examples, IterativeModel

__all__ = ["MIXTURE_CONSTRAINTS", "HardMixture", "without_epochs"]

ROWS_PER_EXPERT = 2000  # with n_experts="auto"
GATES_AT_ONCE = 2**23  # numbers

_POSITIVE = Interval(Integral, 1, None, closed="left")

MIXTURE_CONSTRAINTS: dict[str, Any] = {
    "expert": [HasMethods("fit"), None],
    "gater": [StrOptions({"mlp", "local", "uniform"}), HasMethods("fit")],
    "n_experts": [StrOptions({"auto"}), _POSITIVE],
    "n_iter": [_POSITIVE],
    "first_partition": [StrOptions({"random", "kmeans"})],
    "capacity": [Interval(Real, 1, None, closed="left"), None],
    "reassign": [StrOptions({"auto", "gates", "posterior"})],
    "gater_rows": [_POSITIVE, None],
    "gate_tolerance": [Interval(Real, 0, 1, closed="left")],
    "tune": [StrOptions({"validation"}), None],
    "scale": [StrOptions({"minmax", "standard"}), None],
    "n_jobs": [Integral, None],
}


def without_epochs(constraints: dict[str, Any]) -> dict[str, Any]:
    """Parameters of iterative models but those of passes over the examples."""
    return {key: of for key, of in constraints.items() if key not in ("max_iter", "shuffle")}


class HardMixture(IterativeModel):
    """Base of hard mixtures."""

    _fixed_parameters: ClassVar[tuple[str, ...]] = ("expert", "gater", "criterion", "scale")
    _epochs_parameter: ClassVar[str] = "n_iter"
    shuffle: ClassVar[bool] = False

    # ------------------------------------------------------------ what a mixture must provide

    @abstractmethod
    def _default_expert(self) -> Any:
        """The expert if none is given."""

    @abstractmethod
    def _kind(self, expert: Any, gater: Gater) -> str:
        """What experts say; see `_experts`."""

    @abstractmethod
    def _goal(self, kind: str, examples: Examples) -> Goal:
        """What they should say."""

    # --------------------------------------------------------------------------- interface

    @property
    def partial_fit(self) -> Any:
        """There is none: an iteration looks at all examples at once."""
        raise AttributeError(f"{type(self).__name__} has no partial_fit; use fit")

    def gates(self, X: ArrayLike) -> FloatArray:
        """How much each expert counts.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        ndarray of shape (n_samples, n_experts)
            Weights; rows add up to one.
        """
        check_is_fitted(self)
        return np.asarray(self.gater_.gates(self._scaled(self._check_X(X))))

    # ----------------------------------------------------------------------------- helpers

    @property
    def _validates(self) -> bool:
        return bool(self.early_stopping) or self.tune is not None

    def _check_X(self, X: ArrayLike, y: ArrayLike = "no_validation", *, reset: bool = False) -> Any:
        checked = super()._check_X(X, y, reset=reset)
        inputs = checked if isinstance(y, str) else checked[0]
        if sp.issparse(inputs):
            inputs.check_format()  # scalers do not look whether indices are within the matrix
        return checked

    def _learner(self, examples: Examples, *, resume: bool) -> MixtureLearner:
        started = time.perf_counter()
        if not resume:
            self._scaler = self._new_scaler(examples.X)
        examples.X = self._scaled(examples.X)
        if examples.X_val is not None:
            examples.X_val = self._scaled(examples.X_val)
        gater = self._gater_template(self.gater)
        kind, setting = self._setting(gater, started, weighted=examples.weights is not None)
        goal = self._goal(kind, examples)
        setting = replace(setting, labels=goal.labels)
        if resume:
            return MixtureLearner(examples, self._resumed(examples), goal, setting)
        if self.tune is not None:
            setting, gater = self._tuned(examples, goal, setting, gater)
        return MixtureLearner(examples, self._first_state(examples, gater), goal, setting)

    def _setting(self, gater: Gater, started: float, *, weighted: bool) -> tuple[str, Setting]:
        """What experts say, and what stays the same over the iterations."""
        expert = self._expert_template()
        kind = self._kind(expert, gater)
        platt = kind == "probability" and not hasattr(expert, "predict_proba")
        check_expert(expert, kind="margin" if platt else kind, weighted=weighted)
        return kind, Setting(
            template=expert,
            labels=None,
            classes=None if kind == "value" else np.arange(len(self.classes_)),
            criterion={"margin": "tanh_mse", "probability": "likelihood", "value": "mse"}[kind],
            platt=platt,
            posterior=gater.local if self.reassign == "auto" else self.reassign == "posterior",
            limit=self.capacity,
            gater_rows=self.gater_rows,
            tolerance=self.gate_tolerance,
            n_jobs=self.n_jobs,
            seed=self._seed(),
            deadline=np.inf if self.time_limit is None else started + self.time_limit,
        )

    def _tuned(
        self, examples: Examples, goal: Goal, setting: Setting, gater: Gater
    ) -> tuple[Setting, Gater]:
        """The expert and the gater that the validation examples prefer, in half of the time."""
        assert examples.y_val is not None
        now = time.perf_counter()
        tuning = Tuning(now + (setting.deadline - now) / 2, self.n_jobs)
        expert = setting.template
        if is_tunable(expert):
            rows = -(-len(examples.order) // self._number_of_experts(len(examples.order)))
            kind = "margin" if setting.platt else goal.kind
            held = Goal(kind, goal.n_classes, examples.y_val, goal.error_scale)
            regions = regions_of(examples, setting.labels, held, rows)
            scale = resolve_gamma("scale", examples.X)
            expert = tuning.expert(expert, regions, scale, setting.classes)
            setting = replace(setting, template=expert)
        candidates = gater_candidates(self.gater) if isinstance(self.gater, str) else []
        if candidates:

            def learner(gater: Gater) -> MixtureLearner:
                state = self._first_state(examples, self._gater_template(gater))
                return MixtureLearner(examples, state, goal, setting)

            best = tuning.gater(candidates, learner)
            gater = self._gater_template(best)
            self.best_params_ = {"expert": expert, "gater": best}
        else:
            self.best_params_ = {"expert": expert}
        self.tuning_ = [asdict(trial) for trial in tuning.trials]
        return setting, gater

    def _expert_template(self) -> Any:
        return self._default_expert() if self.expert is None else self.expert

    def _unseeded_gater(self, given: Any) -> Gater:
        if isinstance(given, Gater):
            return clone(given)  # type: ignore[no-any-return]
        if not isinstance(given, str):
            return EstimatorGater(clone(given))
        kinds: dict[str, Callable[[], Gater]] = {
            "mlp": MLPGater,
            "local": GaussianGater,
            "uniform": UniformGater,
        }
        return kinds[given]()

    def _gater_template(self, given: Any) -> Gater:
        gater = self._unseeded_gater(given)
        known = gater.get_params(deep=False)
        chosen = {"random_state": self._seed(), "n_jobs": self.n_jobs}
        gater.set_params(**{k: v for k, v in chosen.items() if k in known and known[k] is None})
        return gater

    def _first_state(self, examples: Examples, gater: Gater) -> MixtureState:
        rows = examples.order
        n_experts = self._number_of_experts(len(rows))
        random = np.random.RandomState(self._seed())
        if self.first_partition == "random":
            partition = random_partition(len(rows), n_experts, random)
        else:
            partition = clustered_partition(examples.X[rows], n_experts, self.capacity, random)
        return MixtureState([None] * n_experts, gater, partition, partition)

    def _number_of_experts(self, count: int) -> int:
        if self.n_experts == "auto":
            return max(1, round(count / ROWS_PER_EXPERT))
        if self.n_experts > count:
            raise ValueError(
                f"n_experts={self.n_experts} is more than n_samples={count}, the training "
                "examples; every expert needs some"
            )
        return int(self.n_experts)

    def _resumed(self, examples: Examples) -> MixtureState:
        partition: IntArray = self._next_partition
        if len(partition) != len(examples.order):
            raise ValueError(
                f"warm_start=True goes on with the partition of {len(partition)} training "
                f"examples, but there are {len(examples.order)}; give the same examples, or fit "
                "without warm_start"
            )
        return MixtureState(self.experts_, self.gater_, partition, partition, self._epochs_done)

    def _new_scaler(self, X: ArrayLike) -> Any:
        """Sparse inputs keep their zeros."""
        if self.scale is None:
            return None
        sparse = sp.issparse(X)
        if self.scale == "standard":
            return StandardScaler(with_mean=not sparse).fit(X)
        return (MaxAbsScaler() if sparse else MinMaxScaler()).fit(X)

    def _scaled(self, X: ArrayLike) -> ArrayLike:
        return X if self._scaler is None else self._scaler.transform(X)

    def _mixture(self, X: ArrayLike) -> FloatArray:
        """Σ g f of validated inputs, in the columns of the experts."""
        kind, columns = self._speech
        classes = np.arange(len(self.classes_)) if hasattr(self, "classes_") else None
        experts = Experts(self.experts_, kind, classes, columns, self.n_jobs)
        at_once = max(1, GATES_AT_ONCE // self.n_experts_)
        parts = []
        for first in range(0, X.shape[0], at_once):
            rows = self._scaled(X[first : first + at_once])
            parts.append(experts.mixture(rows, self.gater_.gates(rows), self.gate_tolerance))
        return np.concatenate(parts)
