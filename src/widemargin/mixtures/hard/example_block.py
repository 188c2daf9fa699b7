r"""Examples of a mixture that are in one place, and what its parts make of them.

A place is this machine with all examples, or a worker with one of many blocks: sums over blocks
are then sums over all examples.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.mixtures.hard.experts import Experts
from widemargin.mixtures.hard.targets import LEAST_PROBABILITY, Goal
from widemargin.training.loop import Tally

__all__ = ["Share", "joined", "noise_of"]

LEAST_NOISE = 1e-6  # of an expert's errors, in variances of the targets


@dataclass(frozen=True)
class Share:
    """Scaled inputs, what the mixture should say of them, and weights, if there are any."""

    X: ArrayLike
    goal: Goal
    weights: FloatArray | None = None

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def __sizeof__(self) -> int:
        """Bytes, by which Dask decides what goes to disk."""
        X = self.X
        inputs = [X.data, X.indices, X.indptr] if sp.issparse(X) else [X]
        arrays = [*inputs, self.goal.y, *([] if self.weights is None else [self.weights])]
        return int(sum(array.nbytes for array in arrays))

    @property
    def counted(self) -> FloatArray:
        """How much each example counts."""
        return np.ones(len(self)) if self.weights is None else self.weights

    def take(self, rows: Any) -> "Share":
        weights = None if self.weights is None else self.weights[rows]
        return Share(self.X[rows], self.goal.take(rows), weights)

    def outputs(self, experts: Experts) -> NDArray[np.float32]:
        """What the gater is trained on; for the likelihood, the probability of the right class."""
        if self.goal.kind != "probability":
            return experts.outputs(self.X)
        p = experts.right(self.X, self.goal.codes)
        return np.asarray(p.clip(LEAST_PROBABILITY, 1.0))

    def own_squares(self, outputs: NDArray[np.float32], partition: IntArray) -> FloatArray:
        """Σ of the squared errors that each expert makes on its subset, and its examples."""
        n_experts = outputs.shape[1]
        own = outputs[np.arange(len(partition)), partition]
        squares = np.sum((self.goal.targets - own) ** 2, axis=1) / self.goal.n_columns
        sums = np.bincount(partition, squares, n_experts)
        return np.stack([sums, np.bincount(partition, minlength=n_experts)])

    def log_p(
        self, outputs: NDArray[np.float32], noise: FloatArray | None = None
    ) -> FloatArray | None:
        """log P(y | x, k), if there are probabilities.

        For a regression with densities they are Gaussian, with the variances `noise`.
        """
        if self.goal.kind == "probability":
            return np.log(outputs[:, :, 0], dtype=np.float64)
        if noise is None:
            return None
        squares = np.sum((self.goal.targets[:, None] - outputs) ** 2, axis=2)
        constant = self.goal.n_columns * np.log(2 * np.pi * noise)
        return np.asarray(-0.5 * (squares / noise + constant))

    def measure(
        self,
        outputs: NDArray[np.float32],
        log_p: FloatArray | None,
        joint: FloatArray,
        partition: IntArray,
        experts: Experts,
        tolerance: float,
    ) -> tuple[Tally, dict[str, float]]:
        """Criterion, errors and weight; J and the likelihood, where there are probabilities."""
        weights, gates = self.counted, np.exp(log_softmax(joint, axis=1))
        m = np.einsum("lk,lkc->lc", gates, outputs)
        if self.goal.kind == "probability" and self.goal.n_classes == 2:
            m = np.where(self.goal.codes[:, None] == np.arange(2), m, 1.0 - m)
        elif self.goal.kind == "probability":
            m = experts.mixture(self.X, gates, tolerance)
        values, wrong = self.goal.misses(m)
        facts = {}
        if log_p is not None:
            joint = joint + log_p
            own = joint[np.arange(len(partition)), partition]
            facts["bound"] = float(-(weights @ own))
            facts["negative_log_likelihood"] = float(-(weights @ logsumexp(joint, axis=1)))
        return Tally(
            0, float(weights @ values), float(weights @ wrong), float(weights.sum())
        ), facts


def noise_of(sums: FloatArray, goal: Goal) -> FloatArray:
    """The variance of each expert's errors on its subset; `sums` are those of `own_squares`."""
    assert goal.error_scale is not None
    variance = float(np.mean(1.0 / goal.error_scale)) / goal.n_columns
    return np.asarray(np.maximum(sums[0] / np.maximum(sums[1], 1.0), LEAST_NOISE * variance))


def joined(shares: list[Share]) -> Share:
    """One share of several, in their order."""
    first, inputs = shares[0], [share.X for share in shares]
    X = sp.vstack(inputs, "csr") if sp.issparse(first.X) else np.concatenate(inputs)
    y = np.concatenate([share.goal.y for share in shares])
    weights = [share.weights for share in shares if share.weights is not None]
    return Share(X, replace(first.goal, y=y), np.concatenate(weights) if weights else None)
