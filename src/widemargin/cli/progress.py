"""Progress bars on a terminal: epochs of a fit, bytes of a stream."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from widemargin.cli.console import err
from widemargin.progress import TerminalBar
from widemargin.progress import progress_bar as shown_fits


@contextlib.contextmanager
def progress_bar(estimator: Any, *, quiet: bool) -> Iterator[None]:
    """Show the fit of `estimator` on a terminal; its own output goes to standard error."""
    bar = TerminalBar(err, title=type(estimator).__name__)
    with contextlib.ExitStack() as stack:
        if err.is_terminal and not quiet:
            stack.enter_context(shown_fits(bar))
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        yield


@contextlib.contextmanager
def byte_bar(*, quiet: bool) -> Iterator[Callable[[Any], None] | None]:
    """Function that shows a `StreamProgress` on a terminal, or None if there is no bar."""
    with contextlib.redirect_stdout(sys.stderr):
        if quiet or not err.is_terminal:
            yield None
            return
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
        times = (TimeElapsedColumn(), TimeRemainingColumn())
        with Progress(*columns, *times, console=err, transient=True) as bars:
            task = bars.add_task("reading", total=None)

            def show(progress: Any) -> None:
                epoch = f", epoch {progress.epoch + 1}" if progress.phase == "training" else ""
                bars.update(
                    task,
                    description=progress.phase + epoch,
                    completed=progress.bytes_read,
                    total=progress.total_bytes,
                )

            yield show
