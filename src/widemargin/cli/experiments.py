"""`widemargin demo`: every family of models, beside scikit-learn's own."""

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Group
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table

from widemargin.cli.console import JsonOption, check_output, err, out, print_facts, print_json, say


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Picture to write.")] = Path(
        "widemargin-demo.png"
    ),
    json: JsonOption = False,
) -> None:
    """Train every family of models beside scikit-learn's, print a table and draw boundaries."""
    picture = _picture(output)
    with err.status("Loading the models"):
        from widemargin.experiments.boundaries import draw_boundaries
        from widemargin.experiments.demo import DATA, run_models
    rows = list(run_models()) if json else _show_models(run_models())
    if picture is not None:
        with err.status("Drawing the boundaries"):
            draw_boundaries(picture)
    if json:
        print_json({"data": DATA, "models": rows, "picture": picture})
        return
    _explain(DATA, picture)


def _show_models(rows: Iterable[Any]) -> list[Any]:
    """Show a table that grows by one row per trained model; return the rows."""
    table = table_of(
        "Every family of models, beside scikit-learn's",
        ["\nwidemargin", "\nrival", "\ndata"],
        *("error\nours", "%\ntheirs", "time\nours", "s\ntheirs", "\nchecks"),
    )
    done = []
    with Live(Group(table, Spinner("dots", "training")), console=err, transient=True):
        for row in rows:
            done.append(row)
            table.add_row(
                *(row.model, row.rival, row.data),
                *(f"{row.error:.2f}", f"{row.rival_error:.2f}"),
                *(f"{row.seconds:.2f}", f"{row.rival_seconds:.2f}"),
                f"{row.checks_held}/{row.checks}",
            )
    out.print(table)
    return done


def _explain(data: dict[str, str], picture: Path | None) -> None:
    """What the columns of the table mean, and what to type next."""
    notes = data | {
        "time": "seconds of the fit with one thread, measured just now on this machine",
        "checks": "bounds and conditions of optimality, computed again from the rows, and how "
        "many hold: widemargin.analysis.certificate(model, X, y) lists them",
        "rival": "scikit-learn's own model; trees are HistGradientBoostingClassifier",
        "picture": None if picture is None else str(picture),
    }
    out.print()
    print_facts(notes)
    out.print("\nNow your own file: CSV, TSV, Parquet, Arrow, svmlight or npz, as it is.")
    out.print("\n    widemargin train your.csv --target COLUMN\n")


def _picture(output: Path) -> Path | None:
    """The file to draw into, or None if matplotlib is missing."""
    check_output(output)
    if find_spec("matplotlib"):
        return output
    say("warning: no picture; it needs matplotlib: pip install 'widemargin[plot]'", "yellow")
    return None


def table_of(title: str, words: list[str], *numbers: str) -> Table:
    """Table that fits a narrow terminal: columns of words wrap, columns of numbers do not."""
    table = Table(
        title=title,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
        collapse_padding=True,
    )
    lines = 1 + max(header.count("\n") for header in (*words, *numbers))
    for header in (*words, *numbers):
        lowered = "\n" * (lines - 1 - header.count("\n")) + header
        number = header in numbers
        table.add_column(lowered, justify="right" if number else "left", no_wrap=number)
    return table
