"""Time to a solution of a linear SVM: for each library the cheapest fit that is good enough.

Every library has one parameter, the effort: epochs, or a tolerance. It is doubled until the
objective is within `TARGET_SUBOPTIMALITY` of the smallest one, relatively, and then bisected. After
that the libraries take turns, each with its effort, and the best of several fits counts. The
smallest objective is that of our own fit with a relative duality gap of `EXACT_GAP`, which its
certificate proves.
"""

import gc
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks._data import Data
from benchmarks._measure import fit_seconds
from benchmarks._objective import primal_objective
from benchmarks.adapters import liblinear, ours, scikit_learn, skglm
from benchmarks.adapters._library import convert
from benchmarks.adapters._linear import LinearLibrary, LinearMachine

OURS = ours.OursLinear()
RIVALS: tuple[LinearLibrary, ...] = (
    scikit_learn.LinearScikitLearn(),
    liblinear.Liblinear(),
    skglm.Skglm(),
    scikit_learn.SGD(average=False),
    scikit_learn.SGD(average=True),
)
TARGET_SUBOPTIMALITY = 1e-3  # (objective − smallest) / smallest
EXACT_GAP = 1e-7  # relative duality gap of the smallest objective
EFFORT_RATIO = 1.1  # the search ends when neighbouring efforts differ by less than this factor
TRIAL_EXAMPLES = 50  # examples of each class in the first fit, which loads and compiles


@dataclass(frozen=True)
class Problem:
    """A machine and its data."""

    name: str
    title: str
    load: Callable[[int], Data]
    rows: int
    machine: LinearMachine


@dataclass(frozen=True)
class Attempt:
    """One fit: its effort, its time, and how far it is above the smallest objective."""

    effort: int
    seconds: float
    suboptimality: float

    @property
    def good(self) -> bool:
        return self.suboptimality <= TARGET_SUBOPTIMALITY


def search(attempt: Callable[[int], Attempt], most: int, limit: float) -> list[Attempt]:
    """Attempts until the least effort that is good enough is found, or the time limit ends."""
    tried = [attempt(1)]

    def left() -> float:
        return limit - sum(one.seconds for one in tried)

    while not tried[-1].good:
        last = tried[-1]
        growth = min(2.0, max(0.0, left()) / max(last.seconds, 1e-9))  # assumes time ~ effort
        effort = min(most, int(last.effort * growth))
        if effort < max(last.effort + 1, last.effort * EFFORT_RATIO):
            return tried
        tried.append(attempt(effort))
    low, high = tried[-2].effort if len(tried) > 1 else 0, tried[-1].effort
    while high - low > max(1.0, low * (EFFORT_RATIO - 1)) and left() > 0:
        middle = attempt((low + high) // 2)
        tried.append(middle)
        low, high = (low, middle.effort) if middle.good else (middle.effort, high)
    return tried


@dataclass
class Entry:
    """The attempts of one library, and the best time of the cheapest good one."""

    library: LinearLibrary
    form: str
    tried: list[Attempt] = field(default_factory=list)
    again: list[float] = field(default_factory=list)  # seconds of the same fit, repeated

    @property
    def reached(self) -> bool:
        return any(one.good for one in self.tried)

    @property
    def chosen(self) -> Attempt:
        """The cheapest good attempt, or the one with the most effort."""
        if self.reached:
            return min((one for one in self.tried if one.good), key=lambda one: one.seconds)
        return max(self.tried, key=lambda one: one.effort)

    @property
    def closest(self) -> Attempt:
        """The chosen attempt if it is good, otherwise the one with the smallest objective."""
        if self.reached:
            return self.chosen
        return min(self.tried, key=lambda one: one.suboptimality)

    @property
    def seconds(self) -> float:
        """Time of the best fit with the chosen effort; NaN if there was no attempt."""
        return min([self.chosen.seconds, *self.again]) if self.tried else math.nan

    @property
    def facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"library": self.library.name, "form": self.form}
        if self.tried:
            facts |= {"reached": self.reached, "seconds": self.seconds}
            facts["setting"] = self.library.setting(self.closest.effort)
            facts["suboptimality"] = self.closest.suboptimality
            facts["tried"] = [
                (one.effort, one.seconds, one.suboptimality)
                for one in sorted(self.tried, key=lambda one: one.effort)
            ]
        return facts


@dataclass
class Outcome:
    """The result of a race on one problem."""

    rows: int
    objective: float  # the smallest
    gap: float  # its relative duality gap
    solver: str
    entries: list[Entry]


@dataclass(frozen=True)
class Race:
    """Solves one problem with all libraries and compares their times."""

    rivals: Sequence[LinearLibrary]
    repeat: int
    threads: int
    limit: float  # seconds of all fits in one search

    def run(self, problem: Problem) -> Outcome:
        """Our entry first, then those of the rivals in their order."""
        data, machine = problem.load(problem.rows), problem.machine
        y = np.where(data.y == data.y.max(), 1, -1)
        X = data.X.astype(np.float64)
        exact = ours.linear_svc(machine, EXACT_GAP, self.threads, max_iter=10**6)
        exact.set_params(time_limit=10 * self.limit).fit(data.X, y)
        least = primal_objective(machine, exact, X, y)
        entries = [Entry(library, library.form(data.X)) for library in (OURS, *self.rivals)]
        running = [entry for entry in entries if machine.loss in entry.library.losses]
        inputs = {form: convert(data.X, form) for form in {entry.form for entry in running}}
        few = np.concatenate([np.flatnonzero(y == label)[:TRIAL_EXAMPLES] for label in (-1, 1)])

        def attempt(entry: Entry, effort: int) -> Attempt:
            model = entry.library.linear(machine, effort, self.threads)
            seconds = fit_seconds(model, inputs[entry.form], y)
            return Attempt(effort, seconds, primal_objective(machine, model, X, y) / least - 1)

        for entry in running:
            first = entry.library.linear(machine, 1, self.threads)
            fit_seconds(first, inputs[entry.form][few], y[few])
        gc.freeze()  # later collections skip the objects that compilers leave behind
        for entry in running:
            entry.tried = search(
                lambda effort, entry=entry: attempt(entry, effort), entry.library.most, self.limit
            )
        for turn in range(self.repeat):
            for entry in running:
                if entry.reached or turn == 0:  # repeat once, in case the first fit was delayed
                    entry.again.append(attempt(entry, entry.chosen.effort).seconds)
        gap = exact.duality_gap_ / exact.primal_objective_
        return Outcome(len(y), least, float(gap), exact.solver_, entries)
