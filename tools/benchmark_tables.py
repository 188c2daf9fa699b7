"""Tables of benchmarks for README.md: `tools.numbers` writes them from committed results."""

import math
from collections.abc import Callable
from typing import Any

from tools import number_tables
from tools.number_tables import MissingResults, markdown, records, results
from widemargin.papers import ITEMS
from widemargin.papers.report import number

#: The tables that README shows, of the 28: the best known ones, whoever wins.
TEN = (
    "adult",
    "california_housing",
    "connect-4-20000",
    "covtype-20000",
    "kin8nm",
    "letter",
    "shuttle",
    "sleep",
    "vehicle",
    "wine-quality-white",
)
OURS, DEFAULT, TUNED = MODELS = ("tabular", "lightgbm", "lightgbm-tuned")

#: The data sets of the exact SVM that README shows, and their kinds of problems.
SPEED = {"Forest": "two classes", "MNIST": "ten classes", "a9a": "0/1 inputs"}
SPEED |= {"Forest SVR": "regression"}
RIVALS = {"intelex": "scikit-learn-intelex", "scikit-learn": "scikit-learn"}

#: Item, line and label of the published numbers that README shows.
PUBLISHED = (
    ("table-8.2", "Forest, Margin Perceptron", "Forest, Margin Perceptron"),
    ("table-8.2", "Forest, Simple MLP", "Forest, Simple MLP"),
    ("table-8.2", "Connect-4, Simple MLP", "Connect-4, Simple MLP"),
    ("table-6.1", "50 SVMs, gater of 150 units", "Forest, mixture of 50 SVMs"),
    ("fleuret", "test error, last epoch, %", "MNIST 0 against 1, Perceptron"),
)


def figure_source() -> str:
    """What README's figure shows, and the commands that make it."""
    measured = "`python -m benchmarks.tables --tables forest-20000 --name tables-forest`, then "
    drawn = "`python -m benchmarks.figure`"
    if not (number_tables.FOLDER / "tables-forest.json").exists():
        measured = ""
        drawn = "`python -m benchmarks.figure --name tables --tables covtype-20000 letter`"
    return (
        "Each point is a model: its test error, and the seconds of its fit on two cores "
        f"({measured}{drawn})."
    )


def ten_tables() -> str:
    """Errors and seconds of ten tables; the least error is bold."""
    lines = {(line["table"], line["model"]): line for line in results("tables.json")["results"]}
    rows = []
    for table in TEN:
        found = [lines[table, model] for model in MODELS]
        errors = [f"{line['error']:.2f}" for line in found]
        least = min(errors, key=float)
        errors = [f"**{error}**" if error == least else error for error in errors]
        name = table.removesuffix(f"-{found[0]['rows']}").replace("_", " ")
        seconds = [_seconds(line["seconds"]) for line in found]
        rows.append([name, f"{found[0]['rows']:,}", *errors, *seconds])
    head = ["table", "rows", "ours, %", "LightGBM, %", "tuned, %"]
    return markdown([*head, "ours, s", "LightGBM, s", "tuned, s"], rows)


def all_tables() -> str:
    """One sentence: wins, ties and losses of all tables against LightGBM."""
    found = results("tables.json")
    count = len({line["table"] for line in found["results"]})
    against = {one["model"]: one["error"] for one in found["summary"]}

    def record(model: str) -> str:
        one = against[model]
        words = f"{one['wins']} wins, {one['ties']} ties, {one['losses']} losses"
        return f"{words}, {_change(one['geometric_mean'])} errors in the mean"

    return (
        f"On all {count} tables, against LightGBM with its defaults: {record(DEFAULT)}. "
        f"Against LightGBM tuned for as long as ours took: {record(TUNED)}."
    )


def _change(ratio: float) -> str:
    return f"{abs(100 * (ratio - 1)):.0f} % {'fewer' if ratio < 1 else 'more'}"


def _seconds(value: float) -> str:
    return f"{value:.0f}" if value >= 9.5 else f"{value:.2g}"


def exact_svm() -> str:
    """Seconds of exact SVMs, and the ranges of the ratios of rivals, from few rows to many."""
    found = results("kernel_svm.json")
    if found.get("quick"):
        raise MissingResults("benchmarks/results/kernel_svm.json is of a run with --quick")
    problems = [one for one in found["results"] if "entries" in one]
    ran = {entry["library"] for one in problems for entry in one["entries"]}
    rivals, rows = [name for name in RIVALS if name in ran], []
    for title, kind in SPEED.items():
        fits = [_fit(one) for one in problems if one["problem"].rpartition(" ")[0] == title]
        fits.sort(key=lambda fit: fit["rows"])
        if not fits:
            continue
        counts, ours = [fit["rows"] for fit in fits], [fit["ours"] for fit in fits]
        ratios = [[fit["ratios"][name] for fit in fits if name in fit["ratios"]] for name in rivals]
        rows.append(
            [
                f"{title.removesuffix(' SVR')}, {kind}",
                _range([f"{count:,}" for count in counts]),
                _range([_time(seconds) for seconds in ours]),
                *(_ratios(several) for several in ratios),
            ]
        )
    return markdown(["problem", "rows", "widemargin", *(RIVALS[r] for r in rivals)], rows)


def _fit(problem: dict[str, Any]) -> dict[str, Any]:
    """Rows, our seconds and the ratios of the rivals; the first entry is ours."""
    ours, *rivals = problem["entries"]
    ratios = {
        one["library"]: (one["seconds"] / ours["seconds"], "timed" in one)
        for one in rivals
        if math.isfinite(one["seconds"])
    }
    rows = int(problem["problem"].rpartition(" ")[2].replace(",", ""))
    return {"rows": rows, "ours": ours["seconds"], "ratios": ratios}


def _time(seconds: float) -> str:
    return f"{1e3 * seconds:.0f} ms" if seconds < 0.1 else f"{seconds:.2g} s"


def _range(several: list[str]) -> str:
    return several[0] if len(several) == 1 else f"{several[0]} … {several[-1]}"


def _ratios(several: list[tuple[float, bool]]) -> str:
    """The least and the largest ratio to two digits; "~" marks one that is extrapolated."""
    if not several:
        return "—"

    def words(ratio: float, extrapolated: bool) -> str:
        digits = 1 - math.floor(math.log10(ratio)) if ratio >= 10 else 1
        return f"{'~' if extrapolated else ''}{round(ratio, digits):,g} ×"

    least, most = min(several), max(several)
    return _range([words(*one) for one in dict.fromkeys((least, most))])


def published_numbers() -> str:
    """Five published test errors beside ours."""
    known, rows = records(), []
    if missing := [key for key, _, _ in PUBLISHED if key not in known]:
        raise MissingResults(f"benchmarks/results/papers.json has no {missing[0]}")
    for key, name, label in PUBLISHED:
        (line,) = (one for one in ITEMS[key].lines(known[key].measured) if one.name == name)
        here = number(line.here, line.spread)
        rows.append([label, number(line.published), here, number(line.best), f"`{key}`"])
    return markdown(["test error, %", "published", "here", "best here", "item"], rows)


#: By the names that markers use.
TABLES: dict[str, Callable[..., str]] = {
    "figure-source": figure_source,
    "ten-tables": ten_tables,
    "all-tables": all_tables,
    "exact-svm": exact_svm,
    "published-numbers": published_numbers,
}
