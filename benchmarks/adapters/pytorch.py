"""PyTorch: a multi-layer perceptron in the simplest loop that is not slow."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np


def missing() -> str | None:
    """Why it cannot take part, or None."""
    try:
        import torch  # noqa: F401
    except ImportError:
        return "torch is not installed"
    return None


@dataclass
class Network:
    """Binary cross-entropy, data in memory as one tensor; `one_cycle` is a schedule of steps.

    Batches are trained by fused Adam, single examples by plain stochastic gradient.
    """

    hidden: tuple[int, ...]
    batch: int
    n_epochs: int
    threads: int
    activation: str = "ReLU"
    rate: float = 1e-3
    one_cycle: bool = False

    def fit(self, X: Any, y: Any) -> "Network":
        for _ in self.epochs(X, y):
            pass
        return self

    def epochs(self, X: Any, y: Any) -> Iterator["Network"]:
        """Yield the network after each epoch."""
        import torch
        from torch import nn

        torch.set_num_threads(self.threads)
        torch.manual_seed(0)
        inputs, targets = torch.from_numpy(X), torch.from_numpy((y > 0).astype(np.float32))
        units = [X.shape[1], *self.hidden]
        layers: list[Any] = []
        for below, above in pairwise(units):
            layers += [nn.Linear(below, above), getattr(nn, self.activation)()]
        self.network = nn.Sequential(*layers, nn.Linear(units[-1], 1))
        kind = torch.optim.SGD if self.batch == 1 else torch.optim.Adam
        optimiser = kind(self.network.parameters(), lr=self.rate, fused=True)
        steps = self.n_epochs * -(-len(inputs) // self.batch)
        schedule = None
        if self.one_cycle:
            schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, self.rate, total_steps=steps)
        criterion = nn.BCEWithLogitsLoss()
        for _ in range(self.n_epochs):
            for rows in torch.randperm(len(inputs)).split(self.batch):
                optimiser.zero_grad(set_to_none=True)
                criterion(self.network(inputs[rows])[:, 0], targets[rows]).backward()
                optimiser.step()
                if schedule is not None:
                    schedule.step()
            yield self

    def score(self, X: Any, y: Any) -> float:
        """Fraction of the rows that are classified correctly."""
        import torch

        with torch.no_grad():
            f = self.network(torch.from_numpy(X))[:, 0].numpy()
        return float(np.mean((f > 0) == (y > 0)))
