"""Tables for models of tables, each with its split into training, validation and test rows.

The suite `tables/` of WIDEMARGIN_DATA: 70/30 by ``train_test_split(random_state=0)``, stratified
for classes, at most 20,000 training and 10,000 test rows; three seeds where a table has fewer than
2,500 rows. Seven more tables are split in the same way (see `MORE`). Forest and Connect-4 have the
splits of the thesis and others (see `FOREST`), some with validation rows. Inputs are float32 as
given, classes are coded 0, 1, ..., and the values of a regression are standardised by those of the
training rows. A table with text has ordinal codes as its inputs, and its frame beside them.
"""

import math
import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from benchmarks._adult import ordinal_codes, read_adult
from benchmarks._data import _read
from benchmarks._suite import TEST_ROWS, TRAIN_ROWS
from widemargin.datasets import fetch_connect4, fetch_forest

SEEDS = (0, 1, 2)  # of tables with fewer rows than this:
FEW_ROWS = 2_500
ALL_TEST = 116_202  # of all of Forest
SEVEN_CLASSES = (300_000, 100_000, 100_000)  # the protocol of xRFM: 60/20/20 of 500,000 rows
MOST_VALIDATION_ROWS = 10_000
GROUPS = {
    "forest": ("forest",),
    "tables": ("tables",),
    "more": ("more",),
    "suite": ("tables", "more"),
    "all": ("forest", "tables", "more"),
}


@dataclass(frozen=True)
class Split:
    """Training and test rows of a table, and validation rows if its protocol has them.

    A table with text also has the frames `raw` and `raw_test` of the same rows.
    """

    task: str  # "classification" or "regression"
    X: NDArray[Any]
    y: NDArray[Any]
    X_test: NDArray[Any]
    y_test: NDArray[Any]
    X_valid: NDArray[Any] | None = None
    y_valid: NDArray[Any] | None = None
    raw: Any = None
    raw_test: Any = None

    @property
    def classes(self) -> bool:
        return self.task == "classification"

    def inputs(self, *, raw: bool) -> tuple[Any, Any]:
        """Training and test inputs; with `raw`, the frames of a table that has them."""
        return (self.raw, self.raw_test) if raw and self.raw is not None else (self.X, self.X_test)

    def first(self, rows: int | None) -> "Split":
        """With at most so many training rows and test rows."""
        names = ("X", "y", "X_test", "y_test", "raw", "raw_test")
        parts = {name: getattr(self, name) for name in names}
        return replace(
            self, **{name: part[:rows] for name, part in parts.items() if part is not None}
        )

    def for_choice(self, rows: int) -> "Split":
        """What settings are chosen on: its test rows are the validation rows, or a fifth of X."""
        if self.X_valid is not None and self.y_valid is not None:
            X, y, X_valid, y_valid = self.X, self.y, self.X_valid, self.y_valid
        else:
            strata = self.y if self.classes and np.bincount(self.y).min() > 1 else None
            train, valid = train_test_split(
                np.arange(len(self.y)), test_size=0.2, random_state=0, stratify=strata
            )
            X, y, X_valid, y_valid = self.X[train], self.y[train], self.X[valid], self.y[valid]
        most = MOST_VALIDATION_ROWS
        return Split(self.task, X[:rows], y[:rows], X_valid[:most], y_valid[:most])

    def error(self, predicted: NDArray[Any]) -> float:
        """The test error in per cent; 100 (1 − R²) for a regression."""
        if self.classes:
            return 100.0 * float(np.mean(np.ravel(predicted) != self.y_test))
        rest = np.sum((self.y_test - np.ravel(predicted)) ** 2)
        return 100.0 * float(rest / np.sum((self.y_test - self.y_test.mean()) ** 2))


@dataclass(frozen=True)
class Problem:
    """A table; `load` gives one split per seed."""

    name: str
    group: str  # "forest", "tables" or "more"
    load: Callable[[], list[Split]]


def problems(names: Collection[str] | None = None, group: str = "all") -> Iterator[Problem]:
    """The tables with these names; or all of one of the `GROUPS`."""
    found = [Problem(name, "forest", partial(_single, name)) for name in FOREST]
    folder = Path(os.environ.get("WIDEMARGIN_DATA", "")) / "tables"
    found += [
        Problem(file.stem, "tables", partial(suite, file)) for file in sorted(folder.glob("*.npz"))
    ]
    found += [Problem(name, "more", load) for name, load in MORE.items()]
    if names is None:
        yield from (one for one in found if one.group in GROUPS[group])
        return
    known = {one.name.lower(): one for one in found}
    unknown = [name for name in names if name.lower() not in known]
    if unknown:
        raise ValueError(f"no table is called {unknown[0]!r}; there are {', '.join(known)}")
    yield from (known[name.lower()] for name in names)


