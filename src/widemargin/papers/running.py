"""Runs items one after the other, and keeps each result in a file of its own.

A file is complete or absent: an interrupted run continues with the first item that has none. A
result of another scale, of other seeds or of another version of the package is measured again.
An item that fails does not keep the others from being run.
"""

import json
import math
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.exceptions import ConvergenceWarning

from widemargin import __version__
from widemargin.papers.item import Item, Measured
from widemargin.papers.scope import Scope

__all__ = ["Record", "read_records", "run_items"]

#: Is told of each item: "kept", "begun", "done", "failed" or "no time".
Watch = Callable[[Item, str], None]


@dataclass(frozen=True)
class Record:
    """A measured item, and how it was measured."""

    id: str
    measured: Measured
    seconds: float
    scale: float
    seeds: tuple[int, ...]
    versions: dict[str, str]

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> "Record":
        """The inverse of `dataclasses.asdict`, after a round trip by JSON."""
        measured = Measured.read(found["measured"])
        return cls(**{**found, "measured": measured, "seeds": tuple(found["seeds"])})

    @classmethod
    def read(cls, path: Path) -> "Record":
        """The record of a file that `write` made."""
        try:
            return cls.of(json.loads(path.read_text("utf-8")))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(
                f"{path} is no result of `widemargin papers run`; remove it to measure again"
            ) from error

    def write(self, path: Path) -> None:
        """Writes a file that is complete or absent."""
        part = path.with_suffix(".part")
        part.write_text(json.dumps(asdict(self), indent=1, allow_nan=False) + "\n", "utf-8")
        part.replace(path)

    def answers(self, scope: Scope) -> bool:
        """Whether it is what a run with this scope would measure."""
        same = self.scale == scope.scale and self.seeds == scope.seeds
        return same and self.versions.get("widemargin") == __version__


def read_records(folder: Path) -> dict[str, Record]:
    """The results in a folder, by id."""
    records = (Record.read(path) for path in sorted(folder.glob("*.json")))
    return {record.id: record for record in records}


def run_items(
    items: Sequence[Item],
    folder: Path,
    scope: Scope | None = None,
    *,
    budget: float = math.inf,
    watch: Watch | None = None,
) -> dict[str, Record]:
    """Measures the items that the folder has no result of.

    Parameters
    ----------
    items : sequence of Item
        What to run, in this order.
    folder : Path
        Where results are kept, one file per item.
    scope : Scope, optional
        The scale and the seeds; by default everything, and three seeds.
    budget : float, default=inf
        Minutes. An item that is expected to take longer than what is left is not begun.
    watch : callable, optional
        Is told of each item.

    Returns
    -------
    dict
        The records of these items that exist now, by id.

    Raises
    ------
    Exception
        The first error of an item, after the others have been run.
    """
    scope, end = scope or Scope(), time.monotonic() + 60.0 * budget
    tell = watch or (lambda item, what: None)
    folder.mkdir(parents=True, exist_ok=True)
    known, found, errors = read_records(folder), {}, []
    for item in items:
        if item.id in known and known[item.id].answers(scope):
            found[item.id] = known[item.id]
            tell(item, "kept")
            continue
        if time.monotonic() + 60.0 * scope.scale * item.minutes > end:
            tell(item, "no time")
            continue
        tell(item, "begun")
        try:
            found[item.id] = _measured(item, scope)
        except Exception as error:
            errors.append(error)
            tell(item, "failed")
            continue
        found[item.id].write(folder / f"{item.id}.json")
        tell(item, "done")
    if errors:
        raise errors[0]
    return found


def _measured(item: Item, scope: Scope) -> Record:
    begun = time.monotonic()
    with warnings.catch_warnings(), _interruptible():
        warnings.simplefilter("ignore", ConvergenceWarning)  # epochs are limited on purpose
        measured = item.run(scope)
    seconds = time.monotonic() - begun
    return Record(item.id, _known(measured), seconds, scope.scale, scope.seeds, _versions())


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C raises at once.

    With Python's own handler it would end the current fit early, and the item would continue with a
    model that is not trained.
    """
    own = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not own or threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(signum: int, frame: Any) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _versions() -> dict[str, str]:
    return {
        "widemargin": __version__,
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "processors": str(os.cpu_count()),
    }


def _known(measured: Measured) -> Measured:
    """The same without NaN and infinity, which JSON does not have."""

    def finite(numbers: dict[str, float]) -> dict[str, float]:
        return {name: float(value) for name, value in numbers.items() if math.isfinite(value)}

    return replace(
        measured,
        here=finite(measured.here),
        best=finite(measured.best),
        spread=finite(measured.spread),
    )
