"""Hot loops over plain arrays: what cpp/bindings exports.

Every array is C-contiguous. Those that a call fills or trains in place (`w`, `b`, `out`, …) must
have exactly the type given; others are converted when their type differs.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias, final, overload

import numpy as np
from numpy.typing import NDArray

from widemargin._typing import FloatArray, IntArray

_Sums: TypeAlias = tuple[int, float, float, float]  # updates, criterion, errors, weight

isa: str  # the instruction set of the loops in use: WIDEMARGIN_ISA, or the best of this CPU
openmp: bool

@final
class Rows:
    """Examples in NumPy's memory, which they keep alive."""

    @property
    def shape(self) -> tuple[int, int]: ...
    @overload
    @staticmethod
    def dense(x: NDArray[np.float32]) -> Rows: ...
    @overload
    @staticmethod
    def dense(x: FloatArray) -> Rows: ...
    @overload
    @staticmethod
    def sparse(
        values: NDArray[np.float32], columns: NDArray[np.int32], starts: IntArray, width: int
    ) -> Rows: ...
    @overload
    @staticmethod
    def sparse(
        values: FloatArray, columns: NDArray[np.int32], starts: IntArray, width: int
    ) -> Rows: ...
    @staticmethod
    def packed(
        rows: Rows,
        y: FloatArray,
        weights: FloatArray | None,
        mean: FloatArray | None,
        scale: FloatArray | None,
        places: NDArray[np.int32],
        dense_inputs: int,
        lines: NDArray[np.int32],
        bytes: NDArray[np.uint8],
    ) -> Rows: ...
    def packed_bytes(self, places: NDArray[np.int32], dense_inputs: int) -> int: ...

def stochastic_gradient(
    rows: Rows,
    w: FloatArray,
    b: FloatArray,
    *,
    sum_w: FloatArray | None,
    sum_b: FloatArray | None,
    steps: float,
    mean: FloatArray | None,
    scale: FloatArray | None,
    order: IntArray,
    y: FloatArray,
    weights: FloatArray | None,
    one_against_rest: bool,
    criterion: str,
    parameter: float,
    rate: float,
    slowing: float,
    mu: float,
    fit_intercept: bool,
    threads: int,
) -> _Sums: ...
def decision(rows: Rows, w: FloatArray, b: FloatArray, out: FloatArray, threads: int) -> None: ...
def moments(
    rows: Rows,
    order: IntArray,
    weights: FloatArray | None,
    mean: FloatArray,
    variance: FloatArray,
) -> None: ...
def kernel_perceptron(
    tile: FloatArray,
    f: FloatArray,
    b: FloatArray,
    step: FloatArray,
    *,
    y: FloatArray,
    weights: FloatArray | None,
    one_against_rest: bool,
    criterion: str,
    parameter: float,
    rate: float,
    bias_rate: float,
    mu: float,
    slowing: float,
    shrunk: FloatArray | None,
) -> _Sums: ...
def criterion(
    name: str,
    parameter: float,
    y: FloatArray,
    f: FloatArray,
    value: FloatArray,
    derivative: FloatArray,
) -> None: ...
@overload
def interleave(columns: Sequence[NDArray[np.float32]], out: NDArray[np.float32]) -> bool: ...
@overload
def interleave(columns: Sequence[FloatArray], out: FloatArray) -> bool: ...  # all are finite
def shuffle(order: IntArray, seed: int, epoch: int) -> None: ...
@overload
def network_pass(
    rows: Rows,
    parameters: NDArray[np.float32],
    first: NDArray[np.float32],
    second: NDArray[np.float32],
    *,
    units: IntArray,
    transfer: str,
    gemm: int,
    mean: FloatArray | None,
    scale: FloatArray | None,
    order: IntArray,
    batch: int,
    y: FloatArray,
    codes: bool,
    weights: FloatArray | None,
    error_scale: FloatArray | None,
    experts: NDArray[np.float32] | None,
    criterion: str,
    parameter: float,
    solver: str,
    rate: float,
    momentum: float,
    nesterov: bool,
    beta_1: float,
    beta_2: float,
    epsilon: float,
    mu: float,
    nu: float,
    dropout: float,
    seed: int,
    steps: int,
    slices: int,
    threads: int,
) -> _Sums: ...
@overload
def network_pass(
    rows: Rows,
    parameters: FloatArray,
    first: FloatArray,
    second: FloatArray,
    *,
    units: IntArray,
    transfer: str,
    gemm: int,
    mean: FloatArray | None,
    scale: FloatArray | None,
    order: IntArray,
    batch: int,
    y: FloatArray,
    codes: bool,
    weights: FloatArray | None,
    error_scale: FloatArray | None,
    experts: NDArray[np.float32] | None,
    criterion: str,
    parameter: float,
    solver: str,
    rate: float,
    momentum: float,
    nesterov: bool,
    beta_1: float,
    beta_2: float,
    epsilon: float,
    mu: float,
    nu: float,
    dropout: float,
    seed: int,
    steps: int,
    slices: int,
    threads: int,
) -> _Sums: ...
@overload
def network_outputs(
    rows: Rows,
    parameters: NDArray[np.float32],
    *,
    units: IntArray,
    transfer: str,
    gemm: int,
    mean: FloatArray | None,
    scale: FloatArray | None,
    out: FloatArray,
    threads: int,
) -> None: ...
@overload
def network_outputs(
    rows: Rows,
    parameters: FloatArray,
    *,
    units: IntArray,
    transfer: str,
    gemm: int,
    mean: FloatArray | None,
    scale: FloatArray | None,
    out: FloatArray,
    threads: int,
) -> None: ...
def cpu_features() -> list[str]: ...

