"""CatBoost: gradient boosting of symmetric trees."""

from typing import Any

from benchmarks._splits import Split
from benchmarks.adapters._tables import TableLibrary


class CatBoost(TableLibrary):
    name = "catboost"
    title = "CatBoost"
    setting = "defaults"
    module = "catboost"

    def model(self, split: Split, threads: int) -> Any:
        from catboost import CatBoostClassifier, CatBoostRegressor

        made = CatBoostClassifier if split.classes else CatBoostRegressor
        return made(thread_count=threads, random_state=0, verbose=False, allow_writing_files=False)
