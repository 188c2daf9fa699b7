"""The table that a contest prints line by line, and the libraries that are installed."""

from collections.abc import Collection, Sequence
from typing import Any, TypeVar

from rich.console import Console

from benchmarks.adapters._library import Library

AnyLibrary = TypeVar("AnyLibrary", bound=Library)


class Table:
    """Two lines per problem, one column per library, ours first; `results` keeps the numbers."""

    def __init__(self, console: Console, names: Sequence[str], *, label: int, width: int) -> None:
        self.console, self.label, self.width = console, label, width
        self.results: list[dict[str, Any]] = []
        self.line("problem", names, style="bold")

    def rule(self, columns: int) -> None:
        self.console.print("─" * (self.label + self.width * columns))

    def line(self, label: str, cells: Sequence[str], style: str = "") -> None:
        text = f"{label:<{self.label}}" + "".join(f"{cell:>{self.width}}" for cell in cells)
        self.console.print(text.rstrip(), style=style, markup=False)

    def note(self, text: str, style: str = "dim") -> None:
        self.console.print(f"  {text}", style=style, markup=False)


def seconds(value: float) -> str:
    if value < 0.1:
        return f"{1e3 * value:.2f} ms"
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f} s"


def times(values: Sequence[float], marks: Sequence[str]) -> list[str]:
    """Our time, then the time of each rival and its ratio to ours, each with its mark."""
    cells = [marks[0] + seconds(values[0])]
    for value, mark in zip(values[1:], marks[1:], strict=True):
        ratio = value / values[0]
        digits = 1 if ratio < 100 else 0
        cells.append(f"{mark}{seconds(value)} {f'{mark}{ratio:.{digits}f}×':>7}")
    return cells


def present(
    rivals: Sequence[AnyLibrary], wanted: Collection[str], console: Console
) -> list[AnyLibrary]:
    """The wanted libraries that are installed; prints why one is left out."""
    found = []
    for rival in rivals:
        if rival.name.lower() in wanted:
            reason = rival.missing()
            if reason is None:
                found.append(rival)
            else:
                console.print(f"{rival.name} left out: {reason}", markup=False)
    return found


def threads_in_words(threads: int, rivals: Sequence[Library]) -> str:
    single = ", ".join(rival.name for rival in rivals if not rival.threaded)
    words = f"{threads} thread" + "s" * (threads > 1)
    return words + (f" ({single}: 1, without threads)" if single else "")
