"""xRFM: kernel ridge regression in a metric learnt from its gradients, in the leaves of a tree.

The metric is diagonal and the kernel exp(−|x − x'| / bandwidth), as ours. It reads standardised
inputs, indicators as 0 and 1, and keeps the iteration that is best on validation rows: those of the
table, or a fifth of the training rows.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import train_test_split

from benchmarks._splits import Split
from benchmarks.adapters._tables import Standardised, TableLibrary


class XRFM(TableLibrary):
    name = "xrfm"
    title = "xRFM, diagonal, l2"
    module = "xrfm"
    most_rows = 20_000
    choice_rows = 4_000

    def model(self, split: Split, threads: int) -> Any:
        return Machine(split.task, threads, validation=(split.X_valid, split.y_valid))

    def stages(self, split: Split) -> Sequence[Mapping[str, Sequence[Any]]]:
        return {"bandwidth": (10.0, 3.0, 30.0, 100.0)}, {"reg": (1e-2, 1e-1, 1.0)}


class Machine(BaseEstimator):
    """xRFM with the methods of scikit-learn."""

    def __init__(
        self,
        task: str = "classification",
        threads: int = 1,
        bandwidth: float = 10.0,
        reg: float = 1e-3,
        validation: tuple[Any, Any] = (None, None),
    ) -> None:
        self.task, self.threads = task, threads
        self.bandwidth, self.reg, self.validation = bandwidth, reg, validation

    def fit(self, X: Any, y: Any) -> Self:
        import torch
        from xrfm import xRFM

        classes = self.task == "classification"
        X_valid, y_valid = self.validation
        if X_valid is None:
            strata = y if classes and np.bincount(y).min() > 1 else None
            X, X_valid, y, y_valid = train_test_split(
                X, y, test_size=0.2, random_state=0, stratify=strata
            )
        self.inputs_ = Standardised().fit(X)
        kernel = {"kernel": "l2", "exponent": 1.0, "diag": True, "bandwidth_mode": "constant"}
        fit = {"reg": self.reg, "iters": 5, "early_stop_rfm": True, "verbose": False}
        self.machine_ = xRFM(
            {"model": {**kernel, "bandwidth": self.bandwidth}, "fit": fit},
            device=torch.device("cpu"),
            tuning_metric="accuracy" if classes else "mse",
            n_threads=self.threads,
            random_state=0,
            verbose=False,
        )
        kind = np.int64 if classes else np.float32
        targets, held_out = (np.asarray(part, dtype=kind) for part in (y, y_valid))
        self.machine_.fit(
            self.inputs_.transform(X), targets, self.inputs_.transform(X_valid), held_out
        )
        return self

    def predict(self, X: Any) -> Any:
        return np.ravel(self.machine_.predict(self.inputs_.transform(X)))
