"""How fast is a Simple MLP, compared with multi-layer perceptrons of PyTorch and scikit-learn?

`epoch`: an epoch of 500 units on Forest, ours on one thread, PyTorch's in batches of 256 and in
steps of single examples (timed on the first rows, extrapolated). `target`: time until at most 10 %
of the test rows are wrong. Each library has several settings, of which the fastest counts; it is
measured at the end of each epoch, without the time for evaluation. `errors`: test errors and times
beside those of LightGBM. We take raw inputs; the others get standardised ones, which is not timed.
PyTorch and LightGBM take part if they are installed (`pip install torch lightgbm`).
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.neural_network import MLPClassifier as SklearnMLP
from threadpoolctl import threadpool_limits

from benchmarks import _data
from benchmarks._measure import epoch_seconds, fit_seconds
from benchmarks._results import save
from benchmarks._table import seconds
from benchmarks.adapters import lightgbm, pytorch
from benchmarks.adapters.pytorch import Network
from benchmarks.perceptron_epoch import load
from widemargin import SimpleMLPClassifier

PARTS = ("epoch", "target", "errors")
UNITS, BATCH = 500, 256
SINGLE_STEP_ROWS = 2_000  # rows on which steps of single examples are timed
TARGET_ERROR = 0.10  # fraction of the test rows
# Units and epochs: the fastest on 10,000 rows held out of the training set.
OURS = ((500, 10), (700, 8))
# Units, batch size, number of epochs, and largest step.
PYTORCH = (((512, 512), 256, 10, 3e-3), ((512, 512), 512, 12, 5e-3), ((500,), 256, 30, 1e-2))
SKLEARN = (((200, 200), 256), ((200, 200), 512), ((500,), 256))
Make = Callable[[], Iterator[Any]]  # a model after each epoch


@dataclass(frozen=True)
class Attempt:
    """Seconds of training until the target error was reached or the attempt ended."""

    library: str
    setting: str
    seconds: float
    epochs: int
    error: float

    @property
    def reached(self) -> bool:
        return self.error <= TARGET_ERROR


class Inputs:
    """The raw rows for us, and standardised ones for the other libraries."""

    def __init__(self, rows: int | None) -> None:
        self.name, X, y, X_test, y_test = load()
        self.X, self.y = np.ascontiguousarray(X[:rows], dtype=np.float32), y[:rows]
        self.X_test, self.y_test = np.ascontiguousarray(X_test, dtype=np.float32), y_test
        mean, scale = self.X.mean(0, dtype=np.float64), self.X.std(0, dtype=np.float64)
        scale[scale == 0] = 1.0
        self.scaled, self.scaled_test = (
            ((part - mean) / scale).astype(np.float32) for part in (self.X, self.X_test)
        )


# ---------------------------------------------------------------------------------- an epoch


def an_epoch(inputs: Inputs, options: argparse.Namespace) -> tuple[Table, list[dict[str, Any]]]:
    entries: dict[str, tuple[Callable[[int], Any], Any]] = {
        "widemargin, 1 thread": (
            lambda n: SimpleMLPClassifier(
                n_units=UNITS, encoding=None, max_iter=n, n_jobs=1, random_state=0
            ),
            inputs.X,
        )
    }
    if pytorch.missing() is None:
        batches = f"PyTorch, batches of {BATCH}, {options.threads} threads"
        entries[batches] = (
            lambda n: Network((UNITS,), BATCH, n, options.threads, "Tanh"),
            inputs.scaled,
        )
    with threadpool_limits(options.threads):
        best = epoch_seconds(entries, inputs.y, short=1, long=3, rounds=options.repeat)
    rows, some = len(inputs.y), min(SINGLE_STEP_ROWS, len(inputs.y))
    if pytorch.missing() is None:
        one = {"": (lambda n: Network((UNITS,), 1, n, 1, "Tanh", 1e-2), inputs.scaled[:some])}
        spent = epoch_seconds(one, inputs.y[:some], short=1, long=2, rounds=options.repeat)
        best[f"PyTorch, single examples, 1 thread (from {some:,})"] = spent[""] * rows / some
    table = Table(
        title=f"An epoch of {inputs.name} {rows:,}, {shape(inputs, (UNITS,))}; best of fits"
    )
    for column in ("", "an epoch", "ratio"):
        table.add_column(column, justify="right" if column else "left", no_wrap=True)
    mine, results = next(iter(best.values())), []
    for name, value in best.items():
        table.add_row(name, seconds(value), f"{value / mine:.2f}")
        facts = {"part": "epoch", "data": inputs.name, "rows": rows, "model": name}
        results.append({**facts, "seconds": value, "ratio": value / mine})
    return table, results


# ------------------------------------------------------------------------------ time to 10 %


def settings(inputs: Inputs, threads: int) -> dict[str, dict[str, Make]]:
    """The settings that each library tries."""
    found: dict[str, dict[str, Make]] = {
        "widemargin": {
            f"{units} units, {epochs} epochs, threads: {n}": partial(ours, inputs, units, epochs, n)
            for units, epochs in OURS
            for n in sorted({1, threads})
        }
    }
    if pytorch.missing() is None:
        found["PyTorch"] = {
            f"{shape(inputs, hidden)}, batch {batch}, {epochs} epochs": partial(
                Network(hidden, batch, epochs, threads, rate=rate, one_cycle=True).epochs,
                inputs.scaled,
                inputs.y,
            )
            for hidden, batch, epochs, rate in PYTORCH
        }
    found["scikit-learn"] = {
        f"{shape(inputs, hidden)}, batch {batch}": partial(theirs, inputs, hidden, batch)
        for hidden, batch in SKLEARN
    }
    return found


def shape(inputs: Inputs, hidden: tuple[int, ...]) -> str:
    return "-".join(map(str, (inputs.X.shape[1], *hidden, 1)))


def ours(inputs: Inputs, units: int, epochs: int, threads: int) -> Iterator[Any]:
    """Only the last epoch counts, because the steps fall to 0 there."""
    yield SimpleMLPClassifier(n_units=units, max_iter=epochs, n_jobs=threads, random_state=0).fit(
        inputs.X, inputs.y
    )


def theirs(inputs: Inputs, hidden: tuple[int, ...], batch: int) -> Iterator[Any]:
    model = SklearnMLP(hidden, batch_size=batch, random_state=0)
    while True:
        yield model.partial_fit(inputs.scaled, inputs.y, classes=np.unique(inputs.y))


def attempt(library: str, setting: str, make: Make, inputs: Inputs, limit: float) -> Attempt:
    """Train until the target error, the end of the setting or the time limit is reached."""
    X_test = inputs.X_test if library == "widemargin" else inputs.scaled_test
    spent, epochs, least = 0.0, 0, 1.0
    steps = make()
    while spent < limit and least > TARGET_ERROR:
        start = time.perf_counter()
        model = next(steps, None)
        spent += time.perf_counter() - start
        if model is None:
            break
        epochs += getattr(model, "n_iter_", 1) if library == "widemargin" else 1
        least = min(least, 1.0 - model.score(X_test, inputs.y_test))
    return Attempt(library, setting, spent, epochs, float(least))


def to_target(inputs: Inputs, options: argparse.Namespace) -> tuple[Table, list[dict[str, Any]]]:
    tried: list[Attempt] = []
    with threadpool_limits(options.threads):
        for library, tries in settings(inputs, options.threads).items():
            left = options.limit
            for setting, make in tries.items():
                best = attempt(library, setting, make, inputs, left)
                for _ in range(options.repeat - 1):
                    if best.reached:
                        again = attempt(library, setting, make, inputs, left)
                        best = min(best, again, key=lambda one: one.seconds)
                tried.append(best)
                left -= best.seconds
                if left <= 0:
                    break
    title = f"Time to a test error of {TARGET_ERROR:.0%}, {inputs.name} {len(inputs.y):,}"
    table = Table(title=f"{title}, {options.threads} threads")
    for column in ("library", "setting", "time", "epochs", "error", "ratio"):
        left_side = column in ("library", "setting")
        table.add_column(column, justify="left" if left_side else "right", no_wrap=True)
    mine = min(
        (one.seconds for one in tried if one.library == "widemargin" and one.reached),
        default=np.nan,
    )
    for one in tried:
        mark = "" if one.reached else "> "
        table.add_row(
            one.library,
            one.setting,
            mark + seconds(one.seconds),
            str(one.epochs),
            f"{100 * one.error:.2f} %",
            f"{mark}{one.seconds / mine:.1f}",
        )
    return table, [
        {"part": "target", **asdict(one), "reached": one.reached, "ratio": one.seconds / mine}
        for one in tried
    ]


# ------------------------------------------------------------------------------------ errors


def errors(rows: int | None, threads: int) -> tuple[Table, list[dict[str, Any]]]:
    table = Table(title=f"Test errors and times of fits, threads: {threads}")
    for column in ("data", "model", "time", "error"):
        table.add_column(column, justify="left" if column in ("data", "model") else "right")
    results = []
    for name, fetch, most in (
        ("Forest", _data.forest, 100_000),
        ("Connect-4", _data.connect4, 50_000),
    ):
        data = fetch(min(most, rows or most))
        models = {"SimpleMLP": SimpleMLPClassifier(n_jobs=threads, random_state=0)}
        if lightgbm.missing() is None:
            models["LightGBM"] = lightgbm.classifier(threads)
        for model, estimator in models.items():
            spent = fit_seconds(estimator, data.X, data.y)
            error = 1.0 - estimator.score(data.X_test, data.y_test)
            title = f"{name} {len(data.y):,}"
            table.add_row(title, model, seconds(spent), f"{100 * error:.2f} %")
            results.append(
                {"part": "errors", "data": title, "model": model, "seconds": spent, "error": error}
            )
    return table, results


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.committee", description=__doc__)
    add = parser.add_argument
    add("--only", nargs="+", choices=PARTS, default=PARTS[:2], help="epoch and target")
    add("--repeat", type=int, default=3, help="fits, of which the best counts (3)")
    add("--threads", type=int, default=2, help="of all but our epoch (2)")
    add("--limit", type=float, default=120, help="seconds per library to reach 10 %% (120)")
    add("--rows", type=int, help="use the first rows only")
    options = parser.parse_args(sys.argv[1:] if arguments is None else arguments)
    console, results = Console(width=100, highlight=False), []
    inputs = Inputs(options.rows) if {"epoch", "target"} & set(options.only) else None
    for part in options.only:
        if inputs is not None and part != "errors":
            table, found = (an_epoch if part == "epoch" else to_target)(inputs, options)
        elif os.environ.get("WIDEMARGIN_DATA"):
            table, found = errors(options.rows, options.threads)
        else:
            console.print("errors left out: set WIDEMARGIN_DATA to the folder of the data sets")
            continue
        console.print(table)
        results += found
    given = {key: getattr(options, key) for key in ("threads", "repeat", "limit", "rows")}
    console.print(f"written: {save('committee', results, **given)}")


if __name__ == "__main__":
    main()
