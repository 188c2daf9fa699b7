"""How fast and how accurate is a hard mixture of SVMs, compared with one SVM and LightGBM?

`forest` uses the thesis's split of Forest. For each model, it shows training time, prediction time
and test error of the setting with the lowest validation error. A mixture keeps the iteration with
the lowest validation error, and its time includes all iterations. `scaling` shows time and test
error of the mixture for growing numbers of rows, with 2,000 per expert, and the exponent e of
time ~ rows^e (Figure 6.2a). `workers` shows the training time of the experts with one worker and
with several.

Machines get inputs in 0..1, whose scaling is not timed; a mixture scales them itself. The SVM of
scikit-learn is timed on a tenth and a fifth of the rows, and its time is extrapolated ("~").
"""

import argparse
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.preprocessing import MinMaxScaler
from threadpoolctl import threadpool_limits

from benchmarks._measure import fit_seconds
from benchmarks._results import save
from benchmarks._table import seconds
from benchmarks.adapters import intelex, lightgbm, ours, scikit_learn
from benchmarks.adapters._kernel import KernelLibrary, Machine
from benchmarks.adapters._library import convert
from widemargin.datasets import fetch_forest

PARTS = ("forest", "scaling", "workers")
RIVALS = ("svc", "intelex", "lightgbm", "scikit-learn")
EXACT: dict[str, KernelLibrary] = {
    "svc": ours.Ours(),
    "intelex": intelex.Intelex(),
    "scikit-learn": scikit_learn.ScikitLearn(),
}
ROWS, SIZES = 100_000, (100_000, 200_000, 400_000)
PER_EXPERT = 2_000
LEAVES = ((500, 127), (1000, 255))  # rounds and leaves of LightGBM


@dataclass
class Parts:
    """Training, validation and test rows; `scaled` has inputs in 0..1."""

    X: Any
    y: Any
    X_valid: Any
    y_valid: Any
    X_test: Any
    y_test: Any

    def scaled(self) -> "Parts":
        scaler = MinMaxScaler().fit(self.X)
        X, X_valid, X_test = map(scaler.transform, (self.X, self.X_valid, self.X_test))
        return Parts(X, self.y, X_valid, self.y_valid, X_test, self.y_test)

    def first(self, rows: int) -> "Parts":
        return Parts(self.X[:rows], self.y[:rows], *list(vars(self).values())[2:])


@dataclass
class Line:
    """A line of the table of `forest`."""

    model: str
    setting: str
    seconds: float
    valid_error: float = math.nan
    test_error: float = math.nan
    predict_seconds: float = math.nan
    extrapolated: bool = False


def load(rows: int) -> Parts:
    """The thesis's split; training rows beyond 100,000 are taken from those it leaves out."""
    split = fetch_forest(split="thesis")
    X, y = split.X_train, split.y_train
    if rows > len(y):
        whole = fetch_forest()
        taken = [split.rows_train, split.rows_valid, split.rows_test]
        left = np.setdiff1d(np.arange(len(whole.target)), np.concatenate(taken))
        left = np.random.default_rng(0).permutation(left)[: rows - len(y)]
        X, y = np.vstack([X, whole.data[left]]), np.concatenate([y, whole.target[left]])
    return Parts(X[:rows], y[:rows], split.X_valid, split.y_valid, split.X_test, split.y_test)


# ------------------------------------------------------------------------------------- forest


def attempt(name: str, setting: str, model: Any, data: Parts, **held_out: Any) -> tuple[Line, Any]:
    start = time.perf_counter()
    if held_out:
        model.fit(data.X, data.y, **held_out)
        spent = time.perf_counter() - start
    else:
        spent = fit_seconds(model, data.X, data.y)
    error = 100 * (1 - model.score(data.X_valid, data.y_valid))
    return Line(name, setting, spent, error), model


def best(tries: Sequence[Callable[[], tuple[Line, Any]]], data: Parts) -> Line:
    """Tests the attempt with the lowest validation error."""
    line, model = min((make() for make in tries), key=lambda found: found[0].valid_error)
    start = time.perf_counter()
    labels = model.predict(data.X_test)
    line.predict_seconds = time.perf_counter() - start
    line.test_error = 100 * float(np.mean(labels != data.y_test))
    return line


