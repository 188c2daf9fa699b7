"""One problem, several libraries: they take turns, and the best of several fits counts.

Every library gets the input format with which it is fastest; this is found on a few rows and not
timed. A slow library that would exceed a time limit is not run on all rows: its time is
extrapolated as L^p, with p from two smaller sizes, and its solution for the larger one is compared
with ours.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks._data import Data
from benchmarks._measure import fit_seconds
from benchmarks._objective import dual_objective, infeasibility
from benchmarks.adapters import intelex, libsvm, ours, scikit_learn, thundersvm
from benchmarks.adapters._kernel import KernelLibrary, Machine
from benchmarks.adapters._library import convert

OURS = ours.Ours()
RIVALS: tuple[KernelLibrary, ...] = (
    scikit_learn.ScikitLearn(),
    intelex.Intelex(),
    libsvm.Libsvm(),
    thundersvm.ThunderSVM(),
)
TRIAL_ROWS = 2_000  # rows on which formats are compared
REPEAT_SECONDS = 120.0  # a library that has used this time is not run again


@dataclass(frozen=True)
class Problem:
    """A machine and its data; slow libraries are first timed on two `sizes` (rows)."""

    name: str
    title: str
    load: Callable[[int], Data]
    rows: int
    machine: Machine
    sizes: tuple[int, int] | None = None


@dataclass
class Entry:
    """The fit of one library; it has fewer `rows` than the problem if the time is extrapolated."""

    library: KernelLibrary
    form: str
    rows: int
    seconds: float = math.inf
    model: Any = None
    objective: float = math.nan
    gain: float = 0.0  # (our objective − this one) / |this one|: positive if ours is better
    infeasibility: float = 0.0
    timed: dict[int, float] = field(default_factory=dict)  # rows -> seconds, if extrapolated

    @property
    def exponent(self) -> float:
        (n, t), (N, T) = self.timed.items()
        return math.log(T / t) / math.log(N / n)

    @property
    def n_support(self) -> int:
        return len(self.model.support_)

    @property
    def facts(self) -> dict[str, Any]:
        facts = {key: getattr(self, key) for key in ("form", "rows", "seconds", "objective")}
        facts |= {"library": self.library.name, "objective_gain": self.gain}
        facts |= {"n_support": self.n_support, "infeasibility": self.infeasibility}
        if self.timed:
            facts |= {"timed": self.timed, "exponent": self.exponent}
        return facts


@dataclass(frozen=True)
class Contest:
    """Fits one problem with all libraries and compares their times and objectives."""

    rivals: Sequence[KernelLibrary]
    repeat: int
    threads: int
    limit: float  # seconds

    def run(self, problem: Problem) -> tuple[Data, list[Entry]]:
        """Our entry first, then those of the rivals in their order."""
        data, machine = problem.load(problem.rows), problem.machine
        rows = len(data.y)
        entries = []
        for library in (OURS, *self.rivals):
            form = self.best_format(library, machine, data)
            entry = None
            if problem.sizes and library.slow:
                entry = self.extrapolate(library, form, problem, rows)
            entries.append(entry or Entry(library, form, rows))
        running = [entry for entry in entries if not entry.timed]
        inputs = {entry.form: convert(data.X, entry.form) for entry in running}
        spent = dict.fromkeys([entry.library.name for entry in running], 0.0)
        for _ in range(self.repeat):
            for entry in running:
                if spent[entry.library.name] < REPEAT_SECONDS:
                    X = inputs[entry.form]
                    seconds, entry.model = self.fit(entry.library, machine, X, data.y)
                    spent[entry.library.name] += seconds
                    entry.seconds = min(entry.seconds, seconds)
        self.judge(problem, data, entries)
        return data, entries

    def fit(self, library: KernelLibrary, machine: Machine, X: Any, y: Any) -> tuple[float, Any]:
        """Seconds of one fit, and the fitted model."""
        model = library.machine(machine, self.threads)
        return fit_seconds(model, X, y), model

    def best_format(self, library: KernelLibrary, machine: Machine, data: Data) -> str:
        """The fastest format on the first rows; sparse formats only if most values are 0."""
        X, y = data.X[:TRIAL_ROWS], data.y[:TRIAL_ROWS]
        filled = (X.nnz if sp.issparse(X) else np.count_nonzero(X)) / np.prod(X.shape)
        forms = [form for form in library.formats if filled < 0.5 or form.startswith("dense")]
        if len(forms) < 2:
            return (forms or library.formats)[0]
        tried = {form: convert(X, form) for form in forms}
        return min(
            forms, key=lambda form: min(self.fit(library, machine, tried[form], y)[0] for _ in "12")
        )

    def extrapolate(
        self, library: KernelLibrary, form: str, problem: Problem, rows: int
    ) -> Entry | None:
        """An entry timed on two smaller sizes, or None if all rows take less than the limit."""
        entry = Entry(library, form, rows)
        for entry.rows in problem.sizes or ():
            data = problem.load(entry.rows)
            entry.timed[entry.rows], entry.model = self.fit(
                library, problem.machine, convert(data.X, form), data.y
            )
        entry.seconds = entry.timed[entry.rows] * (rows / entry.rows) ** entry.exponent
        return entry if entry.seconds > self.limit else None

    def judge(self, problem: Problem, data: Data, entries: list[Entry]) -> None:
        """Objectives of all entries on their own rows, compared with ours on the same rows."""
        machine, mine, best = problem.machine, entries[0], {}
        for entry in entries:
            part = data if entry.rows == mine.rows else problem.load(entry.rows)
            if entry.rows not in best:
                model = mine.model
                if part is not data:
                    _, model = self.fit(OURS, machine, convert(part.X, mine.form), part.y)
                best[entry.rows] = dual_objective(machine, model, part.X, part.y)
            entry.objective = dual_objective(machine, entry.model, part.X, part.y)
            entry.gain = (best[entry.rows] - entry.objective) / abs(entry.objective)
            entry.infeasibility = infeasibility(machine, entry.model)
