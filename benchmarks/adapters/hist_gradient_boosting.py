"""The gradient boosting of scikit-learn, whose threads are those of OpenMP."""

from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from benchmarks._splits import Split
from benchmarks.adapters._tables import TableLibrary


class HistGradientBoosting(TableLibrary):
    """Its defaults, or a number of trees with more leaves and without early stopping."""

    title = "HistGradientBoosting"
    module = "sklearn"

    def __init__(self, trees: int | None = None, leaves: int | None = None) -> None:
        self.parameters: dict[str, Any] = {}
        self.name, self.setting = "histgb", "defaults"
        if trees is not None:
            self.parameters = {"max_iter": trees, "max_leaf_nodes": leaves, "early_stopping": False}
            self.name, self.setting = f"histgb-{trees}", f"{trees:,} × {leaves} leaves"

    def model(self, split: Split, threads: int) -> Any:
        made = HistGradientBoostingClassifier if split.classes else HistGradientBoostingRegressor
        return made(**self.parameters, random_state=0)
