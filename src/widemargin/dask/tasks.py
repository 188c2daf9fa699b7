"""What workers do in an iteration: pure functions of blocks, partitions, experts and gaters."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from widemargin._typing import FloatArray, IntArray
from widemargin.dask.data import Block
from widemargin.mixtures.gaters.gater import Gater
from widemargin.mixtures.gaters.gaussian import GaussianGater
from widemargin.mixtures.gaters.mlp_passes import Copy, Span, one_pass
from widemargin.mixtures.hard.example_block import Share, joined
from widemargin.mixtures.hard.experts import Experts, Subset, fit_expert
from widemargin.mixtures.hard.learner import Setting
from widemargin.mixtures.hard.partition import assign, random_partition
from widemargin.training.loop import Tally

__all__ = [
    "Heard",
    "density",
    "errors",
    "first_partition",
    "fit_elsewhere",
    "joint",
    "listen",
    "measure",
    "own_squares",
    "pass_over",
    "piece",
    "place",
    "rows_heard",
    "size",
    "split",
    "train",
    "wanted",
]


@dataclass(frozen=True)
class Heard:
    """What all experts say of some examples of a block; `rows` is None for all of them."""

    outputs: NDArray[np.float32]
    rows: IntArray | None

    def __sizeof__(self) -> int:
        return self.outputs.nbytes

    def share(self, block: Block) -> Share:
        return block.train if self.rows is None else block.train.take(self.rows)


# ------------------------------------------------------------------------------------ experts


def size(block: Block | None) -> int:
    """Training examples of a block."""
    return 0 if block is None else len(block.train)


def first_partition(block: Block, first: int, number: int, n_experts: int, seed: int) -> IntArray:
    """Step 1: random, and balanced over all blocks; with one block as in memory."""
    random = np.random.RandomState([seed, number] if number else seed)
    return random_partition(len(block.train), n_experts, random, first)


def split(block: Block, partition: IntArray, n_experts: int) -> list[Share | None]:
    """The examples of each expert, in the block's order."""
    order = np.argsort(partition, kind="stable")
    ends = np.cumsum(np.bincount(partition, minlength=n_experts))
    parts = [np.sort(rows) for rows in np.split(order, ends[:-1])]
    return [block.train.take(rows) if len(rows) else None for rows in parts]


def piece(parts: list[Share | None], k: int) -> Share | None:
    return parts[k]


def train(
    setting: Setting, seed: int, k: int, former: Experts, pieces: Sequence[Share | None]
) -> Any:
    """Step 2: an expert on its subset, which its pieces make up."""
    found = [piece for piece in pieces if piece is not None]
    if not found:
        return former.members[k]
    share = joined(found)
    subset = Subset(
        share.X,
        share.goal.labels,
        share.weights,
        seed=int(seed),
        classification=setting.classes is not None,
        platt=setting.platt,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the next iteration goes on
        return fit_expert(setting.template, subset, former.members[k])


def density(gater: GaussianGater, seed: int, k: int, pieces: Sequence[Share | None]) -> Any:
    """The Gaussians of an expert (Algorithm 6.2), and the weight of its examples."""
    found = [piece for piece in pieces if piece is not None]
    start = gater._experts()[k] if hasattr(gater, "means_") else None
    X = joined(found).X if found else np.zeros((0, len(gater.feature_offset_)))
    weight = sum(float(piece.counted.sum()) for piece in found)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return gater._density(X, start, seed), weight


# -------------------------------------------------------------------------------------- gater


def rows_heard(sizes: IntArray, part: float | None) -> IntArray:
    """How many examples of blocks of these sizes train the gater."""
    return sizes if part is None else np.maximum(1, (part * sizes).astype(np.int64))


def listen(block: Block, number: int, seed: int, part: float | None, experts: Experts) -> Heard:
    """What every expert says of the examples that train the gater: all, or a part."""
    if part is None:
        return Heard(block.train.outputs(experts), None)
    count = len(block.train)
    chosen = int(rows_heard(np.array(count), part))
    rows = np.random.RandomState([seed, number]).choice(count, chosen, replace=False)
    rows.sort()
    return Heard(block.train.take(rows).outputs(experts), rows)


def pass_over(copy: Copy, block: Block, heard: Heard, criterion: str, span: Span) -> Copy:
    """Step 3 for one block."""
    return one_pass(copy, heard.share(block), heard.outputs, criterion, span)


def fit_elsewhere(
    gater: Gater,
    criterion: str,
    blocks: Sequence[Block],
    heard: Sequence[Heard],
    partitions: Sequence[IntArray],
) -> Gater:
    """Step 3 for a gater that has to see its examples at once."""
    share = joined([said.share(block) for said, block in zip(heard, blocks, strict=True)])
    own = [
        partition if said.rows is None else partition[said.rows]
        for said, partition in zip(heard, partitions, strict=True)
    ]
    return gater.successor().fit(
        share.X,
        outputs=np.concatenate([said.outputs for said in heard]),
        targets=share.goal.targets,
        partition=np.concatenate(own),
        criterion=criterion,
        sample_weight=share.weights,
    )


# --------------------------------------------------------------------------------- assignment


def own_squares(block: Block, heard: Heard, partition: IntArray) -> FloatArray:
    return block.train.own_squares(heard.outputs, partition)


def joint(block: Block, gater: Gater) -> FloatArray:
    """log P(k | x), or log P(x, k)."""
    return gater.log_joint(block.train.X)


def _preference(
    block: Block, heard: Heard | None, joint: FloatArray, noise: FloatArray | None
) -> FloatArray:
    log_p = None if heard is None else block.train.log_p(heard.outputs, noise)
    return joint if log_p is None else joint + log_p


def wanted(
    block: Block, heard: Heard | None, joint: FloatArray, noise: FloatArray | None
) -> IntArray:
    """How many examples prefer each expert."""
    scores = _preference(block, heard, joint, noise)
    return np.bincount(scores.argmax(1), minlength=scores.shape[1])


def place(
    block: Block,
    heard: Heard | None,
    joint: FloatArray,
    room: IntArray,
    noise: FloatArray | None,
) -> IntArray:
    """Step 4: each example to the best expert that has room for this block."""
    return assign(_preference(block, heard, joint, noise), room.copy())


def measure(
    block: Block,
    heard: Heard,
    joint: FloatArray,
    partition: IntArray,
    following: IntArray,
    experts: Experts,
    noise: FloatArray | None,
    tolerance: float,
) -> tuple[Tally, dict[str, float], IntArray]:
    """Sums over a block, and how many examples each expert had."""
    share, rows = heard.share(block), slice(None) if heard.rows is None else heard.rows
    tally, facts = share.measure(
        heard.outputs,
        share.log_p(heard.outputs, noise),
        joint[rows],
        partition[rows],
        experts,
        tolerance,
    )
    counts = np.bincount(partition, minlength=joint.shape[1])
    return tally._replace(updates=int(np.count_nonzero(following != partition))), facts, counts


def errors(block: Block, gater: Gater, experts: Experts, tolerance: float) -> FloatArray:
    """Criterion, errors and weight of the examples held out."""
    if block.held is None:
        return np.zeros(3)
    held = block.held
    m = experts.mixture(held.X, gater.gates(held.X), tolerance)
    values, wrong = held.goal.misses(m)
    weights = held.counted
    return np.array([weights @ values, weights @ wrong, weights.sum()], dtype=np.float64)
