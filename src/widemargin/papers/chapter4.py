"""Tables 4.1 and 4.2: the classes of Forest and Connect-4."""

from collections.abc import Sequence

import numpy as np
from sklearn.utils import Bunch

from widemargin.datasets import fetch_connect4, fetch_forest
from widemargin.papers.item import Item, Measured, in_thesis
from widemargin.papers.scope import Scope

__all__ = ["ITEMS"]

FOREST = {
    "class 1": 211_840,
    "class 2": 283_301,
    "class 3": 35_754,
    "class 4": 2_747,
    "class 5": 9_493,
    "class 6": 17_367,
    "class 7": 20_510,
}
CONNECT4 = {"win": 44_473, "loss": 16_635, "draw": 6_449}


def counted(data: Bunch, names: Sequence[str]) -> Measured:
    """How many examples each class has, the classes in ascending order."""
    _, counts = np.unique(data.target, return_counts=True)
    return Measured(dict(zip(names, counts.astype(float).tolist(), strict=True)))


def forest_classes(scope: Scope) -> Measured:
    return counted(fetch_forest(target="cover_type"), list(FOREST))


def connect4_classes(scope: Scope) -> Measured:
    data = fetch_connect4(target="outcome")
    return counted(data, [str(name) for name in data.target_names])


ITEMS = (
    Item(
        "table-4.1",
        "Classes of Forest",
        in_thesis("Table 4.1", "4.4", 44),
        kind="value",
        protocol="counts of all 581,012 rows",
        minutes=0.1,
        run=forest_classes,
        published=FOREST,
        unit="rows",
        data=("covtype",),
    ),
    Item(
        "table-4.2",
        "Classes of Connect-4",
        in_thesis("Table 4.2", "4.5", 45),
        kind="value",
        protocol="counts of all 67,557 rows",
        minutes=0.1,
        run=connect4_classes,
        published=CONNECT4,
        unit="rows",
        data=("connect-4",),
    ),
)
