"""What workers compute in an iteration: pure functions of blocks, experts and gaters."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import MiniBatchKMeans
from sklearn.exceptions import ConvergenceWarning

from widemargin._typing import FloatArray, IntArray
from widemargin.dask.data import ClusterBlock
from widemargin.mixtures.gaters import mlp_passes
from widemargin.mixtures.gaters.cells import find_clusters
from widemargin.mixtures.gaters.gater import Gater
from widemargin.mixtures.gaters.gaussian import GaussianGater
from widemargin.mixtures.gaters.mlp import MixedExamples
from widemargin.mixtures.gaters.mlp_passes import EpochSpan, GaterCopy
from widemargin.mixtures.hard.example_block import ExampleBlock, concatenated, stacked_rows
from widemargin.mixtures.hard.experts import Experts, Subset, fit_expert
from widemargin.mixtures.hard.learner import MixtureSettings
from widemargin.mixtures.hard.partition import assign, random_partition
from widemargin.mixtures.hard.tuning import expert_with_gamma
from widemargin.training.loop import Tally
from widemargin.training.model import Examples

__all__ = [
    "ExpertOutputs",
    "assign_block",
    "choose_gamma",
    "cluster_scores",
    "clusters",
    "count_preferences",
    "expert_outputs",
    "fit_density",
    "fit_gater",
    "gater_row_counts",
    "log_joint",
    "measure",
    "own_squared_errors",
    "pass_over",
    "piece",
    "random_subsets",
    "sample",
    "sizes",
    "split",
    "train_expert",
    "validation_sums",
]


@dataclass(frozen=True)
class ExpertOutputs:
    """Outputs of all experts for some examples of a block; `rows` is None for all of them."""

    outputs: NDArray[np.float32]
    rows: IntArray | None

    def __sizeof__(self) -> int:
        return self.outputs.nbytes

    def examples(self, block: ClusterBlock) -> ExampleBlock:
        return block.train if self.rows is None else block.train.take(self.rows)


# --------------------------------------------------------------------------- first partition


def sizes(block: ClusterBlock | None) -> tuple[int, int]:
    """The numbers of training and validation examples of a block."""
    if block is None:
        return 0, 0
    return len(block.train), 0 if block.validation is None else len(block.validation)


def choose_gamma(block: ClusterBlock, settings: MixtureSettings, seconds: float) -> Any:
    """The expert of the settings with a γ that suits this block, found in these seconds."""
    train = block.train
    examples = Examples(train.X, train.targets.y, train.weights, np.arange(len(train)))
    return expert_with_gamma(settings, examples, train.targets, seconds)


def random_subsets(
    block: ClusterBlock, first: int, index: int, n_experts: int, seed: int
) -> IntArray:
    """Step 1: random, and balanced over all blocks. A single block gets the local partition."""
    random = np.random.RandomState([seed, index] if index else seed)
    return random_partition(len(block.train), n_experts, random, first)


def sample(block: ClusterBlock, index: int, seed: int, fraction: float) -> Any:
    """Inputs of a random fraction of the examples."""
    X = block.train.X
    if fraction >= 1.0:
        return X
    chosen = max(1, int(fraction * len(block.train)))
    rows = np.random.RandomState([seed, index]).choice(len(block.train), chosen, replace=False)
    return X[np.sort(rows)]


def clusters(inputs: Sequence[Any], n_experts: int, seed: int) -> MiniBatchKMeans:
    """One cluster of the sampled inputs per expert."""
    return find_clusters(stacked_rows(inputs), n_experts, np.random.RandomState(seed))


def cluster_scores(block: ClusterBlock, clusters: MiniBatchKMeans) -> FloatArray:
    """Scores of the experts that prefer the nearest centre."""
    return np.asarray(-clusters.transform(block.train.X))


# ------------------------------------------------------------------------------------ experts


def split(block: ClusterBlock, partition: IntArray, n_experts: int) -> list[ExampleBlock | None]:
    """The examples of each expert, in the block's order."""
    order = np.argsort(partition, kind="stable")
    ends = np.cumsum(np.bincount(partition, minlength=n_experts))
    parts = [np.sort(rows) for rows in np.split(order, ends[:-1])]
    return [block.train.take(rows) if len(rows) else None for rows in parts]


def piece(parts: list[ExampleBlock | None], k: int) -> ExampleBlock | None:
    return parts[k]


