"""What all commands share: where output goes, one-line errors and warnings, JSON."""

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

INTERRUPTED = 130  # the shell's code for a program that Ctrl-C ended

out = Console(highlight=False)
err = Console(highlight=False, stderr=True)

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


class Commands(TyperGroup):
    """The commands, with errors and warnings in one line each."""

    def invoke(self, ctx: Any) -> Any:
        with _short_warnings(), _short_errors():
            return super().invoke(ctx)


@contextmanager
def _short_errors() -> Iterator[None]:
    """Turn what users can cause into a line and an exit code; other exceptions are bugs."""
    try:
        yield
    except KeyboardInterrupt:
        say("interrupted", "yellow")
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:  # `widemargin ... | head`
        raise
    except (ImportError, MemoryError, OSError, ValueError) as error:
        if os.environ.get("WIDEMARGIN_DEBUG"):
            raise
        say(f"error: {_first_line(error)}", "red")
        raise typer.Exit(1) from None


@contextmanager
def _short_warnings() -> Iterator[None]:
    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        say(f"warning: {message}", "yellow")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def _first_line(error: BaseException) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    # Further lines, of scikit-learn for example, are advice to programmers.
    return next(iter(str(error).splitlines()), "") or type(error).__name__


def say(message: str, style: str = "") -> None:
    """Print one line to standard error, folded between words on a terminal."""
    err.print(message, style=style, markup=False, soft_wrap=not err.is_terminal)


def print_json(value: Any) -> None:
    """Print a value as JSON; numbers that JSON does not have (NaN, infinity) become null."""
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


def print_facts(facts: Mapping[str, Any], title: str = "") -> None:
    """Print names and values in two columns; facts that are None are left out."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="cyan", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in facts.items():
        if value is not None:
            grid.add_row(name, str(value))
    if title:
        out.print(title, style="bold", markup=False)
    out.print(grid)


def listing(values: Any, limit: int = 8) -> str:
    """The first values and how many there are."""
    shown = ", ".join(str(value) for value in values[:limit])
    return shown if len(values) <= limit else f"{shown}, … ({len(values):,})"


def number(value: float | None, digits: int = 4) -> str | None:
    """A few significant digits, or None."""
    return None if value is None else f"{value:.{digits}g}"


def check_output(path: Path, *inputs: Path | None) -> None:
    """Find out before the work whether its result could be written, and not over its inputs."""
    for used in inputs:
        if used is not None and path.exists() and used.exists() and path.samefile(used):
            raise ValueError(f"--output {path} would overwrite the file that is read; name another")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file to write")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent}; make it first")
