"""`widemargin demo`: a tour of the models."""

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

from widemargin.cli.console import JsonOption, check_output, err, out, print_json, say


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Picture to write.")] = Path(
        "widemargin-demo.png"
    ),
    json: JsonOption = False,
) -> None:
    """Train several models, print a table and draw their boundaries."""
    from widemargin.experiments.demo import demo_data, draw_boundaries, run_models

    picture = _picture(output)
    with err.status("Loading the data"):
        name, data = demo_data()
    rows = list(run_models(data)) if json else _show_models(name, run_models(data))
    if picture is not None:
        with err.status("Drawing the boundaries"):
            draw_boundaries(picture)
    if json:
        print_json({"data": name, "models": rows, "picture": picture})
    elif picture is not None:
        out.print(f"Boundaries on a toy problem: {picture}", markup=False, soft_wrap=True)


def _show_models(name: str, rows: Iterable[Any]) -> list[Any]:
    """Show a table that grows by one row per trained model; return the rows."""
    table = table_of(
        f"Data: {name}",
        ["model"],
        *("training\nrows", "test\nerror %", "seconds", "updates", "support\nvectors", "margin\nρ"),
    )
    done = []
    with Live(Group(table, Spinner("dots", "training")), console=err, transient=True):
        for row in rows:
            done.append(row)
            table.add_row(
                row.model,
                f"{row.train_rows:,}",
                f"{row.error:.2f}",
                f"{row.seconds:.2f}",
                f"{row.updates:,}",
                "" if row.support_vectors is None else f"{row.support_vectors:,}",
                "" if row.geometric_margin is None else f"{row.geometric_margin:.3g}",
            )
    out.print(table)
    return done


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
