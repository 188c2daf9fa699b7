"""How long do linear SVMs take to reach 0.1 % above the smallest objective, in each library?

There are two lines per problem. The first has the time of the cheapest fit that gets there and its
ratio to ours. The second has the setting and how far above the smallest objective it ends. ">"
marks libraries that did not get there within the limit: the time of their last fit, and their
closest objective. All solve the same problem, with the penalised intercept of LIBLINEAR. Two more
questions: an epoch of stochastic gradient ("sgd"), and a path of ten values of C ("path").
"""

import argparse
import sys
import timeit
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks import _data, perceptron_epoch
from benchmarks._data import Data
from benchmarks._measure import fit_seconds
from benchmarks._race import EXACT_GAP, OURS, RIVALS, TARGET_SUBOPTIMALITY, Entry, Problem, Race
from benchmarks._results import save
from benchmarks._table import Table, present, seconds, threads_in_words, times
from benchmarks.adapters import ours
from benchmarks.adapters._linear import LinearMachine

LABEL_WIDTH, CELL_WIDTH = 23, 20
PROBLEMS = (
    *(
        Problem(f"forest-{C:g}", "Forest", _data.forest, 100_000, LinearMachine(C))
        for C in (0.01, 1, 100)
    ),
    Problem("a9a", "a9a", _data.a9a, 32_561, LinearMachine(1)),
    Problem("w8a", "w8a", _data.w8a, 49_749, LinearMachine(1)),
    Problem("reuters", "Reuters money-fx", _data.reuters, 7_770, LinearMachine(1)),
    Problem("skin", "Skin", _data.skin, 245_057, LinearMachine(1)),
)
SPECIAL = ("sgd", "path")
PATH_PROBLEMS = ("forest-1", "a9a")
PATH_CS = np.logspace(-2, 2, 10)
PATH_TOL = 1e-3


class Report(Table):
    """The races, an epoch of stochastic gradient, and a path."""

    def __init__(self, console: Console, names: list[str]) -> None:
        super().__init__(console, names, label=LABEL_WIDTH, width=CELL_WIDTH)
        self.line("  parameters", ["setting   above"] * len(names))
        self.rule(len(names))

    def race(self, problem: Problem, race: Race) -> None:
        """One problem, all libraries."""
        outcome = race.run(problem)
        entries = outcome.entries
        title = f"{problem.title} {outcome.rows:,}"
        cells = times([e.seconds for e in entries], [mark(e) for e in entries])
        cells = [cell if e.tried else "—" for cell, e in zip(cells, entries, strict=True)]
        self.line(title, cells, "bold")
        self.line(f"  {problem.machine}", [end(entry) for entry in entries])
        if outcome.gap > EXACT_GAP:
            self.note(f"the smallest objective is known only up to {outcome.gap:.0e}", "yellow")
        facts: dict[str, Any] = {"problem": title, "machine": asdict(problem.machine)}
        facts |= {"objective": outcome.objective, "gap": outcome.gap, "solver": outcome.solver}
        self.results.append({**facts, "entries": [entry.facts for entry in entries]})

    def epochs(self, rounds: int, rows: int | None) -> None:
        """SGDSVC and SGDClassifier: an epoch of Forest, one thread, constant step."""
        self.console.print()
        for r in perceptron_epoch.run(rounds, perceptron_epoch.PAIRS[:1], rows):
            mine, theirs = r.our_milliseconds / 1e3, r.rival_milliseconds / 1e3
            text = f"{r.model} {seconds(mine)}, {r.rival} {seconds(theirs)}: {r.ratio:.1f}×"
            self.console.print(f"{r.data}, an epoch, {r.inputs}: {text}", markup=False)
            self.results.append({"problem": "sgd", **asdict(r), "ratio": r.ratio})

    def paths(self, problems: list[Problem], repeat: int, threads: int) -> None:
        """Ten values of C, each started from the last, against ten fits from scratch."""
        from widemargin.linear_svm import linear_svm_path

        for problem in problems:
            data = problem.load(problem.rows)

            def machine(C: float, like: LinearMachine = problem.machine) -> Any:
                return ours.linear_svc(replace(like, C=float(C)), PATH_TOL, threads)

            def path(data: Data = data, machine: Callable[[float], Any] = machine) -> None:
                linear_svm_path(data.X, data.y, PATH_CS, estimator=machine(1.0))

            whole = min(timeit.repeat(path, number=1, repeat=repeat))
            single = [
                min(fit_seconds(machine(C), data.X, data.y) for _ in range(repeat)) for C in PATH_CS
            ]
            mean, largest = float(np.mean(single)), max(single)
            self.console.print(
                f"{problem.title} {len(data.y):,}, {len(PATH_CS)} values of C from {PATH_CS[0]:g} "
                f"to {PATH_CS[-1]:g}, tol {PATH_TOL:g}: {seconds(whole)}, "
                f"{whole / mean:.1f} mean fits ({seconds(mean)}), "
                f"{whole / largest:.1f} of the longest ({seconds(largest)})"
            )
            facts = {"problem": "path", "data": problem.title, "rows": len(data.y)}
            self.results.append({**facts, "path": whole, "single": single, "C": PATH_CS.tolist()})


