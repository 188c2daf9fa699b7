"""LightGBM: gradient boosting of trees."""

from typing import Any


def missing() -> str | None:
    """Why it cannot take part, if it cannot."""
    try:
        import lightgbm  # noqa: F401
    except (ImportError, OSError) as error:  # OSError: a shared library does not load
        return str(error)
    return None


def classifier(threads: int) -> Any:
    """Many leaves and rounds, which these data sets ask for."""
    from lightgbm import LGBMClassifier

    return LGBMClassifier(
        n_estimators=500, num_leaves=127, n_jobs=threads, random_state=0, verbose=-1
    )