# -------------------------------------------------------------------------------- the suite


def suite(file: Path) -> list[Split]:
    with np.load(file, allow_pickle=False) as z:
        X, y, task = z["X"], z["y"], str(z["task"])
    return [seventy_thirty(task, X, y, seed) for seed in (SEEDS if len(y) < FEW_ROWS else (0,))]


def seventy_thirty(
    task: str, X: NDArray[Any], y: NDArray[Any], seed: int, frame: Any = None
) -> Split:
    """70/30, or as many as allowed; a smaller part is drawn, it is not cut from a larger one."""
    rest = math.ceil(0.3 * len(y))
    train, test = train_test_split(
        np.arange(len(y)),
        train_size=min(len(y) - rest, TRAIN_ROWS),
        test_size=min(rest, TEST_ROWS),
        random_state=seed,
        stratify=y if task == "classification" else None,
    )
    split = _split(task, X, y, train, test)
    if frame is None:
        return split
    return replace(split, raw=frame.iloc[train], raw_test=frame.iloc[test])


def _split(task: str, X: Any, y: Any, train: Any, test: Any, valid: Any = None) -> Split:
    if task == "classification":
        y = np.unique(y, return_inverse=True)[1]
    else:
        y = y.astype(np.float64)
        y = (y - y[train].mean()) / y[train].std()
    held_out = () if valid is None else (X[valid].astype(np.float32), y[valid])
    inputs = [np.ascontiguousarray(X[rows], dtype=np.float32) for rows in (train, test)]
    return Split(task, inputs[0], y[train], inputs[1], y[test], *held_out)


# ------------------------------------------------------------------------------ seven more


def _single_file(name: str, task: str) -> list[Split]:
    """All rows of a file, in the order in which it has them; large ones are cut as the suite's."""
    z = _read(name)
    return [seventy_thirty(task, z["X"], z["y"], 0)]


def _adult() -> list[Split]:
    """All rows of both files; text as codes, −1 where it is missing, beside the raw frame."""
    frame, y = read_adult()
    return [seventy_thirty("classification", ordinal_codes(frame), y, 0, frame)]


MORE: dict[str, Callable[[], list[Split]]] = {
    "letter": partial(_single_file, "letter", "classification"),
    "shuttle": partial(_single_file, "shuttle", "classification"),
    "adult": _adult,
    "california_housing": partial(_single_file, "california_housing", "regression"),
    "kin8nm": partial(_single_file, "kin8nm", "regression"),
    "covtype-20000": partial(_single_file, "covtype", "classification"),
    "connect-4-20000": partial(_single_file, "connect-4", "classification"),
}


# ----------------------------------------------------------------------- Forest and Connect-4


def _thesis(fetch: Callable[..., Any], rows: int | None = None) -> Split:
    """The thesis's split, or its first training rows with all of its other rows."""
    data = fetch(split="thesis")
    y, y_valid, y_test = ((part > 0) * 1 for part in (data.y_train, data.y_valid, data.y_test))
    parts = data.X_train[:rows], y[:rows], data.X_test, y_test, data.X_valid, y_valid
    return Split("classification", *parts)


def _all_of_forest() -> Split:
    """Class 2 against the rest: shuffled, and the last rows are test rows."""
    X, y = fetch_forest(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(y))
    return _split("classification", X, y, order[:-ALL_TEST], order[-ALL_TEST:])


def _seven_classes() -> Split:
    """500,000 random rows, 60/20/20."""
    X, y = fetch_forest(target="cover_type", return_X_y=True)
    order = np.random.RandomState(0).permutation(len(y))
    train, valid, test, _ = np.split(order, np.cumsum(SEVEN_CLASSES))
    return _split("classification", X, y, train, test, valid)


FOREST: dict[str, Callable[[], Split]] = {
    "forest-20000": lambda: _thesis(fetch_forest, 20_000),
    "forest-100000": lambda: _thesis(fetch_forest),
    "forest-all": _all_of_forest,
    "forest-seven-classes": _seven_classes,
    "connect-4": lambda: _thesis(fetch_connect4),
}


def _single(name: str) -> list[Split]:
    return [FOREST[name]()]
