"""LightGBM tuned by Optuna, in the seconds that `TabularClassifier` takes on the same rows.

A fifth of the training rows is held out. Trials minimise its log loss or squared error, with early
stopping; the first one has LightGBM's defaults. The best setting is trained on all rows with the
number of trees that it had then. This last fit is part of the seconds, so trials end before them.
"""

import math
import time
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.model_selection import train_test_split

from benchmarks._splits import Split
from benchmarks.adapters import lightgbm
from benchmarks.adapters._tables import TableLibrary

SECONDS = 60.0  # if the model that gives the seconds is not run
HELD_OUT = 0.2
MOST_TREES = 5_000
PATIENCE = 50  # rounds without progress that end a trial
DEFAULTS: dict[str, Any] = {
    "learning_rate": 0.1,
    "num_leaves": 31,
    "min_child_samples": 20,
    "colsample_bytree": 1.0,
    "subsample": 1.0,
    "reg_alpha": 1e-8,  # 0 has no logarithm
    "reg_lambda": 1e-8,
    "max_bin": 255,
}


def space() -> dict[str, Any]:
    """What is searched, by the names of scikit-learn's interface."""
    from optuna.distributions import FloatDistribution, IntDistribution

    return {
        "learning_rate": FloatDistribution(0.01, 0.3, log=True),
        "num_leaves": IntDistribution(4, 255, log=True),
        "min_child_samples": IntDistribution(2, 100, log=True),
        "colsample_bytree": FloatDistribution(0.3, 1.0),  # feature_fraction
        "subsample": FloatDistribution(0.5, 1.0),  # bagging_fraction
        "reg_alpha": FloatDistribution(1e-8, 10.0, log=True),  # lambda_l1
        "reg_lambda": FloatDistribution(1e-8, 10.0, log=True),  # lambda_l2
        "max_bin": IntDistribution(63, 511, log=True),
    }


class LightGBMTuned(TableLibrary):
    name = "lightgbm-tuned"
    title = "LightGBM, tuned"
    setting = "Optuna"
    module = "optuna"
    time_of = "tabular"
    predicts_most_likely = True

    def missing(self) -> str | None:
        return super().missing() or lightgbm.missing()

    def model(self, split: Split, threads: int) -> Any:
        return Tuned(split.task, threads)


class Trial:
    """A setting on the rows that are not held out: its least loss, and when it was reached.

    LightGBM calls it after every round. It ends the training if there was no progress for a while,
    or if the rest of the time is needed for the last fit, of this setting or of the best so far.
    """

    def __init__(self, setting: dict[str, Any], end: float, reserve: float) -> None:
        self.setting, self.end, self.others_reserve = setting, end, reserve
        self.begun = time.perf_counter()
        self.loss, self.trees, self.seconds = math.inf, 1, 0.0

    @property
    def reserve(self) -> float:
        """Seconds to train as many trees on all rows."""
        return self.seconds / (1.0 - HELD_OUT)

    def __call__(self, env: Any) -> None:
        from lightgbm import EarlyStopException

        now, loss, trees = time.perf_counter(), env.evaluation_result_list[0][2], env.iteration + 1
        if loss < self.loss:
            self.loss, self.trees, self.seconds = loss, trees, now - self.begun
        late = now + max(self.reserve, self.others_reserve) >= self.end
        if late or trees - self.trees >= PATIENCE:
            raise EarlyStopException(self.trees - 1, env.evaluation_result_list)


class Tuned(BaseEstimator):
    """The search and the last fit, which together take about `time_limit` seconds."""

    def __init__(
        self, task: str = "classification", threads: int = 1, time_limit: float = SECONDS
    ) -> None:
        self.task, self.threads, self.time_limit = task, threads, time_limit

    def fit(self, X: Any, y: Any) -> Self:
        import optuna

        end = time.perf_counter() + self.time_limit
        train, valid = held_out(y, classes=self.task == "classification")
        X_train, y_train, X_valid, y_valid = X[train], y[train], X[valid], y[valid]
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
        study.enqueue_trial(DEFAULTS)
        trials: list[Trial] = []
        best = None
        while best is None or time.perf_counter() + best.reserve < end:
            asked = study.ask(space())
            trial = Trial(asked.params, end, best.reserve if best else 0.0)
            booster = self._booster(MOST_TREES, trial.setting)
            booster.fit(X_train, y_train, eval_X=X_valid, eval_y=y_valid, callbacks=[trial])
            study.tell(asked, trial.loss)
            trials.append(trial)
            best = min(trials, key=lambda one: one.loss)
        self.model_ = self._booster(best.trees, best.setting).fit(X, y)
        self.classes_ = getattr(self.model_, "classes_", None)
        self.setting_ = f"trials: {len(trials)}, trees: {best.trees}"
        return self

    def _booster(self, trees: int, setting: dict[str, Any]) -> Any:
        from lightgbm import LGBMClassifier, LGBMRegressor

        made = LGBMClassifier if self.task == "classification" else LGBMRegressor
        fixed = {"subsample_freq": 1, "n_jobs": self.threads, "random_state": 0, "verbose": -1}
        return made(n_estimators=trees, **setting, **fixed)

    def predict(self, X: Any) -> NDArray[Any]:
        return self.model_.predict(X)

    def predict_proba(self, X: Any) -> NDArray[Any]:
        return self.model_.predict_proba(X)


def held_out(y: NDArray[Any], *, classes: bool) -> tuple[NDArray[Any], NDArray[Any]]:
    """Rows to train on and a fifth to judge by; a class with one row keeps it for training."""
    rows = np.arange(len(y))
    several = rows[np.bincount(y)[y] > 1] if classes else rows
    strata = y[several] if classes else None
    _, valid = train_test_split(several, test_size=HELD_OUT, random_state=0, stratify=strata)
    return np.setdiff1d(rows, valid), valid