def train_expert(
    settings: MixtureSettings,
    seed: int,
    k: int,
    former: Experts,
    pieces: Sequence[ExampleBlock | None],
    seconds: float,
) -> Any:
    """Step 2: an expert on its subset, whose pieces come from all blocks, within its time."""
    found = [piece for piece in pieces if piece is not None]
    if not found:
        return former.members[k]
    examples = concatenated(found)
    subset = Subset(
        examples.X,
        examples.targets.labels,
        examples.weights,
        seed=int(seed),
        classification=settings.classes is not None,
        platt=settings.platt,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the next iteration continues
        return fit_expert(settings.expert, subset, former.members[k], seconds)


def gater_row_counts(sizes: IntArray, fraction: float | None) -> IntArray:
    """How many examples of blocks of these sizes train the gater."""
    return sizes if fraction is None else np.maximum(1, (fraction * sizes).astype(np.int64))


def expert_outputs(
    block: ClusterBlock, index: int, seed: int, fraction: float | None, experts: Experts
) -> ExpertOutputs:
    """Outputs of every expert for the examples that train the gater: all, or a fraction."""
    if fraction is None:
        return ExpertOutputs(block.train.outputs(experts), None)
    count = len(block.train)
    chosen = int(gater_row_counts(np.array(count), fraction))
    rows = np.random.RandomState([seed, index]).choice(count, chosen, replace=False)
    rows.sort()
    return ExpertOutputs(block.train.take(rows).outputs(experts), rows)


# -------------------------------------------------------------------------------------- gater


def fit_density(
    gater: GaussianGater, seed: int, k: int, pieces: Sequence[ExampleBlock | None]
) -> Any:
    """The Gaussians of an expert (Algorithm 6.2), and the total weight of its examples."""
    found = [piece for piece in pieces if piece is not None]
    start = gater._experts()[k] if hasattr(gater, "means_") else None
    X = concatenated(found).X if found else np.zeros((0, len(gater.feature_offset_)))
    weight = sum(float(piece.weights_or_ones.sum()) for piece in found)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return gater._density(X, start, seed), weight


def pass_over(
    copy: GaterCopy,
    block: ClusterBlock,
    outputs: ExpertOutputs,
    criterion: str,
    span: EpochSpan,
) -> GaterCopy:
    """Step 3 for one block, by gradient."""
    examples = outputs.examples(block)
    count, targets = len(examples), examples.targets
    mixed = MixedExamples(
        examples.X,
        np.zeros((count, 1)) if criterion == "likelihood" else targets.columns,
        examples.weights,
        np.arange(count),
        experts=outputs.outputs,
        criterion=criterion,
        error_scale=targets.error_scale,
    )
    return mlp_passes.pass_over(copy, mixed, span)


def fit_gater(
    gater: Gater,
    criterion: str,
    blocks: Sequence[ClusterBlock],
    outputs: Sequence[ExpertOutputs],
    partitions: Sequence[IntArray],
) -> Gater:
    """Step 3 for a gater that needs its examples at once."""
    examples = concatenated(
        [of_block.examples(block) for of_block, block in zip(outputs, blocks, strict=True)]
    )
    own = [
        partition if of_block.rows is None else partition[of_block.rows]
        for of_block, partition in zip(outputs, partitions, strict=True)
    ]
    return gater.copy().fit(
        examples.X,
        outputs=np.concatenate([of_block.outputs for of_block in outputs]),
        targets=examples.targets.columns,
        partition=np.concatenate(own),
        criterion=criterion,
        sample_weight=examples.weights,
    )


# --------------------------------------------------------------------------------- assignment


def own_squared_errors(
    block: ClusterBlock, outputs: ExpertOutputs, partition: IntArray
) -> FloatArray:
    return block.train.own_squared_errors(outputs.outputs, partition)


def log_joint(block: ClusterBlock, gater: Gater) -> FloatArray:
    """log P(k | x), or log P(x, k)."""
    return gater.log_joint(block.train.X)


def _scores(
    block: ClusterBlock,
    outputs: ExpertOutputs | None,
    log_joint: FloatArray,
    variances: FloatArray | None,
) -> FloatArray:
    log_p = None if outputs is None else block.train.log_likelihoods(outputs.outputs, variances)
    return log_joint if log_p is None else log_joint + log_p


def count_preferences(
    block: ClusterBlock,
    outputs: ExpertOutputs | None,
    log_joint: FloatArray,
    variances: FloatArray | None,
) -> IntArray:
    """How many examples of the block prefer each expert."""
    scores = _scores(block, outputs, log_joint, variances)
    return np.bincount(scores.argmax(1), minlength=scores.shape[1])


def assign_block(
    block: ClusterBlock,
    outputs: ExpertOutputs | None,
    log_joint: FloatArray,
    room: IntArray,
    variances: FloatArray | None,
) -> IntArray:
    """Step 4: each example to the best expert that has room for this block."""
    return assign(_scores(block, outputs, log_joint, variances), room.copy())


def measure(
    block: ClusterBlock,
    outputs: ExpertOutputs,
    log_joint: FloatArray,
    partition: IntArray,
    next_partition: IntArray,
    experts: Experts,
    variances: FloatArray | None,
    gate_tolerance: float,
) -> tuple[Tally, dict[str, float], IntArray]:
    """Sums over a block, and how many examples each expert had."""
    examples = outputs.examples(block)
    rows = slice(None) if outputs.rows is None else outputs.rows
    tally, measures = examples.measure(
        outputs.outputs,
        examples.log_likelihoods(outputs.outputs, variances),
        log_joint[rows],
        partition[rows],
        experts,
        gate_tolerance,
    )
    counts = np.bincount(partition, minlength=log_joint.shape[1])
    moved = int(np.count_nonzero(next_partition != partition))
    return tally._replace(updates=moved), measures, counts


def validation_sums(
    block: ClusterBlock, gater: Gater, experts: Experts, gate_tolerance: float
) -> FloatArray:
    """Sums of criterion, errors and weights of the validation examples."""
    if block.validation is None:
        return np.zeros(3)
    examples = block.validation
    m = experts.mixture(examples.X, gater.gates(examples.X), gate_tolerance)
    values, errors = examples.targets.criterion_and_errors(m)
    weights = examples.weights_or_ones
    return np.array([weights @ values, weights @ errors, weights.sum()], dtype=np.float64)
