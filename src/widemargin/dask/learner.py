"""The loop of hard mixtures (Algorithms 6.1 and 6.2) where blocks of examples are on workers.

The client holds what is small: experts, gater, how many examples each expert wants and has. Every
iteration begins with tasks that carry these values, so that Dask can repeat any task of it, and
nothing of earlier iterations, when a worker is lost.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin._typing import FloatArray, IntArray
from widemargin.dask import tasks
from widemargin.dask.cluster import Cluster, ClusterLost
from widemargin.inputs.scaling import Scaling
from widemargin.mixtures.gaters.gater import Gater, UniformGater
from widemargin.mixtures.gaters.gaussian import GaussianGater
from widemargin.mixtures.gaters.mlp import MLPGater
from widemargin.mixtures.gaters.mlp_passes import Copy, Span, averaged, begin, finish
from widemargin.mixtures.hard.example_block import noise_of
from widemargin.mixtures.hard.experts import Experts
from widemargin.mixtures.hard.learner import Setting
from widemargin.mixtures.hard.partition import capacity, shared_room
from widemargin.mixtures.hard.targets import Goal
from widemargin.training.loop import Tally

__all__ = ["ClusterLearner", "ClusterState"]

ROWS_PER_COPY = 100_000  # that train one copy of a gater in an epoch, at the least
MOST_COPIES = 64
SOON = 10  # priority: a block that was split is forgotten once its pieces are taken


@dataclass
class ClusterState:
    """What training changes; of the partition, how many examples each expert has."""

    experts: list[Any]
    gater: Gater
    counts: IntArray
    iteration: int = 0


class ClusterLearner:
    """Trains a `ClusterState`; see `widemargin.training.loop.Learner`."""

    def __init__(
        self,
        cluster: Cluster,
        blocks: list[Any],
        sizes: Sequence[int],
        gater: Gater,
        n_experts: int,
        goal: Goal,
        setting: Setting,
        moments: Scaling,
        *,
        validated: bool = False,
    ) -> None:
        self.cluster, self.blocks, self.sizes = cluster, blocks, np.asarray(sizes)
        self.goal, self.setting, self.moments = goal, setting, moments
        self.n_experts, self.validated = n_experts, validated
        self.rows_per_call = int(self.sizes.sum())
        self.order: Any = range(self.rows_per_call)  # an array may be too large for the client
        self.state = ClusterState([None] * n_experts, gater, np.zeros(n_experts, dtype=np.int64))
        self.experts = cluster.send(self._experts(self.state.experts))
        self.facts: dict[str, float] = {}
        self.validation: tuple[float, float] | None = None
        self.lost: ClusterLost | None = None
        self.numbers = list(range(len(blocks)))
        firsts = np.cumsum(self.sizes) - self.sizes
        self.partition = cluster.map(
            "first-partition",
            tasks.first_partition,
            blocks,
            firsts.tolist(),
            self.numbers,
            n_experts=n_experts,
            seed=setting.seed,
        )

    # ------------------------------------------------------------------------- one iteration

    def visit(self, order: IntArray, rate: float) -> Tally:
        try:
            return self._iteration()
        except ClusterLost as error:
            self.lost = error
            raise

    def _iteration(self) -> Tally:
        cluster, setting, former = self.cluster, self.setting, self.state
        self.facts = {}
        with self._timed("experts"):
            members, densities = self._train()
        experts = cluster.send(self._experts(members))
        with self._timed("outputs"):
            heard = self._listen(experts)
            cluster.wait(heard)
        with self._timed("gater"):
            gater = self._gater(heard, densities)
        with self._timed("assignment"):
            noise = self._noise(heard, gater)
            sent = cluster.send(gater)
            joint = cluster.map("joint", tasks.joint, self.blocks, gater=sent)
            following = self._assign(gater, joint, heard, noise)
            measured = cluster.gather(
                cluster.map(
                    "measure",
                    tasks.measure,
                    *(self.blocks, heard, joint, self.partition, following),
                    experts=experts,
                    noise=noise,
                    tolerance=setting.tolerance,
                )
            )
        tally, counts = Tally(0, 0.0, 0.0, 0.0), np.zeros(self.n_experts, dtype=np.int64)
        for part, facts, own in measured:
            tally, counts = tally + part, counts + own
            for name, value in facts.items():
                self.facts[name] = self.facts.get(name, 0.0) + value
        self.validation = self._validate(sent, experts)
        self.partition, self.experts = following, experts  # from here on the iteration counts
        self.state = ClusterState(members, gater, counts, former.iteration + 1)
        return tally

    @contextmanager
    def _timed(self, phase: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.facts[f"{phase}_seconds"] = time.perf_counter() - start

    def _experts(self, members: list[Any]) -> Experts:
        goal, classes = self.goal, self.setting.classes
        return Experts(members, goal.kind, classes, goal.n_columns, n_jobs=1)

    def _train(self) -> tuple[list[Any], list[Any] | None]:
        """Step 2: the shuffle, then every expert on its subset, with its density if it has one."""
        cluster, setting, gater = self.cluster, self.setting, self.state.gater
        numbers = range(self.n_experts)
        parts = cluster.map(
            "split", tasks.split, self.blocks, self.partition, n_experts=self.n_experts
        )
        pieces = [cluster.map("piece", tasks.piece, parts, k=k, priority=SOON) for k in numbers]
        del parts
        seeds = setting.expert_seeds(self.n_experts).tolist()
        sent, former = cluster.send(setting), self.experts
        found = [cluster.submit(tasks.train, sent, seeds[k], k, former, pieces[k]) for k in numbers]
        densities = []
        if isinstance(gater, GaussianGater):
            if self.state.iteration == 0:
                gater._measure(self.moments)
            seeds, sent = gater._seeds(self.n_experts).tolist(), cluster.send(gater)
            densities = [
                cluster.submit(tasks.density, sent, seeds[k], k, pieces[k]) for k in numbers
            ]
        del pieces
        results = cluster.gather(found + densities)
        return results[: self.n_experts], results[self.n_experts :] or None

    def _listen(self, experts: Any) -> list[Any]:
        """What experts say of examples: of all, or of those that train a global gater."""
        return self.cluster.map(
            "listen",
            tasks.listen,
            self.blocks,
            self.numbers,
            seed=(self.setting.seed + self.state.iteration) % 2**32,
            part=self._part(),
            experts=experts,
        )

    def _part(self) -> float | None:
        """The part of the examples that trains a global gater; None: all."""
        most = self.setting.gater_rows
        if most is None or self.setting.listens_to_all(self.state.gater):
            return None
        return None if most >= self.rows_per_call else most / self.rows_per_call

    # ------------------------------------------------------------------------------- step 3

    def _gater(self, heard: list[Any], densities: list[Any] | None) -> Gater:
        gater, cluster = self.state.gater, self.cluster
        if isinstance(gater, GaussianGater) and densities is not None:
            new = gater.successor()
            new.n_features_in_ = len(self.moments.mean)
            weights = np.array([weight for _, weight in densities])
            return new._take([found for found, _ in densities], weights / weights.sum())
        if isinstance(gater, UniformGater):
            row, last = self.moments.mean[None], np.array([self.n_experts - 1])
            return UniformGater().fit(row, partition=last)  # type: ignore[no-any-return]
        if isinstance(gater, MLPGater):
            return self._passes(begin(gater, self.n_experts, self.moments), heard)
        places = self.blocks, heard, self.partition
        future = cluster.submit(
            tasks.fit_elsewhere, cluster.send(gater), self.setting.criterion, *places
        )
        return cluster.gather([future])[0]  # type: ignore[no-any-return]

    def _passes(self, gater: MLPGater, heard: list[Any]) -> MLPGater:
        """Copies of the gater go over blocks of their own; their mean begins the next epoch.

        How many copies there are, and which blocks they see in which order, follows from the
        data and the seed, not from the workers.
        """
        cluster, criterion = self.cluster, self.setting.criterion
        rows = tasks.rows_heard(self.sizes, self._part())
        copies = min(len(rows), MOST_COPIES, max(1, int(rows.sum()) // ROWS_PER_COPY))
        current = cluster.send(Copy(gater))
        for epoch in range(gater.max_iter):
            seed = [self.setting.seed, gater._epochs_done + epoch]
            order = np.random.RandomState(seed).permutation(len(rows))
            ends = []
            for own in (order[first::copies] for first in range(copies)):
                copy, done = current, 0
                for c in own:
                    span = Span(epoch, done, int(rows[own].sum()))
                    where = copy, self.blocks[c], heard[c]
                    copy = cluster.submit(tasks.pass_over, *where, criterion, span)
                    done += int(rows[c])
                ends.append(copy)
            current = cluster.submit(averaged, ends)
        return finish(cluster.gather([current])[0], gater.max_iter)

    # ------------------------------------------------------------------------------- step 4

    def _noise(self, heard: list[Any], gater: Gater) -> FloatArray | None:
        """The variance of each expert's errors, for a regression with densities."""
        if self.goal.kind != "value" or not gater.local:
            return None
        sums = self.cluster.map("errors", tasks.own_squares, self.blocks, heard, self.partition)
        return noise_of(sum(self.cluster.gather(sums)), self.goal)

    def _assign(
        self, gater: Gater, joint: list[Any], heard: list[Any], noise: FloatArray | None
    ) -> list[Any]:
        if isinstance(gater, UniformGater):
            return self.partition  # it prefers no expert
        asked = heard if self.setting.posterior else [None] * len(heard)
        places = self.blocks, asked, joint
        wanted = self.cluster.gather(self.cluster.map("wanted", tasks.wanted, *places, noise=noise))
        room = capacity(self.rows_per_call, self.n_experts, self.setting.limit)
        rooms = list(shared_room(np.stack(wanted), room))
        return self.cluster.map("place", tasks.place, *places, rooms, noise=noise)

    def _validate(self, gater: Any, experts: Any) -> tuple[float, float] | None:
        """Criterion and error on the examples held out."""
        if not self.validated:
            return None
        models = {"gater": gater, "experts": experts, "tolerance": self.setting.tolerance}
        parts = self.cluster.map("validate", tasks.errors, self.blocks, **models)
        sums = sum(self.cluster.gather(parts))
        return float(sums[0] / sums[2]), float(sums[1] / sums[2])

    # --------------------------------------------------------------------------- of the loop

    def validate(self) -> tuple[float, float] | None:
        return self.validation

    def margin(self) -> float | None:
        return None

    def measures(self, criterion: float) -> dict[str, float]:
        return self.facts

    def snapshot(self) -> ClusterState:
        return self.state  # an iteration makes a new one

    def restore(self, state: ClusterState) -> None:
        self.state = state

    def attributes(self) -> dict[str, Any]:
        return {
            "experts_": self.state.experts,
            "gater_": self.state.gater,
            "n_experts_": self.n_experts,
            "subset_sizes_": self.state.counts,
            "_speech": (self.goal.kind, self.goal.n_columns),
        }
