"""What `MLPClassifier` and `MLPRegressor` share: parameters, layers, resuming, predictions."""

from abc import abstractmethod
from copy import deepcopy
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from threadpoolctl import ThreadpoolController

from widemargin._typing import ArrayLike, FloatArray
from widemargin.criteria import Criterion
from widemargin.inputs.scaling import SCALING_CONSTRAINT, Scaling
from widemargin.inputs.threads import thread_count
from widemargin.mlp.network import Architecture, Mixed, NetworkLearner, NetworkState, Steps
from widemargin.training.estimators import Examples, IterativeModel
from widemargin.training.loop import Learner, Outcome

AUTO_BATCH = 200
TRANSFERS = ("identity", "logistic", "sigmoid", "tanh", "slanted_tanh", "hard_tanh", "relu")
SCHEDULES = ("constant", "invscaling", "linear", "cosine", "one_cycle")

_NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
_POSITIVE = Interval(Real, 0, None, closed="neither")
_BELOW_ONE = Interval(Real, 0, 1, closed="left")

NETWORK_CONSTRAINTS: dict[str, Any] = {
    "hidden_layer_sizes": ["array-like", Interval(Integral, 1, None, closed="left")],
    "activation": [StrOptions(set(TRANSFERS))],
    "solver": [StrOptions({"sgd", "adam", "adamw"})],
    "alpha": [_NOT_NEGATIVE],
    "mu": [_NOT_NEGATIVE, None],
    "nu": [_NOT_NEGATIVE, None],
    "batch_size": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
    "learning_rate": [StrOptions(set(SCHEDULES))],
    "learning_rate_init": [_POSITIVE],
    "power_t": [_NOT_NEGATIVE],
    "momentum": [_BELOW_ONE],
    "nesterovs_momentum": ["boolean"],
    "beta_1": [_BELOW_ONE],
    "beta_2": [_BELOW_ONE],
    "epsilon": [_POSITIVE],
    "scaling": SCALING_CONSTRAINT,
    "dtype": [StrOptions({"float32", "float64"})],
    "n_jobs": [Integral, None],
}


