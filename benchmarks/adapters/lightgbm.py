"""LightGBM: gradient boosting of trees."""

from typing import Any

from benchmarks._splits import Split
from benchmarks.adapters._tables import TableLibrary


def missing() -> str | None:
    """Why it cannot take part, or None."""
    try:
        import lightgbm  # noqa: F401
    except (ImportError, OSError) as error:  # OSError: a shared library cannot be loaded
        return str(error)
    return None


def classifier(threads: int) -> Any:
    """A classifier with many leaves and rounds, which these data sets need."""
    from lightgbm import LGBMClassifier

    return LGBMClassifier(
        n_estimators=500, num_leaves=127, n_jobs=threads, random_state=0, verbose=-1
    )


class LightGBM(TableLibrary):
    """Its defaults, or a number of trees with more leaves."""

    title = "LightGBM"
    module = "lightgbm"
    predicts_most_likely = True

    def __init__(self, trees: int | None = None, leaves: int | None = None) -> None:
        self.parameters = {} if trees is None else {"n_estimators": trees, "num_leaves": leaves}
        self.name = "lightgbm" if trees is None else f"lightgbm-{trees}"
        self.setting = "defaults" if trees is None else f"{trees:,} × {leaves} leaves"

    def model(self, split: Split, threads: int) -> Any:
        from lightgbm import LGBMClassifier, LGBMRegressor

        made = LGBMClassifier if split.classes else LGBMRegressor
        return made(**self.parameters, n_jobs=threads, random_state=0, verbose=-1)
