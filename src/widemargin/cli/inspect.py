"""`widemargin inspect`: what a data file holds, and what to look at before training."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from widemargin._runtime.files import is_stream
from widemargin._runtime.text import visible
from widemargin.cli.config import ConfigOption
from widemargin.cli.console import JsonOption, input_path, out, print_json
from widemargin.cli.easy import default_output, print_findings
from widemargin.cli.experiments import table_of
from widemargin.cli.files import (
    DataArgument,
    DecimalOption,
    EncodingOption,
    FeaturesOption,
    FileOptions,
    FormatOption,
    HeaderOption,
    IndexBaseOption,
    SeparatorOption,
)

MOST_COLUMNS = 60  # on a terminal


def inspect(
    data: DataArgument,
    target: Annotated[
        str | None,
        typer.Option(help="Target column; with it classes and leakage are examined too."),
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="classification or regression; by default decided.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with code 1 if there is a warning.")
    ] = False,
    format: FormatOption = None,
    separator: SeparatorOption = None,
    header: HeaderOption = None,
    encoding: EncodingOption = None,
    decimal: DecimalOption = None,
    index_base: IndexBaseOption = None,
    n_features: FeaturesOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Show what a data file holds: types of columns, missing values, warnings.

    Exits with 0 if the file can be read, with 1 if it cannot be used, or, with --strict, if there
    is a warning.
    """
    from widemargin.easy.data import read
    from widemargin.easy.inspection import inspect as look
    from widemargin.easy.options import Options
    from widemargin.easy.task import decide_task

    path = input_path(data)
    options = Options(
        path,
        Path("-"),
        target=target,
        format=format,
        index_base=index_base,
        n_features=n_features,
        reading=FileOptions(format, separator, header, encoding, decimal).reading(),
    )
    rows = read(options, need_target=False)
    decision = None if rows.y is None else decide_task(rows.y, task)
    if decision is None and task is not None:
        raise ValueError(f"--task {task} needs --target")
    found = look(rows, None if decision is None else decision.value.partition(",")[0])
    warned = any(finding.level != "note" for finding in found.findings)
    if json:
        print_json(
            {
                "file": path.name,
                "rows": rows.rows,
                "target": rows.target,
                "task": decision,
                "reading": rows.dialect,
                "columns": found.columns,
                "findings": found.findings,
            }
        )
    else:
        _print(path.name, rows, decision, found)
        if not is_stream(path):
            command = replace(options, output=default_output(path)).command()
            asked = " --target COLUMN" if rows.target is None else ""
            out.print(visible(f"Next: {command}{asked}"), soft_wrap=True)
    if strict and warned:
        raise typer.Exit(1)


def _print(name: str, data: Any, decision: Any, found: Any) -> None:
    from widemargin.report.formats import plural

    columns = len(data.order)
    sizes = f"{plural(data.rows, 'row')}, {plural(columns, 'column')}"
    out.print(visible(f"{name}: {sizes}"), style="bold")
    table = table_of("", ["column", "kind", "note"], "missing", "levels")
    for column in found.columns[:MOST_COLUMNS]:
        table.add_row(
            visible(column.name),
            column.kind,
            visible(column.note),
            f"{column.missing:,}" if column.missing else "",
            f"{column.levels:,}" if column.levels else "",
        )
    out.print(table)
    if len(found.columns) > MOST_COLUMNS:
        out.print(f"… and {len(found.columns) - MOST_COLUMNS:,} more columns: --json")
    if decision is not None:
        out.print(visible(f"target {data.target}: {decision.value} ({decision.why})"))
    print_findings(found.findings, out, most=len(found.findings))
