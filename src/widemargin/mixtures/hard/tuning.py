"""Choosing the parameters of a hard mixture by its validation error.

Each expert of a trained mixture sees a small region of the data. So its parameters are tried on
regions: a few clusters with as many examples as an expert will have, and the validation examples
near them. Kernel machines follow a path of C from one solution to the next (`svm_path`). Then
gaters of several sizes are tried in the whole mixture, for the first two iterations, which matter
most.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.cluster import MiniBatchKMeans
from sklearn.utils.parallel import delayed

from widemargin._typing import ArrayLike, FloatArray
from widemargin.inputs.threads import thread_count
from widemargin.mixtures.gaters.gater import Gater
from widemargin.mixtures.gaters.gaussian import GaussianGater
from widemargin.mixtures.gaters.mlp import MLPGater
from widemargin.mixtures.hard.experts import ConstantExpert, expert_outputs, in_parallel
from widemargin.mixtures.hard.learner import MixtureLearner, OutOfTime
from widemargin.mixtures.hard.targets import Targets
from widemargin.svm.machine import KernelMachine
from widemargin.svm.path import svm_path
from widemargin.training.control import interrupt_flag
from widemargin.training.model import Examples
from widemargin.training.time_limit import current_limit, fixed_shares, now, share_of_time

__all__ = ["ParameterSearch", "Trial", "find_regions", "gater_candidates", "is_tunable"]

MAX_REGIONS = 8
C_GRID = (1.0, 10.0, 100.0)
GAMMA_FACTORS = 4.0 ** np.arange(-1, 6)  # times γ = "scale"
GATER_SIZES = {"mlp": (50, 150, 500), "local": (5, 10, 20)}
ITERATIONS_PER_GATER = 2


def gater_candidates(name: str) -> list[Gater]:
    """Gaters of several sizes; none for kinds of gaters without a size."""
    kinds: dict[str, Callable[[int], Gater]] = {
        "mlp": lambda n: MLPGater((n,)),
        "local": GaussianGater,
    }
    return [kinds[name](size) for size in GATER_SIZES.get(name, ())]


def is_tunable(expert: Any) -> bool:
    """Whether an expert is a kernel machine with a path of C."""
    return isinstance(expert, KernelMachine) and "C" in expert.get_params(deep=False)


@dataclass(frozen=True)
class Trial:
    """Parameters that were tried, with their error on validation examples."""

    part: str  # "expert" or "gater"
    parameters: dict[str, Any]
    validation_error: float
    seconds: float


@dataclass(frozen=True)
class Region:
    """Training and validation examples that are close together."""

    X: ArrayLike
    labels: ArrayLike
    weights: FloatArray | None
    X_val: ArrayLike
    targets: Targets  # of the validation examples

    def errors(self, models: Sequence[Any], classes: ArrayLike) -> FloatArray:
        """The sum of the validation errors of each model."""

        def total(model: Any) -> float:
            outputs = expert_outputs(model, self.X_val, self.targets.output_kind, classes)
            return float(self.targets.criterion_and_errors(outputs)[1].sum())

        return np.array([total(model) for model in models])


def find_regions(
    examples: Examples, labels: ArrayLike, targets_val: Targets, rows: int
) -> list[Region]:
    """Some of the clusters of k-means, with about `rows` examples each, as an expert has."""
    X, X_val, order = examples.X, examples.X_val, examples.order
    assert X_val is not None
    clusters = max(1, round(len(order) / rows))
    random = np.random.RandomState(clusters)
    means = MiniBatchKMeans(clusters, n_init=1, random_state=random).fit(X[order])
    near, near_val = means.predict(X[order]), means.predict(X_val)
    found: list[Region] = []
    for k in random.permutation(clusters):
        own, own_val = order[near == k], np.flatnonzero(near_val == k)
        if len(own) > rows:
            own = np.sort(random.choice(own, rows, replace=False))
        if len(own) and len(own_val) and len(found) < MAX_REGIONS:
            weights = None if examples.weights is None else examples.weights[own]
            targets = targets_val.take(own_val)
            found.append(Region(X[own], labels[own], weights, X_val[own_val], targets))
    return found


@dataclass
class ParameterSearch:
    """A search that stops at its time limit, with the best candidates so far."""

    n_jobs: int | None
    trials: list[Trial] = field(default_factory=list)

    def best_expert(
        self, template: Any, regions: list[Region], gamma_scale: float, classes: ArrayLike
    ) -> Any:
        """The kernel machine with the fewest errors on all regions.

        C and γ are chosen where the user left them at their defaults, γ as a multiple of
        `gamma_scale`.
        """
        if not regions:
            return template
        defaults = type(template)().get_params()
        free = {n for n in ("C", "gamma") if n in defaults and getattr(template, n) == defaults[n]}
        Cs = C_GRID if "C" in free else (template.C,)
        rbf = "gamma" in free and template.kernel == "rbf"
        best, least = template, np.inf
        for gamma in self._until_deadline(gamma_scale * GAMMA_FACTORS if rbf else [template.gamma]):
            start = now()
            machine = clone(template).set_params(gamma=gamma, n_jobs=1)
            sizes = [float(len(region.labels)) for region in regions]
            shares = fixed_shares(sizes, current_limit().left, thread_count(self.n_jobs))
            calls = (
                delayed(_path_errors)(machine, region, Cs, classes, seconds)
                for region, seconds in zip(regions, shares, strict=True)
            )
            errors = np.sum(in_parallel(calls, self.n_jobs), axis=0)
            errors /= sum(len(region.targets.y) for region in regions)
            for C, error in zip(Cs, errors, strict=True):
                chosen = {"C": float(C), "gamma": gamma if isinstance(gamma, str) else float(gamma)}
                seconds = (now() - start) / len(Cs)
                self.trials.append(Trial("expert", chosen, float(error), seconds))
                if error < least:
                    best, least = clone(template).set_params(**chosen), error
        return best

    def best_gater(
        self, candidates: list[Gater], learner: Callable[[Gater], MixtureLearner]
    ) -> Gater:
        """The gater whose mixture has the lowest validation error after a few iterations."""
        best, least = candidates[0], np.inf
        for gater in self._until_deadline(candidates):
            start, mixture = now(), learner(gater)
            for _ in range(ITERATIONS_PER_GATER):
                with suppress(OutOfTime):
                    mixture.visit(mixture.order, 1.0)
            validation = mixture.validate()
            assert validation is not None
            seconds = now() - start
            self.trials.append(Trial("gater", {"gater": repr(gater)}, validation[1], seconds))
            if validation[1] < least:
                best, least = gater, validation[1]
        return best

    def _until_deadline(self, candidates: Any) -> Iterator[Any]:
        """The first candidate in any case, then others as long as they are likely to finish."""
        longest, limit = 0.0, current_limit()
        with interrupt_flag() as interrupted:
            for number, candidate in enumerate(candidates):
                begun = now()
                if number and (interrupted.is_set() or longest > limit.left):
                    return
                yield candidate
                longest = max(longest, now() - begun)


def _path_errors(
    machine: Any, region: Region, Cs: Sequence[float], classes: ArrayLike, seconds: float
) -> FloatArray:
    """Errors on the validation examples of a region, for each C, within its time."""
    if classes is not None and len(np.unique(region.labels)) == 1:
        models = [ConstantExpert().fit(region.X, region.labels)]
    else:
        options = {"estimator": machine, "sample_weight": region.weights}
        with share_of_time(seconds):
            models = list(svm_path(region.X, region.labels, Cs, **options).models)
    errors = region.errors(models, classes)
    return np.append(errors, np.repeat(errors[-1], len(Cs) - len(errors)))  # if interrupted
