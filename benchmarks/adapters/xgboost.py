"""XGBoost: gradient boosting of trees."""

from typing import Any

from benchmarks._splits import Split
from benchmarks.adapters._tables import TableLibrary


class XGBoost(TableLibrary):
    """Its defaults, or trees that grow leaf by leaf as those of LightGBM, with its step."""

    title = "XGBoost"
    module = "xgboost"

    def __init__(self, trees: int | None = None, leaves: int | None = None) -> None:
        self.parameters: dict[str, Any] = {}
        self.name, self.setting = "xgboost", "defaults"
        if trees is not None:
            self.parameters = {"n_estimators": trees, "max_leaves": leaves, "max_depth": 0}
            self.parameters |= {"grow_policy": "lossguide", "learning_rate": 0.1}
            self.name, self.setting = f"xgboost-{trees}", f"{trees:,} × {leaves} leaves"

    def model(self, split: Split, threads: int) -> Any:
        from xgboost import XGBClassifier, XGBRegressor

        made = XGBClassifier if split.classes else XGBRegressor
        return made(**self.parameters, n_jobs=threads, random_state=0)
