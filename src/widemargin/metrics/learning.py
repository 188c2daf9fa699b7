r"""The iterations of a gradient metric.

With the metric A, a machine f(Ax) is trained on some examples, and

.. math:: A \leftarrow G^p, \qquad G = \frac1n \sum_x \nabla_x f(Ax)\, \nabla_x f(Ax)^\top

takes its place (p is a power of the matrix, or of its diagonal). An input by which f hardly changes
gets a small scale: distances forget it, and the next machine finds its neighbours among examples
that agree in what matters. Only ratios in A matter, because γ is divided by the median distance.
"""

import warnings
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances
from sklearn.utils.extmath import row_norms

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.inputs.scaling import Scaling, filled_columns
from widemargin.inputs.unscaled import spreads
from widemargin.kernels import DISTANCE_KERNELS, UnscaledInputsWarning, distance_exponent
from widemargin.metrics.examples import Rows
from widemargin.metrics.gradients import mean_outer_product, of_classes
from widemargin.svm.machine import KernelMachine
from widemargin.training.control import Control
from widemargin.training.time_limit import now, share_of_time

__all__ = ["Metric", "MetricLearner", "Settings", "median_distance"]

SHARPNESS = (1.0, 2.0, 3.0)  # of which one is chosen, if it is not given
MEDIAN_ROWS = 800  # whose distances to each other give the median
GROWTH = 2.5  # of the number of rows, from one size to the next
FIRST_ROWS = 4000
# Of several sizes, the first has few iterations: more would drop what larger ones still need.
FIRST_ITERATIONS, LATER_ITERATIONS = 4, 5
WORSE = 1.01  # times the best loss: no progress
SETTLED = 0.02  # share of the metric that an iteration moves: it has converged
KEPT = 0.1  # times the smallest share: what iterations keep, since more rows may need it
LEAST_SHARE = 2e-4  # of the largest: an input that is kept changes squared distances as much
FIT_GROWTH = 1.8  # exponent of the time of a fit in its rows


@dataclass(frozen=True)
class Settings:
    """What the iterations need of the estimator's parameters."""

    full: bool
    power: float
    sharpness: tuple[float, ...]  # several: the best for the first size is chosen
    max_iter: int
    gradient_rows: int
    smallest: float  # share of the largest input below which an input is dropped

    @classmethod
    def of(cls, model: Any) -> "Settings":
        """Those of a `GradientMetric`."""
        full = model.structure == "full"
        return cls(
            full=full,
            power=float(model.metric_power or (0.25 if full else 0.5)),
            sharpness=SHARPNESS if model.sharpness == "auto" else (float(model.sharpness),),
            max_iter=int(model.max_iter),
            gradient_rows=int(model.gradient_rows),
            smallest=float(model.min_share),
        )


@dataclass(frozen=True, eq=False)
class Metric:
    """A linear map of the inputs: one factor per input, or a symmetric matrix."""

    map: FloatArray
    sharpness: float
    gamma: float = 1.0  # of the kernel in this metric
    loss: float = np.inf  # on the validation rows
    rows: int = 0  # that the machine was trained on

    @property
    def full(self) -> bool:
        return self.map.ndim == 2

    @property
    def kept(self) -> IntArray:
        """The inputs that it does not forget."""
        return np.flatnonzero(np.diagonal(self.map) if self.full else self.map)

    def apply(self, X: ArrayLike) -> ArrayLike:
        """The mapped inputs; of one factor per input, those that are kept."""
        if self.full:
            return np.asarray(X @ self.map)
        kept = self.kept
        factors, some = self.map[kept], X if len(kept) == X.shape[1] else X[:, kept]
        return (some @ sp.diags_array(factors)).tocsr() if sp.issparse(some) else some * factors


def median_distance(X: ArrayLike, kernel: str, random: np.random.RandomState) -> float:
    """The median distance of some examples, in the norm of the kernel.

    Kernels that are functions of products have the median of ‖x‖² instead.
    """
    some = X[random.permutation(X.shape[0])[:MEDIAN_ROWS]]
    if kernel not in DISTANCE_KERNELS:
        return float(np.median(row_norms(some, squared=True))) or 1.0
    norm = "manhattan" if DISTANCE_KERNELS[kernel] == 1 else "euclidean"
    distances = pairwise_distances(some, metric=norm)
    apart = distances[~np.tri(len(distances), dtype=bool)]
    if len(apart) and apart.min() == 0:
        apart = apart[apart > 0]
    return _median(apart) if len(apart) else 1.0


