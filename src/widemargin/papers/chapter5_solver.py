"""Tables 5.1, 5.2, 5.5 and 5.6: the tasks; working sets, the cache, and growth of the time."""

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from widemargin.papers.drawing import drawn
from widemargin.papers.item import Claim, Item, Measured
from widemargin.papers.regression import DATA, ORIGIN, TASKS, TOL, first_rows, fit, task
from widemargin.papers.scope import Scope
from widemargin.plots.style import BLUE, GREEN, LEGEND, ORANGE, VERMILION
from widemargin.reference.regression_pairs import pair_decomposition
from widemargin.reference.svm import decomposition, svm_problem

__all__ = ["ITEMS"]

COLOURS = dict(zip(TASKS, (BLUE, VERMILION, GREEN, ORANGE), strict=True))
OLD = "seconds of a Pentium III at 750 MHz"

# ------------------------------------------------------------------------------------ Table 5.1

SIZES = {
    "Kin": (6192, 2000, 32),
    "Artificial": (20_000, 2000, 100),
    "Forest": (25_000, 10_000, 54),
    "Sunspots": (40_000, 2500, 12),
}


def by_name(table: Mapping[str, tuple[int, ...]], columns: tuple[Any, ...]) -> dict[str, float]:
    return {
        f"{name}, {column}": float(value)
        for name, row in table.items()
        for column, value in zip(columns, row, strict=True)
    }


def sizes(scope: Scope) -> Measured:
    found = {name: task(name) for name in TASKS}
    rows = {k: (len(d.y_train), len(d.y_test), d.X_train.shape[1]) for k, d in found.items()}
    return Measured(by_name(rows, ("training rows", "test rows", "inputs")))


# ------------------------------------------------------------------------------------ Table 5.2

WORKING_SETS = (2, 4, 10, 50, 100)
SECONDS_BY_Q = {
    "Kin": (11, 14, 16, 28, 54),
    "Artificial": (98, 149, 190, 629, 1537),
    "Forest": (272, 406, 462, 670, 981),
    "Sunspots": (7, 11, 15, 45, 89),
}
GRADIENT_ROWS, MOST_COLUMNS = 1_000, 200_000


def columns_by_gradient(name: str, q: int, scope: Scope) -> tuple[float, float]:
    """Columns of the kernel matrix that a run with the conjugate gradient uses, and its seconds."""
    X, y, *_ = first_rows(name, GRADIENT_ROWS, scope)
    setting = TASKS[name]
    K = rbf_kernel(X, X, gamma=setting.gamma)
    problem = svm_problem("epsilon_svr", y, C=setting.C, epsilon=setting.epsilon)
    begun = time.perf_counter()
    most = scope.epochs(MOST_COLUMNS) // q
    found = decomposition(K, problem, TOL, max_iter=most, q=q, sub_problem="gradient")
    return float(q * found.iterations), time.perf_counter() - begun


def working_sets(scope: Scope) -> Measured:
    here, best = {}, {}
    for name in TASKS:
        for q in WORKING_SETS:
            columns, seconds = columns_by_gradient(name, q, scope)
            here[f"{name}, columns by conjugate gradient, q = {q}"] = columns
            here[f"{name}, seconds by conjugate gradient, q = {q}"] = seconds
            own = fit(name, 10_000, scope, working_set_size=q, cache_size=100)
            here[f"{name}, q = {q}"] = own.seconds
        ours = fit(name, 10_000, scope, working_set_size="auto", cache_size=100)
        best[f"{name}, q = 2"] = ours.seconds

    def draw(figure: Any) -> None:
        ax = figure.subplots()
        for name, colour in COLOURS.items():
            used = [here[f"{name}, columns by conjugate gradient, q = {q}"] for q in WORKING_SETS]
            ax.loglog(WORKING_SETS, used, "o-", color=colour, label=name)
        ax.set(xlabel="working set size q", ylabel="columns of the kernel matrix used")
        ax.legend(**LEGEND)

    title = f"Work with the projected conjugate gradient, {GRADIENT_ROWS:,} rows"
    return Measured(here, best, figures={title: drawn(draw)})


# ------------------------------------------------------------------------------------ Table 5.5

CACHES = tuple(range(10, 101, 10))
SECONDS_BY_CACHE = {
    "Kin": (11,) * 10,
    "Artificial": (359, 182, 106, 100, 99, 98, 98, 98, 98, 98),
    "Forest": (869, 715, 622, 519, 450, 391, 355, 316, 305, 272),
    "Sunspots": (7,) * 10,
}


def caches(scope: Scope) -> Measured:
    here = {
        f"{name}, {megabytes} MB": fit(name, 10_000, scope, cache_size=megabytes).seconds
        for name in TASKS
        for megabytes in CACHES
    }
    return Measured(here)


# ------------------------------------------------------------------------------------ Table 5.6

COUNTS = (500, 1000, 2000, 3000, 4000, 5000)
EXPONENTS = {
    "SVMTorch": dict(zip(TASKS, (1.81, 1.72, 1.82, 1.85), strict=True)),
    "Nodelib": dict(zip(TASKS, (1.83, 1.93, 2.09, 2.44), strict=True)),
}
REPEAT = 3


