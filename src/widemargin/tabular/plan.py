"""How much to try: a portfolio of candidates, rows per stage, and the number of finalists.

The numbers depend on the size of the table alone, so that a search can be repeated. The portfolio
was found by greedy choice over a suite of tables (`docs/decisions/0030`).
"""

from dataclasses import dataclass

import numpy as np

from widemargin.tabular.candidates import Candidate

__all__ = ["Plan", "Rung", "fold_count"]

#: In the order of their use: a search with less effort takes the first ones.
PORTFOLIO: tuple[Candidate, ...] = (
    Candidate(kernel="laplacian", sharpness=1.0, C=10.0),
    Candidate(form="steps", metric="diagonal", sharpness=0.5, C=10.0),
    Candidate(metric="full", kernel="rbf", exponent=2.0, sharpness=1.0, C=10.0),
    Candidate(form="standard", metric="diagonal", sharpness=2.0, C=30.0),
    Candidate("simple_mlp"),
    Candidate("linear", form="stairs", C=0.1),
    Candidate("mlp", form="shapes"),
    Candidate(metric="diagonal", sharpness=0.5, C=30.0),
    Candidate(kernel="rbf", exponent=2.0, sharpness=1.0, C=100.0),
    Candidate(form="levels", kernel="rbf", exponent=2.0, sharpness=0.5, C=2.5),
    Candidate("mlp"),
    Candidate("deep_mlp"),
    Candidate("mlp", form="levels"),
    Candidate(form="levels", metric="full", kernel="rbf", exponent=2.0, sharpness=1.0, C=10.0),
    Candidate(metric="diagonal", kernel="rbf", exponent=2.0, sharpness=1.0, C=10.0),
    Candidate(form="ranks", metric="diagonal", sharpness=0.5, C=30.0),
    Candidate(metric="full", sharpness=1.0, C=10.0),
    Candidate(form="steps", sharpness=2.0, C=10.0),
    Candidate("linear", C=0.1),
)
SPARSE_PORTFOLIO: tuple[Candidate, ...] = (
    Candidate("linear", form="standard", C=0.1),
    Candidate(form="standard", kernel="rbf", exponent=2.0, C=10.0),
    Candidate(form="standard", C=10.0),
)

FOLD_ROWS = 8000  # up to which there are folds; larger tables hold one part out
FEW_ROWS = 1500
SCREEN_ROWS = 3000
SCREEN_TEST_ROWS = 4000
LEAST_TEST_ROWS = 1500  # that screening is judged by, if there are as many
LEAST_METRIC_ROWS = 10  # from which a metric is learnt
MAX_FULL_WIDTH = 200  # inputs for which a full metric is learnt
MAX_SHAPES = 1000  # terms of inputs, one per class, in the form "shapes"
METRIC_ROWS = 50_000
MANY_CLASSES = 8  # more have fewer folds and trials: they have many pairs
UNHURRIED_SECONDS = 10.0  # a shorter time limit screens fewer rows
QUICK_FIRST_SECONDS = 60.0  # a shorter time limit screens linear machines first, and metrics last
PAIR_SECONDS = 5e-4  # that a machine of two rare classes takes
PAIRS_SHARE = 0.1  # of the time limit; if pairs of classes take more, kernel machines come last
LIMITED_WAVE = 4  # candidates of a wave if time is limited: what a limit cuts off is lost
RUNG_GROWTH = 4  # of the number of rows
RUNG_CANDIDATES = (8, 5, 3)  # of the rungs before the last
# The last rung of tables with at most so many rows: finalists, those that climb, rounds of it.
LAST_RUNG = ((8000, 8, 2, 1), (30_000, 8, 3, 2), (60_000, 5, 1, 1), (np.inf, 2, 0, 0))


def fold_count(rows: int, classes: int) -> int:
    """The number of folds that predict the rows they did not see; 1 holds one part out."""
    many = classes > MANY_CLASSES
    if rows <= FEW_ROWS:
        return 4 if many else 8
    return (3 if many else 5) if rows <= FOLD_ROWS else 1


@dataclass(frozen=True)
class Rung:
    """How many candidates are trained on how many rows."""

    folds: int
    rows: int | None  # None: all
    candidates: int
    climbers: int = 0  # of which neighbours are tried
    climbs: int = 0