class NetworkModel(IterativeModel):
    """Base of multi-layer perceptrons."""

    _fixed_parameters: ClassVar[tuple[str, ...]] = (
        "hidden_layer_sizes",
        "activation",
        "scaling",
        "dtype",
    )

    # ------------------------------------------------------------ what a model must provide

    @abstractmethod
    def _criterion(self, examples: Examples) -> Criterion | Mixed:
        """What the model minimises."""

    @abstractmethod
    def _n_network_outputs(self) -> int:
        """Units of the last layer."""

    def _error_scale(self, examples: Examples) -> FloatArray | None:
        """How squared errors are counted, for a regression."""
        return None

    # --------------------------------------------------------------------------- attributes

    @property
    def coefs_(self) -> list[NDArray[Any]]:
        """Weights of each layer, a row a unit below; the first for standardised inputs."""
        return [W for W, _ in self._architecture().layers(self._parameters)]

    @property
    def intercepts_(self) -> list[NDArray[Any]]:
        """Biases of each layer."""
        return [b for _, b in self._architecture().layers(self._parameters)]

    @property
    def n_layers_(self) -> int:
        """Layers, inputs and outputs included."""
        return len(self._units)

    # ----------------------------------------------------------------------------- helpers

    def _architecture(self) -> Architecture:
        return Architecture(self._units, self._transfer)

    def _new_architecture(self, inputs: int) -> Architecture:
        sizes = np.atleast_1d(np.asarray(self.hidden_layer_sizes))
        if sizes.ndim != 1 or (sizes.size and (sizes.dtype.kind not in "iu" or sizes.min() < 1)):
            raise ValueError(
                f"hidden_layer_sizes={self.hidden_layer_sizes!r} must hold a whole number of "
                "units, 1 or more, for each hidden layer, as (100,) or (512, 512)"
            )
        units = np.array([inputs, *sizes, self._n_network_outputs()], dtype=np.int64)
        transfer = "sigmoid" if self.activation == "logistic" else self.activation
        return Architecture(units, transfer)

    def _learner(self, examples: Examples, *, resume: bool) -> NetworkLearner:
        batch = AUTO_BATCH if self.batch_size == "auto" else int(self.batch_size)
        steps = self._steps(min(batch, len(examples.order)))
        if resume:
            architecture, state = self._architecture(), self._resume(steps)
        else:
            architecture = self._new_architecture(examples.X.shape[1])
            state = self._first_state(architecture, steps)
        return NetworkLearner(
            examples,
            architecture,
            state,
            self._criterion(examples),
            steps,
            threads=self._threads(),
            error_scale=self._error_scale(examples),
        )

    def _steps(self, batch: int) -> Steps:
        """μ = ν = alpha/batch unless given: scikit-learn divides its decay by the batch's size."""
        default = self.alpha if self.solver == "adamw" else self.alpha / batch
        mu = default if self.mu is None else self.mu
        nu = default if self.nu is None else self.nu
        if self.learning_rate_init * max(mu, nu) >= 1.0:
            raise ValueError(
                f"learning_rate_init={self.learning_rate_init:.6g} times the weight decay "
                f"{max(mu, nu):.6g} is 1 or more: every step would undo the weights; lower one "
                "of them"
            )
        return Steps(
            solver=self.solver,
            batch=batch,
            momentum=self.momentum,
            nesterov=self.nesterovs_momentum and self.momentum > 0,
            beta_1=self.beta_1,
            beta_2=self.beta_2,
            epsilon=self.epsilon,
            mu=mu,
            nu=nu,
        )

    def _first_state(self, architecture: Architecture, steps: Steps) -> NetworkState:
        random = np.random.RandomState(self._seed())
        parameters = architecture.start(random, self.dtype)
        first, second = self._no_moments(parameters, steps)
        scaling = Scaling.empty(self.scaling, int(architecture.units[0]))
        return NetworkState(parameters, first, second, 0, 0, scaling)

    @staticmethod
    def _no_moments(parameters: NDArray[Any], steps: Steps) -> tuple[NDArray[Any], NDArray[Any]]:
        first = np.zeros_like(parameters)
        return first, np.zeros_like(parameters) if steps.needs_second else first[:0].copy()

    def _resume(self, steps: Steps) -> NetworkState:
        """The last state; another solver begins with no moments."""
        saved = deepcopy(self._state)
        scaling = Scaling.from_dict(self.scaling, saved)
        parameters = self._parameters.copy()
        arrays, done = (saved["first"], saved["second"]), saved["steps"]
        if saved["solver"] != steps.solver:
            arrays, done = self._no_moments(parameters, steps), 0
        return NetworkState(parameters, *arrays, done, self.n_updates_, scaling)

    def _threads(self) -> int:
        return thread_count(self.n_jobs)

    def _rate(self) -> tuple[str, float, float, float]:
        return (self.learning_rate, self.learning_rate_init, 0.0, self.power_t)

    def _needed_epochs(self) -> float | None:
        decays = [self.alpha if decay is None else decay for decay in (self.mu, self.nu)]
        return 0.0 if any(decays) else None

    def _outputs(self, X: ArrayLike) -> FloatArray:
        """f(x), a row an example, in float64: what else is in X does not change a row's digits."""
        scaled = self.scaling is not None
        statistics = (self.feature_offset_, self.feature_scale_) if scaled else (None, None)
        return self._architecture().outputs(
            X,
            self._parameters.astype(np.float64),
            statistics,
            ThreadpoolController(),
            self._threads(),
        )

    def _conclude(self, learner: Learner, outcome: Outcome) -> None:
        super()._conclude(learner, outcome)
        self.loss_ = outcome.history[max(outcome.best_iter, 1) - 1]["criterion"]
