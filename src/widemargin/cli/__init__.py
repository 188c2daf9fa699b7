"""The command line: from a data file to a model in use, and what lies behind it.

Exit codes: 0 success, 1 an error that the message explains, 2 wrong usage, 130 interrupted.
Results go to standard output, everything else to standard error.  With ``--json``, standard output
is one JSON document.
"""

import inspect as inspection
from collections.abc import Callable

import typer

from widemargin.cli.console import Commands
from widemargin.cli.convert import convert
from widemargin.cli.evaluate import evaluate
from widemargin.cli.experiments import demo
from widemargin.cli.inspect import inspect
from widemargin.cli.papers import papers
from widemargin.cli.predict import predict
from widemargin.cli.report import report
from widemargin.cli.show import info, version
from widemargin.cli.train import train

__all__ = ["app"]

app = typer.Typer(
    cls=Commands,
    help="Large-margin learning on large data.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _help(command: Callable[..., None]) -> str:
    """The docstring of a command, one line per paragraph: the terminal wraps it."""
    paragraphs = inspection.cleandoc(command.__doc__ or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


app.callback()(version)
app.command(help=_help(train))(train)
app.command("easy", help="The same as train, which searches for the best model without --model.")(
    train
)
for command in (predict, evaluate, inspect, report, convert, info, demo):
    app.command(help=_help(command))(command)
app.add_typer(papers, name="papers")
