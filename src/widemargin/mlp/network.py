r"""Networks as arrays, and the learner that trains them by stochastic gradient.

Parameters are one array, W⁰, b⁰, W¹, b¹, …, in the working precision. The first layer is for
scaled inputs :math:`\hat x = (x - m)/s`. When more examples change m and s, the first layer changes
so that the network computes what it did before. The loops are in ``cpp/widemargin/mlp``.
"""

from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from widemargin import _core
from widemargin._runtime.blas import gemm_address, one_blas_thread
from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.criteria import Criterion
from widemargin.inputs.labels import MeanWeight
from widemargin.inputs.rows import as_rows
from widemargin.inputs.scaling import Scaling
from widemargin.training.loop import Tally
from widemargin.training.model import Examples
from widemargin.training.outputs import evaluate

OPERATIONS_PER_CALL = 1_000_000_000  # multiplications per call of the core, about 30 ms
OPERATIONS_PER_UPDATE = 8  # multiplications per update of one parameter
OPERATIONS_PER_EXPERT_OUTPUT = 8  # multiplications to mix one output of an expert
OPERATIONS_PER_THREAD = 2_000_000  # multiplications that make another thread worthwhile
MIN_BATCH_TO_SLICE = 64  # examples; products of fewer are slow in slices
EXAMPLES_PER_SLICE = 128  # if there are more than two slices
MAX_SLICES = 8  # of the work on a batch


@dataclass
class Architecture:
    """Units of each layer, from inputs to outputs, and the transfer function of hidden units."""

    units: IntArray
    transfer: str

    @property
    def n_weights(self) -> int:
        return int(np.sum(self.units[:-1] * self.units[1:]))

    @property
    def n_parameters(self) -> int:
        return self.n_weights + int(self.units[1:].sum())

    def layers(self, parameters: ArrayLike) -> list[tuple[ArrayLike, ArrayLike]]:
        """Views of W and b, one pair per layer."""
        found, first = [], 0
        for inputs, outputs in zip(self.units[:-1], self.units[1:], strict=True):
            middle, end = first + inputs * outputs, first + (inputs + 1) * outputs
            found.append(
                (parameters[first:middle].reshape(inputs, outputs), parameters[middle:end])
            )
            first = end
        return found

    def start(self, random: np.random.RandomState, dtype: ArrayLike) -> NDArray[Any]:
        """Uniform first weights and biases (Glorot and Bengio, 2010), as in scikit-learn."""
        parameters = np.empty(self.n_parameters)
        factor = 2.0 if self.transfer == "sigmoid" else 6.0
        for W, b in self.layers(parameters):
            bound = np.sqrt(factor / (W.shape[0] + W.shape[1]))
            W[...] = random.uniform(-bound, bound, W.shape)
            b[...] = random.uniform(-bound, bound, b.shape)
        return parameters.astype(dtype)

    def outputs(
        self,
        X: ArrayLike,
        parameters: NDArray[Any],
        statistics: tuple[FloatArray | None, FloatArray | None],
        controller: ThreadpoolController,
        threads: int,
    ) -> FloatArray:
        """f(x), one row per example."""
        out = np.empty((X.shape[0], int(self.units[-1])))
        useful_threads = self.n_weights * X.shape[0] // OPERATIONS_PER_THREAD
        with one_blas_thread(controller):
            _core.network_outputs(
                as_rows(X),
                parameters,
                units=self.units,
                transfer=self.transfer,
                gemm=gemm_address(wide=parameters.dtype == np.float64),
                mean=statistics[0],
                scale=statistics[1],
                out=out,
                threads=max(1, min(threads, useful_threads)),
            )
        return out


@dataclass
class NetworkState:
    """What training changes: parameters, moments of the solver, statistics of the inputs."""

    parameters: NDArray[Any]
    first: NDArray[Any]
    second: NDArray[Any]
    steps: int
    updates: int
    scaling: Scaling
    mean_weight: MeanWeight = field(default_factory=MeanWeight)

    def copy(self) -> "NetworkState":
        arrays = (self.parameters.copy(), self.first.copy(), self.second.copy())
        mean_weight = replace(self.mean_weight)
        return NetworkState(*arrays, self.steps, self.updates, self.scaling, mean_weight)


