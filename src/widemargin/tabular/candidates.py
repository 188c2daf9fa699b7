r"""Candidates: what a search for a table's best machine may try.

A candidate is a form of the inputs, a metric learnt in that form or none, and a machine. γ of a
kernel is given relative to the table: ``sharpness`` is :math:`\gamma\, m^q`, where m is the median
distance of two rows and q the power of the distance in the kernel. C is that of the machine, for
targets that are classes or standardised values.
"""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from widemargin.kernels import DISTANCE_KERNELS, distance_exponent
from widemargin.linear_svm import LinearSVC, LinearSVR
from widemargin.mixtures import HardMixtureClassifier, HardMixtureRegressor
from widemargin.mlp import MLPClassifier, MLPRegressor, SimpleMLPClassifier
from widemargin.svm import SVC, SVR

__all__ = ["Candidate"]

TOLERANCE = 1e-2  # of the machines: the errors are those of an exact solution
CACHE_MEGABYTES = 2000
STEPS_PER_ROW, LEAST_STEPS = 200, 100_000  # a smooth kernel with a large C would take many more
EXACT_ROWS = 120_000  # that one exact machine has at most
MIXTURE_ROWS = 10_000  # per expert of a mixture
# Exponents of the time of an exact fit in its rows, up to LARGE_ROWS and beyond. Small fits spend
# much of it on what grows slowly: packing, the iterations of a metric on its first rows.
SMALL_GROWTH, LARGE_GROWTH, LARGE_ROWS = 1.4, 1.8, 20_000
SHARPNESS_STEP, C_STEP, EPSILON_STEP = 2.0, 4.0, 4.0  # between neighbours
NETWORKS = 3  # of the same kind, at most
DEEP_LAYERS, DEEP_DROPOUT, DEEP_RATE = (256, 256, 256), 0.1, 2e-3
DEEP_VISITS, DEEP_EPOCHS = 1_000_000, (10, 40)  # examples visited, but so many epochs
LIMITS = {"sharpness": (1 / 32, 32.0), "C": (1e-3, 1e3), "epsilon": (1e-4, 0.5)}


