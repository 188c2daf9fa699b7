"""How well estimators keep their time limits, on real data: a table.

    python -m tools.time_limits                         every estimator, two seconds each
    python -m tools.time_limits --limit 10 --only SVC HardMixtureClassifier
    python -m tools.time_limits --cpu                   on a busy machine: CPU time, one thread

The data are the Forest rows of the folder that WIDEMARGIN_DATA names: seven classes, and for
regressions the elevation from the other columns. The error of a regression is 1 - R². A fit takes
much longer than its limit here, so every line shows a model that was cut off.
"""

import argparse
import os
import time
import warnings
from ast import literal_eval
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.preprocessing import StandardScaler

from widemargin.datasets import fetch_forest
from widemargin.training import time_limit

PLACES = ("widemargin", "widemargin.mixtures")
TEST_ROWS = 5000
PARAMETERS = {"NuSVC": {"nu": 0.01}}  # the default is infeasible for rare classes


def limited_estimators() -> dict[str, Any]:
    """Estimators with a `time_limit` that learn targets, by name."""
    found = {}
    for place in PLACES:
        module = import_module(place)
        for name in module.__all__:
            cls = getattr(module, name)
            if not (isinstance(cls, type) and issubclass(cls, BaseEstimator)):
                continue
            if "time_limit" in cls._get_param_names() and hasattr(cls, "predict"):
                found[name] = cls
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--limit", type=float, default=2.0, help="seconds")
    parser.add_argument("--rows", type=int, default=150_000)
    parser.add_argument("--only", nargs="*", help="names of estimators")
    parser.add_argument("--set", nargs="*", default=[], help="parameters: probability=True")
    parser.add_argument("--cpu", action="store_true", help="CPU time of one thread")
    options = parser.parse_args()
    clock = time.process_time if options.cpu else time.perf_counter
    time_limit._clock = clock
    X, y = fetch_forest(
        target="cover_type", data_home=os.environ.get("WIDEMARGIN_DATA"), return_X_y=True
    )
    rows = np.random.RandomState(0).permutation(len(y))[: options.rows + TEST_ROWS]
    X, y = StandardScaler().fit_transform(X[rows]), y[rows]
    parameters = {name: literal_eval(value) for name, value in (t.split("=") for t in options.set)}
    print(f"{'estimator':28}{'limit':>7}{'taken':>8}{'error':>8}{'constant':>10}  stop")
    for name, cls in limited_estimators().items():
        if options.only and name not in options.only:
            continue
        own = dict(PARAMETERS.get(name, {}))
        if options.cpu and "n_jobs" in cls._get_param_names():
            own["n_jobs"] = 1
        model = cls(time_limit=options.limit, **own, **parameters)
        inputs, targets = (X, y) if is_classifier(model) else (X[:, 1:], X[:, 0])
        train, test = slice(0, options.rows), slice(options.rows, None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            begun = clock()
            model.fit(inputs[train], *([] if cls.__name__ == "OneClassSVM" else [targets[train]]))
            taken = clock() - begun
            error, constant = np.nan, np.nan
            if is_classifier(model):
                error = 1 - model.score(inputs[test], targets[test])
                constant = 1 - np.mean(targets[test] == np.bincount(targets[train]).argmax())
            elif is_regressor(model):
                error, constant = 1 - model.score(inputs[test], targets[test]), 1.0
        print(
            f"{name:28}{options.limit:6.1f}s{taken:7.2f}s{error:8.1%}{constant:10.1%}  "
            f"{model.stop_reason_}",
            flush=True,
        )


if __name__ == "__main__":
    main()
