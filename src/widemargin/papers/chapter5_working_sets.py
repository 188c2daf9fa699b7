"""Tables 5.1 and 5.2: the tasks, and the size of the working set."""

import math
import time
from typing import Any

from sklearn.metrics.pairwise import rbf_kernel

from widemargin.papers.drawing import drawn
from widemargin.papers.item import Claim, Measured, Numbers
from widemargin.papers.regression import (
    COLOURS,
    OLD,
    ORIGIN,
    TASKS,
    TOL,
    by_name,
    first_rows,
    fit,
    table_item,
    task,
)
from widemargin.papers.scope import Scope
from widemargin.plots.style import LEGEND
from widemargin.reference.svm import decomposition, svm_problem

__all__ = ["ITEMS"]

# ------------------------------------------------------------------------------------ Table 5.1

SIZES = {
    "Kin": (6192, 2000, 32),
    "Artificial": (20_000, 2000, 100),
    "Forest": (25_000, 10_000, 54),
    "Sunspots": (40_000, 2500, 12),
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
GRADIENT_ROWS, MOST_COLUMNS = 3_000, 200_000


def columns_by_gradient(name: str, q: int, scope: Scope) -> tuple[float, float]:
    """Columns of the kernel matrix that a run with the conjugate gradient uses, and its seconds.

    A run that is stopped before its end has used infinitely many.
    """
    X, y, *_ = first_rows(name, GRADIENT_ROWS, scope)
    setting = TASKS[name]
    K = rbf_kernel(X, X, gamma=setting.gamma)
    problem = svm_problem("epsilon_svr", y, C=setting.C, epsilon=setting.epsilon)
    begun = time.perf_counter()
    most = MOST_COLUMNS // q
    found = decomposition(K, problem, TOL, max_iter=most, q=q, sub_problem="gradient")
    columns = float(q * found.iterations) if found.violation <= TOL else math.inf
    return columns, time.perf_counter() - begun


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


def fewest_columns(name: str) -> Claim:
    """Runs that were stopped before their end have no number of columns."""

    def holds(_: Numbers, here: Numbers) -> bool:
        title = f"{name}, columns by conjugate gradient, q = "
        return here[f"{title}2"] <= min(here.get(f"{title}{q}", math.inf) for q in WORKING_SETS)

    return Claim(f"{name}: q = 2 needs the fewest columns of the kernel matrix", holds)


BY_Q = by_name(SECONDS_BY_Q, tuple(f"q = {q}" for q in WORKING_SETS))
ITEMS = (
    table_item(
        "5.1",
        "Rows and inputs of the regression tasks",
        0.1,
        sizes,
        protocol="counts",
        kind="value",
        published=by_name(SIZES, ("training rows", "test rows", "inputs")),
    ),
    table_item(
        "5.2",
        "The size of the working set",
        4.0,
        working_sets,
        protocol="the first 10,000 rows, cache of 100 MB, shrinking without a check; and the "
        f"projected conjugate gradient, in NumPy, on {GRADIENT_ROWS:,} rows",
        published=BY_Q,
        unit="seconds",
        not_comparable=dict.fromkeys(BY_Q, OLD),
        claims=tuple(map(fewest_columns, TASKS)),
        deviations=(
            ORIGIN,
            "The thesis measures seconds, most of which go into columns of the kernel matrix; the "
            "claims count these columns, because seconds in NumPy are mostly the interpreter's. "
            "The seconds are those of our solver, whose working sets are solved by pairs.",
            "Best here: working sets of hundreds of variables.",
        ),
    ),
)
