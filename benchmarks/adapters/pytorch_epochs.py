"""PyTorch, epoch by epoch: tanh or ReLU, batches or single examples, one-cycle steps."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.adapters.pytorch import Mlp


@dataclass
class Network:
    """Binary cross-entropy. Batches are trained by fused Adam, single examples by plain steps."""

    hidden: tuple[int, ...]
    batch: int
    planned: int  # epochs
    threads: int
    activation: str = "ReLU"
    rate: float = 1e-3
    one_cycle: bool = False

    score = Mlp.score

    def fit(self, X: Any, y: Any) -> "Network":
        for _ in self.epochs(X, y):
            pass
        return self

    def epochs(self, X: Any, y: Any) -> Iterator["Network"]:
        """Trains an epoch at each step."""
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
        steps = self.planned * -(-len(inputs) // self.batch)
        course = None
        if self.one_cycle:
            course = torch.optim.lr_scheduler.OneCycleLR(optimiser, self.rate, total_steps=steps)
        criterion = nn.BCEWithLogitsLoss()
        for _ in range(self.planned):
            for rows in torch.randperm(len(inputs)).split(self.batch):
                optimiser.zero_grad(set_to_none=True)
                criterion(self.network(inputs[rows])[:, 0], targets[rows]).backward()
                optimiser.step()
                if course is not None:
                    course.step()
            yield self
