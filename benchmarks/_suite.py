"""Classification tables: those of WIDEMARGIN_DATA and artificial ones, each with a split.

A table is split 70/30 by ``train_test_split(random_state=0, stratify=y)``, and at most 20,000
training rows, unless more are asked for, and 10,000 test rows are used. Defaults are chosen on
validation rows: `validation` splits the training rows once more, and the test rows are not read.
"""

import csv
import lzma
import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from benchmarks._data import Data, _read

TRAIN_ROWS, TEST_ROWS = 20_000, 10_000
SPARSE = ("a9a", "w8a", "reuters-money-fx")
DENSE = ("connect-4", "covtype", "letter", "shuttle", "skin_nonskin")
NOISY_SEEDS = (0, 1, 2)

Pair = tuple[Any, NDArray[Any]]  # X and y


@dataclass(frozen=True)
class Case:
    """A table and its split."""

    name: str
    load: Callable[[], Pair]

    def split(self, *, validation: bool = False, rows: int = TRAIN_ROWS) -> Data:
        """Training and test rows, or training rows divided into training and validation rows."""
        X, y = self.load()
        order, test = _halves(np.arange(len(y)), y)
        order = order[: max(rows, TRAIN_ROWS)]
        if validation:
            order, test = _halves(order, y)
        order, test = order[:rows], test[:TEST_ROWS]
        return Data(X[order], y[order], X[test], y[test])


def cases(names: Collection[str] | None = None) -> Iterator[Case]:
    """All tables, or those with these names."""
    found: dict[str, Callable[[], Pair]] = {}
    folder = Path(os.environ.get("WIDEMARGIN_DATA", ""))
    for file in sorted(folder.glob("tables/*.npz")):
        with np.load(file, allow_pickle=False) as z:
            if str(z["task"]) == "classification":
                found[file.stem] = partial(_table, file)
    found |= {name: partial(_dense, name) for name in DENSE}
    found |= {name: partial(_sparse, name) for name in SPARSE}
    found |= {"mnist": _mnist, "adult": _adult}
    found |= {f"noisy-{seed}": partial(noisy, seed) for seed in NOISY_SEEDS}
    found["ten classes"] = ten_classes
    for name in found if names is None else names:
        yield Case(name, found[name])


def noisy(seed: int = 0) -> Pair:
    """2,600 rows of 500 columns, 480 of them noise, as in Madelon."""
    X, y = make_classification(
        2600, n_informative=5, n_redundant=15, n_features=500, random_state=seed
    )
    return X, y


def ten_classes() -> Pair:
    """10,000 rows of 256 columns (7,000 for training), in ten classes."""
    X, y = make_classification(
        10_000, n_features=256, n_informative=30, n_redundant=50, n_classes=10, random_state=0
    )
    return X.astype(np.float32), y


def _halves(order: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    kept, rest = train_test_split(order, test_size=0.3, random_state=0, stratify=y[order])
    return kept, rest


def _table(file: Path) -> Pair:
    with np.load(file, allow_pickle=False) as z:
        return z["X"], z["y"]


def _dense(name: str) -> Pair:
    z = _read(name)
    return z["X"].astype(np.float32), z["y"]


def _sparse(name: str) -> Pair:
    z = _read(name)
    entries = (z["data"].astype(np.float32), z["indices"], z["indptr"])
    return sp.csr_matrix(entries, tuple(z["shape"])), z["y"]


def _mnist() -> Pair:
    z = _read("mnist")
    return z["x_train"].reshape(len(z["y_train"]), -1).astype(np.float32), z["y_train"]


def _adult() -> Pair:
    """Words are coded as integers, in alphabetical order."""
    file = Path(os.environ["WIDEMARGIN_DATA"]) / "adult" / "adult.data.xz"
    with lzma.open(file, "rt") as text:
        lines = [line for line in csv.reader(text, skipinitialspace=True) if line]
    *columns, labels = (np.array(column) for column in zip(*lines, strict=True))
    return np.column_stack([_numbers(column) for column in columns]), labels


def _numbers(column: NDArray[Any]) -> NDArray[Any]:
    try:
        return column.astype(np.float64)
    except ValueError:
        return np.unique(column, return_inverse=True)[1].astype(np.float64)
