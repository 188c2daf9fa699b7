"""`widemargin demo` and `widemargin papers`: a tour of the models, and published experiments."""

import math
import re
from collections.abc import Callable, Iterable
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

papers = typer.Typer(help="Repeat published experiments.", no_args_is_help=True)


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
    table = _table(
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


@papers.command()
def fleuret(json: JsonOption = False) -> None:
    """Fleuret's lecture: the Perceptron on the MNIST digits 0 and 1, epoch by epoch."""
    from widemargin.experiments.papers import fleuret_mnist

    with err.status("Training on MNIST, 0 against 1"):
        rows = fleuret_mnist()
    if json:
        print_json(rows)
        return
    table = _table(
        "Perceptron, MNIST 0 against 1",
        [],
        *("epoch", "changes", "train\nerror %", "test\nerror %", "published\nchanges"),
    )
    for row in rows:
        table.add_row(
            f"{row['epoch']:.0f}",
            f"{row['changes']:.0f}",
            f"{row['train_error']:.2f}",
            f"{row['test_error']:.2f}",
            "" if math.isnan(row["published"]) else f"{row['published']:.0f}",
        )
    out.print(table)


@papers.command("figure-6.1")
def figure_6_1(
    output: Annotated[Path, typer.Option("--output", "-o", help="Picture to write.")] = Path(
        "figure-6.1.png"
    ),
    json: JsonOption = False,
) -> None:
    """Figure 6.1 of the thesis: two linear SVMs and a linear gater make a wedge."""
    from widemargin.experiments.papers import figure_6_1 as run

    picture = _picture(output)
    with err.status("Training on the toy problem of 6.5.1"):
        rows = run(picture)
    if json:
        print_json({"models": rows, "picture": picture})
        return
    table = _table("The toy problem of 6.5.1", ["model"], "test\nerror %", "seconds")
    for row in rows:
        table.add_row(row["model"], f"{row['test_error']:.2f}", f"{row['seconds']:.2f}")
    out.print(table)
    if picture is not None:
        out.print(f"Boundaries and gates: {picture}", markup=False, soft_wrap=True)


def _picture(output: Path) -> Path | None:
    """The file to draw into, or None if matplotlib is missing."""
    check_output(output)
    if find_spec("matplotlib"):
        return output
    say("warning: no picture; it needs matplotlib: pip install 'widemargin[plot]'", "yellow")
    return None


SeedsOption = Annotated[int, typer.Option(min=1, help="Number of random seeds.")]


@papers.command("table-6")
def table_6(
    seeds: SeedsOption = 1,
    model: Annotated[
        list[str] | None, typer.Option(help="Train only this model; repeatable.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Tables 6.1 to 6.3 of the thesis: mixtures of experts on Forest."""
    from widemargin.experiments.papers_mixtures import table_6 as run

    _show_results(f"Tables 6.1 to 6.3, {_seeds(seeds)}", lambda: run(range(seeds), model), json)


@papers.command("table-7.1")
def table_7_1(json: JsonOption = False) -> None:
    """Table 7.1 of the thesis: training errors of MLPs with different criteria."""
    from widemargin.experiments.papers import table_7_1 as run

    _show_results("Table 7.1, training errors", run, json)


@papers.command("table-8.1")
def table_8_1(seeds: SeedsOption = 3, json: JsonOption = False) -> None:
    """Table 8.1 of the thesis: SVM, standard MLP and Simple MLP."""
    from widemargin.experiments.papers import table_8_1 as run

    _show_results(f"Table 8.1, {_seeds(seeds)}", lambda: run(seeds=range(seeds)), json)


@papers.command("table-8.2")
def table_8_2(
    seeds: SeedsOption = 3,
    model: Annotated[
        list[str] | None, typer.Option(help="Train only this class; repeatable.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Table 8.2 of the thesis: perceptrons and committees with and without a margin."""
    from widemargin.experiments.papers import table_8_2 as run

    _show_results(f"Table 8.2, {_seeds(seeds)}", lambda: run(range(seeds), model), json)


def _show_results(title: str, run: Callable[[], list[Any]], json: bool) -> None:
    with err.status(f"Training on Forest and Connect-4: {title}"):
        rows = run()
    if json:
        print_json(rows)
        return
    trained = any(not math.isnan(row.training_error) for row in rows)
    table = _table(
        title,
        ["data", "model", "chosen"],
        *(["training\nerror %"] if trained else []),
        *("validation\nerror %", "test\nerror %", "seconds", "published\nerror %"),
    )
    for row in rows:
        spread = "" if math.isnan(row.spread) else f" ± {row.spread:.2f}"
        table.add_row(
            row.data,
            re.sub(r"(?<=[a-z])(?=[A-Z])", " ", row.model),  # so that a cell can wrap
            ", ".join(f"{key.replace('_', ' ')} {_short(v)}" for key, v in row.parameters.items()),
            *([f"{row.training_error:.2f}"] if trained else []),
            f"{row.validation_error:.2f}",
            f"{row.test_error:.2f}{spread}",
            f"{row.seconds:.2f}",
            "" if math.isnan(row.published) else f"{row.published:.1f}",
        )
    out.print(table)


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value).replace("_", " ")


def _seeds(count: int) -> str:
    return "1 seed" if count == 1 else f"mean of {count} seeds"


def _table(title: str, words: list[str], *numbers: str) -> Table:
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
