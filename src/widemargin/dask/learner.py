"""The loop of hard mixtures (Algorithms 6.1 and 6.2) with blocks of examples on workers.

The client holds what is small: experts, gater, and how many examples each expert has. Every
iteration starts from tasks that carry these values. So when a worker is lost, Dask can repeat any
task of the iteration, and needs nothing from earlier ones.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin._typing import FloatArray, IntArray
from widemargin.dask import tasks
from widemargin.dask.cluster import Cluster, ClusterLost
from widemargin.dask.gaters import IterationFutures, gater_trainer
from widemargin.inputs.scaling import Scaling
from widemargin.mixtures.gaters.gater import Gater
from widemargin.mixtures.hard.example_block import error_variances
from widemargin.mixtures.hard.experts import Experts
from widemargin.mixtures.hard.learner import (
    EXPERTS_SHARE,
    MixtureSettings,
    OutOfTime,
    Stopwatch,
)
from widemargin.mixtures.hard.partition import divided_room, subset_limit
from widemargin.mixtures.hard.targets import Targets
from widemargin.training.loop import Tally
from widemargin.training.time_limit import current_limit, fixed_shares, now

__all__ = ["ClusterData", "ClusterLearner", "ClusterState"]

CLUSTERED_ROWS = 100_000  # examples that k-means sees for the first partition
SPLIT_PRIORITY = 10  # pieces are taken first, so that the copy of their block can be freed


@dataclass
class ClusterData:
    """Examples on the workers; `blocks` and `validation` are futures of `ClusterBlock`."""

    blocks: list[Any]
    sizes: IntArray  # training examples of each block
    validation: list[Any]  # blocks whose validation examples are measured
    statistics: Scaling  # of scaled inputs


@dataclass
class ClusterState:
    """What training changes. Of the partition, only the sizes of the subsets."""

    experts: list[Any]
    gater: Gater
    subset_sizes: IntArray
    variances: FloatArray | None = None  # of the experts' errors, for regression with densities
    iteration: int = 0


class ClusterLearner:
    """Trains a `ClusterState`; see `widemargin.training.loop.Learner`."""

    def __init__(
        self,
        cluster: Cluster,
        data: ClusterData,
        state: ClusterState,
        targets: Targets,
        settings: MixtureSettings,
        *,
        first_partition: str,
    ) -> None:
        self.cluster, self.data, self.state = cluster, data, state
        self.targets, self.settings = targets, settings
        self.n_experts = len(state.experts)
        self.rows_per_call = int(data.sizes.sum())
        self.order: Any = range(self.rows_per_call)  # an array may be too large for the client
        self.indices = list(range(len(data.blocks)))
        self.trainer = gater_trainer(state.gater)(
            cluster,
            data.statistics,
            self.n_experts,
            criterion=settings.criterion,
            seed=settings.seed,
        )
        self.experts = cluster.send(self._experts(state.experts))
        self.iteration_measures: dict[str, float] = {}
        self.validation: tuple[float, float] | None = None
        self.lost: ClusterLost | None = None
        self.seconds = 0.0  # of the last iteration
        if state.iteration and state.gater.reassigns:
            self.partition = self._resumed_partition()
        elif first_partition == "kmeans" and self.n_experts > 1:
            self.partition = self._clustered_partition()
        else:
            self.partition = self._random_partition()

    # ------------------------------------------------------------------------------- step 1

    def _random_partition(self) -> list[Any]:
        firsts = np.cumsum(self.data.sizes) - self.data.sizes
        return self.cluster.map(
            "random-subsets",
            tasks.random_subsets,
            self.data.blocks,
            firsts.tolist(),
            self.indices,
            n_experts=self.n_experts,
            seed=self.settings.seed,
        )

    def _clustered_partition(self) -> list[Any]:
        """Each example to the nearest centre with room; k-means sees a sample, on one worker."""
        cluster, seed, blocks = self.cluster, self.settings.seed, self.data.blocks
        fraction = min(1.0, CLUSTERED_ROWS / self.rows_per_call)
        inputs = cluster.map(
            "sample", tasks.sample, blocks, self.indices, seed=seed, fraction=fraction
        )
        clusters = cluster.submit(tasks.clusters, inputs, self.n_experts, seed)
        scores = cluster.map("cluster-scores", tasks.cluster_scores, blocks, clusters=clusters)
        return self._balanced([None] * len(blocks), scores, None)

    def _resumed_partition(self) -> list[Any]:
        """The assignment that followed the last iteration, which its experts and gater repeat."""
        outputs: list[Any] = [None] * len(self.data.blocks)
        if self.settings.posterior:
            outputs = self._outputs(self.experts)
        gater = self.cluster.send(self.state.gater)
        log_joint = self.cluster.map("log-joint", tasks.log_joint, self.data.blocks, gater=gater)
        return self._balanced(outputs, log_joint, self.state.variances)

    # ------------------------------------------------------------------------- one iteration

    def visit(self, order: IntArray, rate: float) -> Tally:
        if self.seconds > current_limit().left:
            raise OutOfTime
        begun = now()
        try:
            tally = self._iteration()
            self.seconds = now() - begun
            return tally
        except ClusterLost as error:
            self.lost = error
            raise

    def _iteration(self) -> Tally:
        cluster, blocks, former = self.cluster, self.data.blocks, self.state
        watch = Stopwatch()
        with watch.phase("experts"):
            members, subset_results = self._train()
        experts = cluster.send(self._experts(members))
        with watch.phase("outputs"):
            outputs = self._outputs(experts)
            cluster.wait(outputs)
        with watch.phase("gater"):
            gater = self._gater(outputs, subset_results)
        with watch.phase("assignment"):
            variances = self._error_variances(outputs, gater)
            sent = cluster.send(gater)
            log_joint = cluster.map("log-joint", tasks.log_joint, blocks, gater=sent)
            following = self._assign(gater, log_joint, outputs, variances)
            measured = cluster.gather(
                cluster.map(
                    "measure",
                    tasks.measure,
                    *(blocks, outputs, log_joint, self.partition, following),
                    experts=experts,
                    variances=variances,
                    gate_tolerance=self.settings.gate_tolerance,
                )
            )
        tally, sizes = Tally(0, 0.0, 0.0, 0.0), np.zeros(self.n_experts, dtype=np.int64)
        measures = watch.seconds
        for of_block, block_measures, block_sizes in measured:
            tally, sizes = tally + of_block, sizes + block_sizes
            for name, value in block_measures.items():
                measures[name] = measures.get(name, 0.0) + value
        self.validation = self._validate(sent, experts)
        self.iteration_measures = measures
        self.partition, self.experts = following, experts  # the iteration is complete
        self.state = ClusterState(members, gater, sizes, variances, former.iteration + 1)
        return tally

    def _experts(self, members: list[Any]) -> Experts:
        targets, classes = self.targets, self.settings.classes
        return Experts(members, targets.output_kind, classes, targets.n_columns, n_jobs=1)

    # ----------------------------------------------------------------------- steps 2 and 3

    def _train(self) -> tuple[list[Any], list[Any]]:
        """Step 2: the shuffle, then every expert on its subset.

        Returns the experts, and what the gater's trainer computes from their subsets.
        """
        cluster, settings, n_experts = self.cluster, self.settings, self.n_experts
        parts = cluster.map(
            "split", tasks.split, self.data.blocks, self.partition, n_experts=n_experts
        )
        pieces = [
            cluster.map("piece", tasks.piece, parts, k=k, priority=SPLIT_PRIORITY)
            for k in range(n_experts)
        ]
        del parts
        seeds = settings.expert_seeds(n_experts).tolist()
        sent, former = cluster.send(settings), self.experts
        seconds = EXPERTS_SHARE * current_limit().left
        shares = fixed_shares([1.0] * n_experts, seconds, cluster.threads)
        experts = [
            cluster.submit(tasks.train_expert, sent, seeds[k], k, former, pieces[k], shares[k])
            for k in range(n_experts)
        ]
        others = self.trainer.subset_tasks(self.state.gater, pieces)
        del pieces
        results = cluster.gather(experts + others)
        return results[:n_experts], results[n_experts:]

    def _outputs(self, experts: Any) -> list[Any]:
        """Outputs of the experts for all examples, or for those that train a global gater."""
        return self.cluster.map(
            "expert-outputs",
            tasks.expert_outputs,
            self.data.blocks,
            self.indices,
            seed=(self.settings.seed + self.state.iteration) % 2**32,
            fraction=self._gater_fraction(),
            experts=experts,
        )

    def _gater_fraction(self) -> float | None:
        """The fraction of the examples that train a global gater; None means all."""
        most = self.settings.gater_rows
        if most is None or self.settings.needs_all_outputs(self.state.gater):
            return None
        return None if most >= self.rows_per_call else most / self.rows_per_call

    def _gater(self, outputs: list[Any], subset_results: list[Any]) -> Gater:
        """Step 3."""
        rows = tasks.gater_row_counts(self.data.sizes, self._gater_fraction())
        data = IterationFutures(self.data.blocks, outputs, self.partition, rows)
        return self.trainer.fit(self.state.gater, data, subset_results)

    # ------------------------------------------------------------------------------- step 4

    def _error_variances(self, outputs: list[Any], gater: Gater) -> FloatArray | None:
        """The variance of each expert's errors, for regression with densities."""
        if self.targets.output_kind != "value" or not gater.local:
            return None
        places = self.data.blocks, outputs, self.partition
        sums = self.cluster.map("errors", tasks.own_squared_errors, *places)
        return error_variances(sum(self.cluster.gather(sums)), self.targets)

    def _assign(
        self,
        gater: Gater,
        log_joint: list[Any],
        outputs: list[Any],
        variances: FloatArray | None,
    ) -> list[Any]:
        if not gater.reassigns:
            return self.partition
        used = outputs if self.settings.posterior else [None] * len(outputs)
        return self._balanced(used, log_joint, variances)

    def _balanced(
        self, outputs: list[Any], log_joint: list[Any], variances: FloatArray | None
    ) -> list[Any]:
        """Assigns the examples of every block, within its share of the room of each expert."""
        cluster, places = self.cluster, (self.data.blocks, outputs, log_joint)
        counting = cluster.map("count", tasks.count_preferences, *places, variances=variances)
        limit = subset_limit(self.rows_per_call, self.n_experts, self.settings.balance)
        rooms = list(divided_room(np.stack(cluster.gather(counting)), limit))
        return cluster.map("assign", tasks.assign_block, *places, rooms, variances=variances)

    def _validate(self, gater: Any, experts: Any) -> tuple[float, float] | None:
        """Criterion and error on the validation examples."""
        if not self.data.validation:
            return None
        tolerance = self.settings.gate_tolerance
        models = {"gater": gater, "experts": experts, "gate_tolerance": tolerance}
        parts = self.cluster.map("validate", tasks.validation_sums, self.data.validation, **models)
        sums = sum(self.cluster.gather(parts))
        return float(sums[0] / sums[2]), float(sums[1] / sums[2])

    # ------------------------------------------------------------------------ training loop

    def validate(self) -> tuple[float, float] | None:
        return self.validation

    def geometric_margin(self) -> float | None:
        return None

    def measures(self, criterion: float) -> dict[str, float]:
        return self.iteration_measures

    def snapshot(self) -> ClusterState:
        return self.state  # each iteration makes a new one

    def restore(self, state: ClusterState) -> None:
        self.state = state

    def attributes(self) -> dict[str, Any]:
        return {
            "experts_": self.state.experts,
            "gater_": self.state.gater,
            "n_experts_": self.n_experts,
            "subset_sizes_": self.state.subset_sizes,
            "_error_variances": self.state.variances,
            "_output_format": (self.targets.output_kind, self.targets.n_columns),
        }
