"""Which model of a table has the least errors, and at what cost?

Kernel machines in a metric learnt from their gradients, kernel machines alone and a mixture, beside
boosted trees, xRFM and the SVM of scikit-learn: test error (100 (1 − R²) for a regression), seconds
of a fit and of predictions, and the ratio of the time of the fit to that of LightGBM with 1,000
trees of 127 leaves in the same run. `--data tables` is the suite of 21 tables, `--data forest`
Forest in four splits and Connect-4 (see `benchmarks._splits`).

Settings of kernel machines and of xRFM are chosen on validation rows, then the model is trained on
all training rows; the search is a column of its own. Test rows are read once per fit. What is not
installed is left out: `pip install "widemargin[bench]"`, and `[bench-xrfm]` for xRFM, which needs
torch (install its CPU version first).
"""

import argparse
import math
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from benchmarks._choice import Choice, choose
from benchmarks._measure import fit_seconds
from benchmarks._results import save
from benchmarks._splits import Problem, Split, problems
from benchmarks._table import present, seconds
from benchmarks.adapters._tables import TableLibrary
from benchmarks.adapters.catboost import CatBoost
from benchmarks.adapters.hist_gradient_boosting import HistGradientBoosting
from benchmarks.adapters.lightgbm import LightGBM
from benchmarks.adapters.ours_tables import (
    OursMachine,
    OursMetric,
    OursMixture,
    ScikitLearnMachine,
)
from benchmarks.adapters.xgboost import XGBoost
from benchmarks.adapters.xrfm import XRFM

MODELS: tuple[TableLibrary, ...] = (
    OursMetric("diagonal"),
    OursMetric("full"),
    OursMixture("mlp"),
    OursMixture("cells"),
    OursMachine("exponential"),
    OursMachine("rbf"),
    LightGBM(),
    LightGBM(1000, 127),
    LightGBM(2000, 255),
    XGBoost(),
    XGBoost(1000, 127),
    CatBoost(),
    HistGradientBoosting(),
    HistGradientBoosting(1000, 127),
    XRFM(),
    ScikitLearnMachine(),
)
BASELINE = "lightgbm-1000"
CHOICE_ROWS = 50_000


@dataclass
class Entry:
    """A model on one split: its setting, and the best times of several fits."""

    model: TableLibrary
    choice: Choice = field(default_factory=lambda: Choice({}))
    error: float = math.nan
    seconds: float = math.inf
    predict_seconds: float = math.inf
    failure: str | None = None

    def attempt(self, step: Callable[[Split, argparse.Namespace], None], *arguments: Any) -> None:
        """A model that fails does not end a run of hours; it is left out of this table."""
        if self.failure is None:
            try:
                step(*arguments)
            except Exception as error:
                self.failure = f"failed, {type(error).__name__}: {error}"

    def choose(self, split: Split, options: argparse.Namespace) -> None:
        rows = min(options.choice_rows, self.model.choice_rows or options.choice_rows)
        part = split.for_choice(rows)
        searched = self.model.model_of_choice(part, options.threads)
        self.choice = choose(searched, self.model.stages(part), part)

    def fit(self, split: Split, options: argparse.Namespace) -> None:
        estimator = self.model.model(split, options.threads)
        last = f"{estimator.steps[-1][0]}__" if hasattr(estimator, "steps") else ""
        estimator.set_params(**{last + key: value for key, value in self.choice.setting.items()})
        self.seconds = min(self.seconds, fit_seconds(estimator, split.X, split.y))
        start = time.perf_counter()
        predicted = estimator.predict(split.X_test)
        self.predict_seconds = min(self.predict_seconds, time.perf_counter() - start)
        self.error = split.error(predicted)


@dataclass
class Line:
    """A model on one table, the mean over its splits."""

    table: str
    rows: int
    model: str
    title: str
    error: float
    seconds: float
    predict_seconds: float
    choice_seconds: float
    valid_error: float | None
    settings: list[str]
    errors: list[float]
    ratio: float | None = None  # seconds / those of the baseline

    @classmethod
    def of(cls, table: str, rows: int, model: TableLibrary, entries: Sequence[Entry]) -> "Line":
        def mean(name: str) -> float:
            return float(np.mean([getattr(entry, name) for entry in entries]))

        valid = [e.choice.valid_error for e in entries if e.choice.valid_error is not None]
        return cls(
            *(table, rows, model.name, model.title),
            *(mean("error"), mean("seconds"), mean("predict_seconds")),
            float(np.mean([entry.choice.seconds for entry in entries])),
            float(np.mean(valid)) if valid else None,
            [str(entry.choice) or model.setting for entry in entries],
            [entry.error for entry in entries],
        )


