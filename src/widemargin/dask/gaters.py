"""Training gaters on a cluster: by densities per expert, by gradient over blocks, on one worker."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin._typing import IntArray
from widemargin.dask import tasks
from widemargin.dask.cluster import Cluster
from widemargin.inputs.scaling import Scaling
from widemargin.mixtures.gaters.gater import Gater
from widemargin.mixtures.gaters.gaussian import GaussianGater
from widemargin.mixtures.gaters.mlp import MLPGater
from widemargin.mixtures.gaters.mlp_passes import (
    EpochSpan,
    GaterCopy,
    averaged,
    finished,
    initialized,
)
from widemargin.mixtures.gaters.uniform import UniformGater

__all__ = ["GaterTrainer", "IterationFutures", "gater_trainer"]

ROWS_PER_COPY = 100_000  # at least, that train one copy of a gater in an epoch
MAX_COPIES = 64


@dataclass(frozen=True)
class IterationFutures:
    """What a gater is trained on in one iteration; lists have one future per block."""

    blocks: list[Any]
    outputs: list[Any]
    partition: list[Any]
    rows: IntArray  # how many examples of each block have outputs


class GaterTrainer:
    """Trains a gater that needs its examples at once, on one worker."""

    def __init__(
        self,
        cluster: Cluster,
        statistics: Scaling,
        n_experts: int,
        *,
        criterion: str,
        seed: int,
    ) -> None:
        self.cluster, self.statistics, self.n_experts = cluster, statistics, n_experts
        self.criterion, self.seed = criterion, seed

    @staticmethod
    def check(gater: Gater) -> None:
        """Raises an error if a parameter of the gater would have no effect."""

    def subset_tasks(self, gater: Gater, pieces: Sequence[list[Any]]) -> list[Any]:
        """Futures that need the examples of one expert each, from the `pieces` of its subset."""
        return []

    def fit(self, gater: Gater, data: IterationFutures, subset_results: list[Any]) -> Gater:
        """The trained gater."""
        sent = self.cluster.send(gater)
        examples = data.blocks, data.outputs, data.partition
        future = self.cluster.submit(tasks.fit_gater, sent, self.criterion, *examples)
        return self.cluster.gather([future])[0]  # type: ignore[no-any-return]


class UniformTrainer(GaterTrainer):
    """A uniform gater needs only the numbers of experts and inputs."""

    def fit(self, gater: Gater, data: IterationFutures, subset_results: list[Any]) -> Gater:
        last = np.array([self.n_experts - 1])
        return gater.copy().fit(self.statistics.mean[None], partition=last)


class DensityTrainer(GaterTrainer):
    """The densities of a `GaussianGater` are trained where the subsets of their experts are."""

    def subset_tasks(self, gater: Gater, pieces: Sequence[list[Any]]) -> list[Any]:
        assert isinstance(gater, GaussianGater)
        if not hasattr(gater, "means_"):
            gater._keep_scaling(self.statistics)
        seeds, sent = gater._seeds(self.n_experts).tolist(), self.cluster.send(gater)
        return [
            self.cluster.submit(tasks.fit_density, sent, seeds[k], k, own)
            for k, own in enumerate(pieces)
        ]

    def fit(self, gater: Gater, data: IterationFutures, subset_results: list[Any]) -> Gater:
        assert isinstance(gater, GaussianGater)
        new = gater.copy()
        new.n_features_in_ = len(self.statistics.mean)
        weights = np.array([weight for _, weight in subset_results])
        return new._keep([density for density, _ in subset_results], weights / weights.sum())


class GradientTrainer(GaterTrainer):
    """Copies of an `MLPGater` pass over blocks of their own; an epoch starts from their mean.

    The number of copies, and the blocks that each visits in which order, follow from the data and
    the seed, not from the workers.
    """

    @staticmethod
    def check(gater: Gater) -> None:
        for name in ("tol", "time_limit"):
            if (value := getattr(gater, name)) is not None:
                raise ValueError(
                    f"{name}={value!r} of the gater would have no effect on a cluster, where all "
                    f"epochs are scheduled at once; set {name}=None, and lower max_iter instead"
                )

    def fit(self, gater: Gater, data: IterationFutures, subset_results: list[Any]) -> Gater:
        assert isinstance(gater, MLPGater)
        gater, cluster = initialized(gater, self.n_experts, self.statistics), self.cluster
        rows = data.rows
        n_copies = min(len(rows), MAX_COPIES, max(1, int(rows.sum()) // ROWS_PER_COPY))
        current = cluster.send(GaterCopy(gater))
        for epoch in range(gater.max_iter):
            seed = [self.seed, gater._epochs_done + epoch]
            order = np.random.RandomState(seed).permutation(len(rows))
            copies = []
            for own in (order[first::n_copies] for first in range(n_copies)):
                copy, done = current, 0
                for b in own:
                    span = EpochSpan(epoch, done, int(rows[own].sum()))
                    examples = data.blocks[b], data.outputs[b]
                    copy = cluster.submit(tasks.pass_over, copy, *examples, self.criterion, span)
                    done += int(rows[b])
                copies.append(copy)
            current = cluster.submit(averaged, copies)
        return finished(cluster.gather([current])[0], gater.max_iter)


_TRAINERS: dict[type, type[GaterTrainer]] = {
    UniformGater: UniformTrainer,
    GaussianGater: DensityTrainer,
    MLPGater: GradientTrainer,
}


def gater_trainer(gater: Gater) -> type[GaterTrainer]:
    """How to train a gater of this class on a cluster."""
    if gater.divides:
        raise ValueError(
            f"{type(gater).__name__} divides examples that are in one place; on a cluster use "
            "gater='local' with first_partition='kmeans'"
        )
    return next((_TRAINERS[cls] for cls in type(gater).__mro__ if cls in _TRAINERS), GaterTrainer)
