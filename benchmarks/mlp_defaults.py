"""Are `SimpleMLPClassifier()` and `MLPClassifier()` good as they come?

For each classification table of WIDEMARGIN_DATA and some artificial ones (`benchmarks._suite`): the
errors of both with their default parameters, beside that of ``LinearSVC(scaling="standard")``; CPU
seconds; and whether a fit warned. A model is marked ! if its error exceeds that of the linear one
by more than half a point. `--validation` divides the training rows and leaves the test rows alone:
defaults were chosen so.
"""

import argparse
import sys
import time
import warnings
from typing import Any

from rich.console import Console

from benchmarks._data import Data
from benchmarks._results import save
from benchmarks._suite import TRAIN_ROWS, cases
from widemargin import LinearSVC, MLPClassifier, SimpleMLPClassifier

MODELS = {
    "LinearSVC": lambda: LinearSVC(scaling="standard", random_state=0),
    "SimpleMLP": lambda: SimpleMLPClassifier(random_state=0),
    "MLP": lambda: MLPClassifier(random_state=0),
}
ALLOWED = 0.5  # points more than the linear model


def measure(model: Any, data: Data) -> dict[str, Any]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.process_time()
        model.set_params(n_jobs=1).fit(data.X, data.y)
        seconds = time.process_time() - start
    error = 100.0 * (1.0 - model.score(data.X_test, data.y_test))
    return {"error": error, "seconds": seconds, "warnings": [str(w.message) for w in caught]}


def cell(found: dict[str, Any], most: float) -> str:
    mark = "!" if found["error"] > most else " "
    warned = "w" if found["warnings"] else " "
    return f"{found['error']:9.2f}{mark}{found['seconds']:7.2f} s{warned}"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mlp_defaults", description=__doc__)
    add = parser.add_argument
    add("--only", nargs="+", help="names of tables")
    add("--rows", type=int, default=TRAIN_ROWS, help="training rows at most (default: 20,000)")
    add("--validation", action="store_true", help="validation rows instead of test rows")
    options = parser.parse_args(sys.argv[1:] if arguments is None else arguments)
    console, results = Console(width=110, highlight=False), []
    console.print(f"{'table':20}{'rows':>7}" + "".join(f"{name:>20}" for name in MODELS))
    for case in cases(options.only):
        data = case.split(validation=options.validation, rows=options.rows)
        found = {name: measure(make(), data) for name, make in MODELS.items()}
        most = found["LinearSVC"]["error"] + ALLOWED
        cells = "".join(cell(one, most) for one in found.values())
        console.print(f"{case.name:20}{len(data.y):7,}{cells}", markup=False)
        results += [{"table": case.name, "model": name, **one} for name, one in found.items()]
    for name in list(MODELS)[1:]:
        own = [one for one in results if one["model"] == name]
        warned = sum(bool(one["warnings"]) for one in own)
        console.print(f"{name}: warned on {warned} of {len(own)} tables")
    console.print(f"written: {save('mlp_defaults', results, validation=options.validation)}")


if __name__ == "__main__":
    main()
