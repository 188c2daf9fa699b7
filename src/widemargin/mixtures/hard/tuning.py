"""Choosing the parameters of a hard mixture by its validation error.

Each expert of a trained mixture sees a small region of the data. So its parameters are tried on
regions: a few balls with as many examples as an expert will have, and the validation examples
in them. Experts that are not given get their γ in this way in every fit, with C fixed: no formula
from the variances or distances of the inputs comes near the best γ on all kinds of tables, and a
C of 10 is near the best one if γ is right.

With `tune`, kernel machines follow a path of C from one solution to the next (`svm_path`). Then
gaters of several sizes are tried in the whole mixture, for the first two iterations, which matter
most.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.multioutput import MultiOutputRegressor
from sklearn.utils.parallel import delayed

from widemargin._typing import ArrayLike, FloatArray
from widemargin.inputs.gamma import resolve_gamma
from widemargin.inputs.threads import thread_count
from widemargin.kernels import DISTANCE_KERNELS
from widemargin.mixtures.gaters.gater import Gater
from widemargin.mixtures.gaters.gaussian import GaussianGater
from widemargin.mixtures.gaters.mlp import MLPGater
from widemargin.mixtures.hard.experts import ConstantExpert, expert_outputs, in_parallel
from widemargin.mixtures.hard.learner import MixtureLearner, MixtureSettings, OutOfTime
from widemargin.mixtures.hard.targets import Targets
from widemargin.svm.machine import KernelMachine
from widemargin.svm.path import svm_path
from widemargin.training.control import interrupt_flag
from widemargin.training.model import Examples
from widemargin.training.time_limit import current_limit, fixed_shares, now, share_of_time

__all__ = [
    "DEFAULT_C",
    "GAMMA_SHARE",
    "ParameterSearch",
    "Region",
    "Trial",
    "candidates",
    "expert_with_gamma",
    "find_regions",
    "gater_candidates",
    "is_tunable",
]

DEFAULT_C = 10.0  # of experts that are not given, in units of the targets' spread
MAX_REGIONS = 8
C_FACTORS = (0.1, 1.0, 10.0)  # times C of the default expert
GAMMA_FACTORS = 4.0 ** np.arange(-1, 6)  # times γ = "scale"
# the search of γ alone
GAMMA_SHARE = 0.1  # of a time limit
ROWS_FOR_GAMMA = 1000  # of a region
HELD_OUT = 4
FINE_FACTORS = 2.0 ** np.arange(-2, 11)  # times γ = "scale"
FIRST_FACTOR = 4  # where it starts in these
GAMMA_STEPS = (2, -2, 1, -1)  # from there, as long as the errors fall
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


def expert_with_gamma(
    settings: MixtureSettings, examples: Examples, targets: Targets, seconds: float
) -> Any:
    """The expert of the settings with a γ that suits regions of the data, found in these seconds.

    Of the examples, one in `HELD_OUT` compares the candidates, which are trained on the others.
    """
    order = examples.order
    compared = np.arange(len(order)) % HELD_OUT == HELD_OUT - 1
    rows, others = order[compared], order[~compared]
    examples = replace(examples, order=others, X_val=examples.X[rows], y_val=examples.y[rows])
    regions = find_regions(examples, targets, ROWS_FOR_GAMMA, platt=settings.platt)
    search, scale = ParameterSearch(settings.n_jobs), resolve_gamma("scale", examples.X)
    with share_of_time(seconds):
        return search.best_gamma(settings.expert, regions, scale, settings.classes)


def find_regions(examples: Examples, targets: Targets, rows: int, *, platt: bool) -> list[Region]:
    """Balls around some examples, each with `rows` training examples, as an expert has.

    Examples of a dense part of the data are centres more often. Experts with Platt's sigmoid are
    compared by their margins.
    """
    X, X_val, order, labels = examples.X, examples.X_val, examples.order, targets.labels
    assert X_val is not None
    assert examples.y_val is not None
    if not X_val.shape[0]:
        return []
    kind = "margin" if platt else targets.output_kind
    targets_val = replace(targets, output_kind=kind, y=examples.y_val)
    random = np.random.RandomState(len(order) % 2**32)
    centres = X[np.sort(random.choice(order, min(MAX_REGIONS, len(order)), replace=False))]
    distances = euclidean_distances(X, centres, squared=True)[order]
    distances_val = euclidean_distances(X_val, centres, squared=True)
    found: list[Region] = []
    for near, near_val in zip(distances.T, distances_val.T, strict=True):
        nearest = np.argsort(near, kind="stable")[:rows]
        own_val = np.flatnonzero(near_val <= near[nearest[-1]])[:rows]
        own = np.sort(order[nearest])
        if len(own_val):
            weights = None if examples.weights is None else examples.weights[own]
            measured = targets_val.take(own_val)
            found.append(Region(X[own], labels[own], weights, X_val[own_val], measured))
    return found


@dataclass
class ParameterSearch:
    """A search that stops at its time limit, with the best candidates so far."""

    n_jobs: int | None
    trials: list[Trial] = field(default_factory=list)

    def best_expert(
        self,
        template: Any,
        regions: list[Region],
        gammas: Sequence[Any],
        Cs: Sequence[float],
        classes: ArrayLike,
    ) -> Any:
        """The kernel machine with the fewest errors on all regions, of all pairs of γ and C."""
        best, least = template, np.inf
        for gamma in self._until_deadline(gammas if regions else ()):
            for trial in self._try_gamma(template, regions, gamma, Cs, classes):
                if trial.validation_error < least:
                    best, least = _with(template, trial), trial.validation_error
        return best

    def best_gamma(
        self, template: Any, regions: list[Region], gamma_scale: float, classes: ArrayLike
    ) -> Any:
        """The kernel machine with a γ that has fewer errors than its neighbours."""
        gammas, place = gamma_scale * FINE_FACTORS, FIRST_FACTOR
        found: dict[int, Trial] = {}

        def places() -> Iterator[int]:
            nonlocal place
            yield place
            for step in GAMMA_STEPS:
                while 0 <= (near := place + step) < len(gammas) and near not in found:
                    yield near
                    if found[near].validation_error >= found[place].validation_error:
                        break
                    place = near

        for near in self._until_deadline(places() if regions else ()):
            trials = self._try_gamma(template, regions, gammas[near], (template.C,), classes)
            found[near] = trials[0]
        return _with(template, found[place]) if found else template

    def _try_gamma(
        self,
        template: Any,
        regions: list[Region],
        gamma: Any,
        Cs: Sequence[float],
        classes: ArrayLike,
    ) -> list[Trial]:
        """Trials of one γ with each C."""
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
        seconds = (now() - start) / len(Cs)
        gamma = gamma if isinstance(gamma, str) else float(gamma)
        trials = [
            Trial("expert", {"C": float(C), "gamma": gamma}, float(error), seconds)
            for C, error in zip(Cs, errors, strict=True)
        ]
        self.trials += trials
        return trials

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


def candidates(
    template: Any, X: ArrayLike, *, default: bool
) -> tuple[Sequence[Any], Sequence[float]]:
    """Values of γ and C to try: of what the user left open, or of the `default` expert both.

    The values of γ are those of the same distances for every kernel exp(−γ dᵠ).
    """
    plain = type(template)().get_params()
    Cs: Sequence[float] = (template.C,)
    if default or plain["C"] == template.C:
        Cs = [factor * (template.C if default else DEFAULT_C) for factor in C_FACTORS]
    kernel = template.kernel
    if not (isinstance(kernel, str) and kernel in DISTANCE_KERNELS):
        return [template.gamma], Cs
    if template.gamma != plain["gamma"]:
        return [template.gamma], Cs
    exponent = 2.0 if kernel == "rbf" else float(template.exponent)
    scale = resolve_gamma("scale", X, kernel=kernel, exponent=exponent)
    return list(scale * GAMMA_FACTORS ** (exponent / 2)), Cs


def _with(template: Any, trial: Trial) -> Any:
    return clone(template).set_params(**trial.parameters)


def _path_errors(
    machine: Any, region: Region, Cs: Sequence[float], classes: ArrayLike, seconds: float
) -> FloatArray:
    """Errors on the validation examples of a region, for each C, within its time."""
    if classes is not None and len(np.unique(region.labels)) == 1:
        models = [ConstantExpert().fit(region.X, region.labels)]
    elif np.ndim(region.labels) == 2:  # several targets, a machine for each
        machines = [MultiOutputRegressor(clone(machine).set_params(C=C)) for C in Cs]
        with share_of_time(seconds):
            models = [several.fit(region.X, region.labels, region.weights) for several in machines]
    else:
        options = {"estimator": machine, "sample_weight": region.weights}
        with share_of_time(seconds):
            models = list(svm_path(region.X, region.labels, Cs, **options).models)
    errors = region.errors(models, classes)
    return np.append(errors, np.repeat(errors[-1], len(Cs) - len(errors)))  # if interrupted