@dataclass(frozen=True)
class Plan:
    """What a search tries, and on how many rows."""

    portfolio: tuple[tuple[Candidate, ...], ...]  # waves, which are screened in turn
    screen_folds: int
    screen_rows: int
    screen_test: int
    climbers: int  # arms of which neighbours are tried
    climbs: int  # rounds of it
    rungs: tuple[Rung, ...]  # after the screening; none if that had all rows
    metric_rows: int

    @classmethod
    def of(
        cls,
        rows: int,
        width: int,
        folds: int,
        effort: float,
        *,
        classes: int,
        seconds: float,
        sparse: bool,
        levels: int,
    ) -> "Plan":
        """The plan for a table of this size.

        Parameters
        ----------
        rows, width : int
            The size of the encoded table.
        folds : int
            The number of folds.
        effort : float
            More than 1 tries more.
        classes : int
            The number of classes; 0 for values.
        seconds : float
            The time limit.
        sparse : bool
            Whether the inputs are sparse.
        levels : int
            The number of values of inputs that are integers with few values.
        """
        effort *= min(1.0, (MANY_CLASSES / max(classes, 1)) ** 0.5)
        hurry = min(1.0, seconds / UNHURRIED_SECONDS) ** 0.5
        train = int(rows * (1.0 - 1.0 / max(folds, 5)))
        everything = train <= SCREEN_ROWS and folds > 1
        per_fold = rows / max(folds, 5)
        screen_folds = folds if everything else min(folds, int(np.ceil(LEAST_TEST_ROWS / per_fold)))
        many_pairs = PAIR_SECONDS * screen_folds * classes**2 / 2 > PAIRS_SHARE * seconds
        rungs = () if everything else _rungs(rows, train, folds, effort)
        return cls(
            _portfolio(
                rows,
                width,
                effort,
                classes=classes,
                sparse=sparse,
                levels=levels,
                seconds=seconds,
                many_pairs=many_pairs,
            ),
            max(1, screen_folds),
            int(hurry * SCREEN_ROWS),
            int(hurry * SCREEN_TEST_ROWS),
            climbers=max(1, round(4 * effort)),
            climbs=3 if effort >= 0.5 else 1,
            rungs=rungs,
            metric_rows=METRIC_ROWS,
        )


def _rungs(rows: int, train: int, folds: int, effort: float) -> tuple[Rung, ...]:
    """Rungs with ever more rows, the last one with all of them."""
    between = []
    size = RUNG_GROWTH * SCREEN_ROWS
    for count in RUNG_CANDIDATES:
        if size * RUNG_GROWTH > train:
            break
        between.append(Rung(1, size, max(2, round(effort * count))))
        size *= RUNG_GROWTH
    finalists, climbers, climbs = next(last for most, *last in LAST_RUNG if rows <= most)
    last = Rung(folds, None, max(2, round(effort * finalists)), round(effort * climbers), climbs)
    return (*between, last)


def _portfolio(
    rows: int,
    width: int,
    effort: float,
    *,
    classes: int,
    sparse: bool,
    levels: int,
    seconds: float,
    many_pairs: bool,
) -> tuple[tuple[Candidate, ...], ...]:
    """The first candidate, which is quick to train, and the others: waves of a screening."""

    def form_width(candidate: Candidate) -> int:
        return width + (levels if candidate.form == "levels" else 0)

    if sparse:
        candidates: tuple[Candidate, ...] = SPARSE_PORTFOLIO
    else:
        candidates = tuple(
            candidate
            for candidate in PORTFOLIO
            if not (candidate.family == "simple_mlp" and not classes)
            and not (candidate.form == "shapes" and max(1, classes) * width > MAX_SHAPES)
            and not (candidate.form == "levels" and not levels)
            and not (candidate.metric != "none" and rows < LEAST_METRIC_ROWS)
            and not (candidate.metric == "full" and form_width(candidate) > MAX_FULL_WIDTH)
        )
    count = max(1, round(min(1.0, effort) * len(candidates)))
    if many_pairs:
        candidates = tuple(sorted(candidates, key=lambda one: (one.kernelised, *_slowness(one))))
    first, others = candidates[:1], candidates[1:count]
    if seconds < QUICK_FIRST_SECONDS and not many_pairs:
        others = tuple(sorted(others, key=_slowness))
    size = LIMITED_WAVE if seconds < np.inf else max(1, len(others))
    waves = [others[place : place + size] for place in range(0, len(others), size)]
    return tuple(wave for wave in (first, *waves) if wave)


def _slowness(candidate: Candidate) -> tuple[bool, bool]:
    """Orders candidates: linear machines take a moment, learnt metrics the longest."""
    return candidate.metric != "none", candidate.family != "linear"
