r"""The networks of a soft mixture as one network.

With K experts of N hidden units and a gater of M, the first layer is one matrix of K·N + M
columns. So the forward pass of a batch is one large matrix product, and so is the backward pass.
Without hidden units, the first layer computes the outputs. `widemargin.reference.soft_mixture`
keeps the networks separate.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin._typing import ArrayLike
from widemargin.mixtures.soft.inputs import Panel

TRANSFERS = ("tanh", "relu")

Weights = dict[str, NDArray[Any]]


class ForwardPass(NamedTuple):
    """Values of the first layer, softmax inputs of the gates, and outputs of the experts."""

    first: NDArray[Any]  # (L, columns)
    logits: NDArray[Any]  # (L, K)
    outputs: NDArray[Any]  # (L, K, C)


@dataclass(frozen=True)
class Layout:
    """Sizes of the networks, and the place of each matrix in the array of parameters."""

    inputs: int
    experts: int  # K
    outputs: int  # C of each expert
    hidden: int  # N of each expert; 0 for linear experts
    gater: int  # M; 0 for a linear gater
    transfer: str
    variances: int = 0  # number of variances of Gaussian experts
    given: bool = False  # whether experts are other estimators, and only the gater a network

    @property
    def expert_columns(self) -> int:
        return 0 if self.given else self.experts * (self.hidden or self.outputs)

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        columns = self.expert_columns + (self.gater or self.experts)
        shapes: dict[str, tuple[int, ...]] = {
            "first": (self.inputs, columns),
            "first_bias": (columns,),
        }
        if self.hidden and not self.given:
            shapes["experts"] = (self.experts, self.hidden, self.outputs)
            shapes["experts_bias"] = (self.experts, self.outputs)
        if self.gater:
            shapes["gater"] = (self.gater, self.experts)
            shapes["gater_bias"] = (self.experts,)
        shapes["log_variance"] = (self.variances,)
        return shapes

    @property
    def n_parameters(self) -> int:
        return sum(map(math.prod, self.shapes.values()))

    def views(self, parameters: NDArray[Any]) -> Weights:
        """The matrices as views of the array."""
        found, first = {}, 0
        for name, shape in self.shapes.items():
            end = first + math.prod(shape)
            found[name] = parameters[first:end].reshape(shape)
            first = end
        return found

    @staticmethod
    def decayed(weights: Weights) -> list[NDArray[Any]]:
        """The matrices with weight decay: neither biases nor variances."""
        return [weights[name] for name in ("first", "experts", "gater") if name in weights]

    def start(self, random: np.random.RandomState, dtype: ArrayLike) -> NDArray[Any]:
        """Uniform first weights and biases of each network (Glorot and Bengio, 2010)."""
        parameters = np.zeros(self.n_parameters)
        weights, E = self.views(parameters), self.expert_columns

        def fill(W: NDArray[Any], b: NDArray[Any], below: int, above: int) -> None:
            bound = np.sqrt(6.0 / (below + above))
            W[...] = random.uniform(-bound, bound, W.shape)
            b[...] = random.uniform(-bound, bound, b.shape)

        first, bias = weights["first"], weights["first_bias"]
        fill(first[:, :E], bias[:E], self.inputs, self.hidden or self.outputs)
        fill(first[:, E:], bias[E:], self.inputs, self.gater or self.experts)
        if "experts" in weights:
            fill(weights["experts"], weights["experts_bias"], self.hidden, self.outputs)
        if "gater" in weights:
            fill(weights["gater"], weights["gater_bias"], self.gater, self.experts)
        return parameters.astype(dtype)

    # ------------------------------------------------------------------- forward and backward

    def _split(self, columns: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Views of first-layer columns: those of the experts, (L, K, N or C), and the gater's."""
        E = self.expert_columns
        experts = columns[:, :E].reshape(len(columns), self.experts, -1) if E else columns[:, :0]
        return experts, columns[:, E:]

    def _hidden_columns(self, columns: NDArray[Any]) -> NDArray[Any]:
        """A view of the columns that are hidden units, which are contiguous."""
        E = self.expert_columns
        first = 0 if self.hidden and not self.given else E
        return columns[:, first : None if self.gater else E]

    def forward(self, weights: Weights, panel: Panel) -> ForwardPass:
        first = panel.times(weights["first"], weights["first_bias"])
        units = self._hidden_columns(first)
        if self.transfer == "tanh":
            np.tanh(units, out=units)
        else:
            np.maximum(units, 0, out=units)
        outputs, logits = self._split(first)
        if "experts" in weights:
            by_expert = outputs.transpose(1, 0, 2) @ weights["experts"]
            by_expert += weights["experts_bias"][:, None, :]
            outputs = by_expert.transpose(1, 0, 2)
        if "gater" in weights:
            logits = logits @ weights["gater"] + weights["gater_bias"]
        return ForwardPass(first, logits, outputs)

    def backward(
        self,
        weights: Weights,
        panel: Panel,
        done: ForwardPass,
        slopes: tuple[NDArray[Any], NDArray[Any]],
        gradient: Weights,
    ) -> None:
        """Adds to the gradient, from the derivatives by the outputs of gater and experts."""
        of_logits, of_outputs = slopes
        hidden, gater_hidden = self._split(done.first)
        delta = np.empty_like(done.first)
        of_hidden, of_gater_hidden = self._split(delta)
        if "experts" in weights:
            by_expert = of_outputs.transpose(1, 0, 2)
            gradient["experts"] += hidden.transpose(1, 2, 0) @ by_expert
            gradient["experts_bias"] += of_outputs.sum(0)
            W = weights["experts"].transpose(0, 2, 1)
            np.matmul(by_expert, W, out=of_hidden.transpose(1, 0, 2))
        elif not self.given:
            of_hidden[...] = of_outputs
        if "gater" in weights:
            gradient["gater"] += gater_hidden.T @ of_logits
            gradient["gater_bias"] += of_logits.sum(0)
            np.matmul(of_logits, weights["gater"].T, out=of_gater_hidden)
        else:
            of_gater_hidden[...] = of_logits
        units = self._hidden_columns(done.first)
        slope = 1 - units * units if self.transfer == "tanh" else units > 0
        self._hidden_columns(delta)[...] *= slope
        gradient["first"] += panel.transposed_times(delta)
        gradient["first_bias"] += delta.sum(0)
