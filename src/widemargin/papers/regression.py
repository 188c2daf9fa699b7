"""The four regression tasks of Chapter 5, and one fit to some of their rows."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from widemargin.datasets import fetch_forest, fetch_kin, fetch_sunspots, make_artificial
from widemargin.kernels import UnscaledInputsWarning
from widemargin.papers.item import Item, in_thesis
from widemargin.papers.scope import Scope
from widemargin.plots.style import BLUE, GREEN, ORANGE, VERMILION
from widemargin.svm import SVR

__all__ = [
    "COLOURS",
    "DATA",
    "OLD",
    "ORIGIN",
    "TASKS",
    "TOL",
    "VARIANTS",
    "Fit",
    "Setting",
    "by_name",
    "first_rows",
    "fit",
    "table_item",
    "task",
]

DATA = ("kin", "covtype", "sunspots")  # Artificial is made of the sunspots
TOL = 0.01
OLD = "seconds of a Pentium III at 750 MHz"
#: The thesis says that the user chooses both, and not what it chose (5.2.4). With these, SVMTorch
#: ends on Forest near its printed cost, above that of SVMTorchU, and on Kin at the same cost.
SHRINKING = {"shrinking_iterations": 100, "shrinking_threshold": 0.1}
VARIANTS: dict[str, Any] = {"SVMTorch": "heuristic", "SVMTorchU": True, "SVMTorchN": False}
ORIGIN = (
    "The thesis does not print C, γ and ε. Ours were found by a small search for the support "
    "vectors, cost and errors of SVMTorchU in Table 5.3, so agreement there shows only that such "
    "a setting exists; Table 5.4 uses the same setting and is a test of it. Inputs and targets "
    "are as they are in the files. Kin is the member fh of the family with 32 inputs, in our "
    "order. Sunspots is version 2 of the series, which no longer has the factor 0.6 of the counts "
    "of 2001; its targets, and those of Artificial, are multiplied by it, but other corrections "
    "remain, and the test rows are other years."
)


@dataclass(frozen=True)
class Setting:
    """The parameters of a machine."""

    C: float
    gamma: float
    epsilon: float

    def __str__(self) -> str:
        return f"C={self.C:g}, γ={self.gamma:g}, ε={self.epsilon:g}"


#: Version 2 of the series of sunspots, relative to the version that the thesis had.
OLD_COUNTS = 0.6
TASKS = {
    "Kin": Setting(808.7, 2.075e-6, 0.4993),
    "Artificial": Setting(56.62, 4.76e-6, 0.5347),
    "Forest": Setting(53.86, 5.975e-6, 0.6924),
    "Sunspots": Setting(438.6, 8.08e-9, 15.82),
}


COLOURS = dict(zip(TASKS, (BLUE, VERMILION, GREEN, ORANGE), strict=True))
FETCHERS: dict[str, Callable[[], Bunch]] = {
    "Kin": partial(fetch_kin, split="thesis"),
    "Artificial": make_artificial,
    "Forest": partial(fetch_forest, split="thesis-regression"),
    "Sunspots": partial(fetch_sunspots, split="thesis"),
}


@lru_cache(maxsize=4)
def task(name: str) -> Bunch:
    """Training and test rows, as numbers of double precision."""
    data = FETCHERS[name]()
    keys = ("X_train", "y_train", "X_test", "y_test")
    found = Bunch(**{key: np.asarray(data[key], dtype=np.float64) for key in keys})
    if name in ("Artificial", "Sunspots"):
        found.y_train, found.y_test = OLD_COUNTS * found.y_train, OLD_COUNTS * found.y_test
    return found


@dataclass(frozen=True)
class Fit:
    """What Tables 5.3 and 5.4 print of a machine, and what else claims need."""

    seconds: float
    support: int
    cost: float  # (5.6) at the end
    train: float  # mean absolute error
    test: float
    steps: int
    finished: bool  # false if time or steps were over before its stopping rule was met


def first_rows(name: str, rows: int | None, scope: Scope) -> tuple[Any, Any, Any, Any]:
    """The first rows of a task, and its test rows."""
    data = task(name)
    count = scope.rows(min(rows or len(data.y_train), len(data.y_train)))
    return data.X_train[:count], data.y_train[:count], data.X_test, data.y_test


def fit(name: str, rows: int | None, scope: Scope, **options: Any) -> Fit:
    """A machine on the first rows; working sets of two variables, shrinking, unless options say."""
    X, y, X_test, y_test = first_rows(name, rows, scope)
    setting = TASKS[name]
    shared: dict[str, Any] = {"working_set_size": 2, "shrinking": "heuristic", "tol": TOL}
    model = SVR(
        C=setting.C, gamma=setting.gamma, epsilon=setting.epsilon, **shared | SHRINKING | options
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnscaledInputsWarning)  # they are not, in the thesis
        model.fit(X, y)
    return Fit(
        float(model.fit_time_),
        len(model.support_),
        -float(model.dual_objective_),
        float(np.abs(model.predict(X) - y).mean()),
        float(np.abs(model.predict(X_test) - y_test).mean()),
        int(model.n_iter_),
        model.stop_reason_ != "time_limit",
    )


def by_name(table: Mapping[str, tuple[int, ...]], columns: tuple[Any, ...]) -> dict[str, float]:
    """The numbers of a table with one row per task."""
    return {
        f"{name}, {column}": float(value)
        for name, row in table.items()
        for column, value in zip(columns, row, strict=True)
    }


def table_item(number: str, title: str, minutes: float, run: Any, **rest: Any) -> Item:
    """A table of the chapter, which compares shapes unless its kind is given."""
    defaults = {"kind": "shape", "source": in_thesis(f"Table {number}", "5.4", 60), "data": DATA}
    return Item(f"table-{number}", title, minutes=minutes, run=run, **defaults | rest)
