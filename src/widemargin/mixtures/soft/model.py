"""The base of soft mixtures: parameters, learners, resuming."""

from abc import abstractmethod
from copy import deepcopy
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.ensemble._base import _set_random_states
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from widemargin._typing import ArrayLike, FloatArray
from widemargin.inputs.labels import MeanWeight
from widemargin.inputs.scaling import SCALING_CONSTRAINT, Scaling
from widemargin.mixtures.soft.criteria import Criterion
from widemargin.mixtures.soft.em import EMLearner
from widemargin.mixtures.soft.gradient import AdamState, GradientLearner
from widemargin.mixtures.soft.mixture import SoftMixture
from widemargin.mixtures.soft.network import TRANSFERS, Layout
from widemargin.training.estimators import Examples, IterativeModel
from widemargin.training.loop import Learner

AUTO_UNITS = 50  # hidden units of each expert and of the gater with solver="gradient"

_UNITS = [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left")]
_AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")

SOFT_CONSTRAINTS: dict[str, Any] = {
    "n_experts": [_AT_LEAST_ONE],
    "n_units": _UNITS,
    "n_gater_units": _UNITS,
    "activation": [StrOptions(set(TRANSFERS))],
    "solver": [StrOptions({"gradient", "em"})],
    "expert": [HasMethods(["fit", "predict"]), None],
    "mu": [Interval(Real, 0, None, closed="left")],
    "batch_size": [_AT_LEAST_ONE],
    "learning_rate": [Interval(Real, 0, None, closed="neither")],
    "schedule": [StrOptions({"constant", "linear", "cosine", "one_cycle"})],
    "scaling": SCALING_CONSTRAINT,
    "dtype": [StrOptions({"float32", "float64"})],
    "n_jobs": [Integral, None],
}


class SoftMixtureModel(IterativeModel):
    """Base of soft mixtures of experts."""

    _fixed_parameters: ClassVar[tuple[str, ...]] = (
        *("n_experts", "n_units", "n_gater_units", "activation", "criterion", "solver", "expert"),
        *("scaling", "dtype"),
    )

    #: The method that a given expert must have.
    _expert_method: ClassVar[str]

    # ------------------------------------------------------------ what a model must provide

    @abstractmethod
    def _soft_criterion(self) -> Criterion:
        """What is minimised; it also computes the scores of the mixture."""

    @abstractmethod
    def _n_outputs(self) -> int:
        """The number of outputs of each expert, C."""

    def _n_variances(self) -> int:
        return 0

    def _error_scale(self) -> FloatArray | None:
        """Factors of the squared errors of each target, for a regression."""
        return None

    # --------------------------------------------------------------------------- interface

    def gates(self, X: ArrayLike) -> FloatArray:
        """The weight g_k(x) of each expert; positive, and each row adds up to one.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        ndarray of shape (n_samples, n_experts)
            The gates.
        """
        check_is_fitted(self)
        return self._mixture().gates(self._check_X(X))

    # ----------------------------------------------------------------------------- helpers

    def _rate(self) -> tuple[str, float, float, float]:
        return (self.schedule, self.learning_rate, 0.0, 0.0)

    def _require_online(self) -> None:
        if self.solver == "em":
            raise AttributeError(
                "solver='em' needs all examples at once and has no partial_fit; use "
                "solver='gradient'"
            )

    @property
    def _has_given_experts(self) -> bool:
        """Whether experts are given, in the fitted model or else in the parameters."""
        sizes = getattr(self, "_sizes", None)
        return self.expert is not None if sizes is None else bool(sizes["given"])

    def _units(self, name: str) -> int:
        chosen = getattr(self, name)
        return int(chosen) if chosen != "auto" else 0 if self.solver == "em" else AUTO_UNITS

    def _new_layout(self) -> Layout:
        return Layout(
            inputs=int(self.n_features_in_),
            experts=int(self.n_experts),
            outputs=self._n_outputs(),
            hidden=self._units("n_units"),
            gater=self._units("n_gater_units"),
            transfer=self.activation,
            variances=self._n_variances(),
            given=self.expert is not None,
        )

    def _mixture(self) -> SoftMixture:
        """The mixture as fitted."""
        return SoftMixture(
            Layout(**self._sizes),
            self._parameters,
            Scaling.from_dict(self.scaling, self._state["scaling"]),
            self._soft_criterion(),
            getattr(self, "experts_", None),
        )

    def _first_mixture(self, random: np.random.RandomState) -> SoftMixture:
        layout = self._new_layout()
        experts = None
        if self.expert is not None:
            experts = [clone(self.expert) for _ in range(self.n_experts)]
            for expert in experts:
                _set_random_states(expert, random)
        return SoftMixture(
            layout,
            layout.start(random, np.float64 if self.solver == "em" else self.dtype),
            Scaling.empty(self.scaling, layout.inputs),
            self._soft_criterion(),
            experts,
        )

    def _learner(self, examples: Examples, *, resume: bool) -> Learner:
        self._check_choices()
        random = np.random.RandomState(self._seed())
        if resume:
            mixture = self._mixture()
            mixture.parameters = mixture.parameters.copy()
            mixture.experts = deepcopy(mixture.experts)
        else:
            for stale in ("experts_", "_sizes"):
                self.__dict__.pop(stale, None)
            mixture = self._first_mixture(random)
        if self.solver == "em":
            return EMLearner(
                examples,
                mixture,
                mu=self.mu,
                n_jobs=self.n_jobs,
                random=None if resume else random,
                updates=self.n_updates_,
                error_scale=self._error_scale(),
            )
        return GradientLearner(
            examples,
            mixture,
            self._steps(mixture, resume=resume),
            batch=int(self.batch_size),
            mu=self.mu,
            error_scale=self._error_scale(),
        )

    def _steps(self, mixture: SoftMixture, *, resume: bool) -> AdamState:
        if not resume:
            return AdamState(np.zeros_like(mixture.parameters), np.zeros_like(mixture.parameters))
        s = self._state
        first, second = s["first"].copy(), s["second"].copy()
        mean_weight = MeanWeight(s["rows"], s["weight"])
        return AdamState(first, second, s["count"], self.n_updates_, mean_weight)

    def _check_choices(self) -> None:
        if self.solver == "em" and self.criterion != "likelihood":
            raise ValueError(
                f"solver='em' maximises the likelihood; criterion={self.criterion!r} needs "
                "solver='gradient'"
            )
        if self.learning_rate * self.mu >= 1.0 and self.solver == "gradient":
            raise ValueError(
                f"learning_rate={self.learning_rate:.6g} times mu={self.mu:.6g} is 1 or more: "
                "each step would cancel the weights; lower one of them"
            )
        if self.expert is None:
            return
        if self.solver != "em":
            raise ValueError(
                "expert needs solver='em'; with solver='gradient' experts are networks of n_units "
                "hidden units"
            )
        method = self._expert_method
        if not hasattr(self.expert, method):
            raise ValueError(f"expert={self.expert!r} has no {method}, which experts of EM need")
        if not has_fit_parameter(self.expert, "sample_weight"):
            raise ValueError(
                f"expert={self.expert!r} takes no sample_weight in fit; EM weights examples by "
                "their posteriors"
            )
