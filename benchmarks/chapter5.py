"""The thesis's experiments on support vector regression, Tables 5.2 to 5.6, with our SVR.

`python -m benchmarks.chapter5 --help`. The thesis (a Pentium III at 750 MHz) does not give its C, γ
and ε; ours are chosen so that errors and numbers of support vectors are of the same order. Only
trends can be compared: whether q = 2 wins, what shrinking saves and costs, how time grows.

Inputs are standardised, targets are not. Where the thesis takes the first L rows, we take L random
training rows, because the first rows of a time series cover little of its range. `shrinking`:
"heuristic" is SVMTorch of the thesis (shrinks and never checks the examples that it set aside),
True is SVMTorchU (checks them at the end), False is SVMTorchN.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Literal

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from sklearn.exceptions import ConvergenceWarning

import widemargin
from benchmarks._results import save
from widemargin.datasets import fetch_forest, fetch_kin, fetch_sunspots, make_artificial


@dataclass(frozen=True)
class Task:
    """A data set, and the parameters of its machine."""

    fetch: Callable[[], Any]
    C: float
    gamma: float
    epsilon: float


TASKS = {
    "Kin": Task(partial(fetch_kin, split="thesis"), C=5, gamma=0.01, epsilon=0.35),
    "Artificial": Task(make_artificial, C=1000, gamma=0.01, epsilon=0.5),
    "Forest": Task(partial(fetch_forest, split="thesis-regression"), C=10, gamma=0.1, epsilon=0.5),
    "Sunspots": Task(partial(fetch_sunspots, split="thesis"), C=100, gamma=0.1, epsilon=20),
}
WORKING_SET_SIZES = (2, 4, 10, 50, 100, "auto")  # the thesis has no "auto"
CACHE_MEGABYTES = tuple(range(10, 101, 10))
ROW_COUNTS = (500, 1000, 2000, 3000, 4000, 5000)
VARIANTS = {"SVMTorch": "heuristic", "SVMTorchU": True, "SVMTorchN": False}  # `shrinking`

# seconds by q = 2, 4, 10, 50, 100
TABLE_5_2 = {
    "Kin": (11, 14, 16, 28, 54),
    "Artificial": (98, 149, 190, 629, 1537),
    "Forest": (272, 406, 462, 670, 981),
    "Sunspots": (7, 11, 15, 45, 89),
}
# seconds, support vectors, cost, mean absolute error on training and test rows, by variant
TABLE_5_3 = {
    "Kin": (
        (7, 936, -173977.85, 0.30, 0.31),
        (15, 936, -173977.85, 0.30, 0.31),
        (45, 941, -173982.65, 0.30, 0.31),
    ),
    "Artificial": (
        (31, 342, -13594.01, 0.25, 0.52),
        (166, 367, -13703.07, 0.24, 0.51),
        (448, 370, -13701.41, 0.24, 0.51),
    ),
    "Forest": (
        (21, 993, -1012.46, 0.51, 0.80),
        (65, 1051, -1030.78, 0.41, 0.80),
        (110, 1058, -1030.43, 0.41, 0.80),
    ),
    "Sunspots": (
        (2, 420, -3489571.13, 9.65, 10.12),
        (9, 422, -3489630.53, 9.65, 10.11),
        (38, 422, -3489628.27, 9.64, 10.11),
    ),
}
TABLE_5_4 = {
    "Kin": (
        (11, 1140, -212439.78, 0.30, 0.31),
        (32, 1140, -212439.78, 0.30, 0.31),
        (86, 1140, -212439.78, 0.30, 0.31),
    ),
    "Artificial": (
        (235, 706, -39569.14, 0.21, 0.34),
        (4394, 817, -40025.98, 0.20, 0.33),
        (9182, 824, -40016.55, 0.20, 0.34),
    ),
    "Forest": (
        (4573, 3019, -56266.94, 1.63, 1.82),
        (40669, 4080, -78297.27, 0.40, 0.93),
        (79237, 4233, -78294.56, 0.39, 0.93),
    ),
    "Sunspots": (
        (67, 1771, -11215476.03, 8.97, 12.72),
        (1290, 1822, -11229107.83, 8.96, 12.59),
        (2606, 1820, -11229098.49, 8.96, 12.59),
    ),
}
# seconds by size of the cache
TABLE_5_5 = {
    "Kin": (11,) * 10,
    "Artificial": (359, 182, 106, 100, 99, 98, 98, 98, 98, 98),
    "Forest": (869, 715, 622, 519, 450, 391, 355, 316, 305, 272),
    "Sunspots": (7,) * 10,
}
TABLE_5_6 = {"Kin": 1.81, "Artificial": 1.72, "Forest": 1.82, "Sunspots": 1.85}


@dataclass(frozen=True)
class Chapter:
    """Settings that all tables share; each table prints itself and returns its numbers."""

    console: Console
    tasks: Iterable[str]
    working_set_size: Any
    threads: int
    repeat: int
    time_limit: float | None
    divisor: int  # of all numbers of rows

    def fit(self, name: str, rows: int | None, **parameters: Any) -> dict[str, Any]:
        """Fit to `rows` rows (None means all); the best time, and facts about the last fit."""
        task, data = TASKS[name], _load(name)
        order = np.random.RandomState(0).permutation(len(data.y_train))
        order = order[: min(rows or len(order), len(order)) // self.divisor]
        X, y = data.X_train[order].astype(np.float64), data.y_train[order]
        mean, deviation = X.mean(0), X.std(0)
        deviation[deviation == 0] = 1.0
        X, X_test = (X - mean) / deviation, (data.X_test - mean) / deviation
        common = {"C": task.C, "gamma": task.gamma, "epsilon": task.epsilon, "tol": 0.01}
        common |= {"working_set_size": self.working_set_size, "shrinking": "heuristic"}
        common |= {"n_jobs": self.threads, "time_limit": self.time_limit}
        seconds = np.inf
        for _ in range(self.repeat):
            model = widemargin.SVR(**{**common, **parameters})
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                start = time.perf_counter()
                model.fit(X, y)
                seconds = min(seconds, time.perf_counter() - start)
        return {
            "data": name,
            "rows": len(order),
            **parameters,
            "seconds": seconds,
            "converged": bool(model.converged_),
            "n_support": len(model.support_),
            "cost": -float(model.dual_objective_),
            "mae_train": float(np.abs(model.predict(X) - y).mean()),
            "mae_test": float(np.abs(model.predict(X_test) - data.y_test).mean()),
        }

    def sweep(
        self,
        title: str,
        parameter: str,
        values: Iterable[Any],
        published: dict[str, tuple[int, ...]],
        **fixed: Any,
    ) -> list[dict[str, Any]]:
        """Seconds for 10,000 rows and each value of one parameter; those of the thesis below."""
        table, results = self.table(title, "", *map(str, values)), []
        for name in self.tasks:
            row = [self.fit(name, 10_000, **{parameter: value}, **fixed) for value in values]
            table.add_row(name, *map(_seconds, row))
            table.add_row("  thesis", *map(str, published[name]), style="dim", end_section=True)
            results += row
        self.console.print(table)
        return results

    def table_5_2(self) -> list[dict[str, Any]]:
        title = "Table 5.2  seconds by size of the working set (cache 100 MB, shrinking)"
        return self.sweep(title, "working_set_size", WORKING_SET_SIZES, TABLE_5_2, cache_size=100)

    def table_5_5(self) -> list[dict[str, Any]]:
        title = "Table 5.5  seconds by size of the cache in MB (shrinking)"
        return self.sweep(title, "cache_size", CACHE_MEGABYTES, TABLE_5_5)

    def compare(
        self, title: str, rows: int | None, published: dict[str, tuple[tuple[float, ...], ...]]
    ) -> list[dict[str, Any]]:
        """The three kinds of shrinking: our results on the left, those of the thesis on the right.

        Seconds, support vectors, cost (5.6) and mean absolute errors.
        """
        head = ("# SV", "cost", "train", "test")
        dim = [f"[dim]{word}" for word in ("thesis", *head)]
        table, results = self.table(title, "", "shrinking", "time", *head, *dim), []
        for name in self.tasks:
            for (variant, shrinking), theirs in zip(VARIANTS.items(), published[name], strict=True):
                r = self.fit(name, rows, shrinking=shrinking, cache_size=300)
                values = (r["n_support"], r["cost"], r["mae_train"], r["mae_test"])
                table.add_row(
                    name if variant == "SVMTorch" else "",
                    str(shrinking),
                    _seconds(r),
                    *_numbers(values),
                    *(f"[dim]{text}" for text in (f"{theirs[0]:g}", *_numbers(theirs[1:]))),
                    end_section=variant == "SVMTorchN",
                )
                results.append({"variant": variant, **r})
        self.console.print(table)
        return results

    def table_5_3(self) -> list[dict[str, Any]]:
        title = "Table 5.3  5,000 rows, cache 300 MB; cost (5.6), mean absolute errors"
        return self.compare(title, 5_000, TABLE_5_3)

    def table_5_4(self) -> list[dict[str, Any]]:
        return self.compare(
            "Table 5.4  all rows, cache 300 MB; cost (5.6), mean absolute errors", None, TABLE_5_4
        )

    def table_5_6(self) -> list[dict[str, Any]]:
        title = "Table 5.6  p of time ~ L^p (cache 300 MB, shrinking); seconds by L"
        table = self.table(
            title, "", *(f"{n // self.divisor:,}" for n in ROW_COUNTS), "p", "[dim]thesis"
        )
        results = []
        for name in self.tasks:
            row = [self.fit(name, n, cache_size=300) for n in ROW_COUNTS]
            logs = np.log([(r["rows"], r["seconds"]) for r in row])
            p = np.polyfit(logs[:, 0], logs[:, 1], 1)[0]
            table.add_row(name, *map(_seconds, row), f"{p:.2f}", f"[dim]{TABLE_5_6[name]}")
            results += [{**r, "exponent": float(p)} for r in row]
        self.console.print(table)
        return results

    def table(self, title: str, *columns: str) -> Table:
        self.console.print(title, style="bold", highlight=False)
        table = Table(box=box.SIMPLE_HEAD, padding=0)
        for column in columns:
            left = not column  # names
            justify: Literal["left", "right"] = "left" if left else "right"
            table.add_column(column, justify=justify, min_width=10 if left else 6, no_wrap=True)
        return table


@lru_cache
def _load(name: str) -> Any:
    return TASKS[name].fetch()


def _seconds(result: dict[str, Any]) -> str:
    seconds, mark = result["seconds"], "" if result["converged"] else "*"
    return f"{seconds:.{3 if seconds < 1 else 2 if seconds < 10 else 0}f}{mark}"


def _numbers(values: Iterable[float]) -> list[str]:
    n_support, cost, *errors = values
    return [f"{n_support:.0f}", f"{cost:.0f}", *(f"{error:.2f}" for error in errors)]


def main() -> None:
    tables = ("5.2", "5.3", "5.4", "5.5", "5.6")
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chapter5", description=__doc__)
    add = parser.add_argument
    add("--table", nargs="+", choices=tables, default=tables)
    add("--only", nargs="+", choices=list(TASKS), default=list(TASKS), help="data sets")
    add("--working-set-size", default="auto", help="of all tables but 5.2; the thesis: 2 (auto)")
    add("--threads", type=int, default=2)
    add("--repeat", type=int, default=1, help="fits, of which the best counts (1)")
    add("--time-limit", type=float, help="seconds per fit; * marks fits that it stopped")
    add("--quick", action="store_true", help="a tenth of the rows")
    options = parser.parse_args()
    q = options.working_set_size
    q = q if q == "auto" else int(q)
    console, divisor = Console(width=100), 10 if options.quick else 1
    chapter = Chapter(
        console, options.only, q, options.threads, options.repeat, options.time_limit, divisor
    )
    console.print(f"{options.threads} threads, working set {q}, tol 0.01", highlight=False)
    for name in options.only:
        task = TASKS[name]
        console.print(f"  {name:10} C={task.C:g} γ={task.gamma:g} ε={task.epsilon:g}", style="dim")
    results = []
    for table in options.table:
        console.print()
        rows = getattr(chapter, f"table_{table.replace('.', '_')}")()
        results += [{"table": table, **row} for row in rows]
    settings = {"threads": options.threads, "repeat": options.repeat, "quick": options.quick}
    console.print(f"written: {save('chapter5', results, working_set_size=q, **settings)}")


if __name__ == "__main__":
    main()