@dataclass(frozen=True)
class Steps:
    """How a solver turns gradients into steps, with the core's names; mu is the output decay."""

    solver: str
    batch: int
    momentum: float = 0.0
    nesterov: bool = False
    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-8
    mu: float = 0.0
    nu: float = 0.0
    dropout: float = 0.0
    seed: int = 0  # of dropout

    @property
    def needs_first(self) -> bool:
        """Whether the solver keeps a first moment, or momentum."""
        return self.solver != "lbfgs"

    @property
    def needs_second(self) -> bool:
        """Whether the solver keeps a second moment."""
        return self.solver in ("adam", "adamw")


@dataclass(frozen=True)
class Mixed:
    """The criterion of a mixture of K experts, whose gater is the network.

    Targets y have C columns, one per output of the experts. `widemargin.reference.hard_mixture`
    states the criteria.
    """

    name: str  # tanh_mse, mse, likelihood
    experts: NDArray[np.float32]  # outputs of the experts, L × K × C, in C order
    parameter: float = 0.0


class TrainedNetwork:
    """A network in training: what all solvers share of `widemargin.training.loop.Learner`.

    For a regression, `error_scale` holds 1/(K · variance) of each of the K targets.
    """

    def __init__(
        self,
        examples: Examples,
        architecture: Architecture,
        state: NetworkState,
        criterion: Criterion | Mixed,
        steps: Steps,
        threads: int,
        error_scale: FloatArray | None = None,
    ) -> None:
        self.examples, self.architecture, self.state = examples, architecture, state
        self.criterion, self.steps, self.threads = criterion, steps, threads
        self.error_scale = error_scale
        self.order = examples.order
        self.rows = as_rows(examples.X)
        self.controller = ThreadpoolController()
        self.experts = criterion.experts if isinstance(criterion, Mixed) else None
        labels = error_scale is None and self.experts is None
        self.codes = labels and bool(architecture.units[-1] > 1)
        self.y = np.ascontiguousarray(examples.y.reshape(len(examples.y), -1))
        first = architecture.layers(state.parameters)[0]
        state.scaling.update(examples.X, self.order, examples.weights, [first])
        state.mean_weight.add(self.order, examples.weights)
        self.weights = state.mean_weight.relative(len(examples.y), examples.weights)

    @property
    def operations_per_example(self) -> int:
        """Multiplications of a forward and a backward pass."""
        mixed = 0 if self.experts is None else OPERATIONS_PER_EXPERT_OUTPUT * self.experts[:1].size
        return 3 * self.architecture.n_weights + mixed

    @property
    def operations_per_update(self) -> int:
        """Multiplications of an update of all parameters."""
        return OPERATIONS_PER_UPDATE * self.architecture.n_parameters

    def _slices(self, batch: int) -> int:
        """Into how many slices the work on a batch is divided, for threads: a power of two.

        The slices determine the rounding. So their number depends on the batch and the network,
        never on the number of threads.
        """
        if batch < MIN_BATCH_TO_SLICE:
            return 1
        operations = self.operations_per_example * batch + self.operations_per_update
        by_size = min(max(2, batch // EXAMPLES_PER_SLICE), MAX_SLICES)
        useful = max(1, min(operations // OPERATIONS_PER_THREAD, by_size))
        return 1 << (int(useful).bit_length() - 1)

    def _pass(self, order: IntArray, state: NetworkState, steps: Steps, rate: float) -> Tally:
        """One step per batch of these examples, from and to `state`; sums of relative weights."""
        slices = self._slices(steps.batch)
        mean, scale = state.scaling.core_arguments
        with one_blas_thread(self.controller):
            return Tally(
                *_core.network_pass(
                    self.rows,
                    state.parameters,
                    state.first,
                    state.second,
                    units=self.architecture.units,
                    transfer=self.architecture.transfer,
                    gemm=gemm_address(wide=state.parameters.dtype == np.float64),
                    mean=mean,
                    scale=scale,
                    order=order,
                    batch=steps.batch,
                    y=self.y,
                    codes=self.codes,
                    weights=self.weights,
                    error_scale=self.error_scale,
                    experts=self.experts,
                    criterion=self.criterion.name,
                    parameter=self.criterion.parameter,
                    solver=steps.solver,
                    rate=rate,
                    momentum=steps.momentum,
                    nesterov=steps.nesterov,
                    beta_1=steps.beta_1,
                    beta_2=steps.beta_2,
                    epsilon=steps.epsilon,
                    mu=steps.mu,
                    nu=steps.nu,
                    dropout=steps.dropout,
                    seed=steps.seed,
                    steps=state.steps,
                    slices=slices,
                    threads=min(self.threads, slices),
                )
            )

    def scores(self, X: ArrayLike) -> FloatArray:
        return self.architecture.outputs(
            X,
            self.state.parameters,
            self.state.scaling.core_arguments,
            self.controller,
            self.threads,
        )

    def validate(self) -> tuple[float, float] | None:
        X, y, weights = self.examples.X_val, self.examples.y_val, self.examples.weights_val
        if X is None or y is None or isinstance(self.criterion, Mixed):
            return None
        return evaluate(
            self.scores(X), y, weights, self.criterion, joint=True, error_scale=self.error_scale
        )

    def geometric_margin(self) -> float | None:
        """2β/‖w‖ in the space of the last hidden layer (Theorem 8.4), for the margin criterion."""
        if self.criterion.name != "margin":
            return None
        W = self.architecture.layers(self.state.parameters)[-1][0]
        norm = np.linalg.norm(W.astype(np.float64), axis=0).max()
        return float(2.0 * self.criterion.parameter / norm) if norm > 0 else float("inf")

    def measures(self, criterion: float) -> dict[str, float]:
        """The objective J of (8.10), for solvers whose weight decay is part of it."""
        if self.steps.solver == "adamw" or not (self.steps.mu or self.steps.nu):
            return {}
        *hidden, (last, _) = self.architecture.layers(self.state.parameters.astype(np.float64))
        squares = sum(float(np.sum(W**2)) for W, _ in hidden)
        decayed = self.steps.mu * float(np.sum(last**2)) + self.steps.nu * squares
        return {"objective": criterion + 0.5 * decayed}

    def snapshot(self) -> NetworkState:
        return self.state.copy()

    def restore(self, state: NetworkState) -> None:
        self.state = state.copy()

    def attributes(self) -> dict[str, Any]:
        state = self.state
        return {
            "n_updates_": state.updates,
            "feature_offset_": state.scaling.offset.copy(),
            "feature_scale_": state.scaling.scale,
            "_units": self.architecture.units.copy(),
            "_transfer": self.architecture.transfer,
            "_parameters": state.parameters.copy(),
            "_state": {
                "first": state.first.copy(),
                "second": state.second.copy(),
                "steps": state.steps,
                "solver": self.steps.solver,
                "mean_weight": asdict(state.mean_weight),
                **state.scaling.to_dict(),
            },
        }


class NetworkLearner(TrainedNetwork):
    """Trains a network by stochastic gradient; see `widemargin.training.loop.Learner`."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        batch = self.steps.batch
        operations = self.operations_per_example * batch + self.operations_per_update
        self.rows_per_call = batch * max(1, int(OPERATIONS_PER_CALL / operations))

    def visit(self, order: IntArray, rate: float) -> Tally:
        state, steps = self.state, self.steps
        updates, *sums = self._pass(order, state, steps, rate)
        tally = Tally(updates, *(value * state.mean_weight.value for value in sums))
        state.steps += -(-len(order) // steps.batch)
        state.updates += updates
        return tally
