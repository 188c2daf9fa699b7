"""The command line: train, predict, inspect models, repeat published experiments.

Exit codes: 0 success, 1 an error that the message explains, 2 wrong usage, 130 interrupted.
Results go to standard output, everything else to standard error.  With ``--json``, standard output
is one JSON document.
"""

import typer

from widemargin.cli.console import Commands
from widemargin.cli.experiments import demo
from widemargin.cli.papers import papers
from widemargin.cli.predict import predict
from widemargin.cli.show import info, models, version, versions
from widemargin.cli.train import train

__all__ = ["app"]

app = typer.Typer(
    cls=Commands,
    help="Large-margin learning on large data.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.callback()(version)
for command in (demo, train, predict, info, models, versions):
    app.command()(command)
app.add_typer(papers, name="papers")
