"""Progress bars on a terminal: epochs of a fit, bytes of a stream."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from widemargin.cli.console import err


@contextlib.contextmanager
def progress_bar(estimator: Any, *, quiet: bool) -> Iterator[None]:
    """Show the epochs of `estimator` on a terminal; its own output goes to standard error."""
    with contextlib.ExitStack() as stack:
        if err.is_terminal and not quiet and hasattr(estimator, "set_callbacks"):
            progress = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("epoch"),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                console=err,
                transient=True,
            )
            estimator.set_callbacks(EpochBar(stack.enter_context(progress)))
            stack.callback(estimator.set_callbacks)
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        yield


class EpochBar:
    """scikit-learn callback that advances a bar by one step per epoch."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress

    def setup(self, estimator: Any, context: Any) -> None:
        """Show the bar; its length is the largest number of epochs that the fit may take."""
        self.task = self.progress.add_task(type(estimator).__name__, total=context.max_subtasks)

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Do nothing: an epoch counts when it ends."""

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        """Count an epoch."""
        if context.task_name in ("epoch", "iteration"):
            self.progress.advance(self.task)

    def teardown(self, estimator: Any, context: Any) -> None:
        """Remove the bar."""
        self.progress.remove_task(self.task)


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
