"""PyTorch: a multi-layer perceptron with Adam, in the plainest loop that is not slow."""

from itertools import pairwise
from typing import Any

import numpy as np


def missing() -> str | None:
    """Why it cannot take part, if it cannot."""
    try:
        import torch  # noqa: F401
    except ImportError:
        return "torch is not installed"
    return None


class Mlp:
    """Linear and ReLU layers, binary cross-entropy, fused Adam, data in memory as one tensor."""

    def __init__(self, hidden: tuple[int, ...], batch: int, epochs: int, threads: int) -> None:
        self.hidden, self.batch, self.epochs, self.threads = hidden, batch, epochs, threads

    def fit(self, X: Any, y: Any) -> "Mlp":
        import torch
        from torch import nn

        torch.set_num_threads(self.threads)
        torch.manual_seed(0)
        inputs, targets = torch.from_numpy(X), torch.from_numpy((y > 0).astype(np.float32))
        units = [X.shape[1], *self.hidden]
        layers: list[Any] = []
        for below, above in pairwise(units):
            layers += [nn.Linear(below, above), nn.ReLU()]
        self.network = nn.Sequential(*layers, nn.Linear(units[-1], 1))
        optimiser = torch.optim.Adam(self.network.parameters(), lr=1e-3, fused=True)
        criterion = nn.BCEWithLogitsLoss()
        for _ in range(self.epochs):
            for rows in torch.randperm(len(inputs)).split(self.batch):
                optimiser.zero_grad(set_to_none=True)
                criterion(self.network(inputs[rows])[:, 0], targets[rows]).backward()
                optimiser.step()
        return self

    def score(self, X: Any, y: Any) -> float:
        import torch

        with torch.no_grad():
            f = self.network(torch.from_numpy(X))[:, 0].numpy()
        return float(np.mean((f > 0) == (y > 0)))