def steps_by_pairs(name: str, rows: int) -> float:
    X, y, *_ = first_rows(name, rows, Scope())
    setting = TASKS[name]
    problem = svm_problem("epsilon_svr", y, C=setting.C, epsilon=setting.epsilon)
    K = rbf_kernel(X, X, gamma=setting.gamma)
    return float(pair_decomposition(K, problem, TOL, max_iter=400_000).iterations)


def growth(scope: Scope) -> Measured:
    counts = [max(round(scope.scale * count), count // 25) for count in COUNTS]
    here, seconds = {}, {}
    for name in TASKS:
        fits = [
            [fit(name, count, Scope(), cache_size=300) for _ in range(REPEAT)] for count in counts
        ]
        seconds[name] = [min(found.seconds for found in same) for same in fits]
        work = [same[0].steps * count for same, count in zip(fits, counts, strict=True)]
        pairs = [steps_by_pairs(name, count) * count for count in counts]
        here[f"{name}, SVMTorch"] = exponent(counts, seconds[name])
        here[f"{name}, SVMTorch, of steps × rows"] = exponent(counts, work)
        here[f"{name}, Nodelib"] = exponent(counts, pairs)

    def draw(figure: Any) -> None:
        ax = figure.subplots()
        for name, colour in COLOURS.items():
            ax.loglog(counts, seconds[name], "o-", color=colour, label=name)
        ax.set(xlabel="training rows", ylabel="seconds")
        ax.legend(**LEGEND)

    return Measured(here, figures={"Seconds by training rows": drawn(draw)})


def exponent(x: Any, y: Any) -> float:
    """The slope of log y over log x."""
    return float(np.polyfit(np.log(x), np.log(np.maximum(y, 1e-9)), 1)[0])


# ------------------------------------------------------------------------------------------------


def item(number: str, title: str, minutes: float, run: Any, protocol: str, **rest: Any) -> Item:
    return Item(
        f"table-{number}",
        title,
        f"thesis, Table {number}",
        kind=rest.pop("kind", "shape"),
        protocol=protocol,
        minutes=minutes,
        run=run,
        data=DATA,
        **rest,
    )


BY_Q = by_name(SECONDS_BY_Q, tuple(f"q = {q}" for q in WORKING_SETS))
BY_CACHE = by_name(SECONDS_BY_CACHE, tuple(f"{megabytes} MB" for megabytes in CACHES))
SLOPES = {f"{name}, {m}": p for m, row in EXPONENTS.items() for name, p in row.items()}

ITEMS = (
    item(
        "5.1",
        "Rows and inputs of the regression tasks",
        0.1,
        sizes,
        "counts",
        kind="value",
        published=by_name(SIZES, ("training rows", "test rows", "inputs")),
    ),
    item(
        "5.2",
        "The size of the working set",
        3.0,
        working_sets,
        "the first 10,000 rows, cache of 100 MB, shrinking without a check; and the projected "
        f"conjugate gradient, in NumPy, on {GRADIENT_ROWS:,} rows",
        published=BY_Q,
        unit="seconds",
        not_comparable=dict.fromkeys(BY_Q, OLD),
        claims=tuple(
            Claim(
                f"{name}: q = 2 needs the fewest columns of the kernel matrix",
                lambda _, here, name=name: (  # type: ignore[misc]
                    here[f"{name}, columns by conjugate gradient, q = 2"]
                    <= min(
                        here[f"{name}, columns by conjugate gradient, q = {q}"]
                        for q in WORKING_SETS
                    )
                ),
            )
            for name in TASKS
        ),
        deviations=(
            ORIGIN,
            "The thesis measures seconds, most of which go into columns of the kernel matrix; the "
            "claims count these columns, because seconds in NumPy are mostly the interpreter's. "
            "The seconds are those of our solver, whose working sets are solved by pairs.",
            "Best here: working sets of hundreds of variables.",
        ),
    ),
    item(
        "5.5",
        "The size of the cache",
        2.0,
        caches,
        "the first 10,000 rows, q = 2, shrinking without a check",
        published=BY_CACHE,
        unit="seconds",
        not_comparable=dict.fromkeys(BY_CACHE, OLD),
        claims=(
            Claim(
                "Forest: ten times the cache saves time",
                lambda _, here: here["Forest, 100 MB"] < 0.9 * here["Forest, 10 MB"],
            ),
            Claim(
                "Kin and Sunspots need no more than 10 MB",
                lambda _, here: all(
                    here[f"{name}, 100 MB"] > 0.5 * here[f"{name}, 10 MB"]
                    for name in ("Kin", "Sunspots")
                ),
            ),
        ),
        deviations=(
            ORIGIN,
            "Rows of the kernel matrix that are cheap to compute are not cached here, so the cache "
            "matters less.",
        ),
    ),
    item(
        "5.6",
        "Growth of the time with the number of rows",
        1.5,
        growth,
        "the first 500 to 5,000 rows, cache of 300 MB, q = 2, shrinking without a check; the "
        f"fastest of {REPEAT} fits",
        published=SLOPES,
        unit="exponent of the rows",
        claims=tuple(
            Claim(
                f"{name}: time grows slightly less than quadratically",
                lambda _, here, name=name: here[f"{name}, SVMTorch"] < 2.0,  # type: ignore[misc]
            )
            for name in TASKS
        ),
        deviations=(
            ORIGIN,
            "Nodelib's rows are steps times rows of a machine in NumPy that selects α and α* "
            "together.",
        ),
    ),
)