def run(
    problem: Problem, models: Sequence[TableLibrary], options: argparse.Namespace
) -> tuple[list[Line], dict[str, str]]:
    """One line per model, and why others are left out."""
    splits = [split.first(options.rows) for split in problem.load()]
    reasons = {model.name: model.refusal(splits[0], slow=options.slow) for model in models}
    entries: dict[str, list[Entry]] = {
        model.name: [Entry(model) for _ in splits] for model in models if not reasons[model.name]
    }
    for turn, split in enumerate(splits):
        running = [several[turn] for several in entries.values()]
        for entry in running:
            entry.attempt(entry.choose, split, options)
        for _ in range(options.repeat):
            for entry in running:
                entry.attempt(entry.fit, split, options)
    for name, several in entries.items():
        reasons[name] = next((entry.failure for entry in several if entry.failure), None)
    rows = len(splits[0].y)
    lines = [
        Line.of(problem.name, rows, model, entries[model.name])
        for model in models
        if reasons[model.name] is None
    ]
    base = next((line.seconds for line in lines if line.model == BASELINE), None)
    for line in lines:
        line.ratio = None if base is None else line.seconds / base
    return lines, {name: reason for name, reason in reasons.items() if reason}


def report(name: str, lines: Sequence[Line], threads: int) -> Table:
    title = f"{name}, {lines[0].rows:,} training rows, threads: {threads}"
    if len(lines[0].errors) > 1:
        title += f", mean of {len(lines[0].errors)} splits"
    table = Table(title=f"{title}; ratio = fit / LightGBM's 1,000 × 127")
    for column in ("model", "setting", "search", "fit", "ratio", "predict", "valid %", "test %"):
        left = column in ("model", "setting")
        table.add_column(column, justify="left" if left else "right", no_wrap=not left)
    least = min(line.error for line in lines)
    for line in lines:
        table.add_row(
            line.title,
            "; ".join(dict.fromkeys(line.settings)),
            seconds(line.choice_seconds) if line.choice_seconds else "",
            seconds(line.seconds),
            "" if line.ratio is None else f"{line.ratio:.2f}",
            seconds(line.predict_seconds),
            "" if line.valid_error is None else f"{line.valid_error:.2f}",
            f"{line.error:.2f}",
            style="bold" if line.error == least else "",
        )
    return table


def summary(lines: Sequence[Line]) -> Table:
    """Errors of all models on all tables."""
    names = list(dict.fromkeys(line.model for line in lines))
    cells = {(line.table, line.model): line.error for line in lines}
    table = Table(title="Test errors in per cent")
    table.add_column("table", no_wrap=True)
    for name in names:
        table.add_column(name.replace("-", " "), justify="right")
    for row in dict.fromkeys(line.table for line in lines):
        errors = [cells.get((row, name), math.inf) for name in names]
        shown = [
            ""
            if error == math.inf
            else f"[bold]{error:.2f}[/]"
            if error == min(errors)
            else f"{error:.2f}"
            for error in errors
        ]
        table.add_row(row, *shown)
    return table


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__)
    add = parser.add_argument
    names = [model.name for model in MODELS]
    add("--only", nargs="+", type=str.lower, choices=names, default=names, help="models (all)")
    add("--tables", nargs="+", help="names of tables, instead of --data")
    add("--data", choices=("forest", "tables", "all"), default="all", help="which tables (all)")
    add("--repeat", type=int, default=1, help="fits, of which the best counts (1)")
    add("--threads", type=int, default=2, help="of all models that have threads (2)")
    add("--choice-rows", type=int, default=CHOICE_ROWS, help="of a search, at most (50,000)")
    add("--rows", type=int, help="use the first training and test rows only")
    add("--slow", action="store_true", help="run slow models on any number of rows")
    options = parser.parse_args(sys.argv[1:] if arguments is None else arguments)
    console = Console(width=150, highlight=False)
    if not os.environ.get("WIDEMARGIN_DATA"):
        console.print("set WIDEMARGIN_DATA to the folder of the data sets")
        return
    models = present(MODELS, options.only, console)
    given = {key: value for key, value in vars(options).items() if key != "only"}
    lines: list[Line] = []
    left_out, written = [], ""
    with threadpool_limits(options.threads), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        for problem in problems(options.tables, options.data):
            found, reasons = run(problem, models, options)
            if found:
                console.print(report(problem.name, found, options.threads))
            for name, reason in reasons.items():
                console.print(f"  {problem.name}: {name} left out: {reason}", markup=False)
                left_out.append({"table": problem.name, "model": name, "reason": reason})
            lines += found
            so_far = [asdict(line) for line in lines]
            written = save("tables", so_far, **given, left_out=left_out)
    if len({line.table for line in lines}) > 1:
        console.print(summary(lines))
    console.print(f"written: {written}")


if __name__ == "__main__":
    main()
