"""The experiments of Chapter 6 on Forest: Tables 6.1, 6.2 and 6.3."""

from collections.abc import Collection, Iterable
from typing import Any

from widemargin.datasets import fetch_forest
from widemargin.experiments.papers import Result, tune_and_test
from widemargin.mixtures import (
    GaussianGater,
    HardMixtureClassifier,
    MixtureOfExpertsClassifier,
    MLPGater,
)
from widemargin.mlp.classifier import MLPClassifier
from widemargin.svm.svc import SVC

__all__ = ["PUBLISHED_MIXTURES", "table_6"]

#: Test errors (%) of Tables 6.1, 6.2 and 6.3.
PUBLISHED_MIXTURES = {
    "uniform": 20.3,
    "global-150": 9.3,
    "global-500": 8.1,
    "local-mlp": 10.9,
    "local-svm": 10.7,
    "soft": 9.1,
}


def _models() -> dict[str, list[Any]]:
    """The candidates for each model; validation rows choose among them."""
    svms = [SVC(C=10, gamma=32), SVC(C=100, gamma=16)]
    mlp = MLPClassifier((50,), activation="tanh", learning_rate="linear", tol=None)
    mlp.set_params(learning_rate_init=0.005, max_iter=60, batch_size=200)
    mlp.set_params(weight_decay=0.0, scaling="standard")
    best: dict[str, Any] = {"early_stopping": True, "n_jobs": -1}
    soft = MixtureOfExpertsClassifier(10, n_units=50, n_gater_units=150, batch_size=128)
    soft.set_params(schedule="one_cycle", learning_rate=0.01, max_iter=150, tol=None)
    return {
        "uniform": [
            HardMixtureClassifier(svm, "uniform", n_experts=50, max_iter=1, n_jobs=-1)
            for svm in svms
        ],
        **{
            f"global-{units}": [
                HardMixtureClassifier(svm, MLPGater((units,)), n_experts=50, **best) for svm in svms
            ]
            for units in (150, 500)
        },
        "local-mlp": [
            HardMixtureClassifier(mlp, GaussianGater(20), n_experts=20, max_iter=15, **best)
        ],
        "local-svm": [
            HardMixtureClassifier(svms[0], GaussianGater(20), n_experts=20, max_iter=12, **best)
        ],
        "soft": [soft],
    }


def table_6(seeds: Iterable[int] = (0,), models: Collection[str] | None = None) -> list[Result]:
    """Tables 6.1 to 6.3: mixtures on Forest.

    `models` are the keys of `PUBLISHED_MIXTURES` to train; None means all.
    """
    for name in models or ():
        if name not in PUBLISHED_MIXTURES:
            known = ", ".join(PUBLISHED_MIXTURES)
            raise ValueError(f"{name} is not in the tables of Chapter 6; use one of {known}")
    data = fetch_forest(split="thesis")
    return [
        tune_and_test("Forest", name, data, candidates, tuple(seeds), PUBLISHED_MIXTURES[name])
        for name, candidates in _models().items()
        if models is None or name in models
    ]
