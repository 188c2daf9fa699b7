"""A block of examples: examples that are in one place, and what the mixture computes for them.

Locally there is one block with all examples; on a cluster there are many, each on some worker.
All measures are sums over examples, so those of several blocks can be added up.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.mixtures.hard.experts import Experts
from widemargin.mixtures.hard.targets import MIN_PROBABILITY, Targets
from widemargin.training.loop import Tally

__all__ = ["ExampleBlock", "concatenated", "error_variances", "stacked_rows"]

MIN_ERROR_VARIANCE = 1e-6  # of an expert, as a fraction of the targets' variance


@dataclass(frozen=True)
class ExampleBlock:
    """Scaled inputs with their targets, and with weights if there are any."""

    X: ArrayLike
    targets: Targets
    weights: FloatArray | None = None

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def __sizeof__(self) -> int:
        """Bytes, by which Dask decides what to write to disk."""
        X = self.X
        inputs = [X.data, X.indices, X.indptr] if sp.issparse(X) else [X]
        arrays = [*inputs, self.targets.y, *([] if self.weights is None else [self.weights])]
        return int(sum(array.nbytes for array in arrays))

    @property
    def weights_or_ones(self) -> FloatArray:
        return np.ones(len(self)) if self.weights is None else self.weights

    def take(self, rows: Any) -> "ExampleBlock":
        weights = None if self.weights is None else self.weights[rows]
        return ExampleBlock(self.X[rows], self.targets.take(rows), weights)

    def outputs(self, experts: Experts) -> NDArray[np.float32]:
        """Outputs of the experts, to train the gater; only P(y | x, k) for the likelihood."""
        if self.targets.output_kind != "probability":
            return experts.outputs(self.X)
        p = experts.target_probabilities(self.X, self.targets.codes)
        return np.asarray(p.clip(MIN_PROBABILITY, 1.0))

    def own_squared_errors(self, outputs: NDArray[np.float32], partition: IntArray) -> FloatArray:
        """Two rows: the sum of squared errors of each expert on its subset, and the sizes."""
        n_experts = outputs.shape[1]
        own = outputs[np.arange(len(partition)), partition]
        squares = np.sum((self.targets.columns - own) ** 2, axis=1) / self.targets.n_columns
        sums = np.bincount(partition, squares, n_experts)
        return np.stack([sums, np.bincount(partition, minlength=n_experts)])

    def log_likelihoods(
        self, outputs: NDArray[np.float32], variances: FloatArray | None = None
    ) -> FloatArray | None:
        """log P(y | x, k); None where experts have no probabilities.

        Experts of a regression have Gaussian densities if the `variances` of their errors are
        given.
        """
        if self.targets.output_kind == "probability":
            return np.log(outputs[:, :, 0], dtype=np.float64)
        if variances is None:
            return None
        squares = np.sum((self.targets.columns[:, None] - outputs) ** 2, axis=2)
        constant = self.targets.n_columns * np.log(2 * np.pi * variances)
        return np.asarray(-0.5 * (squares / variances + constant))

    def measure(
        self,
        outputs: NDArray[np.float32],
        log_p: FloatArray | None,
        log_joint: FloatArray,
        partition: IntArray,
        experts: Experts,
        gate_tolerance: float,
    ) -> tuple[Tally, dict[str, float]]:
        """Sums of criterion, errors and weights; J and the likelihood of probabilities.

        `log_p` is log P(y | x, k), `log_joint` is log P(k | x) or log P(x, k) of the gater.
        """
        weights, gates = self.weights_or_ones, np.exp(log_softmax(log_joint, axis=1))
        m = np.einsum("lk,lkc->lc", gates, outputs)
        if self.targets.output_kind == "probability" and self.targets.n_classes == 2:
            m = np.where(self.targets.codes[:, None] == np.arange(2), m, 1.0 - m)
        elif self.targets.output_kind == "probability":
            m = experts.mixture(self.X, gates, gate_tolerance)
        values, errors = self.targets.criterion_and_errors(m)
        measures = {}
        if log_p is not None:
            log_joint = log_joint + log_p
            own = log_joint[np.arange(len(partition)), partition]
            measures["bound"] = float(-(weights @ own))
            measures["negative_log_likelihood"] = float(-(weights @ logsumexp(log_joint, axis=1)))
        return Tally(
            0, float(weights @ values), float(weights @ errors), float(weights.sum())
        ), measures


def error_variances(sums: FloatArray, targets: Targets) -> FloatArray:
    """Variance of each expert's errors on its subset, from `ExampleBlock.own_squared_errors`."""
    assert targets.error_scale is not None
    variance = float(np.mean(1.0 / targets.error_scale)) / targets.n_columns
    found = sums[0] / np.maximum(sums[1], 1.0)
    return np.asarray(np.maximum(found, MIN_ERROR_VARIANCE * variance))


def concatenated(blocks: list[ExampleBlock]) -> ExampleBlock:
    """The examples of several blocks in one, in their order."""
    targets = replace(blocks[0].targets, y=np.concatenate([block.targets.y for block in blocks]))
    weights = [block.weights for block in blocks if block.weights is not None]
    X = stacked_rows([block.X for block in blocks])
    return ExampleBlock(X, targets, np.concatenate(weights) if weights else None)


def stacked_rows(inputs: Sequence[ArrayLike]) -> ArrayLike:
    """The rows of several dense or CSR matrices in one."""
    return sp.vstack(inputs, "csr") if sp.issparse(inputs[0]) else np.concatenate(inputs)