@final
class KernelExamples:
    """Examples in blocks, prepared for one kernel."""

    @property
    def double_precision(self) -> bool: ...
    @property
    def layout(self) -> dict[str, int]: ...
    @property
    def cost(self) -> float: ...
    @property
    def matrix_bytes(self) -> int: ...
    def take(self, ids: IntArray) -> KernelExamples: ...

@final
class MatrixExamples:
    """Some examples of a kernel matrix."""

    @property
    def double_precision(self) -> bool: ...
    @property
    def layout(self) -> dict[str, int]: ...

@final
class KernelMatrix:
    """The kernel matrix of all examples of a fit."""

    def __init__(self, examples: KernelExamples) -> None: ...
    def compute(self, seconds: float, threads: int) -> bool: ...
    def take(self, ids: IntArray) -> MatrixExamples: ...

def pack_examples(
    kernel: str,
    gamma: float,
    coef0: float,
    degree: int,
    exponent: float,
    double_precision: bool | None,
    sets: list[tuple[Rows, IntArray]],
    centre: FloatArray | None,
) -> list[KernelExamples]: ...
def expand(
    rows: KernelExamples, coef: FloatArray, x: KernelExamples, out: FloatArray, threads: int
) -> None: ...
def kernel_gradients(
    kernel: str,
    gamma: float,
    coef0: float,
    degree: int,
    exponent: float,
    rows: FloatArray,
    coef: FloatArray,
    points: FloatArray,
    out: FloatArray,
    threads: int,
) -> None: ...

@final
class SolverMemory:
    """The large arrays of a solver, for the next one."""

@final
class Decomposition:
    """The decomposition algorithm and its state, for one problem."""

    def __init__(
        self,
        kernel: Any,
        *,
        diagonal: FloatArray | None,
        beta: FloatArray,
        lo: FloatArray,
        hi: FloatArray,
        s: FloatArray,
        group: NDArray[np.uint8] | None,
        working_set: int,
        shrinking: str,
        patience: int,
        threshold: float,
        tol: float,
        cache_bytes: int,
        max_steps: int,
        threads: int,
        memory: SolverMemory | None,
    ) -> None: ...
    def release(self) -> SolverMemory: ...
    def run(self, seconds: float) -> dict[str, Any]: ...
    def measure(self, seconds: float) -> dict[str, Any]: ...
    def change_bounds(self, t: float, lo: FloatArray, hi: FloatArray) -> None: ...
    def correct(self, f: FloatArray, tol: float) -> None: ...
    def state(self, beta: FloatArray, f: FloatArray) -> None: ...

@final
class DualProgress:
    """The progress of epochs of dual coordinate descent, which a call may leave anywhere."""

    def __init__(
        self, examples: int, seed: int, intercept: float, free: bool, sum: float
    ) -> None: ...
    @property
    def epoch(self) -> int: ...  # completed epochs
    @property
    def visits(self) -> int: ...
    def reached(self, epochs: int, enough: int) -> bool: ...

def dual_epochs(
    rows: Rows,
    w: FloatArray,
    b: FloatArray,
    variables: FloatArray,
    progress: DualProgress,
    sums: FloatArray,
    *,
    mean: FloatArray | None,
    scale: FloatArray | None,
    epsilon: float,
    relaxation: float,
    epochs: int,
    enough: int,
    visits: int,
) -> int: ...  # visits; stops after `epochs`, or after an epoch with `enough` visits
def losses(
    f: FloatArray,
    d: FloatArray,
    t: float,
    *,
    target: FloatArray,
    c: FloatArray,
    epsilon: float,
    labels: bool,
    squared: bool,
) -> tuple[float, float]: ...
def crammer_singer(
    rows: Rows,
    w: FloatArray,
    b: FloatArray,
    sums: FloatArray,
    beta: FloatArray,
    y: NDArray[np.int32],
    c: FloatArray,
    norms: FloatArray,
    order: IntArray,
    *,
    mean: FloatArray | None,
    scale: FloatArray | None,
    intercept: float,
    patience: float,
) -> tuple[int, int, float]: ...
def combine(rows: Rows, coef: FloatArray, out: FloatArray, threads: int) -> None: ...
def squared_norms(
    rows: Rows, mean: FloatArray | None, scale: FloatArray | None, out: FloatArray
) -> None: ...

units_per_panel: int

def train_committees(
    rows: Rows,
    v: NDArray[np.float32],
    alive: NDArray[np.float32],
    b: FloatArray,
    *,
    mean: FloatArray | None,
    scale: FloatArray | None,
    order: IntArray,
    y: FloatArray,
    weights: FloatArray | None,
    units: str,
    targets: str,
    margin: float,
    rate: float,
    fit_intercept: bool,
    dropout: float,
    seed: int,
    threads: int,
) -> tuple[int, float, float, float, int, int]: ...
def committee_scores(
    rows: Rows,
    v: NDArray[np.float32],
    alive: NDArray[np.float32],
    b: FloatArray,
    *,
    mean: FloatArray | None,
    scale: FloatArray | None,
    units: str,
    out: FloatArray,
    threads: int,
) -> None: ...
def assign_experts(scores: FloatArray, room: IntArray, partition: IntArray) -> int: ...
