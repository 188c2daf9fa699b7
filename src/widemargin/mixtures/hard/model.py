"""What hard mixtures share: parameters, initial states, resuming, the outputs of the mixture."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import asdict, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.inputs.scaling import SCALING_CONSTRAINT, Scaling
from widemargin.inputs.unscaled import warn_if_unscaled
from widemargin.mixtures.gaters.cells import CellGater
from widemargin.mixtures.gaters.estimator import EstimatorGater
from widemargin.mixtures.gaters.gater import Gater
from widemargin.mixtures.gaters.gaussian import GaussianGater
from widemargin.mixtures.gaters.mlp import MLPGater
from widemargin.mixtures.gaters.uniform import UniformGater
from widemargin.mixtures.hard.experts import Experts, check_expert
from widemargin.mixtures.hard.learner import MixtureLearner, MixtureSettings, MixtureState
from widemargin.mixtures.hard.partition import clustered_partition, random_partition
from widemargin.mixtures.hard.targets import Targets
from widemargin.mixtures.hard.tuning import (
    GAMMA_SHARE,
    ParameterSearch,
    candidates,
    expert_with_gamma,
    find_regions,
    gater_candidates,
    is_tunable,
)
from widemargin.svm.machine import KernelMachine
from widemargin.training.model import LOOP_CONSTRAINTS, Examples, IterativeModel
from widemargin.training.time_limit import current_limit, share_of_time

__all__ = ["HARD_CONSTRAINTS", "HardMixture"]

ROWS_PER_EXPERT = 2000  # with n_experts="auto"
GATES_PER_CALL = 2**23  # numbers in memory at once in predictions

_POSITIVE = Interval(Integral, 1, None, closed="left")

#: Parameters of hard mixtures; iterations have no order of examples to shuffle.
HARD_CONSTRAINTS: dict[str, Any] = {
    **{name: allowed for name, allowed in LOOP_CONSTRAINTS.items() if name != "shuffle"},
    "expert": [HasMethods("fit"), None],
    "gater": [StrOptions({"mlp", "local", "cells", "uniform"}), HasMethods("fit")],
    "n_experts": [StrOptions({"auto"}), _POSITIVE],
    "first_partition": [StrOptions({"random", "kmeans"})],
    "balance": [Interval(Real, 1, None, closed="left"), None],
    "reassign": [StrOptions({"auto", "gates", "posterior"})],
    "gater_rows": [_POSITIVE, None],
    "gate_tolerance": [Interval(Real, 0, 1, closed="left")],
    "tune": [StrOptions({"validation"}), None],
    "scaling": SCALING_CONSTRAINT,
    "n_jobs": [Integral, None],
}


class HardMixture(IterativeModel):
    """Base of hard mixtures."""

    _fixed_parameters: ClassVar[tuple[str, ...]] = ("expert", "gater", "criterion", "scaling")
    shuffle: ClassVar[bool] = False

    # ------------------------------------------------------------ what a mixture must provide

    @abstractmethod
    def _default_expert(self, spread: float = 1.0) -> Any:
        """The expert if none is given, for targets of this standard deviation."""

    @abstractmethod
    def _output_kind(self, expert: Any, gater: Gater) -> str:
        """What experts output; see `widemargin.mixtures.hard.experts`."""

    @abstractmethod
    def _targets(self, output_kind: str, examples: Examples) -> Targets:
        """Targets of the training examples."""

    # --------------------------------------------------------------------------- interface

    def gates(self, X: ArrayLike) -> FloatArray:
        """The weight of each expert.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        ndarray of shape (n_samples, n_experts)
            Weights; each row adds up to one.
        """
        check_is_fitted(self)
        return np.asarray(self.gater_.gates(self._scaled(self._check_X(X))))

    # ----------------------------------------------------------------------------- helpers

    def _require_online(self) -> None:
        raise AttributeError(
            f"{type(self).__name__} needs all examples at once and has no partial_fit; use fit"
        )

    @property
    def _validates(self) -> bool:
        return bool(self.early_stopping) or self.tune is not None

    def _check_X(self, X: ArrayLike, y: ArrayLike = "no_validation", *, reset: bool = False) -> Any:
        checked = super()._check_X(X, y, reset=reset)
        inputs = checked if isinstance(y, str) else checked[0]
        if sp.issparse(inputs):
            inputs.check_format()  # experts may not check that indices are within the matrix
        return checked

    def _learner(self, examples: Examples, *, resume: bool) -> MixtureLearner:
        if not resume:
            self._keep_scaling(Scaling.measured(self.scaling, examples.X, centre="filled"))
            if self.scaling is None and isinstance(self._expert_template(), KernelMachine):
                warn_if_unscaled(self._expert_template(), examples.X)  # once for all experts
        examples.X = self._scaled(examples.X)
        if examples.X_val is not None:
            examples.X_val = self._scaled(examples.X_val)
        gater = self._gater_template(self.gater)
        kind, settings = self._settings(gater, weighted=examples.weights is not None)
        targets = self._targets(kind, examples)
        settings = replace(settings, labels=targets.labels)
        if self.expert is None:
            expert = self._default_expert(targets.spread)
            expert.set_params(**(self._kept_expert() if resume else {}))
            settings = replace(settings, expert=expert)
        if resume:
            return MixtureLearner(examples, self._resumed(examples), targets, settings)
        if self.tune is not None:
            with share_of_time(current_limit().left / 2):
                settings, gater = self._tuned(examples, targets, settings, gater)
        elif self.expert is None:
            seconds = GAMMA_SHARE * current_limit().left
            expert = expert_with_gamma(settings, examples, targets, seconds)
            settings = replace(settings, expert=expert)
        if self.expert is None:
            self._keep_expert(settings.expert)
        return MixtureLearner(examples, self._first_state(examples, gater), targets, settings)

    def _settings(self, gater: Gater, *, weighted: bool) -> tuple[str, MixtureSettings]:
        """The kind of the experts' outputs, and what stays the same over the iterations."""
        expert = self._expert_template()
        kind = self._output_kind(expert, gater)
        platt = kind == "probability" and not hasattr(expert, "predict_proba")
        check_expert(expert, output_kind="margin" if platt else kind, weighted=weighted)
        return kind, MixtureSettings(
            expert=expert,
            labels=None,
            classes=None if kind == "value" else np.arange(len(self.classes_)),
            criterion={"margin": "tanh_mse", "probability": "likelihood", "value": "mse"}[kind],
            platt=platt,
            posterior=gater.local if self.reassign == "auto" else self.reassign == "posterior",
            balance=self.balance,
            gater_rows=self.gater_rows,
            gate_tolerance=self.gate_tolerance,
            n_jobs=self.n_jobs,
            seed=self._seed(),
        )

    def _tuned(
        self, examples: Examples, targets: Targets, settings: MixtureSettings, gater: Gater
    ) -> tuple[MixtureSettings, Gater]:
        """The expert and the gater with the lowest validation errors."""
        assert examples.y_val is not None
        search = ParameterSearch(self.n_jobs)
        expert = settings.expert
        if is_tunable(expert):
            rows = -(-len(examples.order) // self._number_of_experts(len(examples.order)))
            regions = find_regions(examples, targets, rows, platt=settings.platt)
            gammas, Cs = candidates(expert, examples.X, default=self.expert is None)
            expert = search.best_expert(expert, regions, gammas, Cs, settings.classes)
            settings = replace(settings, expert=expert)
        gaters = gater_candidates(self.gater) if isinstance(self.gater, str) else []
        if gaters:

            def learner(gater: Gater) -> MixtureLearner:
                state = self._first_state(examples, self._gater_template(gater))
                return MixtureLearner(examples, state, targets, settings)

            best = search.best_gater(gaters, learner)
            gater = self._gater_template(best)
            self.best_params_ = {"expert": expert, "gater": best}
        else:
            self.best_params_ = {"expert": expert}
        self.tuning_ = [asdict(trial) for trial in search.trials]
        return settings, gater

    def _keep_expert(self, expert: Any) -> None:
        self.expert_params_ = {name: getattr(expert, name) for name in ("C", "gamma")}

    def _kept_expert(self) -> dict[str, Any]:
        """Parameters of the default expert; models of earlier versions had those of `SVC`."""
        return getattr(self, "expert_params_", {"C": 1.0, "gamma": "scale"})

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
            "cells": CellGater,
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
        if isinstance(gater, CellGater):
            if self.balance not in (1.0, None):
                raise ValueError(
                    f"balance={self.balance} cannot be kept: cells have the examples that are "
                    "nearest to their centre; use another gater, or balance=None"
                )
            partition = gater.divide(examples.X[rows], n_experts)
            return MixtureState([None] * gater.n_experts_, gater, partition, partition)
        if self.first_partition == "random":
            partition = random_partition(len(rows), n_experts, random)
        else:
            partition = clustered_partition(examples.X[rows], n_experts, self.balance, random)
        return MixtureState([None] * n_experts, gater, partition, partition)

    def _number_of_experts(self, count: int) -> int:
        if self.n_experts == "auto":
            return max(1, round(count / ROWS_PER_EXPERT))
        if self.n_experts > count:
            raise ValueError(
                f"n_experts={self.n_experts} is more than n_samples={count}, the training "
                "examples; every expert needs at least one"
            )
        return int(self.n_experts)

    def _resumed(self, examples: Examples) -> MixtureState:
        partition: IntArray = self._next_partition
        if len(partition) != len(examples.order):
            raise ValueError(
                f"warm_start=True resumes with the partition of {len(partition)} training "
                f"examples, but there are {len(examples.order)}; give the same examples, or fit "
                "without warm_start"
            )
        return MixtureState(self.experts_, self.gater_, partition, partition, self._epochs_done)

    @property
    def feature_offset_(self) -> FloatArray:
        """What is subtracted from inputs."""
        return self._fitted_scaling().offset

    @property
    def feature_scale_(self) -> FloatArray:
        """What inputs are divided by, after the offset was subtracted."""
        return self._fitted_scaling().scale

    def _keep_scaling(self, scaling: Scaling) -> None:
        self._scaling_state = {"kind": scaling.kind, **scaling.to_dict()}

    def _fitted_scaling(self) -> Scaling:
        return Scaling(**self._scaling_state)

    def _scaled(self, X: ArrayLike) -> ArrayLike:
        return self._fitted_scaling().transform(X)

    def _mixture(self, X: ArrayLike) -> FloatArray:
        """Σ g f of validated inputs, in the columns of the experts."""
        output_kind, n_columns = self._output_format
        classes = np.arange(len(self.classes_)) if hasattr(self, "classes_") else None
        experts = Experts(self.experts_, output_kind, classes, n_columns, self.n_jobs)
        rows_per_call = max(1, GATES_PER_CALL // self.n_experts_)
        parts = []
        for first in range(0, X.shape[0], rows_per_call):
            rows = self._scaled(X[first : first + rows_per_call])
            parts.append(experts.mixture(rows, self.gater_.gates(rows), self.gate_tolerance))
        return np.concatenate(parts)
