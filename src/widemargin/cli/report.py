"""`widemargin report`: the report of a model file, made again from what the file holds."""

from pathlib import Path
from typing import Annotated

import typer

from widemargin.cli.console import JsonOption, check_output, output_path, print_facts
from widemargin.cli.easy import report_beside
from widemargin.cli.predict import ModelArgument

SUFFIXES = (".html", ".htm", ".md", ".json")


def report(
    model: ModelArgument,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="File to write: .html, .md or .json; - is standard output, as Markdown. By "
            "default the name of the model file, with .html.",
            show_default=False,
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Write the report of a model that train has made without --model; no data are needed."""
    from widemargin._runtime.files import atomic_path, is_stream
    from widemargin.easy.saved import record_of
    from widemargin.persistence import load
    from widemargin.report import render_html, render_json, render_markdown

    record = record_of(load(model))
    if record is None:
        raise ValueError(
            f"{model}: holds no record of its training; train it without --model to get a report"
        )
    if json and output is None:
        typer.echo(render_json(record))
        return
    file, console = output_path(output or report_beside(model) or Path("-"), json)
    check_output(file, model)
    suffix = ".md" if is_stream(file) else file.suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(f"--output {file}: use one of {', '.join(SUFFIXES)}")
    render = {".md": render_markdown, ".json": render_json}.get(suffix, render_html)
    text = render(record)
    with atomic_path(file) as temporary:
        temporary.write_text(text, "utf-8")
    if json:
        typer.echo(render_json(record))
    elif not is_stream(file):
        print_facts({"report": file}, console=console)