def mixtures(data: Parts, machines: list[Machine], options: argparse.Namespace) -> list[Line]:
    experts = max(2, round(len(data.y) / PER_EXPERT))
    validation = {"X_val": data.X_valid, "y_val": data.y_valid}

    def one(machine: Machine, units: int) -> tuple[Line, Any]:
        model = ours.hard_mixture(
            machine, experts, units, options.threads, max_iter=options.max_iter, early_stopping=True
        )
        name = f"hard mixture, {experts} experts, gater {units}"
        return attempt(name, str(machine), model, data, **validation)

    return [
        best([lambda m=machine, u=units: one(m, u) for machine in machines], data)
        for units in options.units
    ]


def exact(name: str, data: Parts, machines: list[Machine], options: argparse.Namespace) -> Line:
    library = EXACT[name]
    label = "SVC" if name == "svc" else f"{library.name} SVC"
    form = library.formats[0]
    parts = Parts(*(convert(v, form) if v.ndim == 2 else v for v in vars(data).values()))

    def one(machine: Machine) -> tuple[Line, Any]:
        return attempt(label, str(machine), library.machine(machine, options.threads), parts)

    if not library.slow:
        return best([lambda m=machine: one(m) for machine in machines], parts)
    sizes = [len(data.y) // 10, len(data.y) // 5]
    spent = [
        fit_seconds(library.machine(machines[0], 1), parts.X[:rows], parts.y[:rows])
        for rows in sizes
    ]
    exponent = math.log(spent[1] / spent[0]) / math.log(sizes[1] / sizes[0])
    whole = spent[1] * (len(data.y) / sizes[1]) ** exponent
    return Line(label, str(machines[0]), whole, extrapolated=True)


def boosted(data: Parts, options: argparse.Namespace) -> Line:
    def one(rounds: int, leaves: int) -> tuple[Line, Any]:
        model = lightgbm.classifier(options.threads)
        model.set_params(n_estimators=rounds, num_leaves=leaves)
        return attempt("LightGBM", f"{rounds} rounds, {leaves} leaves", model, data)

    return best([lambda s=setting: one(*s) for setting in LEAVES], data)


def forest(console: Console, options: argparse.Namespace) -> list[dict[str, Any]]:
    data = load(min(options.rows or ROWS, ROWS))
    scaled = data.scaled()
    machines = [Machine(C, gamma) for C, gamma in product(options.C, options.gammas)]
    lines = mixtures(data, machines, options)
    for name in options.rivals:
        library = lightgbm if name == "lightgbm" else EXACT[name]
        if (reason := library.missing()) is not None:
            console.print(f"{name} left out: {reason}", markup=False)
        elif name == "lightgbm":
            lines.append(boosted(data, options))
        else:
            lines.append(exact(name, scaled, machines, options))
    table = Table(title=f"Forest {len(data.y):,}, {options.threads} threads; ratio = time / ours")
    for column in ("model", "setting", "time", "ratio", "predict", "valid %", "test %"):
        table.add_column(column, justify="left" if column in ("model", "setting") else "right")
    for line in lines:
        mark = "~" if line.extrapolated else ""
        shown = [
            "" if math.isnan(value) else f"{value:.2f}"
            for value in (line.valid_error, line.test_error)
        ]
        spent = "" if math.isnan(line.predict_seconds) else seconds(line.predict_seconds)
        ratio = f"{mark}{line.seconds / lines[0].seconds:.2f}"
        table.add_row(line.model, line.setting, mark + seconds(line.seconds), ratio, spent, *shown)
    console.print(table)
    return [{"part": "forest", "rows": len(data.y), **asdict(line)} for line in lines]


# ------------------------------------------------------------------------------------ scaling


def scaling(console: Console, options: argparse.Namespace) -> list[dict[str, Any]]:
    most = options.rows or SIZES[-1]
    sizes = [size * most // SIZES[-1] for size in SIZES]
    data = load(most)
    title = f"A hard mixture, {PER_EXPERT:,} rows per expert, {options.max_iter} iterations"
    table = Table(title=title)
    for column in ("rows", "experts", "time", "experts'", "outputs", "gater", "valid %", "test %"):
        table.add_column(column, justify="right")
    results: list[dict[str, Any]] = []
    for rows in sizes:
        part, experts = data.first(rows), max(2, round(rows / PER_EXPERT))
        model = ours.hard_mixture(
            *(Machine(options.C[0], options.gammas[0]), experts, options.units[0], options.threads),
            max_iter=options.max_iter,
            gater_rows=sizes[0],
        )
        spent = min(fit_seconds(model, part.X, part.y) for _ in range(options.repeat))
        phases = {
            phase: sum(record[f"{phase}_seconds"] for record in model.history_)
            for phase in ("experts", "outputs", "gater")
        }
        errors = [
            100 * (1 - model.score(X, y))
            for X, y in ((part.X_valid, part.y_valid), (part.X_test, part.y_test))
        ]
        table.add_row(
            *(f"{rows:,}", str(experts), seconds(spent), *map(seconds, phases.values())),
            *(f"{error:.2f}" for error in errors),
        )
        facts = {"part": "scaling", "rows": rows, "experts": experts, "seconds": spent}
        valid_error, test_error = errors
        results.append(facts | phases | {"valid_error": valid_error, "test_error": test_error})
    logs = np.log([[result["rows"], result["seconds"]] for result in results])
    exponent = float(np.polyfit(*logs.T, 1)[0])
    console.print(table)
    console.print(f"time ~ rows^{exponent:.2f}")
    return [*results, {"part": "scaling", "exponent": exponent}]


# ------------------------------------------------------------------------------------ workers


def workers(console: Console, options: argparse.Namespace) -> list[dict[str, Any]]:
    data = load(min(options.rows or ROWS, ROWS))
    experts = max(2, round(len(data.y) / PER_EXPERT))
    counts, spent = sorted({1, options.threads}), {}
    for _ in range(options.repeat):
        for count in counts:
            machine = Machine(options.C[0], options.gammas[0])
            model = ours.hard_mixture(machine, experts, 10, count, max_iter=1, gater_rows=1_000)
            model.fit(data.X, data.y)
            taken = model.history_[0]["experts_seconds"]
            spent[count] = min(spent.get(count, math.inf), taken)
    table = Table(title=f"{experts} experts of {len(data.y):,} rows, best of {options.repeat}")
    for column in ("workers", "time", "one / this"):
        table.add_column(column, justify="right")
    for count in counts:
        table.add_row(str(count), seconds(spent[count]), f"{spent[1] / spent[count]:.2f}")
    console.print(table)
    return [
        {"part": "workers", "workers": n, "seconds": spent[n], "speed": spent[1] / spent[n]}
        for n in counts
    ]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mixtures", description=__doc__)
    add = parser.add_argument
    add("--only", nargs="+", choices=PARTS, default=PARTS, help="all by default")
    add("--rivals", nargs="*", choices=RIVALS, default=RIVALS[:3], help="all but scikit-learn")
    add("--C", nargs="+", type=float, default=[10.0], help="of machines and experts (10)")
    add("--gammas", nargs="+", type=float, default=[32.0], help="of inputs in 0..1 (32)")
    add("--units", nargs="+", type=int, default=[150, 500], help="of the gater (150 and 500)")
    add("--max-iter", type=int, default=5, help="iterations of the mixture (5)")
    add("--threads", type=int, default=2, help="of all models that have threads (2)")
    add("--repeat", type=int, default=1, help="fits of scaling and workers; the best counts (1)")
    add("--rows", type=int, help="fewer training rows")
    options = parser.parse_args(sys.argv[1:] if arguments is None else arguments)
    console = Console(width=110, highlight=False)
    if not os.environ.get("WIDEMARGIN_DATA"):
        console.print("set WIDEMARGIN_DATA to the folder of the data sets")
        return
    results: list[dict[str, Any]] = []
    with threadpool_limits(options.threads):
        for part in options.only:
            run = {"forest": forest, "scaling": scaling, "workers": workers}[part]
            results += run(console, options)
    given = {key: value for key, value in vars(options).items() if key != "only"}
    console.print(f"written: {save('mixtures', results, **given)}")


if __name__ == "__main__":
    main()
