"""LightGBM: gradient boosting of trees."""

from typing import Any


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