def _median(values: FloatArray) -> float:
    """As `numpy.median`, which takes twice the time to look for NaN as well."""
    middle = [(len(values) - 1) // 2, len(values) // 2]
    return float(np.partition(values, middle)[middle].mean())


@dataclass(eq=False)
class MetricLearner:
    """Learns a metric from training rows, whose prefixes are the subsets, and validation rows."""

    machine: KernelMachine  # a template; its kernel, C and ε
    train: Rows
    validation: Rows
    settings: Settings
    control: Control
    random: np.random.RandomState
    iteration: int = 0
    last: KernelMachine | None = None  # of the last iteration
    fit_seconds: float = 0.0  # that it took
    fit_rows: int = 0
    stop_reason: str = "tol"
    #: What an input adds to squared distances, where it is not zero.
    spread: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        X, every = self.train.X, np.arange(len(self.train))
        weights = self.train.weights
        variance = Scaling.measured("standard", X, weights=weights).variance
        self.spread = spreads(variance, filled_columns(X, every, weights), len(every))

    # ------------------------------------------------------------------------------- the search

    def learn(self) -> Metric:
        """The metric with the lowest loss of those that the largest subset tried."""
        width = self.train.X.shape[1]
        first = np.eye(width) if self.settings.full else np.ones(width)
        best = Metric(first, self.settings.sharpness[0])
        sizes = self._sizes()
        for size in sizes:
            if self._too_long(size):
                self.stop_reason = "time_limit"
                break
            few = FIRST_ITERATIONS if size == sizes[0] else LATER_ITERATIONS
            most = self.settings.max_iter
            found = self._iterate(best, size, most if len(sizes) == 1 else min(few, most))
            if found.rows:
                best = found
            if self.stop_reason in ("time_limit", "interrupted"):
                break
        return self._raised(self.without_small(best, self.settings.smallest))

    def _sizes(self) -> list[int]:
        """Growing numbers of rows; the last one is all."""
        most = len(self.train)
        # A matrix of d inputs has about d² numbers. From fewer rows it would be mostly noise, and
        # the machines that are trained in it would confirm the noise.
        squared = self.train.X.shape[1] ** 2 if self.settings.full else 0
        sizes, size = [], float(max(FIRST_ROWS, squared))
        while size * np.sqrt(GROWTH) < most:
            sizes.append(int(size))
            size = size * GROWTH
        return [*sizes, most]

    def _too_long(self, size: int) -> bool:
        """Whether two fits of this size would take more than the time that is left."""
        if not self.fit_rows:
            return False
        seconds = self.fit_seconds * (size / self.fit_rows) ** FIT_GROWTH
        return bool(2 * seconds > self.control.left)

    def _iterate(self, start: Metric, size: int, most: int) -> Metric:
        """Iterations on one subset, from this metric; the best of them."""
        rows, metric = self.train[:size], start
        best = Metric(start.map, start.sharpness)
        for _ in range(most):
            tried = self._sharpened(metric, rows) if not best.rows and not start.rows else None
            tried = tried or self._try(metric, rows)
            if tried is None:
                break
            fitted, loss = tried.machine, tried.metric.loss
            if loss < best.loss:
                best = tried.metric
            if self._stopped(fitted) or loss > WORSE * best.loss:
                break
            updated = self._update(tried.metric, fitted, rows)
            if not updated.map.any():  # no input changes f, so there is nothing to learn from
                break
            if _moved(metric, updated, self.spread) < SETTLED:
                break
            metric = updated
        return best

    def _sharpened(self, metric: Metric, rows: Rows) -> "_Trial | None":
        """The best of several γ, for the first machine."""
        best = None
        for sharpness in self.settings.sharpness:
            trial = self._try(Metric(metric.map, sharpness), rows)
            if trial is None or (best is not None and trial.metric.loss > best.metric.loss):
                break
            best = trial
            if self._stopped(trial.machine):
                break
        return best

    def _stopped(self, machine: KernelMachine) -> bool:
        reason = self.control.reason() or machine.stop_reason_
        if reason in ("interrupted", "time_limit"):
            self.stop_reason = reason
            return True
        return False

    # ----------------------------------------------------------------------------- one iteration

    def _try(self, metric: Metric, rows: Rows) -> "_Trial | None":
        """Trains a machine in this metric and measures it; None if there is no time for it."""
        if self.control.reason() is not None:
            self.stop_reason = str(self.control.reason())
            return None
        begun, mapped = now(), metric.apply(rows.X)
        distance = median_distance(mapped, str(self.machine.kernel), self.random)
        power = 1.0  # of ‖x‖², in kernels of products
        if self.machine.kernel in DISTANCE_KERNELS:
            power = distance_exponent(self.machine.kernel, self.machine.exponent)
        gamma = metric.sharpness / distance**power
        machine = self._begun(rows)
        machine.set_params(gamma=gamma)
        with (
            share_of_time(self.control.left if self.control.limited else None),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore", UnscaledInputsWarning)  # scales differ on purpose
            warnings.simplefilter("ignore", ConvergenceWarning)  # the metric reports its own end
            machine.fit(mapped, rows.y, rows.weights)
        loss, error = self._loss(machine, metric)
        self.fit_seconds, self.fit_rows, self.last = now() - begun, len(rows), machine
        tried = Metric(metric.map, metric.sharpness, gamma, loss, len(rows))
        self._note(tried, machine, error)
        return _Trial(tried, machine)

    def _begun(self, rows: Rows) -> KernelMachine:
        """The machine of the last iteration, which the next one resumes, or a new one."""
        if self.last is None:
            fresh: KernelMachine = clone(self.machine)
            return fresh
        machine = copy(self.last)
        machine.grow(len(rows))
        return machine

    def _loss(self, machine: Any, metric: Metric) -> tuple[float, float]:
        """How wrong the machine is on the validation rows, and its error there.

        Classes: the mean of (1 − z f)/2, clipped to [0, 1], over the binary machines at examples
        of their classes. It falls with the error, but is smoother. Otherwise the mean squared
        error, of standardised values.
        """
        held_out = self.validation
        outputs = machine._outputs(metric.apply(held_out.X))
        weights = np.ones(len(held_out)) if held_out.weights is None else held_out.weights
        if not hasattr(machine, "classes_"):
            squared = float(np.average((outputs[:, 0] - held_out.y) ** 2, weights=weights))
            return squared, squared
        error = float(np.average(machine._decide(outputs) != held_out.y, weights=weights))
        losses = total = 0.0
        for column, (classes, positive) in zip(outputs.T, _sides(machine), strict=True):
            known = of_classes(held_out.y, machine.classes_[list(classes)])
            z = np.where(held_out.y == machine.classes_[positive], 1.0, -1.0)
            ramp = np.clip(0.5 - 0.5 * z * column, 0.0, 1.0)
            losses += float(weights[known] @ ramp[known])
            total += float(weights[known].sum())
        return losses / total if total else error, error

    def _update(self, metric: Metric, machine: KernelMachine, rows: Rows) -> Metric:
        """The next metric: G^p, in the units of the inputs before the map."""
        settings = self.settings
        chosen = self.random.permutation(len(rows))[: settings.gradient_rows]
        some, kept = rows[chosen], metric.kept
        classes = getattr(machine, "classes_", None)
        codes = some.y if classes is None else np.searchsorted(classes, some.y)
        G = mean_outer_product(
            machine, metric.apply(some.X), codes, some.weights, full=settings.full
        )
        if settings.full:
            G = metric.map @ G @ metric.map
            G /= max(np.trace(G), np.finfo(float).tiny)
            values, vectors = np.linalg.eigh(G)
            return Metric(
                (vectors * np.maximum(values, 0.0) ** settings.power) @ vectors.T, metric.sharpness
            )
        squares = np.zeros(len(metric.map))
        squares[kept] = G * metric.map[kept] ** 2
        squares /= squares.max() if squares.max() > 0 else 1.0
        factors = squares**settings.power
        return self.without_small(Metric(factors, metric.sharpness), KEPT * settings.smallest)

    def without_small(self, metric: Metric, share: float) -> Metric:
        """The metric without the inputs that hardly change a squared distance."""
        if metric.full:
            return metric
        shares = metric.map**2 * self.spread
        kept = shares >= share * shares.max(initial=0.0)
        return replace(metric, map=np.where(kept, metric.map, 0.0)) if shares.any() else metric

    def _raised(self, metric: Metric) -> Metric:
        """The metric in which every share that is kept is at least `LEAST_SHARE`."""
        if metric.full or not metric.map.any():
            return metric
        shares = metric.map**2 * self.spread
        least = LEAST_SHARE * shares.max()
        small = (shares > 0.0) & (shares < least)
        factors = metric.map.copy()
        factors[small] *= np.sqrt(least / shares[small])
        return replace(metric, map=factors)

    def _note(self, metric: Metric, machine: KernelMachine, error: float) -> None:
        record = {
            "iteration": self.iteration,
            "rows": metric.rows,
            "loss": metric.loss,
            "error": error,
            "sharpness": metric.sharpness,
            "inputs": len(metric.kept),
            "support_vectors": len(machine.support_),
            "seconds": self.control.seconds(),
        }
        self.iteration += 1
        self.control.note(record, _line)


@dataclass(frozen=True, eq=False)
class _Trial:
    """A metric that was tried, and the machine that was trained in it."""

    metric: Metric
    machine: KernelMachine


def _sides(machine: Any) -> Iterator[tuple[tuple[int, ...], int]]:
    """Of each output, the classes it separates and the one for which it is positive."""
    count = len(machine.classes_)
    if count == 2:
        yield (0, 1), 1
    else:
        yield from (((i, j), i) for i, j in machine._pairs)


def _moved(before: Metric, after: Metric, spread: FloatArray) -> float:
    """The share of a squared distance that comes from other inputs than before."""
    if before.full:
        a, b = (m.map @ m.map / np.trace(m.map @ m.map) for m in (before, after))
        return float(np.linalg.norm(a - b) / np.linalg.norm(a))
    a, b = (m.map**2 * spread / max(np.sum(m.map**2 * spread), 1e-300) for m in (before, after))
    return float(np.abs(a - b).sum() / 2)


def _line(record: dict[str, float]) -> str:
    return (
        f"iteration {record['iteration']}: {record['rows']:,} rows, {record['inputs']} inputs, "
        f"loss {record['loss']:.4f}, error {record['error']:.4f}, {record['seconds']:.1f} s"
    )
