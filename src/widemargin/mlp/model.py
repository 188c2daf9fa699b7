"""The base of multi-layer perceptrons: parameters, layers, resuming, predictions."""

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
from widemargin.inputs.labels import MeanWeight
from widemargin.inputs.scaling import SCALING_CONSTRAINT, Scaling
from widemargin.inputs.threads import thread_count
from widemargin.mlp.network import (
    Architecture,
    Mixed,
    NetworkLearner,
    NetworkState,
    Steps,
)
from widemargin.training.estimators import Examples, IterativeModel
from widemargin.training.loop import Learner, Outcome

AUTO_BATCH = 200
TRANSFERS = ("identity", "logistic", "sigmoid", "tanh", "slanted_tanh", "hard_tanh", "relu")

_POSITIVE = Interval(Real, 0, None, closed="neither")
_BELOW_ONE = Interval(Real, 0, 1, closed="left")

#: Of every learner of a network.
Arguments = tuple[
    Examples, Architecture, NetworkState, Criterion | Mixed, Steps, int, FloatArray | None
]

NETWORK_CONSTRAINTS: dict[str, Any] = {
    "hidden_layer_sizes": ["array-like", Interval(Integral, 1, None, closed="left")],
    "activation": [StrOptions(set(TRANSFERS))],
    "solver": [StrOptions({"sgd", "adam", "adamw"})],
    "batch_size": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
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
        """Factors of the squared errors of each target, for a regression."""
        return None

    @abstractmethod
    def _decays(self, batch: float) -> tuple[float, float]:
        """ν and μ of (8.10), the decays of hidden and output layers, for a batch of this weight."""

    # --------------------------------------------------------------------------- attributes

    @property
    def coefs_(self) -> list[NDArray[Any]]:
        """Weights of each layer, of shape (units below, units); the first for scaled inputs."""
        return [W for W, _ in self._architecture().layers(self._parameters)]

    @property
    def intercepts_(self) -> list[NDArray[Any]]:
        """Biases of each layer."""
        return [b for _, b in self._architecture().layers(self._parameters)]

    @property
    def n_layers_(self) -> int:
        """Number of layers, including inputs and outputs."""
        return len(self._units)

    # ----------------------------------------------------------------------------- helpers

    def _architecture(self) -> Architecture:
        return Architecture(self._units, self._transfer)

    def _new_architecture(self, inputs: int) -> Architecture:
        sizes = np.atleast_1d(np.asarray(self.hidden_layer_sizes))
        if sizes.ndim != 1 or (sizes.size and (sizes.dtype.kind not in "iu" or sizes.min() < 1)):
            raise ValueError(
                f"hidden_layer_sizes={self.hidden_layer_sizes!r} must hold the number of units of "
                "each hidden layer, 1 or more, for example (100,) or (512, 512)"
            )
        units = np.array([inputs, *sizes, self._n_network_outputs()], dtype=np.int64)
        transfer = "sigmoid" if self.activation == "logistic" else self.activation
        return Architecture(units, transfer)

    def _stochastic_learner(self, examples: Examples, *, resume: bool) -> NetworkLearner:
        return NetworkLearner(*self._learner_arguments(examples, self._steps(examples), resume))

    def _learner_arguments(self, examples: Examples, steps: Steps, resume: bool) -> Arguments:
        if resume:
            architecture, state = self._architecture(), self._resume(steps)
        else:
            architecture = self._new_architecture(examples.X.shape[1])
            state = self._first_state(architecture, steps)
        criterion, error_scale = self._criterion(examples), self._error_scale(examples)
        return examples, architecture, state, criterion, steps, self._threads(), error_scale

    def _steps(self, examples: Examples) -> Steps:
        """Of a stochastic solver."""
        automatic = self.batch_size == "auto"
        batch = self._auto_batch(examples) if automatic else int(self.batch_size)
        batch = min(batch, len(examples.order))
        weights, order = examples.weights, examples.order
        mean_weight = 1.0 if weights is None else float(weights[order].mean())
        hidden, output = self._decays(batch * mean_weight)
        rate, decay = self._rate()[1], max(hidden, output)
        if rate * decay >= 1.0:
            raise ValueError(
                f"the learning rate {rate:.6g} times the weight decay {decay:.6g} of a step is 1 "
                "or more: each step would cancel the weights; lower one of them"
            )
        return Steps(
            solver=self.solver,
            batch=batch,
            momentum=self.momentum,
            nesterov=self.nesterovs_momentum and self.momentum > 0,
            beta_1=self.beta_1,
            beta_2=self.beta_2,
            epsilon=self.epsilon,
            mu=output,
            nu=hidden,
        )

    def _auto_batch(self, examples: Examples) -> int:
        """Examples per step of ``batch_size="auto"``."""
        return AUTO_BATCH

    def _first_state(self, architecture: Architecture, steps: Steps) -> NetworkState:
        random = np.random.RandomState(self._seed())
        parameters = architecture.start(random, self.dtype)
        first, second = self._no_moments(parameters, steps)
        scaling = Scaling.empty(self.scaling, int(architecture.units[0]))
        return NetworkState(parameters, first, second, 0, 0, scaling)

    @staticmethod
    def _no_moments(parameters: NDArray[Any], steps: Steps) -> tuple[NDArray[Any], NDArray[Any]]:
        moments = (steps.needs_first, steps.needs_second)
        first, second = (
            np.zeros_like(parameters if needed else parameters[:0]) for needed in moments
        )
        return first, second

    def _resume(self, steps: Steps) -> NetworkState:
        """The last state; another solver begins with no moments."""
        saved = deepcopy(self._state)
        scaling = Scaling.from_dict(self.scaling, saved)
        parameters = self._parameters.copy()
        arrays, done = (saved["first"], saved["second"]), saved["steps"]
        if saved["solver"] != steps.solver:
            arrays, done = self._no_moments(parameters, steps), 0
        mean_weight = MeanWeight(**saved.get("mean_weight", {}))
        return NetworkState(parameters, *arrays, done, self.n_updates_, scaling, mean_weight)

    def _threads(self) -> int:
        return thread_count(self.n_jobs)

    def _needed_epochs(self) -> float | None:
        return 0.0 if any(self._decays(1.0)) else None

    def _outputs(self, X: ArrayLike) -> FloatArray:
        """f(x), one row per example, in float64: a row's digits do not depend on the other rows."""
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
