"""How long do kernel machines take, compared with other exact solvers, for the same objective?

There are two lines per problem. The first has the time of the best fit and its ratio to ours. The
second has the dual objective (ours) or by how much ours is better (rivals), and the number of
support vectors. "~" marks times that are extrapolated from fewer rows.
"""

import argparse
import time
from dataclasses import replace

import numpy as np
from rich.console import Console

from benchmarks import _data, _memory
from benchmarks._contest import OURS, RIVALS, Contest, Data, Entry, Problem
from benchmarks._results import save
from benchmarks._table import Table, present, seconds, threads_in_words, times
from benchmarks.adapters._kernel import Machine
from benchmarks.adapters._library import convert

OBJECTIVE_TOLERANCE = 1e-5  # relative difference of objectives that the stopping rule allows
LABEL_WIDTH, CELL_WIDTH = 22, 19

FOREST_100K = Problem(
    "forest-100k", "Forest", _data.forest, 100_000, Machine(10, 0.5), (20_000, 40_000)
)
PROBLEMS = (
    Problem("forest-20k", "Forest", _data.forest, 20_000, Machine(10, 0.1)),
    FOREST_100K,
    Problem("connect-4", "Connect-4", _data.connect4, 50_000, Machine(10, 0.1), (10_000, 20_000)),
    Problem("a9a", "a9a", _data.a9a, 32_561, Machine(1, 1 / 123)),
    Problem("mnist", "MNIST", _data.mnist, 60_000, Machine(10, 0.02), (7_500, 15_000)),
    Problem("kin", "kin-32fh SVR", _data.kin, 6_192, Machine(10, 0.01, 0.1)),
    Problem("forest-svr", "Forest SVR", _data.forest_regression, 25_000, Machine(10, 0.1, 0.1)),
)
SMALL = tuple(
    replace(problem, rows=1_000, sizes=None) for problem in PROBLEMS if problem is not FOREST_100K
)
SPECIAL = ("predict", "small", "memory")


class Report(Table):
    """The fits of each problem, and the problems where a rival has the better objective."""

    def __init__(self, console: Console, names: list[str]) -> None:
        super().__init__(console, names, label=LABEL_WIDTH, width=CELL_WIDTH)
        self.worse: list[str] = []
        self.line("  parameters", ["objective     SVs", *["better by     SVs"] * (len(names) - 1)])
        self.rule(len(names))

    def fits(self, problem: Problem, entries: list[Entry]) -> None:
        title = f"{problem.title} {entries[0].rows:,}"
        self.line(title, times([entry.seconds for entry in entries], estimated(entries)), "bold")
        mine, *rivals = entries
        cells = [f"{mine.objective:.6g} {mine.n_support:>7,}"]
        cells += [f"{entry.gain:+.1e} {entry.n_support:>7,}" for entry in rivals]
        self.line(f"  {problem.machine}", cells)
        for entry in rivals:
            if entry.timed:
                sizes = ", ".join(f"{seconds(s)} for {n:,}" for n, s in entry.timed.items())
                self.note(
                    f"~ {entry.library.name}: {sizes}, so L^{entry.exponent:.2f}; "
                    f"solutions compared at {entry.rows:,} rows"
                )
            if entry.gain < -OBJECTIVE_TOLERANCE:
                self.worse.append(f"{title} ({entry.library.name} {entry.gain:+.1e})")
                self.note(f"objective below that of {entry.library.name}", "red")
        for entry in entries:
            if entry.infeasibility > OBJECTIVE_TOLERANCE:
                name = entry.library.name
                self.note(f"{name} misses its constraints by {entry.infeasibility:.0e}", "yellow")
        facts = [entry.facts for entry in entries]
        self.results.append({"problem": title, "machine": str(problem.machine), "entries": facts})

    def end(self) -> None:
        verdict = "nowhere" if not self.worse else "; ".join(self.worse)
        self.console.print(
            f"\nobjective worse than a rival's by more than {OBJECTIVE_TOLERANCE:g}: {verdict}"
        )


def estimated(entries: list[Entry]) -> list[str]:
    return ["~" if entry.timed else "" for entry in entries]


