"""What the soft mixtures for classes and for values share: parameters, learners, resuming."""

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
from widemargin.inputs.scaling import SCALING_CONSTRAINT, Scaling
from widemargin.inputs.threads import thread_count
from widemargin.mixtures.soft.criteria import Criterion
from widemargin.mixtures.soft.em import EMLearner
from widemargin.mixtures.soft.gradient import GradientLearner, Steps
from widemargin.mixtures.soft.mixture import SoftMixture
from widemargin.mixtures.soft.network import TRANSFERS, Layout
from widemargin.training.estimators import Examples, IterativeModel
from widemargin.training.loop import Learner

AUTO_UNITS = 50  # of an expert and of the gater, for stochastic gradient; EM has linear ones

_UNITS = [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left")]
_AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")

SOFT_CONSTRAINTS: dict[str, Any] = {
    "n_experts": [_AT_LEAST_ONE],
    "n_hidden": _UNITS,
    "gater_units": _UNITS,
    "activation": [StrOptions(set(TRANSFERS))],
    "criterion": [StrOptions({"likelihood", "mse"})],
    "solver": [StrOptions({"gradient", "em"})],
    "expert": [HasMethods(["fit", "predict"]), None],
    "alpha": [Interval(Real, 0, None, closed="left")],
    "batch_size": [_AT_LEAST_ONE],
    "learning_rate": [StrOptions({"constant", "linear", "cosine", "one_cycle"})],
    "learning_rate_init": [Interval(Real, 0, None, closed="neither")],
    "scaling": SCALING_CONSTRAINT,
    "dtype": [StrOptions({"float32", "float64"})],
    "n_jobs": [Integral, None],
}


def trains_online(model: "SoftMixtureModel") -> bool:
    """Whether there is a `partial_fit`."""
    if model.solver == "em":
        raise AttributeError(
            "solver='em' needs all examples at once and has no partial_fit; use solver='gradient'"
        )
    return True


class SoftMixtureModel(IterativeModel):
    """Base of soft mixtures of experts."""

    _fixed_parameters: ClassVar[tuple[str, ...]] = (
        *("n_experts", "n_hidden", "gater_units", "activation", "criterion", "solver", "expert"),
        *("scaling", "dtype"),
    )

    #: What an expert must have, and what it is then called.
    _expert_method: ClassVar[str]

    # ------------------------------------------------------------ what a model must provide

    @abstractmethod
    def _soft_criterion(self) -> Criterion:
        """What is minimised; it knows what the mixture says, too."""

    @abstractmethod
    def _n_outputs(self) -> int:
        """C, of each expert."""

    def _n_variances(self) -> int:
        return 0

    def _shares(self) -> FloatArray | None:
        """How squared errors are counted, for a regression."""
        return None

    # --------------------------------------------------------------------------- interface

    def gates(self, X: ArrayLike) -> FloatArray:
        """g_k(x): how much each expert counts; positive, and their sum is 1.

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
        return (self.learning_rate, self.learning_rate_init, 0.0, 0.0)

    @property
    def _has_given_experts(self) -> bool:
        """Of the fitted model, or of the one that is to be fitted."""
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
            hidden=self._units("n_hidden"),
            gater=self._units("gater_units"),
            transfer=self.activation,
            variances=self._n_variances(),
            given=self.expert is not None,
        )

    def _mixture(self) -> SoftMixture:
        """The mixture as fitted."""
        saved = self._state
        statistics = saved.get("scaling") or saved | {"weight": saved["seen"]}  # format 1: flat
        return SoftMixture(
            Layout(**self._sizes),
            self._parameters,
            Scaling.from_dict(self.scaling, statistics),
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
        shares = self._shares()
        if self.solver == "em":
            return EMLearner(
                examples,
                mixture,
                decay=self.alpha,
                n_jobs=self.n_jobs,
                random=None if resume else random,
                updates=self.n_updates_,
                variance_shares=shares,
            )
        return GradientLearner(
            examples,
            mixture,
            self._steps(mixture, resume=resume),
            batch=int(self.batch_size),
            decay=self.alpha,
            threads=thread_count(self.n_jobs),
            variance_shares=shares,
        )

    def _steps(self, mixture: SoftMixture, *, resume: bool) -> Steps:
        if not resume:
            return Steps(np.zeros_like(mixture.parameters), np.zeros_like(mixture.parameters))
        s = self._state
        first, second = s["first"].copy(), s["second"].copy()
        return Steps(first, second, s["count"], self.n_updates_, s["rows"], s["weight"])

    def _check_choices(self) -> None:
        if self.solver == "em" and self.criterion != "likelihood":
            raise ValueError(
                f"solver='em' maximises the likelihood; criterion={self.criterion!r} needs "
                "solver='gradient'"
            )
        if self.learning_rate_init * self.alpha >= 1.0 and self.solver == "gradient":
            raise ValueError(
                f"learning_rate_init={self.learning_rate_init:.6g} times alpha={self.alpha:.6g} "
                "is 1 or more: every step would undo the weights; lower one of them"
            )
        if self.expert is None:
            return
        if self.solver != "em":
            raise ValueError(
                "expert is for solver='em'; with solver='gradient' experts are networks of "
                "n_hidden units"
            )
        method = self._expert_method
        if not hasattr(self.expert, method):
            raise ValueError(f"expert={self.expert!r} has no {method}; experts of EM need it")
        if not has_fit_parameter(self.expert, "sample_weight"):
            raise ValueError(
                f"expert={self.expert!r} takes no sample_weight in fit; EM weights examples by "
                "their posteriors"
            )
