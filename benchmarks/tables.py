"""Which model of a table has the least errors, and at what cost?

`TabularClassifier` and `TabularRegressor` with their defaults, kernel machines in a metric learnt
from their gradients, kernel machines alone and a mixture, beside boosted trees, xRFM and the SVMs
of scikit-learn and scikit-learn-intelex: test error (100 (1 − R²) for a regression), log loss and
area under the ROC curve of models with probabilities, seconds of a fit and of predictions, and the
ratio of the time of the fit to that of LightGBM with 1,000 trees of 127 leaves in the same run.
LightGBM tuned by Optuna gets the seconds that Tabular took on the same split, or a minute without
it.

`--data suite` has 28 tables: the 21 of `--data tables` and the seven of `--data more`, one of them
a frame with text and missing values, which Tabular reads as it is and others as ordinal codes.
`--data forest` is Forest in four splits and Connect-4 (see `benchmarks._splits`). The last tables
have all errors, and Tabular against each other model (see `benchmarks._summary`).

Results are written after each table, to the file that `--name` names, and `--resume` continues
there. Settings of kernel machines and of xRFM are chosen on validation rows, then the model is
trained on all training rows; the search is a column of its own. Test rows are read once per fit.
What is not installed is left out: `pip install "widemargin[bench]"`, and `[bench-xrfm]` for xRFM,
which needs torch (install its CPU version first).
"""

import argparse
import math
import os
import sys
import warnings
from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from benchmarks._lines import Entry, Line
from benchmarks._results import save, saved
from benchmarks._splits import GROUPS, Problem, problems
from benchmarks._summary import Comparison, compare, comparison_table, errors_table
from benchmarks._table import present, seconds
from benchmarks.adapters._tables import TableLibrary
from benchmarks.adapters.catboost import CatBoost
from benchmarks.adapters.hist_gradient_boosting import HistGradientBoosting
from benchmarks.adapters.lightgbm import LightGBM
from benchmarks.adapters.lightgbm_tuned import LightGBMTuned
from benchmarks.adapters.ours_tables import (
    IntelexMachine,
    OursMachine,
    OursMetric,
    OursMixture,
    OursTabular,
    ScikitLearnMachine,
)
from benchmarks.adapters.xgboost import XGBoost
from benchmarks.adapters.xrfm import XRFM

MODELS: tuple[TableLibrary, ...] = (
    OursTabular(),
    OursMetric("diagonal"),
    OursMetric("full"),
    OursMixture("mlp"),
    OursMixture("cells"),
    OursMachine("exponential"),
    OursMachine("rbf"),
    LightGBM(),
    LightGBM(1000, 127),
    LightGBM(2000, 255),
    LightGBMTuned(),
    XGBoost(),
    XGBoost(1000, 127),
    CatBoost(),
    HistGradientBoosting(),
    HistGradientBoosting(1000, 127),
    XRFM(),
    ScikitLearnMachine(),
    IntelexMachine(),
)
REFERENCE = "tabular"  # compared with every other model at the end
BASELINE = "lightgbm-1000"  # of the ratios of seconds
CHOICE_ROWS = 50_000


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
                entry.time_limit = seconds_of(entry.model.time_of, running)
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


def seconds_of(name: str | None, entries: Sequence[Entry]) -> float | None:
    """How long the model with this name took to fit; None if it did not."""
    taken = next((entry.seconds for entry in entries if entry.model.name == name), math.inf)
    return taken if math.isfinite(taken) else None


def report(name: str, lines: Sequence[Line], threads: int) -> Table:
    title = f"{name}, {lines[0].rows:,} training rows, threads: {threads}"
    if len(lines[0].errors) > 1:
        title += f", mean of {len(lines[0].errors)} splits"
    table = Table(title=f"{title}; ratio = fit / LightGBM's 1,000 × 127")
    columns = ("model", "setting", "search", "fit", "ratio", "predict", "valid %", "test %")
    for column in (*columns, "log loss", "AUC"):
        left = column in ("model", "setting")
        table.add_column(column, justify="left" if left else "right", no_wrap=not left)
    least = min(line.error for line in lines)
    for line in lines:
        table.add_row(
            line.title,
            "; ".join(dict.fromkeys(line.settings)),
            seconds(line.choice_seconds) if line.choice_seconds else "",
            seconds(line.seconds),
            number(line.ratio, 2),
            seconds(line.predict_seconds),
            number(line.valid_error, 2),
            number(line.error, 2),
            number(line.log_loss, 4),
            number(line.auc, 4),
            style="bold" if line.error == least else "",
        )
    return table


def number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__)
    add = parser.add_argument
    names = [model.name for model in MODELS]
    add("--only", nargs="+", type=str.lower, choices=names, default=names, help="models (all)")
    add("--tables", nargs="+", help="names of tables, instead of --data")
    add("--data", choices=tuple(GROUPS), default="all", help="which tables (all)")
    add("--repeat", type=int, default=1, help="fits, of which the best counts (1)")
    add("--threads", type=int, default=2, help="of all models that have threads (2)")
    add("--choice-rows", type=int, default=CHOICE_ROWS, help="of a search, at most (50,000)")
    add("--rows", type=int, help="use the first training and test rows only")
    add("--resume", action="store_true", help="continue after the tables that were done before")
    add("--slow", action="store_true", help="run slow models on any number of rows")
    add("--name", default="tables", help="of the file in benchmarks/results (tables)")
    options = parser.parse_args(sys.argv[1:] if arguments is None else arguments)
    console = Console(width=150, highlight=False)
    if not os.environ.get("WIDEMARGIN_DATA"):
        console.print("set WIDEMARGIN_DATA to the folder of the data sets")
        return
    models = present(MODELS, options.only, console)
    given = {key: value for key, value in vars(options).items() if key not in ("only", "name")}
    lines = [Line(**one) for one in saved(options.name)] if options.resume else []
    done = {line.table for line in lines}
    compared: list[Comparison] = []
    left_out, written = [], ""
    with threadpool_limits(options.threads), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        for problem in problems(options.tables, options.data):
            if problem.name in done:
                continue
            found, reasons = run(problem, models, options)
            if found:
                console.print(report(problem.name, found, options.threads))
            for name, reason in reasons.items():
                console.print(f"  {problem.name}: {name} left out: {reason}", markup=False)
                left_out.append({"table": problem.name, "model": name, "reason": reason})
            lines += found
            so_far, compared = [asdict(line) for line in lines], compare(lines, REFERENCE)
            summary = [asdict(one) for one in compared]
            written = save(options.name, so_far, **given, left_out=left_out, summary=summary)
    if len({line.table for line in lines}) > 1:
        console.print(errors_table(lines))
    if len(compared) > 1:
        console.print(comparison_table(compared))
    console.print(f"written: {written}" if written else "no table is left")


if __name__ == "__main__":
    main()