@dataclass(frozen=True)
class Candidate:
    """One machine with its inputs."""

    family: str = "kernel"  # or "linear", "mlp", "deep_mlp", "simple_mlp", "mixture"
    form: str = "robust"
    metric: str = "none"  # or "diagonal", "full"
    kernel: str = "exponential"
    exponent: float = 1.0
    sharpness: float = 1.0
    C: float = 10.0
    epsilon: float = 0.05  # of a regression, in standard deviations of the target
    seed: int = 0  # added to that of the search: other first weights of a network

    @property
    def kernelised(self) -> bool:
        return self.family in ("kernel", "mixture")

    @property
    def is_network(self) -> bool:
        return self.family in ("mlp", "deep_mlp", "simple_mlp")

    def of_size(self, rows: int) -> "Candidate":
        """The same for a number of rows: kernel machines of large tables are mixtures."""
        large = self.family == "kernel" and rows > EXACT_ROWS
        return replace(self, family="mixture") if large else self

    def growth(self, before: int, rows: int) -> float:
        """How much longer a fit takes on more rows than on the rows before."""
        if self.family == "mixture" and before <= EXACT_ROWS:  # it was one exact machine
            return _exact_growth(before, MIXTURE_ROWS) * rows / MIXTURE_ROWS
        return _exact_growth(before, rows) if self.family == "kernel" else rows / before

    def predict_growth(self, before: int, rows: int) -> float:
        """How much longer a prediction takes after a fit on more rows than on the rows before."""
        return rows / before if self.family == "kernel" else 1.0

    @property
    def arm(self) -> tuple[str | float, ...]:
        """What it shares with its neighbours."""
        kernel = (self.kernel, self.exponent) if self.kernelised else ()
        return (self.family, self.form, self.metric, *kernel)

    def neighbours(self, *, regression: bool) -> Iterator["Candidate"]:
        """Candidates that differ in one number.

        Networks have no number to improve. But the mean of several is better than one.
        """
        if self.is_network:
            others = (seed for seed in range(NETWORKS) if seed != self.seed)
            yield from (replace(self, seed=seed) for seed in others)
        steps = []
        if self.kernelised:
            steps += [("sharpness", 1 / SHARPNESS_STEP), ("sharpness", SHARPNESS_STEP)]
        if self.kernelised or self.family == "linear":
            steps += [("C", C_STEP), ("C", 1 / C_STEP)]
            if regression:
                steps += [("epsilon", 1 / EPSILON_STEP), ("epsilon", EPSILON_STEP)]
        for name, factor in steps:
            value, (low, high) = getattr(self, name) * factor, LIMITS[name]
            if low <= value <= high:
                yield replace(self, **{name: value})

    def settings(self, *, regression: bool) -> dict[str, Any]:
        """Its fields; None or NaN for those that its machine does not have."""
        absent: dict[str, Any] = {}
        if not self.kernelised:
            absent |= {"kernel": None, "exponent": math.nan, "sharpness": math.nan}
        if self.is_network:
            absent |= {"C": math.nan}
        if self.is_network or not regression:
            absent |= {"epsilon": math.nan}
        return asdict(self) | absent

    def gamma(self, median: float) -> float:
        """γ of the kernel, where the median distance of two rows is this."""
        power = distance_exponent(self.kernel, self.exponent)
        return float(self.sharpness / median**power)

    def machine(
        self, median: float, rows: int, *, regression: bool, n_jobs: int | None, random_state: int
    ) -> Any:
        """The unfitted machine, for inputs with this median distance and number of rows."""
        random_state += self.seed
        if self.family in ("mlp", "deep_mlp"):
            model = MLPRegressor if regression else MLPClassifier
            options = _deep_network(rows) if self.family == "deep_mlp" else {}
            return model(**options, n_jobs=n_jobs, random_state=random_state)
        if self.family == "simple_mlp":
            return SimpleMLPClassifier(n_jobs=n_jobs, random_state=random_state)
        if self.family == "linear":
            if regression:
                return LinearSVR(
                    C=self.C, epsilon=self.epsilon, n_jobs=n_jobs, random_state=random_state
                )
            return LinearSVC(C=self.C, n_jobs=n_jobs, random_state=random_state)
        machine = self._kernel_machine(median, rows, regression=regression, n_jobs=n_jobs)
        if self.family == "kernel":
            return machine
        mixture = HardMixtureRegressor if regression else HardMixtureClassifier
        return mixture(
            machine,
            "cells",
            n_experts=max(2, round(rows / MIXTURE_ROWS)),
            scaling=None,
            n_jobs=n_jobs,
            random_state=random_state,
        )

    def _kernel_machine(
        self, median: float, rows: int, *, regression: bool, n_jobs: int | None
    ) -> Any:
        options: dict[str, Any] = {
            "kernel": self.kernel,
            "gamma": self.gamma(median),
            "C": self.C,
            "tol": TOLERANCE,
            "max_iter": max(LEAST_STEPS, STEPS_PER_ROW * rows),
            "cache_size": CACHE_MEGABYTES,
            "n_jobs": n_jobs,
        }
        if self.kernel in DISTANCE_KERNELS and self.kernel != "rbf":
            options["exponent"] = self.exponent
        if regression:
            return SVR(epsilon=self.epsilon, **options)
        return SVC(decision_function_shape="ovo", **options)

    def __str__(self) -> str:
        parts = [{"mixture": "mixture of "}.get(self.family, "")]
        if self.kernelised:
            power = "" if self.exponent == 1.0 or self.kernel == "rbf" else f"^{self.exponent:g}"
            parts += [self.kernel, power, f" kernel, sharpness {self.sharpness:.3g}"]
        else:
            parts += [self.family.replace("_", " ")]
        if self.kernelised or self.family == "linear":
            parts += [f", C {self.C:.3g}"]
        if self.seed:
            parts += [f", seed {self.seed}"]
        if self.epsilon != Candidate.epsilon:
            parts += [f", ε {self.epsilon:.3g}"]
        metric = "" if self.metric == "none" else f", {self.metric} metric"
        return "".join([*parts, f"; {self.form} inputs{metric}"])


def _exact_growth(before: int, rows: int) -> float:
    """How much longer an exact fit takes on more rows; less than 1 on fewer."""
    small = min(rows, LARGE_ROWS) / min(before, LARGE_ROWS)
    large = max(rows, LARGE_ROWS) / max(before, LARGE_ROWS)
    return float(small**SMALL_GROWTH * large**LARGE_GROWTH)


def _deep_network(rows: int) -> dict[str, Any]:
    """Options of a network with three layers and dropout, which is trained for a few epochs."""
    return {
        "hidden_layer_sizes": DEEP_LAYERS,
        "solver": "adamw",
        "batch_size": min(max(rows // 50, 32), 256, rows),
        "learning_rate": "one_cycle",
        "learning_rate_init": DEEP_RATE,
        "max_iter": min(max(DEEP_VISITS // rows, DEEP_EPOCHS[0]), DEEP_EPOCHS[1]),
        "tol": None,
        "dropout": DEEP_DROPOUT,
    }
