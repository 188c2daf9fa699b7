"""Tables 6.1, 6.2 and 6.3: mixtures of experts on Forest."""

from collections.abc import Callable

from widemargin.mixtures import HardMixtureClassifier
from widemargin.papers.forest_mixtures import (
    LONG_EPOCHS,
    best_of_cells,
    best_of_committees,
    forest,
    parallel_minutes,
    predictions,
    trial,
)
from widemargin.papers.item import Claim, Item, Measured, in_thesis
from widemargin.papers.scope import Scope
from widemargin.papers.trials import Results, compared

__all__ = ["ITEMS"]

#: Test error, and minutes on one computer and with one per expert.
Row = tuple[float, float, float | None]
NETWORKS: dict[str, Row] = {
    "MLP, MSE, 100 epochs": (14.2, 105, None),
    "MLP, MSE, 2,000 epochs": (12.9, 2100, None),
    "MLP, CE, 100 epochs": (11.6, 105, None),
    "MLP, CE, 1,000 epochs": (8.9, 1050, None),
}
TABLES: dict[str, dict[str, Row]] = {
    "6.1": {
        **NETWORKS,
        "SVM": (10.5, 7595, None),
        "uniform mixture of 50 SVMs": (20.3, 45, 1),
        "50 SVMs, gater of 150 units": (9.3, 120, 40),
        "50 SVMs, gater of 500 units": (8.1, 310, 200),
    },
    "6.2": {
        **NETWORKS,
        "standard mixture, 65 epochs": (11.6, 124, None),
        "standard mixture, 150 epochs": (9.1, 290, None),
        "20 MLPs, local gaters": (10.9, 21, 1.3),
    },
    "6.3": {"20 SVMs, local gaters": (10.7, 2240, 157)},
}
#: Of each table, the row that ours at its best stands beside.
BEST: dict[str, tuple[str, Callable[[Scope], float]]] = {
    "6.1": ("50 SVMs, gater of 500 units", best_of_cells),
    "6.2": ("20 MLPs, local gaters", best_of_committees),
    "6.3": ("20 SVMs, local gaters", best_of_cells),
}
#: Of each table the section, and the page that it begins on.
SECTIONS = {"6.1": ("6.5.2", 80), "6.2": ("6.6.1", 83), "6.3": ("6.6.2", 85)}
RIVALS = {
    "6.1": ("50 SVMs, gater of 500 units", "SVM"),
    "6.2": ("20 MLPs, local gaters", "MLP, CE, 100 epochs"),
}
OLD = "minutes of computers of 2003"


def times(table: dict[str, Row]) -> dict[str, float]:
    """The columns of minutes, without empty cells."""
    found: dict[str, float] = {}
    for name, (_, alone, parallel) in table.items():
        found[f"minutes, {name}"] = alone
        if parallel is not None:
            found[f"minutes in parallel, {name}"] = parallel
    return found


def table(number: str) -> Callable[[Scope], Measured]:
    def run(scope: Scope) -> Measured:
        results, notes = Results(), []
        for name in TABLES[number]:
            found = results.add(name, trial(name, scope))
            results.here[f"minutes, {name}"] = found.seconds / 60
            if isinstance(found.fits[0], HardMixtureClassifier):
                parallel = parallel_minutes(found.fits[0])
                results.here[f"minutes in parallel, {name}"] = parallel
        row, best = BEST[number]
        results.best[row] = best(scope)
        if number in RIVALS:
            ours, rival = ((name, predictions(name, scope)) for name in RIVALS[number])
            notes.append(compared("Forest", forest(scope)[0].y_test, ours, rival))
        return results.measured(*notes)

    return run


def lower(first: str, second: str, otherwise: str = "") -> Claim:
    return Claim(
        f"{first}: fewer errors than {second}",
        lambda _, here: here[first] < here[second],
        otherwise,
    )


def faster(first: str, second: str, otherwise: str = "") -> Claim:
    return Claim(
        f"{first}: takes less time than {second}",
        lambda _, here: here[f"minutes, {first}"] < here[f"minutes, {second}"],
        otherwise,
    )


def item(number: str, title: str, minutes: float, best: str, *claims: Claim) -> Item:
    printed = {name: row[0] for name, row in TABLES[number].items()}
    clocked = times(TABLES[number])
    deviations = [
        "C and γ are not printed; ours of the experts are for inputs in [0, 1]. Minutes are those "
        "of all cores of one computer. Minutes in parallel are computed from the seconds of "
        "experts and gater, as if each expert had a computer and all took equally long. Best "
        f"here: {best}.",
    ]
    if "MLP, MSE, 100 epochs" in printed:
        deviations.append(
            f"In place of 1,000 and 2,000 epochs with a constant step there are {LONG_EPOCHS}, "
            "with batches of 64 and one cycle of the step."
        )
    return Item(
        f"table-{number}",
        title,
        in_thesis(f"Table {number}", *SECTIONS[number]),
        kind="error",
        protocol="Forest, 100,000 rows; early stopping on validation rows; one seed",
        minutes=minutes,
        run=table(number),
        published={**printed, **clocked},
        unit="test error, %",
        decimals=1,
        claims=claims,
        not_comparable=dict.fromkeys(clocked, OLD),
        misses={LOCAL: "the thesis does not print the steps of experts and gaters"},
        deviations=tuple(deviations),
        data=("covtype",),
    )


SMALL_GATER, LARGE_GATER = "50 SVMs, gater of 150 units", "50 SVMs, gater of 500 units"
LOCAL = "20 MLPs, local gaters"
CELLS = "20 cells of exact machines in a learnt metric"
ITEMS = (
    item(
        "6.1",
        "Hard mixtures of SVMs with a global gater",
        10.0,
        CELLS,
        lower(LARGE_GATER, "uniform mixture of 50 SVMs"),
        lower(LARGE_GATER, SMALL_GATER, "a gater of 150 units is large enough here; one seed"),
        lower(LARGE_GATER, "MLP, CE, 1,000 epochs"),
        lower(LARGE_GATER, "SVM"),
        lower("MLP, CE, 100 epochs", "MLP, MSE, 100 epochs"),
        faster(SMALL_GATER, "SVM", "one exact SVM takes seconds here, and took days there"),
    ),
    item(
        "6.2",
        "A hard mixture of MLPs with local gaters",
        5.0,
        "20 Simple MLPs of 200 units with local gaters",
        faster(LOCAL, "MLP, CE, 100 epochs"),
        faster(
            LOCAL,
            "standard mixture, 65 epochs",
            "our standard mixture is trained in batches",
        ),
    ),
    item("6.3", "A hard mixture of SVMs with local gaters", 2.0, CELLS),
)
