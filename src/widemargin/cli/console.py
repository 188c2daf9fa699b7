"""Output of all commands: one-line errors and warnings, tables of facts, JSON.

Names of classes and columns come from files that may be a stranger's.  They are printed as they
are: not as markup, and with control characters escaped, so that no file can command the terminal.
"""

import dataclasses
import json
import math
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table
from typer.core import TyperGroup

from widemargin._runtime.files import check_target, is_stream
from widemargin._runtime.text import visible

INTERRUPTED_EXIT_CODE = 130  # what shells report for a program that Ctrl-C ended

# Arguments of Python functions that are options of the same name here.
OPTION_ARGUMENTS = {
    *("target", "format", "index_base", "n_features", "separator", "encoding", "decimal"),
    *("task", "metric", "groups", "time_column", "drop", "keep", "text"),
    *("classes", "statistics", "chunk_rows", "checkpoint", "resume", "epochs"),
}

STARTED: float | None = None  # when this process began, by time.perf_counter, if it is known

STANDARD_OUTPUT = Path("/dev/stdout")
REMEDY = "check the name and the permissions"
EXPECTED = (ImportError, MemoryError, OSError, ValueError)  # others are bugs

out = Console(highlight=False, markup=False, emoji=False)
err = Console(highlight=False, markup=False, emoji=False, stderr=True)

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


class Commands(TyperGroup):
    """The commands; each error and warning is one line."""

    def invoke(self, ctx: Any) -> Any:
        with _short_warnings(), _short_errors():
            return super().invoke(ctx)


@contextmanager
def _short_errors() -> Iterator[None]:
    """Turn every error into one line and an exit code."""
    try:
        yield
    except KeyboardInterrupt as error:
        say(f"interrupted: {error}" if str(error) else "interrupted", "yellow")
        raise typer.Exit(INTERRUPTED_EXIT_CODE) from None
    except BrokenPipeError:  # `widemargin ... | head`
        raise
    except Exception as error:
        ends_the_command = isinstance(error, typer.Abort) or hasattr(error, "exit_code")
        if ends_the_command or os.environ.get("WIDEMARGIN_DEBUG"):
            raise
        say(f"error: {_message(error)}", "red")
        raise typer.Exit(1) from None


@contextmanager
def _short_warnings() -> Iterator[None]:
    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        say(f"warning: {' '.join(str(message).split(chr(10)))}", "yellow")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def _message(error: BaseException) -> str:
    """The first line of an error's message, with the options of the command line."""
    from widemargin.tables import ArgumentError

    if isinstance(error, OSError) and error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {error.strerror}; {REMEDY}"
    if not isinstance(error, EXPECTED):
        what = next(iter(str(error).splitlines()), "")
        return (
            f"{type(error).__name__}: {what}; this should not happen. Please report it with the "
            "traceback, which WIDEMARGIN_DEBUG=1 shows"
        )
    text = error.spelled(as_option) if isinstance(error, ArgumentError) else str(error)
    # Further lines, for example those of scikit-learn, are advice to programmers.
    return next(iter(text.splitlines()), "") or type(error).__name__


def as_option(argument: Any) -> str:
    """How the command line spells an `Argument` of a message."""
    if argument.name == "header":
        return "--header" if argument.value else "--no-header"
    if argument.name not in OPTION_ARGUMENTS:
        return str(argument)
    option = f"--{argument.name.replace('_', '-')}"
    return (
        f"{option} {argument.value}"
        if argument.has_value and argument.value is not True
        else option
    )


def say(message: str, style: str = "") -> None:
    """Print one line to standard error, wrapped between words on a terminal."""
    err.print(visible(message), style=style, soft_wrap=not err.is_terminal)


def print_json(value: Any) -> None:
    """Print a value as JSON; NaN and infinity, which JSON lacks, become null."""
    typer.echo(json.dumps(_plain(value), indent=2, allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _plain(dataclasses.asdict(value))
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def facts_grid(facts: Mapping[str, Any]) -> Table:
    """Names and values in two columns, without the values that are None."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="cyan", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in facts.items():
        if value is not None:
            grid.add_row(visible(name), visible(str(value)))
    return grid


def print_facts(facts: Mapping[str, Any], title: str = "", console: Console = out) -> None:
    """Print names and values in two columns, without the values that are None."""
    if title:
        console.print(title, style="bold")
    console.print(facts_grid(facts))


def listing(values: Any, limit: int = 8) -> str:
    """The first values, and how many there are if that is more."""
    shown = ", ".join(str(value) for value in values[:limit])
    return shown if len(values) <= limit else f"{shown}, … ({len(values):,})"


def number(value: float | None, digits: int = 4) -> str | None:
    """A few significant digits, or None."""
    return None if value is None else f"{value:.{digits}g}"


def check_output(path: Path, *inputs: Path | None) -> None:
    """Refuse an output that cannot be written, or that is an input, before the work begins."""
    for used in inputs:
        if used is None or is_stream(path):
            continue
        if path.exists() and used.exists() and path.samefile(used):
            raise ValueError(f"--output {path} would overwrite an input; name another file")
    check_target(path)


def output_path(path: Path, json: bool) -> tuple[Path, Console]:
    """The file to write, and where to print the results: "-" means standard output for the file."""
    file = STANDARD_OUTPUT if path == Path("-") else path
    if file != STANDARD_OUTPUT:
        return file, out
    if json:
        raise ValueError(
            f"--json and --output {path} both write to standard output; name a file with --output"
        )
    return file, err


def input_path(path: Path) -> Path:
    """The file to read: "-" means standard input."""
    return Path("/dev/stdin") if path == Path("-") else path