def predict(report: Report, data: Data, entries: list[Entry]) -> None:
    """Seconds for all test rows, and test errors.

    A model that was fitted to fewer rows predicts a tenth of them; its time is scaled to all rows
    and to our number of support vectors.
    """
    used, errors = [], []
    for entry in entries:
        share = 10 if entry.timed else 1
        X = convert(data.X_test[: len(data.y_test) // share], entry.form)
        start = time.perf_counter()
        labels = entry.model.predict(X)
        elapsed = time.perf_counter() - start
        scale = entries[0].n_support / entry.n_support if entry.timed else 1
        used.append(elapsed * share * scale)
        errors.append(100 * float(np.mean(labels != data.y_test[: len(labels)])))
    report.line(f"Forest predict {len(data.y_test):,}", times(used, estimated(entries)), "bold")
    cells = [
        f"{mark}{error:.2f} % {entry.n_support:>7,}"
        for mark, error, entry in zip(estimated(entries), errors, entries, strict=True)
    ]
    report.line("  test error", cells)
    names = [entry.library.name for entry in entries]
    report.results.append(
        {"problem": "predict", "seconds": dict(zip(names, used, strict=True))}
        | {"test_error": dict(zip(names, errors, strict=True))}
    )


def memory(report: Report, problem: Problem, contest: Contest) -> None:
    """Peak memory of fits with a cache of 1000 MB; slow libraries are left out."""
    data, cells, added, result = problem.load(problem.rows), [], [], {}
    for library in (OURS, *contest.rivals):
        if library.slow:
            cells, added = [*cells, "—"], [*added, ""]
            continue
        used = _memory.peak(library, problem.machine, data, contest.threads)
        result[library.name] = used
        ratio = used["peak"] / result[OURS.name]["peak"]
        cells.append(f"{used['peak']:,.0f} MB" + (f" {ratio:6.1f}×" if library is not OURS else ""))
        added.append(f"{used['fit']:,.0f} MB")
    report.line(f"Forest memory {len(data.y):,}", cells, "bold")
    report.line("  of it by the fit", added)
    report.results.append({"problem": "memory", "megabytes": result})


def main() -> None:
    names = [problem.name for problem in PROBLEMS]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernel_svm", description=__doc__)
    add = parser.add_argument
    known = [rival.name.lower() for rival in RIVALS]
    add(
        "--only",
        nargs="+",
        metavar="NAME",
        choices=[*names, *SPECIAL],
        help=", ".join([*names, *SPECIAL]),
    )
    add("--rivals", nargs="*", metavar="NAME", choices=known, default=known, help=", ".join(known))
    add("--repeat", type=int, default=3, help="fits, of which the best counts (3)")
    add("--threads", type=int, default=2, help="for libraries that have threads (2)")
    add("--limit", type=float, default=300, help="seconds above which to extrapolate (300)")
    add("--quick", action="store_true", help="a tenth of the rows")
    options = parser.parse_args()
    chosen = options.only or [*names, *SPECIAL]

    console = Console(width=100, highlight=False, soft_wrap=True)
    rivals = present(RIVALS, options.rivals, console)
    contest = Contest(rivals, options.repeat, options.threads, options.limit)
    threads = threads_in_words(options.threads, rivals)
    console.print(f"Best of {options.repeat}, {threads}, tol 0.001, cache 1000 MB\n")
    report = Report(console, [OURS.name, *(rival.name for rival in rivals)])

    def compete(problem: Problem, among: Contest) -> tuple[Data, list[Entry]] | None:
        try:
            return among.run(problem)
        except FileNotFoundError as error:
            report.note(f"{problem.title} left out: {error}")
            return None

    forest = shrink(FOREST_100K) if options.quick else FOREST_100K
    for problem in PROBLEMS:
        wanted = problem.name in chosen
        predicting = problem is FOREST_100K and "predict" in chosen
        if wanted or predicting:
            outcome = compete(shrink(problem) if options.quick else problem, contest)
            if outcome and wanted:
                report.fits(problem, outcome[1])
            if outcome and predicting:
                predict(report, *outcome)
    if "memory" in chosen:
        memory(report, forest, contest)
    if "small" in chosen:
        for problem in SMALL:
            outcome = compete(problem, replace(contest, repeat=max(10, options.repeat)))
            if outcome:
                report.fits(problem, outcome[1])
    report.end()
    settings = {"threads": options.threads, "repeat": options.repeat, "quick": options.quick}
    console.print(f"written: {save('kernel_svm', report.results, **settings)}")


def shrink(problem: Problem) -> Problem:
    sizes = problem.sizes and (problem.sizes[0] // 10, problem.sizes[1] // 10)
    return replace(problem, rows=problem.rows // 10, sizes=sizes)


if __name__ == "__main__":
    main()