def mark(entry: Entry) -> str:
    return "" if entry.reached else "> "


def end(entry: Entry) -> str:
    if not entry.tried:
        return ""
    closest = entry.closest
    return f"{entry.library.setting(closest.effort)} {max(closest.suboptimality, 0):.1e}"


def parse(arguments: list[str]) -> argparse.Namespace:
    names = [*(problem.name for problem in PROBLEMS), *SPECIAL]
    known = [rival.name.lower() for rival in RIVALS]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.linear_svm", description=__doc__)
    add = parser.add_argument
    add("--only", nargs="+", metavar="NAME", choices=names, default=names, help=", ".join(names))
    add("--rivals", nargs="*", metavar="NAME", choices=known, default=known, help=", ".join(known))
    add("--loss", choices=("hinge", "squared_hinge"), default="hinge", help="of the machines")
    add("--repeat", type=int, default=3, help="fits, of which the best counts (3)")
    add("--threads", type=int, default=2, help="for libraries that have threads (2)")
    add("--limit", type=float, default=60, help="seconds of the search per library (60)")
    add("--rows", type=int, help="use the first rows only")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> None:
    options = parse(sys.argv[1:] if arguments is None else arguments)
    console = Console(width=100, highlight=False, soft_wrap=True)
    rivals = present(RIVALS, options.rivals, console)
    race = Race(rivals, options.repeat, options.threads, options.limit)
    console.print(
        f"Time to {TARGET_SUBOPTIMALITY:.1%} above the smallest objective; "
        f"best of {options.repeat}, {threads_in_words(options.threads, rivals)}; "
        f"penalised intercept; searches of {options.limit:g} s\n"
    )
    report = Report(console, [OURS.name, *(rival.name for rival in rivals)])

    def attempt(part: Callable[[], None], title: str) -> None:
        try:
            part()
        except (FileNotFoundError, ImportError) as error:
            report.note(f"{title} left out: {error}")

    problems = [shaped(problem, options) for problem in PROBLEMS]
    for problem in problems:
        if problem.name in options.only:
            attempt(partial(report.race, problem, race), problem.title)
    if "sgd" in options.only:
        report.epochs(options.repeat, options.rows)
    if "path" in options.only:
        data = [problem for problem in problems if problem.name in PATH_PROBLEMS]
        attempt(partial(report.paths, data, options.repeat, options.threads), "path")
    settings = {
        key: getattr(options, key) for key in ("threads", "repeat", "limit", "rows", "loss")
    }
    console.print(f"written: {save('linear_svm', report.results, **settings)}")


def shaped(problem: Problem, options: argparse.Namespace) -> Problem:
    """The problem with the loss and the number of rows of the options."""
    rows = min(problem.rows, options.rows or problem.rows)
    return replace(problem, rows=rows, machine=replace(problem.machine, loss=options.loss))


if __name__ == "__main__":
    main()
