"""Progress of a fit, as a bar on a terminal or in a notebook.

    with progress_bar():
        model.fit(X, y)

Every fit of this package reports its epochs, iterations or trials. Of fits inside a fit, such as
the experts of a mixture, only the outermost one is shown.
"""

import html
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

__all__ = ["NotebookBar", "Reporter", "Step", "TerminalBar", "progress_bar", "reported", "reporter"]

REDRAW_SECONDS = 0.1  # a notebook gets no more messages than that
#: What a record tells, by the names of its entries; at most two of them are shown.
MEASURES = {
    "violation": "violation {:.1e}",
    "gap": "gap {:.1e}",
    "validation_error": "validation error {:.2%}",
    "loss": "loss {:.4g}",
    "error": "error {:.2%}",
    "criterion": "criterion {:.4g}",
}


@dataclass(frozen=True)
class Step:
    """How far a fit is.

    Attributes
    ----------
    name : str
        The class of the estimator.
    done : int
        Epochs, iterations or trials so far.
    total : int or None
        How many there will be at most; None if that is unknown.
    fraction : float or None
        How much of the fit is done, by its own measure or by its time limit; None if unknown.
    text : str
        What was measured last.
    fits : int
        Fits inside this one that have ended, where they are counted.
    finished : bool
        Whether the fit has ended, also by an error.
    """

    name: str
    done: int = 0
    total: int | None = None
    fraction: float | None = None
    text: str = ""
    fits: int = 0
    finished: bool = False

    @property
    def words(self) -> str:
        """The count and the measures."""
        count = f"{self.done}" if self.total is None else f"{self.done}/{self.total}"
        fits = f"{self.fits} fits" if self.fits else ""
        return "  ".join(filter(None, (count, self.text, fits)))


Display = Callable[[Step], None]
_display: ContextVar[Display | None] = ContextVar("widemargin_progress", default=None)
_reporter: ContextVar["Reporter | None"] = ContextVar("widemargin_reporter", default=None)


class Reporter:
    """What one fit tells a display; called from any thread of the fit."""

    def __init__(self, name: str, display: Display, seconds: float | None = None) -> None:
        self.display, self.seconds = display, seconds
        self.last, self.begun, self.several = Step(name), time.perf_counter(), False

    def step(
        self,
        record: Mapping[str, Any],
        *,
        total: int | None = None,
        fraction: float | None = None,
    ) -> None:
        """One more epoch, iteration or trial, with what was measured.

        `fraction` is that of the fit's first problem. If there are several it says nothing.
        """
        done = self.last.done + 1
        self.several |= bool(record.get("problem", 0))
        known = [] if fraction is None or self.several else [fraction]
        known += [done / total] if total else []
        known += self._time()
        measured = [
            form.format(record[name])
            for name, form in MEASURES.items()
            if record.get(name) is not None
        ]
        self.last = replace(
            self.last,
            done=done,
            total=total,
            fraction=min(1.0, max(known)) if known else None,
            text="  ".join(measured[:2]),
        )
        self.display(self.last)

    def fit_ended(self) -> None:
        """One of the fits inside this one has ended."""
        known = [self.last.fraction or 0.0, *self._time()]
        fraction = min(1.0, max(known)) if len(known) > 1 else self.last.fraction
        self.last = replace(self.last, fits=self.last.fits + 1, fraction=fraction)
        self.display(self.last)

    def _time(self) -> list[float]:
        """How much of the time limit is over, if there is one."""
        if self.seconds is None:
            return []
        return [(time.perf_counter() - self.begun) / self.seconds]

    def finish(self) -> None:
        """The fit has ended."""
        self.display(replace(self.last, finished=True))


def reporter(name: str) -> Reporter | None:
    """The reporter of the current fit, if it is shown and belongs to this class of estimators."""
    found = _reporter.get()
    return found if found is not None and found.last.name == name else None


@contextmanager
def reported(name: str, seconds: float | None = None) -> Iterator[None]:
    """One fit, which has a reporter if it is shown and no part of another fit."""
    display = _display.get()
    found = None if display is None else Reporter(name, display, seconds)
    tokens = _display.set(None), _reporter.set(found)
    try:
        yield
    finally:
        _display.reset(tokens[0])
        _reporter.reset(tokens[1])
        if found is not None:
            found.finish()


@contextmanager
def progress_bar(show: Display | None = None) -> Iterator[None]:
    """Show the progress of every fit in this block.

    Parameters
    ----------
    show : callable, optional
        Gets a `Step` now and then, and a last one that is `finished`; it may be called from other
        threads. None draws a bar: in a notebook, or on a terminal, on standard error. Elsewhere,
        as in a log file, nothing is shown; use ``verbose=1`` there.

    Examples
    --------
    >>> from widemargin import MarginPerceptron
    >>> from widemargin.progress import progress_bar
    >>> steps = []
    >>> with progress_bar(steps.append):
    ...     clf = MarginPerceptron(max_iter=3, tol=None).fit([[0.0], [1.0]], [0, 1])
    >>> [step.words.split()[0] for step in steps], steps[-1].finished
    (['1/3', '2/3', '3/3', '3/3'], True)
    """
    token = _display.set(show or _default_display())
    try:
        yield
    finally:
        _display.reset(token)


def _default_display() -> Display | None:
    if "ipykernel" in sys.modules:
        return NotebookBar()
    return TerminalBar() if sys.stderr.isatty() else None


class TerminalBar:
    """A bar on a terminal, which disappears at the end of the fit.

    Parameters
    ----------
    console : rich.console.Console, optional
        Where to draw; standard error by default.
    title : str, optional
        What to write before the bar; the class of the estimator by default.
    """

    def __init__(self, console: Any = None, title: str | None = None) -> None:
        try:
            from rich.console import Console
        except ImportError:
            raise ImportError(
                "a progress bar needs rich: pip install 'widemargin[cli]', or use verbose=1"
            ) from None
        self.console, self.title = console or Console(stderr=True), title
        self._bar: Any = None

    def __call__(self, step: Step) -> None:
        """Draw a step."""
        if step.finished:
            if self._bar is not None:
                self._bar.stop()
                self._bar = None
            return
        if self._bar is None:
            self._start(step)
        self._bar.update(self._task, completed=step.fraction or 0.0, text=step.words)
        if step.fraction is not None:
            self._bar.update(self._task, total=1.0)

    def _start(self, step: Step) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[text]}", markup=False),
            TimeElapsedColumn(),
        )
        self._bar = Progress(*columns, console=self.console, transient=True)
        self._task = self._bar.add_task(self.title or step.name, total=None, text="")
        self._bar.start()


class NotebookBar:
    """A bar below a cell of a notebook, which ends with what was measured last."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._begun = self._drawn = 0.0

    def __call__(self, step: Step) -> None:
        """Draw a step, unless the last one was drawn just now."""
        from IPython.display import HTML, display

        now = time.perf_counter()
        if self._handle is None:
            if not step.finished:
                self._begun = self._drawn = now
                self._handle = display(HTML(self.html(step)), display_id=True)
            return
        if step.finished or now - self._drawn >= REDRAW_SECONDS:
            self._drawn = now
            self._handle.update(HTML(self.html(step)))
        if step.finished:
            self._handle = None

    def html(self, step: Step) -> str:
        """The bar as HTML."""
        seconds = f"{time.perf_counter() - self._begun:.1f} s"
        value = "" if step.fraction is None else f' value="{step.fraction:.3f}"'
        bar = "" if step.finished else f"<progress{value}></progress> "
        return f"<div>{html.escape(step.name)} {bar}{html.escape(step.words)}  {seconds}</div>"
